/* SPDX-License-Identifier: Apache-2.0 */

/*
 * seccomp - load the filter that tools/gen-seccomp made from exec.syscalls
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

int seccomp_load_exec(void)
{
	const struct sock_fprog program = {
		.len = ARRAY_SIZE(exec_filter),
		.filter = exec_filter,
	};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return -errno;
	return 0;
}
