/* SPDX-License-Identifier: Apache-2.0 */

/*
 * seccomp - load what tools/gen-seccomp made of the lists of system calls
 */

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "confine/confine.h"
#include "confine/sanitized.h"

static struct sock_filter exec_filter[] = {
#include "exec_filter.h"
};

static struct sock_filter volume_filter[] = {
#include "volume_filter.h"
};

static struct sock_filter strict_filter[] = {
#include "strict_filter.h"
};

/* Return: the listener's descriptor if @flags want one, else 0; or -errno. */
static int load(struct sock_filter *filter, size_t len, unsigned int flags)
{
	const struct sock_fprog program = {
		.len = (unsigned short)len,
		.filter = filter,
	};
	long r;

	if (IS_SANITIZED)
		return 0;
	r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	return r < 0 ? -errno : (int)r;
}

int seccomp_load(struct sock_filter *filter, size_t len)
{
	return load(filter, len, 0);
}

int seccomp_load_all_threads(struct sock_filter *filter, size_t len)
{
	int r = load(filter, len, SECCOMP_FILTER_FLAG_TSYNC);

	return r > 0 ? -ECANCELED : r; /* a thread with a filter of its own */
}

/*
 * There is one listener at most above a process. If a container engine that
 * we were started in has it, the kernel answers, and shows the host.
 */
static int load_without_listener(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(exec_filter); i++) {
		if (exec_filter[i].code == (BPF_RET | BPF_K) &&
		    exec_filter[i].k == SECCOMP_RET_USER_NOTIF)
			exec_filter[i].k = SECCOMP_RET_ALLOW;
	}
	return load(exec_filter, ARRAY_SIZE(exec_filter), 0);
}

int seccomp_load_exec(unsigned int walls, int *ret_listener_fd)
{
	int r = 0;

	*ret_listener_fd = -1;
	if (walls & CONFINE_NO_SET_ID)
		r = seccomp_load(volume_filter, ARRAY_SIZE(volume_filter));
	if (r == 0 && walls & CONFINE_FEWER_CALLS)
		r = seccomp_load(strict_filter, ARRAY_SIZE(strict_filter));
	/* No signal ends a call that is being answered, but one that kills. */
	if (r == 0)
		r = load(exec_filter, ARRAY_SIZE(exec_filter),
			 SECCOMP_FILTER_FLAG_NEW_LISTENER |
				 SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
	if (r == -EBUSY)
		r = load_without_listener();
	if (r <= 0)
		return r;
	*ret_listener_fd = r;
	return 0;
}
