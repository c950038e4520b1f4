/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/id.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/message.h"

#define ID_LEN 32

/* The one sandbox whose id starts with @prefix: 0, or said on stderr. */
static int find_by_prefix(struct osb_client *client, const char *command,
			  const char *prefix, char ret_id[OSB_ID_MAX + 1])
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
				"%s '%s': more than one sandbox begins so: expected more of its id",
				command, prefix);
			return -EEXIST;
		}
		found = infos[i].id;
	}
	if (!found) {
		(void)message("%s '%s': there is no such sandbox", command,
			      prefix);
		return -ENOENT;
	}
	(void)snprintf(ret_id, OSB_ID_MAX + 1, "%s", found);
	return 0;
}

int id_resolve(struct osb_client *client, const char *command, const char *arg,
	       char ret_id[OSB_ID_MAX + 1])
{
	size_t len = strlen(arg);

	if (len < ID_PREFIX_MIN || len > OSB_ID_MAX ||
	    strspn(arg, "0123456789abcdef-") != len) {
		(void)message(
			"%s '%s': expected a sandbox id, or at least %d hex digits that it begins with",
			command, arg, ID_PREFIX_MIN);
		return -EINVAL;
	}
	if (len < ID_LEN)
		return find_by_prefix(client, command, arg, ret_id);
	(void)snprintf(ret_id, OSB_ID_MAX + 1, "%s", arg);
	return 0;
}
