/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/id.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/message.h"

#define ID_LEN 32

/* What is looked for among the ids of a list. */
struct id_search {
	const char *command; /* for messages, as the next two */
	const char *what;
	const char *prefix;
	const char *found;
	bool ambiguous;
};

static void look_at(struct id_search *search, const char *id)
{
	if (strncmp(id, search->prefix, strlen(search->prefix)) != 0)
		return;
	search->ambiguous = search->ambiguous || search->found;
	search->found = id;
}

/* Return: 0, or said on stderr. */
static int take_found(const struct id_search *search,
		      char ret_id[OSB_ID_MAX + 1])
{
	if (search->ambiguous) {
		(void)message(
			"%s '%s': more than one %s begins so: expected more of its id",
			search->command, search->prefix, search->what);
		return -EEXIST;
	}
	if (!search->found) {
		(void)message("%s '%s': there is no such %s", search->command,
			      search->prefix, search->what);
		return -ENOENT;
	}
	(void)snprintf(ret_id, OSB_ID_MAX + 1, "%s", search->found);
	return 0;
}

/* Return: 1 for a whole id, 0 for how one begins, or said on stderr. */
static int check(const char *command, const char *what, const char *arg)
{
	size_t len = strlen(arg);

	if (len < ID_PREFIX_MIN || len > OSB_ID_MAX ||
	    strspn(arg, "0123456789abcdef-") != len) {
		(void)message(
			"%s '%s': expected a %s id, or at least %d hex digits that it begins with",
			command, arg, what, ID_PREFIX_MIN);
		return -EINVAL;
	}
	return len >= ID_LEN;
}

int id_resolve(struct osb_client *client, const char *command, const char *arg,
	       char ret_id[OSB_ID_MAX + 1])
{
	struct osb_sandbox_info *infos auto_free = NULL;
	struct id_search search = {
		.command = command,
		.what = "sandbox",
		.prefix = arg,
	};
	struct osb_error err;
	size_t num;
	int r = check(command, "sandbox", arg);

	if (r == 1)
		(void)snprintf(ret_id, OSB_ID_MAX + 1, "%s", arg);
	if (r != 0)
		return r < 0 ? r : 0;
	if (osb_sandbox_list(client, &infos, &num, &err) < 0) {
		(void)message("list sandboxes: %s", err.message);
		return -EIO;
	}
	for (size_t i = 0; i < num; i++)
		look_at(&search, infos[i].id);
	return take_found(&search, ret_id);
}

int id_resolve_command(struct osb_client *client, const char *command,
		       const char *id, const char *arg,
		       char ret_id[OSB_ID_MAX + 1])
{
	struct osb_command_info *infos auto_free = NULL;
	struct id_search search = {
		.command = command,
		.what = "command",
		.prefix = arg,
	};
	struct osb_error err;
	size_t num;
	int r = check(command, "command", arg);

	if (r == 1)
		(void)snprintf(ret_id, OSB_ID_MAX + 1, "%s", arg);
	if (r != 0)
		return r < 0 ? r : 0;
	if (osb_command_list(client, id, &infos, &num, &err) < 0) {
		(void)message("list commands: %s", err.message);
		return -EIO;
	}
	for (size_t i = 0; i < num; i++)
		look_at(&search, infos[i].id);
	return take_found(&search, ret_id);
}
