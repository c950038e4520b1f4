/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/open.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build_id.h"
#include "cli/message.h"
#include "osb/osb.h"

void open_program(const char *name, char ret_path[PROGRAM_PATH_MAX])
{
	size_t size = strlen(name) + 1;
	char *slash;
	ssize_t n;

	n = readlink("/proc/self/exe", ret_path, PROGRAM_PATH_MAX - 1);
	if (n > 0) {
		ret_path[n] = '\0';
		slash = strrchr(ret_path, '/');
		if (slash &&
		    (size_t)(slash + 1 - ret_path) + size <= PROGRAM_PATH_MAX) {
			memcpy(slash + 1, name, size);
			if (access(ret_path, X_OK) == 0)
				return;
		}
	}
	(void)snprintf(ret_path, PROGRAM_PATH_MAX, "%s/%s", OSB_LIBEXECDIR,
		       name);
}

int open_client(struct osb_client **ret_client)
{
	char broker_path[PROGRAM_PATH_MAX];
	const struct osb_client_options options = {
		.broker_path = broker_path,
		.api_key = getenv("OPEN_SANDBOX_API_KEY"),
		.build_id = OSB_BUILD_ID,
	};
	struct osb_error err;
	int r;

	open_program("osb-broker", broker_path);
	r = osb_client_open(&options, ret_client, &err);
	if (r < 0)
		(void)message("%s", err.message);
	return r;
}
