/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * truth - what a sandbox is told of its size, instead of the host's
 *
 *   truth.c  from the kernel's counters for the sandbox
 *   text.c   to the text of files in /proc
 *
 * Nothing here makes a system call: init reads the counters, writes the files
 * and answers the calls.
 *
 * A program may read a file while init writes it, and neither waits for the
 * other: the kernel copies both ways without a lock. So each file keeps its
 * layout whatever the numbers are, and each number that changes ends at a
 * multiple of 8 bytes. Copies go by such words, so that a reader may find an
 * older number beside a newer one, as in the kernel's own files, but not half
 * of one.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/sysinfo.h>

/* Fixed point, as in sysinfo(2). */
#define TRUTH_LOAD_ONE 65536u

struct truth {
	uint32_t cpus;
	uint64_t since_us; /* when the sandbox began; CLOCK_BOOTTIME, as all */
	uint64_t now_us;   /* when the rest was true */

	/* bytes */
	uint64_t total, free, available, cached, shmem, anon, mapped, slab,
		slab_reclaimable;
	uint64_t active_anon, inactive_anon, active_file, inactive_file,
		unevictable;

	uint64_t user_us, system_us;
	uint32_t load[3]; /* processors in use, over 1, 5 and 15 minutes */
	uint32_t num_tasks;
	uint32_t last_pid;
	int64_t boot_s; /* of the host: process start times are counted from */
};

/** truth_init() - of a sandbox that began just now */
void truth_init(struct truth *truth, uint32_t cpus, uint64_t now_us);

/**
 * truth_set_memory() - take over counters
 * @max:  the limit in bytes
 * @stat: text of memory.stat, of either kind of hierarchy
 */
void truth_set_memory(struct truth *truth, uint64_t max, const char *stat);

/** truth_set_cpu() - the same for the text of cpu.stat, read at @now_us */
void truth_set_cpu(struct truth *truth, const char *stat, uint64_t now_us);

/** truth_sysinfo() - what sysinfo(2) has to answer */
void truth_sysinfo(const struct truth *truth, uint64_t now_us,
		   struct sysinfo *ret_info);

/** truth_affinity() - take processors out of a mask until @cpus are left */
void truth_affinity(uint8_t *mask, size_t len, uint32_t cpus);

/**
 * truth_cpuinfo() - shorten the text of /proc/cpuinfo to @cpus processors
 *
 * None of which has more companions than are left.
 */
void truth_cpuinfo(char *text, uint32_t cpus);

/*
 * Whole text of a file, which is as long each time. Return: its length, at
 * most @size - 1.
 */
size_t truth_meminfo(const struct truth *truth, char *buf, size_t size);
size_t truth_stat(const struct truth *truth, char *buf, size_t size);
size_t truth_uptime(const struct truth *truth, char *buf, size_t size);
size_t truth_loadavg(const struct truth *truth, char *buf, size_t size);
