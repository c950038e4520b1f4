/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fake - a poller over poll(2), for tests of what is driven by one
 */

#include <poll.h>
#include <stdlib.h>

#include "base/poller.h"

#define FAKE_WATCHES 8

struct watch {
	int fd;
	unsigned int events;
	poller_fn fn;
	void *ctx;
};

static struct watch *fake_watches[FAKE_WATCHES];

static struct watch *fake_add(void *loop, int fd, unsigned int events,
			      poller_fn fn, void *ctx)
{
	(void)loop;
	for (unsigned int i = 0; i < FAKE_WATCHES; i++) {
		if (fake_watches[i])
			continue;
		fake_watches[i] = calloc(1, sizeof(struct watch));
		*fake_watches[i] = (struct watch){ fd, events, fn, ctx };
		return fake_watches[i];
	}
	return NULL;
}

static void fake_set(struct watch *watch, unsigned int events)
{
	watch->events = events;
}

static void fake_remove(struct watch *watch)
{
	for (unsigned int i = 0; i < FAKE_WATCHES; i++)
		if (watch && fake_watches[i] == watch) {
			free(watch);
			fake_watches[i] = NULL;
		}
}

static const struct poller fake_poller = {
	.add = fake_add,
	.set = fake_set,
	.remove = fake_remove,
};

/* One turn: everything that is ready now gets its call. */
static void fake_turn(void)
{
	for (unsigned int i = 0; i < FAKE_WATCHES; i++) {
		struct watch *watch = fake_watches[i];
		struct pollfd pfd = { .events = POLLIN };
		unsigned int ready = 0;

		if (!watch)
			continue;
		pfd.fd = watch->fd;
		if (watch->events & POLLER_WRITE)
			pfd.events |= POLLOUT;
		if (poll(&pfd, 1, 0) != 1)
			continue;
		if (pfd.revents & (POLLIN | POLLHUP))
			ready |= POLLER_READ;
		if (pfd.revents & POLLOUT)
			ready |= POLLER_WRITE;
		watch->fn(watch->ctx, ready);
	}
}
