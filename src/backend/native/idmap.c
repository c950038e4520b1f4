/* SPDX-License-Identifier: Apache-2.0 */

/*
 * idmap - a user namespace that nobody lives in, for id-mapped mounts
 *
 * A child makes the namespace and waits; we write its maps as the host's
 * root, keep the namespace by descriptor, and let the child go.
 * See mount_setattr(2), user_namespaces(7).
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/native.h"
#include "base/cleanup.h"
#include "base/file.h"

/* Signals by closing its end of the pipe; then waits to be killed. */
__attribute__((noreturn)) static void hold_namespace(int pipe_fd)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (unshare(CLONE_NEWUSER) < 0)
		_exit(1);
	(void)close(pipe_fd);
	for (;;)
		(void)pause();
}

static int write_maps(pid_t pid, uint32_t base, uint32_t count)
{
	char path[48], map[48];
	int r;

	(void)snprintf(map, sizeof(map), "0 %u %u", base, count);
	(void)snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	r = file_write_at(AT_FDCWD, path, map);
	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	return file_write_at(AT_FDCWD, path, map);
}

static int open_namespace(pid_t pid, uint32_t base, uint32_t count)
{
	char path[48];
	int r;

	r = write_maps(pid, base, count);
	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	r = open(path, O_RDONLY | O_CLOEXEC);
	return r < 0 ? -errno : r;
}

int idmap_open(uint32_t base, uint32_t count, int *ret_userns_fd,
	       struct err *err)
{
	int pipe_fds[2];
	pid_t pid;
	char byte;
	int r;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return err_set(err, ERR_INTERNAL, errno, "pipe");
	pid = fork();
	if (pid == 0) {
		(void)close(pipe_fds[0]);
		hold_namespace(pipe_fds[1]);
	}
	(void)close(pipe_fds[1]);
	if (pid < 0) {
		r = -errno;
		(void)close(pipe_fds[0]);
		return err_set(err, ERR_INTERNAL, -r, "fork");
	}
	(void)!read(pipe_fds[0], &byte, 1); /* end of file: unshared, or dead */
	(void)close(pipe_fds[0]);
	r = open_namespace(pid, base, count);
	(void)kill(pid, SIGKILL); /* pid > 0, our own unreaped child */
	(void)waitpid(pid, NULL, 0);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r,
			       "make a user namespace for id maps");
	*ret_userns_fd = r;
	return 0;
}
