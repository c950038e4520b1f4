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

static struct sock_filter exec_filter[] = {
#include "exec_filter.h"
};

static struct sock_filter volume_filter[] = {
#include "volume_filter.h"
};

static int load(struct sock_filter *filter, unsigned short len)
{
	const struct sock_fprog program = { .len = len, .filter = filter };

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return -errno;
	return 0;
}

int seccomp_load_exec(bool has_writable_volume)
{
	int r = 0;

	if (has_writable_volume)
		r = load(volume_filter, ARRAY_SIZE(volume_filter));
	return r < 0 ? r : load(exec_filter, ARRAY_SIZE(exec_filter));
}
