/* SPDX-License-Identifier: Apache-2.0 */

/*
 * caps - capability sets by raw system call, so that static binaries need no
 * library. See capabilities(7).
 *
 * #syscalls  capset prctl
 */

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine/confine.h"

/* Effective = permitted = @keep; nothing inheritable. */
int caps_keep(uint64_t keep)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)keep, .permitted = (uint32_t)keep },
		{ .effective = (uint32_t)(keep >> 32),
		  .permitted = (uint32_t)(keep >> 32) },
	};

	if (syscall(SYS_capset, &header, data) < 0)
		return -errno;
	return 0;
}

/* What no process of this tree can ever gain again. Needs CAP_SETPCAP. */
int caps_bound(uint64_t keep)
{
	for (unsigned long cap = 0; cap < 64; cap++) {
		if (keep & CAPS_BIT(cap))
			continue;
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) {
			if (errno == EINVAL) /* beyond the kernel's last */
				return 0;
			return -errno;
		}
	}
	return 0;
}
