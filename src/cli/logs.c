/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osb logs - what a command of a sandbox has printed
 *
 * Theory of operation. The log is read from a cursor on, which counts what we
 * have written: so whatever breaks off in the middle is gone on with at the
 * right byte. With -f the status is asked before the log is read to its end,
 * so that nothing which was printed before the end is missed. Silence makes
 * the rounds longer, up to WAIT_MAX_MS.
 *
 * A daemon that is started anew is waited for, AWAY_MAX_MS at most: command
 * and log outlive it.
 */

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/id.h"
#include "cli/message.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/whole.h"
#include "osb/osb.h"

#define USAGE "osb logs [-f] [--from N] ID COMMAND"
#define WAIT_MIN_MS 50
#define WAIT_MAX_MS 500
#define AWAY_MAX_MS 30000

DEFINE_AUTO(struct osb_client *, osb_client_close);

struct logs_options {
	uint64_t from;
	bool follow;
};

static int set_from(void *target, const char *value)
{
	struct logs_options *options = target;
	unsigned long long from;
	char *end;

	if (*value < '0' || *value > '9')
		return -EINVAL;
	errno = 0;
	from = strtoull(value, &end, 10);
	if (*end || errno || from > INT64_MAX)
		return -EINVAL;
	options->from = from;
	return 0;
}

static const struct option logs_option_list[] = {
	{ "-f", OPTION_FLAG, offsetof(struct logs_options, follow), NULL,
	  "go on until it ends; exit as it does", NULL, NULL, 0, 0 },
	{ "--from", OPTION_CUSTOM, 0, "N", "pass over the first N bytes (0)",
	  "a number of bytes, from 0 to 2^63-1", set_from, 0, 0 },
	{ NULL, OPTION_FLAG, 0, NULL, NULL, NULL, NULL, 0, 0 },
};

static const struct option_table logs_table = {
	.options = logs_option_list,
	.command = "logs",
};

struct logs {
	struct osb_client *client;
	char id[OSB_ID_MAX + 1];
	char command[OSB_ID_MAX + 1];
	uint64_t cursor;
	int out_failed; /* -errno */
	struct osb_command_info info;
};

static int put(void *ctx, const void *data, size_t len)
{
	struct logs *logs = ctx;
	int out_fd = STDOUT_FILENO;

	logs->out_failed = whole_write(&out_fd, data, len);
	return logs->out_failed;
}

/* All that is there now. Return: 0, or -errno with @err. */
static int read_all(struct logs *logs, struct osb_error *err)
{
	uint64_t before;
	int r;

	do {
		before = logs->cursor;
		r = osb_command_log(logs->client, logs->id, logs->command,
				    &logs->cursor, put, logs, err);
	} while (r == 0 && logs->cursor != before);
	return r;
}

static int fail(const struct logs *logs, const struct osb_error *err)
{
	if (logs->out_failed == -EPIPE) /* SIGPIPE is ignored */
		return EXIT_PIPE;
	if (logs->out_failed < 0)
		return message("write stdout: %s",
			       strerrordesc_np(-logs->out_failed));
	return message("logs '%s': %s", logs->command, err->message);
}

/* Is it worth to ask again: is the daemon just starting, or are we too fast? */
static bool is_away(const struct osb_error *err)
{
	if (err->status)
		return err->status == 429 || err->status == 503;
	return err->sys == EPIPE || err->sys == ECONNRESET ||
	       err->sys == ECONNREFUSED || err->sys == ETIMEDOUT;
}

static void wait_ms(unsigned int ms)
{
	const struct timespec wait = {
		.tv_sec = ms / 1000,
		.tv_nsec = (long)(ms % 1000) * 1000000,
	};

	(void)nanosleep(&wait, NULL); /* shorter is fine */
}

static int follow(struct logs *logs)
{
	unsigned int pause_ms = WAIT_MIN_MS;
	unsigned int away_ms = 0;
	struct osb_error err;

	for (;;) {
		uint64_t before = logs->cursor;
		int r = osb_command_get(logs->client, logs->id, logs->command,
					&logs->info, &err);

		if (r == 0)
			r = read_all(logs, &err);
		if (r == 0 && !logs->info.running)
			return 0;
		if (r < 0 && (logs->out_failed < 0 || !is_away(&err) ||
			      away_ms >= AWAY_MAX_MS))
			return fail(logs, &err);
		pause_ms = logs->cursor != before ? WAIT_MIN_MS : 2 * pause_ms;
		if (pause_ms > WAIT_MAX_MS)
			pause_ms = WAIT_MAX_MS;
		away_ms = r < 0 ? away_ms + pause_ms : 0;
		wait_ms(pause_ms);
	}
}

static int follow_to_end(struct logs *logs)
{
	struct osb_verdict *verdict = &logs->info.verdict;
	int status = follow(logs);

	if (status != 0)
		return status;
	if (verdict->truncated)
		(void)message(
			"logs '%s': it printed more than a log can hold: its end is missing",
			logs->command);
	if (verdict->kind != OSB_LOST) /* the kind says more than "killed" */
		verdict->message[0] = '\0';
	return program_status(verdict);
}

static int show(const struct logs_options *options, const char *sandbox_arg,
		const char *command_arg)
{
	struct osb_client *client auto_clean(osb_client_closep) = NULL;
	struct logs logs = { .cursor = options->from };
	struct osb_error err;

	if (open_client(&client) < 0 ||
	    id_resolve(client, "logs", sandbox_arg, logs.id) < 0 ||
	    id_resolve_command(client, "logs", logs.id, command_arg,
			       logs.command) < 0)
		return EXIT_OSB;
	logs.client = client;
	if (options->follow)
		return follow_to_end(&logs);
	if (read_all(&logs, &err) < 0)
		return fail(&logs, &err);
	return 0;
}

static int run(int argc, char **argv)
{
	struct logs_options options = { 0 };
	int next;
	int r = options_parse(&logs_table, argc, argv, &options, &next);

	if (r == OPTIONS_E_HELP) {
		printf("Usage: " USAGE "\n\n"
		       "Print what a command of a sandbox has printed so far, "
		       "stdout and stderr as they\ncame. osb ps ID lists the "
		       "commands.\n\n");
		options_print(&logs_table);
		return 0;
	}
	if (r < 0)
		return EXIT_OSB;
	if (argc - next != 2)
		return message("logs: expected " USAGE);
	return show(&options, argv[next], argv[next + 1]);
}

const struct command command_logs = {
	.name = "logs",
	.args = "[-f] ID COMMAND",
	.summary = "what a command has printed",
	.run = run,
};
