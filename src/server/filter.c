/* SPDX-License-Identifier: Apache-2.0 */

#include "server/filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* A sanitizer's own calls aren't on our list. */
#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

static struct sock_filter osbd_filter[] = {
#include "osbd_filter.h"
};

int filter_load(void)
{
	const struct sock_fprog program = {
		.len = ARRAY_SIZE(osbd_filter),
		.filter = osbd_filter,
	};

	if (IS_SANITIZED)
		return 0;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return -errno;
	return 0;
}
