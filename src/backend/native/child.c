/* SPDX-License-Identifier: Apache-2.0 */

/*
 * child - is a process that a launcher names the one it was told to make?
 * And what becomes of those that it doesn't name.
 *
 * What we take for a sandbox's init we kill when the sandbox ends. A launcher
 * that was taken over must not make us do that to osbd, another domain's
 * launcher or anybody on the host. So what counts isn't whom we know, but what
 * only the right one can be: our child, in the cgroup that we have made for
 * this sandbox and no other. See clone3(2), CLONE_INTO_CGROUP.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/native.h"
#include "base/cleanup.h"
#include "base/file.h"

/* Is it the process in this v2 directory? */
static bool is_in_cgroup(pid_t pid, int cgroup_fd)
{
	char text[32];

	return file_read_at(cgroup_fd, "cgroup.procs", text, sizeof(text)) ==
		       0 &&
	       file_number(text) == (uint64_t)pid;
}

static bool is_known(const struct native *native, pid_t pid)
{
	if (pid == native->front_pid || pid == native->disk.pid)
		return true;
	for (unsigned int i = 0; i < NATIVE_DOMAINS_MAX; i++) {
		if (native->domains[i].launcher_pid == pid)
			return true;
	}
	for (unsigned int i = 0; i < native->high; i++) {
		if (native->sandboxes[i].pid == pid)
			return true;
	}
	return false;
}

/*
 * Whatever a launcher clones is our child, also what it doesn't tell, or
 * couldn't since it died: without this each stays a zombie for ever. There is
 * no waiting for "anybody else", so the kernel's list is read.
 */
void child_reap_others(struct native *native)
{
	struct numbers pids auto_clean(numbers_close) = NUMBERS_NULL;
	siginfo_t info;
	uint64_t pid;

	if (native->num_looks == 0)
		return;
	native->num_looks--;
	numbers_open(&pids, AT_FDCWD, "/proc/thread-self/children");
	while (numbers_next(&pids, &pid)) {
		info.si_pid = 0;
		if (pid <= 1 || is_known(native, (pid_t)pid))
			continue;
		if (waitid(P_PID, (id_t)pid, &info,
			   WEXITED | WNOHANG | __WALL) == 0 &&
		    info.si_pid == 0)
			native->num_looks = NATIVE_LOOKS; /* it lives on */
	}
}

int child_open(const struct native *native, pid_t in_pid, int cgroup_fd,
	       int *ret_pidfd)
{
	siginfo_t info = { 0 };
	int fd auto_fd = -1;

	if (in_pid <= 1 || is_known(native, in_pid))
		return -EPROTO;
	fd = pidfd_open(in_pid, 0);
	if (fd < 0)
		return -errno;
	if (waitid(P_PIDFD, (id_t)fd, &info,
		   WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 ||
	    !is_in_cgroup(in_pid, cgroup_fd))
		return -EPROTO;
	*ret_pidfd = take_fd(&fd);
	return 0;
}
