/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * limits - what bounds one sandbox; the same numbers on every wire
 *
 * All are enforced by the kernel. Defaults are for a sandbox that names none.
 */

#include <stdint.h>

#define LIMITS_DEFAULT_MEMORY (512ull << 20)
#define LIMITS_DEFAULT_CPU_MILLI 1000u
#define LIMITS_DEFAULT_PIDS 256u
#define LIMITS_DEFAULT_DISK (256ull << 20)
#define LIMITS_DEFAULT_INODES 64000u
#define LIMITS_DEFAULT_NOFILE 1024u
#define LIMITS_DEFAULT_SHM (64ull << 20)

/* Below these a sandbox can't even start its first program. */
#define LIMITS_MIN_MEMORY (4ull << 20)
#define LIMITS_MIN_DISK (64ull << 10)
#define LIMITS_MAX_PIDS 30000u
#define LIMITS_MAX_NOFILE 16384u
#define LIMITS_MAX_INODES 100000000u

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
