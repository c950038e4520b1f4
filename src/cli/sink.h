/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * sink - write to a descriptor we share with others, without ever blocking
 *
 * Our stdout may be anybody's: setting O_NONBLOCK on it would break whoever
 * shares it. So by kind:
 *
 *	pipe         opened once more, non-blocking, through /proc/self/fd
 *	socket       MSG_DONTWAIT
 *	regular file plain write(2): it doesn't wait for a reader
 *	terminal and what is left: poll(2), then at most what a pipe surely
 *	             takes after that
 *
 * SIGPIPE keeps its meaning: a reader that has gone ends us, like any filter.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum sink_kind {
	SINK_UNKNOWN, /* not looked at before the first byte */
	SINK_PLAIN,
	SINK_NONBLOCK,
	SINK_SOCKET,
	SINK_CAUTIOUS,
};

struct sink {
	int fd;     /* borrowed */
	int own_fd; /* the one opened again, or -1 */
	enum sink_kind kind;
	struct buf pending; /* what wasn't taken yet */
};

/** sink_init() - writes to @fd, which stays the caller's */
void sink_init(struct sink *sink, int fd);

void sink_deinit(struct sink *sink);

/** sink_blocked() - do bytes wait for the reader? Then don't bring more. */
bool sink_blocked(const struct sink *sink);

/** sink_put() - write bytes, or keep what isn't taken: 0 or -errno */
int sink_put(struct sink *sink, const void *data, size_t len);

/** sink_flush() - go on with what waits: 0 or -errno */
int sink_flush(struct sink *sink);
