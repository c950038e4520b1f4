/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nofile - how many descriptors a daemon may have open
 */

#include <errno.h>
#include <sys/resource.h>

/** nofile_raise() - as many as the hard limit allows; 0 or -errno */
static inline int nofile_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -errno;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? -errno : 0;
}
