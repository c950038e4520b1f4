/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osb rm - end sandboxes
 */

#include <stdio.h>

#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/id.h"
#include "cli/message.h"
#include "cli/open.h"
#include "cli/options.h"
#include "osb/osb.h"

DEFINE_AUTO(struct osb_client *, osb_client_close);

static const struct option rm_option_list[] = {
	{ NULL, OPTION_FLAG, 0, NULL, NULL, NULL, NULL, 0, 0 },
};

static const struct option_table rm_table = {
	.options = rm_option_list,
	.command = "rm",
};

static int remove_one(struct osb_client *client, const char *arg)
{
	char id[OSB_ID_MAX + 1];
	struct osb_error err;
	int r = id_resolve(client, "rm", arg, id);

	if (r < 0)
		return r;
	r = osb_sandbox_delete(client, id, &err);
	if (r < 0)
		(void)message("rm '%s': %s", arg, err.message);
	return r;
}

static int run(int argc, char **argv)
{
	struct osb_client *client auto_clean(osb_client_closep) = NULL;
	char unused;
	int status = 0;
	int next, r;

	r = options_parse(&rm_table, argc, argv, &unused, &next);
	if (r == OPTIONS_E_HELP) {
		printf("Usage: osb rm ID...\n\n"
		       "End sandboxes, with all that runs in them. An ID may "
		       "be shortened to its\nfirst %d or more hex digits.\n",
		       ID_PREFIX_MIN);
		return 0;
	}
	if (r < 0)
		return EXIT_OSB;
	if (next >= argc)
		return message("rm: an id is missing: expected osb rm ID...");
	if (open_client(&client) < 0)
		return EXIT_OSB;
	for (; next < argc; next++) /* one failure doesn't spare the others */
		if (remove_one(client, argv[next]) < 0)
			status = EXIT_OSB;
	return status;
}

const struct command command_rm = {
	.name = "rm",
	.args = "ID...",
	.summary = "end sandboxes",
	.run = run,
};
