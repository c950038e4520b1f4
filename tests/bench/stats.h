/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * stats - samples in, one JSON line out
 *
 * Times are microseconds; `ratio` is the median over that of the unit, a
 * fork+exec+wait of a static `true` measured in the same rounds. Absolute
 * times of different runs can't be compared, ratios can.
 */

#include <stdint.h>

#define STATS_MAX 20000

struct stats {
	const char *name;
	unsigned int num;
	uint32_t us[STATS_MAX];
};

/** stats_add() - one more sample */
void stats_add(struct stats *stats, uint64_t us);

/** stats_median() - of what was added so far; sorts */
uint32_t stats_median(struct stats *stats);

/** stats_print() - one JSON line on standard output */
void stats_print(struct stats *stats, struct stats *unit);

/** stats_now_us() - CLOCK_MONOTONIC */
uint64_t stats_now_us(void);

/** stats_spawn() - run @argv with /dev/null as streams, wait; microseconds */
uint64_t stats_spawn(const char *const *argv, int *ret_status);
