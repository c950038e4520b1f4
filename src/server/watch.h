/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * watch - a descriptor in the loop, whose owner may go at any time
 *
 * libuv frees a handle only in a later turn of the loop; this keeps that to
 * itself, so owners close their watch and free themselves at once.
 */

#include <uv.h>

#include "base/poller.h"

/** watch_new() - call @fn with POLLER_… events; NULL: no memory or bad fd */
struct watch *watch_new(uv_loop_t *loop, int fd, unsigned int events,
			poller_fn fn, void *ctx);

/** watch_set() - other events from now on; 0: none */
void watch_set(struct watch *watch, unsigned int events);

/** watch_free() - no call after this; the fd may be closed. NULL is fine */
void watch_free(struct watch *watch);

/** watch_poller() - the same as sandbox/ wants it */
struct poller watch_poller(uv_loop_t *loop);
