/* SPDX-License-Identifier: Apache-2.0 */

/*
 * truth - a sandbox's own numbers, from those that its cgroups keep
 */

#include "truth/truth.h"

#include <string.h>

#include "base/file.h"

/* e to the power of minus one second in so many, of TRUTH_LOAD_ONE. */
static const uint32_t decay[3] = { 64453, 65318, 65463 };

/* Longer ago than this nothing of a load is left. */
#define DECAY_MAX_S 7200u

void truth_init(struct truth *truth, uint32_t cpus, uint64_t now_us)
{
	memset(truth, 0, sizeof(*truth));
	truth->cpus = cpus;
	truth->since_us = truth->now_us = now_us;
}

static uint64_t less(uint64_t from, uint64_t value)
{
	return value < from ? from - value : 0;
}

/* The one name is v2's, the other v1's; the one that isn't there counts 0. */
static uint64_t either(const char *stat, const char *v2, const char *v1)
{
	return file_keyed(stat, v2) + file_keyed(stat, v1);
}

void truth_set_memory(struct truth *truth, uint64_t max, const char *stat)
{
	uint64_t file_pages;

	truth->total = max;
	truth->anon = either(stat, "anon", "rss");
	truth->cached = either(stat, "file", "cache");
	truth->mapped = either(stat, "file_mapped", "mapped_file");
	truth->shmem = file_keyed(stat, "shmem");
	truth->slab_reclaimable = file_keyed(stat, "slab_reclaimable");
	truth->slab = truth->slab_reclaimable +
		      file_keyed(stat, "slab_unreclaimable");
	truth->active_anon = file_keyed(stat, "active_anon");
	truth->inactive_anon = file_keyed(stat, "inactive_anon");
	truth->active_file = file_keyed(stat, "active_file");
	truth->inactive_file = file_keyed(stat, "inactive_file");
	truth->unevictable = file_keyed(stat, "unevictable");
	truth->free = less(max, truth->anon + truth->cached + truth->slab);
	/* What the kernel drops when a program wants more. */
	file_pages = truth->active_file + truth->inactive_file +
		     truth->slab_reclaimable;
	truth->available = truth->free + file_pages;
	if (truth->available > max)
		truth->available = max;
}

static uint32_t busy_of(uint64_t used_us, uint64_t elapsed_us)
{
	uint64_t busy = elapsed_us ? used_us * TRUTH_LOAD_ONE / elapsed_us : 0;

	return busy < UINT32_MAX ? (uint32_t)busy : UINT32_MAX;
}

void truth_set_cpu(struct truth *truth, const char *stat, uint64_t now_us)
{
	uint64_t before = truth->user_us + truth->system_us;
	uint64_t elapsed = less(now_us, truth->now_us);
	uint64_t seconds = elapsed / 1000000;
	uint32_t busy;

	truth->user_us = file_keyed(stat, "user_usec");
	truth->system_us = file_keyed(stat, "system_usec");
	truth->now_us += elapsed;
	busy = busy_of(less(truth->user_us + truth->system_us, before),
		       elapsed);
	if (seconds > DECAY_MAX_S)
		seconds = DECAY_MAX_S;
	for (uint64_t s = 0; s < seconds; s++) {
		for (int i = 0; i < 3; i++) {
			uint64_t old = (uint64_t)truth->load[i] * decay[i];
			uint64_t new =
				(uint64_t)busy *(TRUTH_LOAD_ONE - decay[i]);

			truth->load[i] =
				(uint32_t)((old + new) / TRUTH_LOAD_ONE);
		}
	}
}

void truth_sysinfo(const struct truth *truth, uint64_t now_us,
		   struct sysinfo *ret_info)
{
	struct sysinfo *info = ret_info;

	memset(info, 0, sizeof(*info)); /* its padding goes to a program */
	info->uptime = (long)(less(now_us, truth->since_us) / 1000000);
	for (int i = 0; i < 3; i++)
		info->loads[i] = truth->load[i];
	info->totalram = truth->total;
	info->freeram = truth->free;
	info->sharedram = truth->shmem;
	info->procs = (unsigned short)truth->num_tasks;
	info->mem_unit = 1;
}

void truth_affinity(uint8_t *mask, size_t len, uint32_t cpus)
{
	for (size_t bit = 0; bit < len * 8; bit++) {
		uint8_t *byte = &mask[bit / 8];

		if (!(*byte & (1u << bit % 8)))
			continue;
		if (cpus > 0)
			cpus--;
		else
			*byte &= (uint8_t) ~(1u << bit % 8);
	}
}
