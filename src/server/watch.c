/* SPDX-License-Identifier: Apache-2.0 */

#include "server/watch.h"

#include <stdlib.h>

struct watch {
	uv_poll_t poll;
	poller_fn fn;
	void *ctx;
	unsigned int events;
};

static void on_poll(uv_poll_t *poll, int status, int uv_events)
{
	struct watch *watch = (struct watch *)poll;
	unsigned int events = 0;

	if (!watch->fn)
		return;
	/* An error state: whoever reads or writes now learns what it is. */
	if (status < 0)
		events = POLLER_READ | POLLER_WRITE;
	if (uv_events & (UV_READABLE | UV_DISCONNECT))
		events |= POLLER_READ;
	if (uv_events & UV_WRITABLE)
		events |= POLLER_WRITE;
	watch->fn(watch->ctx, events);
}

static void apply(struct watch *watch)
{
	int uv_events = 0;

	if (watch->events & POLLER_READ)
		uv_events |= UV_READABLE;
	if (watch->events & POLLER_WRITE)
		uv_events |= UV_WRITABLE;
	if (watch->events & POLLER_HANGUP)
		uv_events |= UV_DISCONNECT;
	if (uv_events)
		(void)uv_poll_start(&watch->poll, uv_events, on_poll);
	else
		(void)uv_poll_stop(&watch->poll);
}

struct watch *watch_new(uv_loop_t *loop, int fd, unsigned int events,
			poller_fn fn, void *ctx)
{
	struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	if (uv_poll_init(loop, &watch->poll, fd) != 0) {
		free(watch);
		return NULL;
	}
	watch->fn = fn;
	watch->ctx = ctx;
	watch->events = events;
	apply(watch);
	return watch;
}

void watch_set(struct watch *watch, unsigned int events)
{
	if (!watch || watch->events == events)
		return;
	watch->events = events;
	apply(watch);
}

static void on_closed(uv_handle_t *handle)
{
	free(handle);
}

void watch_free(struct watch *watch)
{
	if (!watch)
		return;
	watch->fn = NULL;
	uv_close((uv_handle_t *)&watch->poll, on_closed);
}

static struct watch *poller_add(void *loop, int fd, unsigned int events,
				poller_fn fn, void *ctx)
{
	return watch_new(loop, fd, events, fn, ctx);
}

struct poller watch_poller(uv_loop_t *loop)
{
	return (struct poller){
		.loop = loop,
		.add = poller_add,
		.set = watch_set,
		.remove = watch_free,
	};
}
