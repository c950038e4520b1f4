/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * broker_link - osbd's end of the channel to osb-broker
 *
 * Requests go out in order, as fast as the socket takes them, and each gets
 * exactly one callback. The broker is trusted with everything except our own
 * consistency: a malformed or unexpected message ends the link.
 */

#include <stdint.h>

#include "base/poller.h"

struct broker_link;
struct limits;
struct err;
struct spec;

/* @err is NULL on success; valid during the call. */
typedef void (*broker_answer_fn)(void *ctx, const struct err *err);

struct broker_link_ops {
	void (*gone)(void *ctx, const char *id); /* a sandbox ended by itself */
	/* One that runs already; before the answer to broker_hello(). */
	void (*have)(void *ctx, const char *id);
	void (*closed)(void *ctx, const struct err *err); /* no more broker */
	/* Files to be read anew, -1 for none; they stay the link's. */
	void (*reload)(void *ctx, int keys_fd, int config_fd);
};

/**
 * broker_link_new() - take the channel over
 * @fd: taken; made non-blocking
 */
int broker_link_new(const struct poller *poller, int fd,
		    const struct broker_link_ops *ops, void *ctx,
		    struct broker_link **ret_link);

/** broker_link_free() - drop it; outstanding requests get no callback */
void broker_link_free(struct broker_link *link);

/** broker_hello() - the first message */
int broker_hello(struct broker_link *link, broker_answer_fn fn, void *ctx);

/**
 * broker_give_up() - instead of broker_hello(): say why we can't serve
 * @fd: the channel, before broker_link_new(); blocking
 */
int broker_give_up(int fd, const struct err *err);

/**
 * broker_create() - @spec and the strings are copied
 * @life_ms: after which it ends by itself; 0: never
 */
int broker_create(struct broker_link *link, const char *id, const char *domain,
		  const struct spec *spec, uint64_t life_ms,
		  broker_answer_fn fn, void *ctx);

/** broker_claim() - memory and cpu of one that was made ahead */
int broker_claim(struct broker_link *link, const char *id,
		 const struct limits *limits, broker_answer_fn fn, void *ctx);

/** broker_destroy() - answered when nothing of it is left */
int broker_destroy(struct broker_link *link, const char *id,
		   broker_answer_fn fn, void *ctx);

/** broker_leave() - ask whether an idle osbd may exit */
int broker_leave(struct broker_link *link, broker_answer_fn fn, void *ctx);
