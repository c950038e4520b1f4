/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * limits - what bounds one sandbox; the same numbers on every wire
 *
 * All are enforced by the kernel. Defaults are for a sandbox that names none.
 */

#include <stdint.h>

#include "base/ranges.h"

struct limits {
	uint64_t memory_bytes;
	uint64_t disk_bytes;
	uint64_t shm_bytes;
	uint32_t inodes;
	uint32_t cpu_milli; /* thousandths of a CPU */
	uint32_t pids;      /* processes and threads of the payload */
	uint32_t nofile;    /* per process */
};

#define LIMITS_DEFAULTS                                                       \
	{                                                                     \
		.memory_bytes = LIMITS_DEFAULT_MEMORY,                        \
		.disk_bytes = LIMITS_DEFAULT_DISK,                            \
		.shm_bytes = LIMITS_DEFAULT_SHM,                              \
		.inodes = LIMITS_DEFAULT_INODES,                              \
		.cpu_milli = LIMITS_DEFAULT_CPU_MILLI,                        \
		.pids = LIMITS_DEFAULT_PIDS, .nofile = LIMITS_DEFAULT_NOFILE, \
	}
