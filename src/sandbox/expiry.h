/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * expiry - moments at which something is due, and one timer for all of them
 *
 * Moments are on the wall clock, as clients name them. Neither a suspend nor
 * a clock that is set makes one early or late by it.
 */

#include <stdint.h>

#include "base/poller.h"

/* Embedded in what it is about; zeroed memory is one that isn't set. */
struct deadline {
	int64_t at_us;      /* since 1970 */
	unsigned int place; /* in the heap, from 1; 0: not set */
};

/* No longer set when this is called; may set and take away any. */
typedef void (*deadline_fn)(void *ctx, struct deadline *due);

struct expiry {
	struct deadline **heap; /* [1] is the next; none is before heap[i/2] */
	unsigned int num, max;
	int timer_fd;
	int64_t armed_us; /* 0: the timer is off */
	const struct poller *poller;
	struct watch *watch;
	deadline_fn fn;
	void *ctx;
};

/**
 * expiry_init() - nothing is due
 * @max: deadlines set at once
 *
 * Return: 0 or -errno; expiry_deinit() is fine in any case.
 */
int expiry_init(struct expiry *expiry, const struct poller *poller,
		unsigned int max, deadline_fn fn, void *ctx);

void expiry_deinit(struct expiry *expiry);

/** expiry_set() - set, move, or (at 0) take away a deadline */
void expiry_set(struct expiry *expiry, struct deadline *deadline,
		int64_t at_us);

/** expiry_now_us() - the clock that all of this goes by */
int64_t expiry_now_us(void);
