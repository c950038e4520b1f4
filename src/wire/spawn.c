/* SPDX-License-Identifier: Apache-2.0 */

/*
 * #syscalls  socketpair clone fork fcntl close exit_group
 */

#include "wire/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/fdpass.h"

pid_t spawn(enum spawn_trust trust, void (*child)(void *arg, int sock_fd),
	    void *arg, int *ret_sock_fd)
{
	int sock[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return -errno;
	if (trust == SPAWN_REFUSES_FDS)
		fdpass_refuse(sock[0]);
	/* Only our end: the two are separate descriptions. */
	if (fcntl(sock[0], F_SETFL, O_NONBLOCK) < 0)
		pid = -1;
	else
		pid = fork();
	if (pid == 0) {
		child(arg, sock[1]);
		_exit(127);
	}
	if (pid < 0)
		pid = -errno;
	(void)close(sock[1]);
	if (pid < 0)
		(void)close(sock[0]);
	else
		*ret_sock_fd = sock[0];
	return pid;
}
