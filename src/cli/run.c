/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osb run - one program in one sandbox that ends with it
 *
 *	options → connect (or start a daemon) → create → copy files in →
 *	exec, carrying stdin, stdout, stderr and signals → its exit status
 *
 * The sandbox is bound to our connection from its first moment, so that
 * however we end, kill -9 included, nothing of it is left.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/copy.h"
#include "cli/message.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/pump.h"
#include "cli/refused.h"
#include "cli/report.h"
#include "cli/run_options.h"
#include "osb/osb.h"

DEFINE_AUTO(struct osb_client *, osb_client_close);
DEFINE_AUTO(struct osb_exec *, osb_exec_free);

static void print_help(void)
{
	printf("Usage: osb run [options] -- PROGRAM [ARG...]\n\n"
	       "Run a program in a fresh sandbox that ends with it. Stdin, "
	       "stdout and stderr\nare the program's own, and so is the exit "
	       "status.\n\n");
	run_options_print();
	printf("\nExit status: the program's; 124 its time was over; "
	       "125 osb failed;\n126 it can't be executed; 127 it wasn't "
	       "found; 128+N ended by signal N\n(137: killed, or out of "
	       "memory). See osb(1).\n");
}

static int create(struct osb_client *client, const struct run_options *options,
		  char ret_id[OSB_ID_MAX + 1])
{
	const struct osb_sandbox_spec spec = {
		.image = options->image,
		.limits = options->limits,
		.volumes = options->volumes,
		.num_volumes = options->num_volumes,
		.bind = true,
	};
	struct osb_error err;
	int r;

	r = osb_sandbox_create(client, &spec, ret_id, &err);
	if (r < 0)
		refused(options, &err, "create a sandbox");
	return r;
}

/* What a person should know and can't see from the exit status alone. */
static void explain(const struct osb_verdict *verdict)
{
	const char *text =
		verdict->message[0] ? verdict->message : verdict->name;
	bool own_end = verdict->kind == OSB_EXITED ||
		       (verdict->kind == OSB_SIGNALED &&
			verdict->signal_number != SIGKILL);

	if (own_end && verdict->started)
		return;
	/* The API's name for what is our --workdir. */
	if (!verdict->started && strncmp(text, "cwd '", 5) == 0)
		(void)message("--workdir %s", text + 4);
	else
		(void)message("%s", text);
}

static int exit_status(const struct osb_verdict *verdict)
{
	switch (verdict->kind) {
	case OSB_EXITED:
		return verdict->exit_code;
	case OSB_SIGNALED:
		return EXIT_SIGNAL_BASE + verdict->signal_number;
	case OSB_KILLED:
	case OSB_OOM:
		return EXIT_KILLED;
	case OSB_WALL_TIMEOUT:
		return EXIT_TIMEOUT;
	case OSB_LOST:
		break;
	}
	return EXIT_OSB;
}

/* The program has ended and its output is through, or can't go anywhere. */
static int finish(const struct run_options *options,
		  const struct output *output,
		  const struct osb_verdict *verdict)
{
	int r = output->failed;

	if (r == 0 && options->json)
		r = report_print(verdict, output);
	if (r == -EPIPE) /* SIGPIPE is ignored, else it had ended us */
		return EXIT_PIPE;
	if (r < 0)
		return message("write %s: %s",
			       output->failed_stream == OSB_STDERR ? "stderr"
								   : "stdout",
			       strerrordesc_np(-r));
	if (options->json)
		return 0;
	explain(verdict);
	return exit_status(verdict);
}

static int run_program(struct osb_client *client, const char *id,
		       const struct run_options *options, struct output *output)
{
	struct osb_exec *exec auto_clean(osb_exec_freep) = NULL;
	const struct osb_exec_spec spec = {
		.argv = (const char *const *)options->program,
		.env = (const char *const *)options->env,
		.cwd = options->workdir,
		.user = options->user,
		.timeout_ms = options->timeout_ms,
		.has_stdin = true,
		.bind = true,
		.on_output = output_take,
		.ctx = output,
	};
	struct osb_error err;
	int signal_number = 0;
	int r;

	r = osb_exec_start(client, id, &spec, &exec, &err);
	if (r == 0)
		r = pump_run(exec, output, &signal_number, &err);
	if (r == PUMP_E_SIGNAL)
		return EXIT_SIGNAL_BASE + signal_number;
	if (r < 0) {
		refused(options, &err, "run the program");
		return EXIT_OSB;
	}
	return finish(options, output, osb_exec_verdict(exec));
}

static int run_in_sandbox(const struct run_options *options)
{
	struct osb_client *client auto_clean(osb_client_closep) = NULL;
	struct output output;
	char id[OSB_ID_MAX + 1];
	int status;

	if (copy_check(options) < 0 || open_client(&client) < 0 ||
	    create(client, options, id) < 0 ||
	    copy_all(client, id, options) < 0)
		return EXIT_OSB; /* each of them has said why */
	output_init(&output, options->json);
	status = run_program(client, id, options, &output);
	output_deinit(&output);
	return status;
}

static int run(int argc, char **argv)
{
	struct run_options options;
	int status = EXIT_OSB;
	int r;

	r = run_options_parse(argc, argv, &options);
	if (r == OPTIONS_E_HELP) {
		print_help();
		status = 0;
	} else if (r == 0) {
		status = run_in_sandbox(&options);
	}
	run_options_deinit(&options);
	return status;
}

const struct command command_run = {
	.name = "run",
	.args = "[options] -- PROGRAM [ARG...]",
	.summary = "run a program in a fresh sandbox",
	.run = run,
};
