/* SPDX-License-Identifier: Apache-2.0 */

/* #syscalls  sched_getattr sched_setattr */

#include "base/latency.h"

#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE_NS 100000u /* the shortest there is */

void latency_prefer(void)
{
	struct sched_attr attr;

	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) < 0 ||
	    attr.sched_policy != SCHED_NORMAL)
		return; /* somebody knows better */
	attr.sched_flags = SCHED_FLAG_RESET_ON_FORK;
	attr.sched_runtime = SLICE_NS;
	/* Best effort: without it, things take longer. */
	(void)syscall(SYS_sched_setattr, 0, &attr, 0);
}
