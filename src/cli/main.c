/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osb - the person's end of OpenSandbox
 *
 * Purpose:    commands over the same HTTP API that every client uses.
 * Process:    osb; the caller's, with no privilege of its own.
 * Input from: the command line (the caller's); osbd and through it sandboxes
 *             (hostile: bounded and parsed in client/).
 * Ownership:  one connection and one sandbox at most; both end with us.
 * Threading:  one thread, one poll loop (pump.c).
 * See:        docs/man/osb.1
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/message.h"

static const struct command *const commands[] = {
	&command_run,     &command_exec,  &command_ps,    &command_logs,
	&command_kill,    &command_cp,    &command_renew, &command_rm,
	&command_profile, &command_serve, &command_audit, &command_version,
	&command_help,    NULL,
};

const struct command *const *command_list(void)
{
	return commands;
}

/*
 * A caller may start us with a standard stream closed. What we open next
 * would take its number, and a program's output could go to our socket.
 */
static int fill_standard_fds(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		if (open("/dev/null", O_RDWR | O_NOCTTY) < 0)
			return -errno;
	}
	return 0;
}

/* "--help" and "--version" are what people try first. */
static const char *command_name(const char *arg)
{
	if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0)
		return command_help.name;
	if (strcmp(arg, "--version") == 0)
		return command_version.name;
	return arg;
}

int main(int argc, char **argv)
{
	const char *name;

	if (fill_standard_fds() < 0)
		return EXIT_OSB; /* nowhere to say why */
	if (argc < 2)
		return message("a command is missing: see 'osb --help'");
	name = command_name(argv[1]);
	for (size_t i = 0; commands[i]; i++) {
		int status;

		if (strcmp(commands[i]->name, name) != 0)
			continue;
		status = commands[i]->run(argc - 1, argv + 1);
		if (fflush(stdout) != 0)
			return message("write stdout: %s",
				       strerrordesc_np(errno));
		return status;
	}
	return message("unknown command '%s': see 'osb --help'", argv[1]);
}
