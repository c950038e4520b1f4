/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * frames - a client's end of a WebSocket (RFC 6455), without any I/O
 *
 * Why not http/ws.h, which osbd uses: the library below that one exists only
 * as a shared object, and loading shared objects is a third of what `osb`
 * costs to start. A client's end is the simple one: what comes isn't masked.
 * And binary messages are handed on in pieces as they come, without a copy.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define FRAMES_TEXT_MAX (1024u * 1024)

/* A whole text message. */
typedef void (*frames_text_fn)(void *ctx, const uint8_t *data, size_t len);

/* A piece of a binary message; @kind is the message's first byte. */
typedef void (*frames_binary_fn)(void *ctx, uint8_t kind, const uint8_t *data,
				 size_t len);

struct frames {
	struct buf *out; /* where frames are put; the owner's */
	frames_text_fn on_text;
	frames_binary_fn on_binary;
	void *ctx;
	bool closed;      /* a close came, and was answered */
	uint8_t head[10]; /* of the frame that comes now */
	size_t head_len;
	bool in_payload;
	uint64_t left;   /* of its payload */
	uint8_t message; /* opcode of the message under way, 0: none */
	bool has_kind;   /* binary: its first byte has come */
	uint8_t kind;
	struct buf text;
	struct buf control; /* payload of a ping or close */
};

void frames_init(struct frames *frames, struct buf *out, frames_text_fn on_text,
		 frames_binary_fn on_binary, void *ctx);

void frames_deinit(struct frames *frames);

/**
 * frames_feed() - bytes from the server
 *
 * Return: 0, or -EBADMSG when it broke the protocol, -EMSGSIZE for a text
 * over FRAMES_TEXT_MAX.
 */
int frames_feed(struct frames *frames, const uint8_t *data, size_t len);

/** frames_put_text() - a text message into the output, whole or -ENOBUFS */
int frames_put_text(struct frames *frames, const char *text);

/** frames_put_binary() - the same for bytes that follow the one of @kind */
int frames_put_binary(struct frames *frames, uint8_t kind, const void *data,
		      size_t len);
