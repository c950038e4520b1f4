/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * poller - what a folder asks of somebody's event loop
 *
 * Keeps libuv (and any other loop) out of here; tests bring a poll(2) one.
 */

enum poller_event {
	POLLER_READ = 1 << 0,
	POLLER_WRITE = 1 << 1,
	POLLER_HANGUP = 1 << 2, /* comes as POLLER_READ: the peer has closed */
};

struct watch; /* the loop's own */

typedef void (*poller_fn)(void *ctx, unsigned int events);

struct poller {
	void *loop;
	/* Level-triggered; @fd stays the caller's. NULL: no memory. */
	struct watch *(*add)(void *loop, int fd, unsigned int events,
			     poller_fn fn, void *ctx);
	void (*set)(struct watch *watch, unsigned int events);
	/* No call of fn after this; NULL is fine. Before closing the fd. */
	void (*remove)(struct watch *watch);
};
