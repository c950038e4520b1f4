/* SPDX-License-Identifier: Apache-2.0 */

#include "confine/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/*
 * What is left even to root inside: enough for a package manager to unpack,
 * chown and drop privileges, nothing that reaches past the sandbox's own
 * files and processes. SECURITY.md and the escape tests hold the same list.
 */
#define CAPS_INSIDE                                                            \
	(CAPS_BIT(CAP_CHOWN) | CAPS_BIT(CAP_DAC_OVERRIDE) |                    \
	 CAPS_BIT(CAP_FOWNER) | CAPS_BIT(CAP_FSETID) | CAPS_BIT(CAP_KILL) |    \
	 CAPS_BIT(CAP_SETGID) | CAPS_BIT(CAP_SETUID) | CAPS_BIT(CAP_SETFCAP) | \
	 CAPS_BIT(CAP_NET_BIND_SERVICE))

/*
 * No user namespace below ours: whatever call would make one gets ENOSPC.
 * A count and not a filter, because clone3's flags are behind a pointer.
 */
int confine_forbid_userns(void)
{
	int fd auto_fd = open("/proc/sys/user/max_user_namespaces",
			      O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (write(fd, "0", 1) != 1)
		return -errno;
	return 0;
}

int confine_bound(void)
{
	return caps_bound(CAPS_INSIDE);
}

/*
 * Init's alone: to write an answer into the memory of who asked. It isn't in
 * the bounding set any more, so no program gets it.
 */
#define CAPS_INIT CAPS_BIT(CAP_SYS_PTRACE)

int confine_init(unsigned int walls, int *ret_listener_fd)
{
	const uint64_t keep = walls & CONFINE_NO_SET_ID
				      ? CAPS_INSIDE & ~CAPS_BIT(CAP_SETFCAP)
				      : CAPS_INSIDE;
	int r;

	/*
	 * A file capability is worth as much on the host as a set-id bit, and
	 * no filter can see an attribute's name.
	 */
	r = caps_bound(keep);
	if (r == 0)
		r = caps_keep(keep | CAPS_INIT);
	if (r < 0)
		return r;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return seccomp_load_exec(walls, ret_listener_fd);
}

/* Raw calls: glibc's broadcast to threads, which a vfork child must not. */
static int become(uint32_t uid, uint32_t gid)
{
	if (syscall(SYS_setgroups, 0, NULL) < 0 ||
	    syscall(SYS_setresgid, gid, gid, gid) < 0 ||
	    syscall(SYS_setresuid, uid, uid, uid) < 0)
		return -errno;
	/* Init isn't uid 0, so the change of ids alone drops nothing. */
	return uid ? caps_keep(0) : 0;
}

int confine_exec(const struct confine *confine)
{
	const struct rlimit nofile = { confine->nofile, confine->nofile };
	/*
	 * Of 1 no core dump comes to be, and no program of the host's is
	 * started to take one: where core_pattern is a pipe, 0 doesn't count.
	 */
	const struct rlimit no_core = { 1, 1 };

	(void)umask(022); /* can't fail */
	if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &nofile, NULL) < 0 ||
	    syscall(SYS_prlimit64, 0, RLIMIT_CORE, &no_core, NULL) < 0)
		return -errno;
	if (confine->ruleset_fd >= 0 &&
	    syscall(SYS_landlock_restrict_self, confine->ruleset_fd, 0) < 0)
		return -errno;
	return become(confine->uid, confine->gid);
}

int confine_daemon(uint32_t uid, uint32_t gid)
{
	int r;

	r = become(uid, gid);
	if (r < 0)
		return r;
	r = caps_keep(0);
	if (r < 0)
		return r;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return 0;
}
