/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osb kill - end a command of a sandbox
 */

#include <stdio.h>

#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/id.h"
#include "cli/message.h"
#include "cli/open.h"
#include "cli/options.h"
#include "osb/osb.h"

#define USAGE "osb kill [-9] ID COMMAND"

DEFINE_AUTO(struct osb_client *, osb_client_close);

struct kill_options {
	bool at_once;
};

static const struct option kill_option_list[] = {
	{ "-9", OPTION_FLAG, offsetof(struct kill_options, at_once), NULL,
	  "SIGKILL at once, and forget it with its log", NULL, NULL, 0, 0 },
	{ NULL, OPTION_FLAG, 0, NULL, NULL, NULL, NULL, 0, 0 },
};

static const struct option_table kill_table = {
	.options = kill_option_list,
	.command = "kill",
};

static int end_command(const char *sandbox_arg, const char *command_arg,
		       bool at_once)
{
	struct osb_client *client auto_clean(osb_client_closep) = NULL;
	char id[OSB_ID_MAX + 1], command[OSB_ID_MAX + 1];
	struct osb_error err;
	int r;

	if (open_client(&client) < 0 ||
	    id_resolve(client, "kill", sandbox_arg, id) < 0 ||
	    id_resolve_command(client, "kill", id, command_arg, command) < 0)
		return EXIT_OSB;
	r = at_once ? osb_command_delete(client, id, command, &err)
		    : osb_command_interrupt(client, id, command, &err);
	if (r < 0)
		return message("kill '%s': %s", command_arg, err.message);
	return 0;
}

static int run(int argc, char **argv)
{
	struct kill_options options = { false };
	int next;
	int r = options_parse(&kill_table, argc, argv, &options, &next);

	if (r == OPTIONS_E_HELP) {
		printf("Usage: " USAGE "\n\n"
		       "End a command of a sandbox, with all that it started: "
		       "SIGTERM, and SIGKILL 3 s\nlater. osb ps ID lists "
		       "them; osb rm ID ends a sandbox.\n\n");
		options_print(&kill_table);
		return 0;
	}
	if (r < 0)
		return EXIT_OSB;
	if (argc - next == 1)
		return message(
			"kill '%s': a command is missing: expected " USAGE
			"; to end the sandbox: osb rm ID",
			argv[next]);
	if (argc - next != 2)
		return message("kill: expected " USAGE);
	return end_command(argv[next], argv[next + 1], options.at_once);
}

const struct command command_kill = {
	.name = "kill",
	.args = "[-9] ID COMMAND",
	.summary = "end a command of a sandbox",
	.run = run,
};
