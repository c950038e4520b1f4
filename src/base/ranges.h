/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * ranges - the numbers that bound what a sandbox may be given
 *
 * Here, below all others, so that the command line, the API and the broker
 * refuse the same values with the same words.
 */

#define LIMITS_DEFAULT_MEMORY (512ull << 20)
#define LIMITS_DEFAULT_CPU_MILLI 1000u
#define LIMITS_DEFAULT_PIDS 256u
#define LIMITS_DEFAULT_DISK (256ull << 20)
#define LIMITS_DEFAULT_INODES 64000u
#define LIMITS_DEFAULT_NOFILE 1024u
#define LIMITS_DEFAULT_SHM (64ull << 20)
#define LIMITS_DEFAULT_GUARANTEE (16ull << 20)

/* Below these a sandbox can't even start its first program. */
#define LIMITS_MIN_MEMORY (4ull << 20)
#define LIMITS_MIN_DISK (64ull << 10)
#define LIMITS_MIN_SHM 4096u
#define LIMITS_MIN_GUARANTEE 4096u
#define LIMITS_MIN_CPU_MILLI 10u
#define LIMITS_MIN_PIDS 1u
#define LIMITS_MIN_INODES 16u
#define LIMITS_MIN_NOFILE 16u

#define LIMITS_MAX_BYTES (1ull << 50) /* memory, disk, shm, guarantee */
#define LIMITS_MAX_CPU_MILLI 1000000u
#define LIMITS_MAX_PIDS 30000u
#define LIMITS_MAX_NOFILE 16384u
#define LIMITS_MAX_INODES 100000000u
