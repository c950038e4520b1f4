/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osb exec - a program in a sandbox that is there
 *
 * As `osb run`, but the sandbox stays. With --detach the program is a command
 * of the API's: a shell's, so its words are quoted, and the shell makes way
 * for it (exec), so that no builtin and no keyword of the shell is run instead.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/ranges.h"
#include "cli/command.h"
#include "cli/id.h"
#include "cli/message.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/quote.h"
#include "cli/refused.h"
#include "cli/run_options.h"
#include "osb/osb.h"

#define TEXT_MAX (1u << 20) /* more than the server takes */
#define USAGE "osb exec [options] ID -- PROGRAM [ARG...]"

DEFINE_AUTO(struct osb_client *, osb_client_close);

/* The first member is the target of the options that run has too. */
struct exec_options {
	struct run_options run;
	bool interactive;
	bool detach;
	const char *id; /* in argv */
};

static const struct option exec_option_list[] = {
	{ "-i", OPTION_FLAG, offsetof(struct exec_options, interactive), NULL,
	  "give it our stdin, also if that is a terminal", NULL, NULL, 0, 0 },
	{ "--detach", OPTION_FLAG, offsetof(struct exec_options, detach), NULL,
	  "let it go on by itself; print its id", NULL, NULL, 0, 0 },
	{ "--pids", OPTION_COUNT, offsetof(struct exec_options, run.exec.pids),
	  "N", "processes and threads of it at once (the sandbox's)", NULL,
	  NULL, LIMITS_MIN_PIDS, LIMITS_MAX_PIDS },
	{ NULL, OPTION_FLAG, 0, NULL, NULL, NULL, NULL, 0, 0 },
};

static const struct option_table exec_table = {
	.options = exec_option_list,
	.also = run_program_options,
	.command = "exec",
};

static void print_help(void)
{
	printf("Usage: " USAGE "\n\n"
	       "Run a program in a sandbox that is there, and leave that "
	       "alone. Stdin (unless it\nis a terminal), stdout and stderr are "
	       "the program's own, and so is the exit status.\n\n");
	options_print(&exec_table);
}

/* ID, perhaps "--", PROGRAM. */
static int take_words(struct exec_options *options, int argc, char **argv,
		      int next)
{
	if (next >= argc) {
		(void)message("exec: an id is missing: expected " USAGE);
		return -EINVAL;
	}
	options->id = argv[next++];
	if (next < argc && strcmp(argv[next], "--") == 0) {
		next++;
	} else if (next < argc && argv[next][0] == '-') {
		(void)message(
			"exec '%s': options come before the id: expected " USAGE,
			argv[next]);
		return -EINVAL;
	}
	if (next >= argc || argv[next][0] == '\0') {
		(void)message("exec: %s: expected " USAGE,
			      next >= argc ? "a program is missing"
					   : "PROGRAM '' is empty");
		return -EINVAL;
	}
	options->run.program = argv + next;
	return 0;
}

/* What --detach doesn't go with. */
static int check_detach(const struct exec_options *options)
{
	const char *workdir = options->run.workdir;

	if (options->interactive || options->run.json) {
		(void)message(
			"--detach: not with %s: a program that goes on by itself has no stdin and, so far, no verdict",
			options->interactive ? "-i" : "--json");
		return -EINVAL;
	}
	if (workdir && strchr(workdir, '$')) {
		(void)message(
			"--workdir '%s': expected a path without $ with --detach: it would be expanded",
			workdir);
		return -EINVAL;
	}
	return 0;
}

static int parse(int argc, char **argv, struct exec_options *options)
{
	int next;
	int r = options_parse(&exec_table, argc, argv, options, &next);

	if (r == 0)
		r = take_words(options, argc, argv, next);
	if (r == 0 && options->detach)
		r = check_detach(options);
	return r;
}

static int detach(struct osb_client *client, const char *id,
		  const struct run_options *options)
{
	struct buf text auto_clean(buf_deinit) = BUF_NULL;
	char command[OSB_ID_MAX + 1];
	struct osb_command_spec spec = {
		.env = (const char *const *)options->env,
		.cwd = options->workdir,
		.user = options->user,
		.timeout_ms = options->timeout_ms,
		.limits = options->exec,
	};
	struct osb_error err;

	buf_init(&text, TEXT_MAX);
	buf_adds(&text, "exec ");
	quote_words(&text, (const char *const *)options->program);
	buf_add(&text, "", 1);
	if (text.failed)
		return message("run the program: its arguments are too long");
	spec.text = (const char *)buf_data(&text);
	if (osb_command_start(client, id, &spec, command, &err) == 0) {
		printf("%s\n", command);
		return 0;
	}
	/* The API's name for what is our --workdir. */
	if (strncmp(err.message, "cwd '", 5) == 0)
		return message("--workdir %s", err.message + 4);
	refused(options, &err, "run the program");
	return EXIT_OSB;
}

static int run_in_sandbox(const struct exec_options *options)
{
	struct osb_client *client auto_clean(osb_client_closep) = NULL;
	const struct program_how how = {
		.has_stdin = options->interactive || !isatty(STDIN_FILENO),
		.bind = false,
	};
	char id[OSB_ID_MAX + 1];

	if (open_client(&client) < 0 ||
	    id_resolve(client, "exec", options->id, id) < 0)
		return EXIT_OSB;
	if (options->detach)
		return detach(client, id, &options->run);
	return program_run(client, id, &options->run, &how);
}

static int run(int argc, char **argv)
{
	struct exec_options options = { .interactive = false };
	int status = EXIT_OSB;
	int r;

	run_options_init(&options.run, argc, argv);
	r = parse(argc, argv, &options);
	if (r == OPTIONS_E_HELP) {
		print_help();
		status = 0;
	} else if (r == 0) {
		status = run_in_sandbox(&options);
	}
	run_options_deinit(&options.run);
	return status;
}

const struct command command_exec = {
	.name = "exec",
	.args = "[options] ID -- PROGRAM [ARG...]",
	.summary = "the same in a sandbox that is there",
	.run = run,
};
