/* SPDX-License-Identifier: Apache-2.0 */

/*
 * expiry - a binary heap, and a timerfd at the moment on its top
 *
 * To set one of n costs log n steps, and a system call only where it becomes
 * the next or was it.
 *
 * #syscalls  timerfd_settime read close
 */

#include "sandbox/expiry.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define BATCH 256 /* calls before others have their turn */

int64_t expiry_now_us(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts); /* can't fail: valid clock */
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Absolute, on the wall clock: the kernel follows suspends and settings. */
static void arm(struct expiry *expiry)
{
	int64_t at_us = expiry->num ? expiry->heap[1]->at_us : 0;
	struct itimerspec when = {
		.it_value.tv_sec = at_us / 1000000,
		.it_value.tv_nsec = at_us % 1000000 * 1000,
	};

	if (at_us == expiry->armed_us)
		return;
	expiry->armed_us = at_us;
	/* Can't fail: the fd and the value are valid. */
	(void)timerfd_settime(expiry->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void put(struct expiry *expiry, unsigned int place,
		struct deadline *deadline)
{
	expiry->heap[place] = deadline;
	deadline->place = place;
}

/* Find the place of @deadline, going up from @place, which is free. */
static void sift_up(struct expiry *expiry, unsigned int place,
		    struct deadline *deadline)
{
	while (place > 1 && deadline->at_us < expiry->heap[place / 2]->at_us) {
		put(expiry, place, expiry->heap[place / 2]);
		place /= 2;
	}
	put(expiry, place, deadline);
}

static void sift_down(struct expiry *expiry, unsigned int place,
		      struct deadline *deadline)
{
	unsigned int child;

	for (; (child = 2 * place) <= expiry->num; place = child) {
		if (child < expiry->num &&
		    expiry->heap[child + 1]->at_us < expiry->heap[child]->at_us)
			child++;
		if (deadline->at_us <= expiry->heap[child]->at_us)
			break;
		put(expiry, place, expiry->heap[child]);
	}
	put(expiry, place, deadline);
}

static void take_out(struct expiry *expiry, struct deadline *deadline)
{
	unsigned int place = deadline->place;
	struct deadline *last = expiry->heap[expiry->num--];

	deadline->place = 0;
	if (last == deadline)
		return;
	if (place > 1 && last->at_us < expiry->heap[place / 2]->at_us)
		sift_up(expiry, place, last);
	else
		sift_down(expiry, place, last);
}

static void on_timer(void *ctx, unsigned int events)
{
	struct expiry *expiry = ctx;
	int64_t now_us = expiry_now_us();
	uint64_t times;

	(void)events;
	(void)!read(expiry->timer_fd, &times, sizeof(times));
	expiry->armed_us = 0; /* it has fired: what is left is armed anew */
	for (int i = 0; i < BATCH && expiry->num > 0; i++) {
		struct deadline *due = expiry->heap[1];

		if (due->at_us > now_us)
			break;
		take_out(expiry, due);
		expiry->fn(expiry->ctx, due);
	}
	arm(expiry);
}

int expiry_init(struct expiry *expiry, const struct poller *poller,
		unsigned int max, deadline_fn fn, void *ctx)
{
	memset(expiry, 0, sizeof(*expiry));
	expiry->poller = poller;
	expiry->max = max;
	expiry->fn = fn;
	expiry->ctx = ctx;
	expiry->timer_fd =
		timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (expiry->timer_fd < 0)
		return -errno;
	expiry->heap = calloc((size_t)max + 1, sizeof(struct deadline *));
	if (expiry->heap)
		expiry->watch = poller->add(poller->loop, expiry->timer_fd,
					    POLLER_READ, on_timer, expiry);
	return expiry->watch ? 0 : -ENOMEM;
}

void expiry_deinit(struct expiry *expiry)
{
	if (!expiry->poller)
		return;
	expiry->poller->remove(expiry->watch);
	close_fd(&expiry->timer_fd);
	free(expiry->heap);
	memset(expiry, 0, sizeof(*expiry));
}

void expiry_set(struct expiry *expiry, struct deadline *deadline, int64_t at_us)
{
	if (deadline->place)
		take_out(expiry, deadline);
	deadline->at_us = at_us;
	if (at_us) {
		assert(expiry->num < expiry->max);
		expiry->num++;
		sift_up(expiry, expiry->num, deadline);
	}
	arm(expiry);
}
