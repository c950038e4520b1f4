/* SPDX-License-Identifier: Apache-2.0 */

/*
 * grab - what osbd's own privileges must not allow
 *
 * Each is one plain attempt; the test says what it expects, and lets the same
 * attempt succeed as root for a control. A kill goes to our parent only, which
 * is the broker.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "hostile/hostile.h"

static int done(long r)
{
	return r < 0 ? -errno : 0;
}

static int grab_read(const char *path)
{
	int fd auto_fd = open(path, O_RDONLY | O_CLOEXEC);
	char byte;

	return fd < 0 ? -errno : done(read(fd, &byte, 1));
}

static int grab_write(const char *path)
{
	int fd auto_fd = open(path, O_WRONLY | O_CLOEXEC);

	return done(fd);
}

static int grab_create(const char *name)
{
	int fd auto_fd = openat(OSBD_FD_SANDBOXES, name,
				O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	return done(fd);
}

static int grab_list(const char *arg)
{
	int fd auto_fd = openat(OSBD_FD_SANDBOXES, ".",
				O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)arg;
	return done(fd);
}

static int grab_unlink(const char *name)
{
	return done(unlinkat(OSBD_FD_SANDBOXES, name, 0));
}

static int grab_connect(const char *name)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd auto_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path),
		       "/proc/self/fd/%d/%s", OSBD_FD_SANDBOXES, name);
	return done(connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
}

static int grab_ptrace(const char *arg)
{
	pid_t pid = getppid();
	int r;

	(void)arg;
	r = done(ptrace(PTRACE_SEIZE, pid, NULL, NULL));
	if (r == 0)
		(void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return r;
}

static int grab_kill(const char *arg)
{
	pid_t pid = getppid();

	(void)arg;
	return pid > 0 ? done(kill(pid, SIGHUP)) : -ESRCH;
}

static int grab_mount(const char *arg)
{
	(void)arg;
	return done(mount("none", "/mnt", "tmpfs", 0, NULL));
}

static int grab_setns(const char *path)
{
	int fd auto_fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : done(setns(fd, 0));
}

static int grab_userns(const char *arg)
{
	pid_t pid = fork(); /* so that nothing of ours changes */
	int status;

	(void)arg;
	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER) < 0 ? errno : 0);
	if (pid < 0)
		return -errno;
	(void)waitpid(pid, &status, 0);
	return -WEXITSTATUS(status);
}

static int grab_caps(const char *arg)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = { 0 };

	(void)arg;
	data[0].effective = data[0].permitted = 1u << CAP_DAC_OVERRIDE;
	return done(syscall(SYS_capset, &head, data));
}

static int grab_setuid(const char *arg)
{
	(void)arg;
	return done(syscall(SYS_setresuid, 0, 0, 0));
}

static const struct {
	const char *name;
	int (*fn)(const char *arg);
} grabs[] = {
	{ "read", grab_read },     { "write", grab_write },
	{ "create", grab_create }, { "list", grab_list },
	{ "unlink", grab_unlink }, { "connect", grab_connect },
	{ "ptrace", grab_ptrace }, { "kill", grab_kill },
	{ "mount", grab_mount },   { "setns", grab_setns },
	{ "userns", grab_userns }, { "caps", grab_caps },
	{ "setuid", grab_setuid },
};

int grab(const char *name, const char *arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(grabs); i++) {
		if (strcmp(name, grabs[i].name) == 0)
			return grabs[i].fn(arg);
	}
	return -EINVAL;
}
