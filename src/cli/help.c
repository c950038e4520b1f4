/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osb help - what there is
 */

#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/message.h"

static int help_for(const char *name)
{
	char help_option[] = "--help";

	for (const struct command *const *c = command_list(); *c; c++) {
		char *argv[] = { (char[]){ "osb" }, help_option, NULL };

		if (strcmp((*c)->name, name) == 0 && *c != &command_help)
			return (*c)->run(2, argv);
	}
	return message("help '%s': there is no such command: see 'osb --help'",
		       name);
}

static int run(int argc, char **argv)
{
	if (argc > 1 && argv[1][0] != '-')
		return help_for(argv[1]);
	printf("Usage: osb COMMAND [ARG...]\n\n"
	       "Run programs where they can do no harm.\n\n"
	       "Commands:\n");
	for (const struct command *const *c = command_list(); *c; c++) {
		char left[64];

		(void)snprintf(left, sizeof(left), "%s %s", (*c)->name,
			       (*c)->args);
		printf("  %-38s %s\n", left, (*c)->summary);
	}
	printf("\n'osb COMMAND --help' tells more; so does osb(1).\n"
	       "Try: osb run -- python3 -c 'print(6 * 7)'\n");
	return 0;
}

const struct command command_help = {
	.name = "help",
	.args = "[COMMAND]",
	.summary = "what a command does",
	.run = run,
};
