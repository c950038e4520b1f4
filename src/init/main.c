/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osb-init - first process of every sandbox, and the launcher that makes them
 *
 * Purpose:    hold a domain's user namespace (launcher), be PID 1 inside a
 *             sandbox (init).
 * Process:    static; started by osb-broker as a launcher. Init is a clone of
 *             the launcher without an exec, which is why both are one binary:
 *             an exec would cost as much as half a sandbox.
 * Input from: the broker, trusted; osbd, trusted to run programs inside;
 *             user code: none but exit statuses and counters.
 */

#include <string.h>
#include <unistd.h>

#include "init/init.h"

int main(int argc, char **argv)
{
	static const char usage[] =
		"osb-init is started by osb-broker, never by hand\n";

	if (argc == 3 && strcmp(argv[1], "--launcher") == 0)
		return launcher_main(argv);
	(void)!write(STDERR_FILENO, usage, sizeof(usage) - 1);
	return 2;
}
