/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osb version - which build this is
 */

#include <stdio.h>

#include "build_id.h"
#include "cli/command.h"

static int run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("osb %s (build %s)\n", OSB_VERSION, OSB_BUILD_ID);
	return 0;
}

const struct command command_version = {
	.name = "version",
	.args = "",
	.summary = "print the version",
	.run = run,
};
