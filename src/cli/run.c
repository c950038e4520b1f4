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

#include <stdio.h>

#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/copy.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/refused.h"
#include "cli/run_options.h"
#include "osb/osb.h"

DEFINE_AUTO(struct osb_client *, osb_client_close);

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
		.profile = options->profile,
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

static int run_in_sandbox(const struct run_options *options)
{
	const struct program_how how = { .has_stdin = true, .bind = true };
	struct osb_client *client auto_clean(osb_client_closep) = NULL;
	char id[OSB_ID_MAX + 1];

	if (copy_check(options, COPY_AS_OPTION) < 0 ||
	    open_client(&client) < 0 || create(client, options, id) < 0 ||
	    copy_all(client, id, options, COPY_AS_OPTION) < 0)
		return EXIT_OSB; /* each of them has said why */
	return program_run(client, id, options, &how);
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
