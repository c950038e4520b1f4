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
	if (r < 0)
		return -errno;
	return r > 0 ? -ECANCELED : 0; /* a thread with a filter of its own */
}

int seccomp_load(struct sock_filter *filter, size_t len)
{
	return load(filter, len, 0);
}

int seccomp_load_all_threads(struct sock_filter *filter, size_t len)
{
	return load(filter, len, SECCOMP_FILTER_FLAG_TSYNC);
}

int seccomp_load_exec(unsigned int walls)
{
	int r = 0;

	if (walls & CONFINE_NO_SET_ID)
		r = seccomp_load(volume_filter, ARRAY_SIZE(volume_filter));
	if (r == 0 && walls & CONFINE_FEWER_CALLS)
		r = seccomp_load(strict_filter, ARRAY_SIZE(strict_filter));
	return r < 0 ? r : seccomp_load(exec_filter, ARRAY_SIZE(exec_filter));
}
