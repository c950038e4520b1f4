/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osb rm - end sandboxes
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/open.h"
#include "cli/options.h"
#include "osb/osb.h"

#define PREFIX_MIN 6 /* shorter ones hit a foreign sandbox too easily */
#define ID_LEN 32

DEFINE_AUTO(struct osb_client *, osb_client_close);

static const struct option rm_option_list[] = {
	{ NULL, OPTION_FLAG, 0, NULL, NULL, NULL, NULL, 0, 0 },
};

static const struct option_table rm_table = {
	.options = rm_option_list,
	.command = "rm",
};

/* The one sandbox whose id starts with @prefix: 0, or said on stderr. */
static int find_by_prefix(struct osb_client *client, const char *prefix,
			  char ret_id[OSB_ID_MAX + 1])
{
	struct osb_sandbox_info *infos auto_free = NULL;
	const char *found = NULL;
	struct osb_error err;
	size_t num;

	if (osb_sandbox_list(client, &infos, &num, &err) < 0) {
		(void)message("list sandboxes: %s", err.message);
		return -EIO;
	}
	for (size_t i = 0; i < num; i++) {
		if (strncmp(infos[i].id, prefix, strlen(prefix)) != 0)
			continue;
		if (found) {
			(void)message(
				"rm '%s': more than one sandbox begins so: expected more of its id",
				prefix);
			return -EEXIST;
		}
		found = infos[i].id;
	}
	if (!found) {
		(void)message("rm '%s': there is no such sandbox", prefix);
		return -ENOENT;
	}
	(void)snprintf(ret_id, OSB_ID_MAX + 1, "%s", found);
	return 0;
}

static int remove_one(struct osb_client *client, const char *arg)
{
	char id[OSB_ID_MAX + 1];
	struct osb_error err;
	size_t len = strlen(arg);
	int r;

	if (len < PREFIX_MIN || len > OSB_ID_MAX ||
	    strspn(arg, "0123456789abcdef-") != len) {
		(void)message(
			"rm '%s': expected a sandbox id, or at least %d hex digits that it begins with",
			arg, PREFIX_MIN);
		return -EINVAL;
	}
	(void)snprintf(id, sizeof(id), "%s", arg);
	if (len < ID_LEN) {
		r = find_by_prefix(client, arg, id);
		if (r < 0)
			return r;
	}
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
		       PREFIX_MIN);
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
