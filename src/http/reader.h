/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * reader - one direction of an HTTP/1.1 connection, without any I/O
 *
 * The owner hands over bytes as they come and gets back one event at a time,
 * so it can stop between any two (back-pressure), answer early, or take the
 * rest of the bytes for another protocol after an upgrade:
 *
 *	while (used < len) {
 *		r = http_reader_next(&reader, p + used, len - used, &n, &ev, e);
 *		used += n;
 *		switch (ev.type) ...
 *	}
 *
 * Per message: HEAD, BODY (any number), END. Body bytes are given in place
 * and never stored; only an unfinished head is, up to HTTP_HEAD_MAX.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "http/head.h"

enum http_event_type {
	HTTP_EVENT_MORE, /* all bytes are used up; bring more */
	HTTP_EVENT_HEAD, /* reader->head is complete */
	HTTP_EVENT_BODY, /* data, len: decoded, inside the bytes handed in */
	HTTP_EVENT_END,  /* the message is complete */
};

struct http_event {
	enum http_event_type type;
	const uint8_t *data;
	size_t len;
};

/* HEAD: collecting. BODY_*: head valid. END: head valid until next bytes. */
enum http_reader_state {
	HTTP_STATE_HEAD,
	HTTP_STATE_BODY_LENGTH,
	HTTP_STATE_BODY_CLOSE,
	HTTP_STATE_CHUNK_SIZE,
	HTTP_STATE_CHUNK_DATA,
	HTTP_STATE_CHUNK_CRLF,
	HTTP_STATE_TRAILER,
	HTTP_STATE_END,
	HTTP_STATE_DONE, /* END was reported; the next byte starts a head */
	HTTP_STATE_FAILED,
};

struct http_reader {
	enum http_role role;
	enum http_reader_state state;
	bool no_body;          /* response to a HEAD request */
	struct buf raw;        /* the head, later kept for head's strings */
	size_t scanned;        /* raw bytes known to hold no end of head */
	uint64_t body_left;    /* of the body, or of the chunk */
	unsigned int line_len; /* bytes of the current chunk or trailer line */
	bool line_cr;          /* its last byte was a CR */
	struct http_head head;
};

/** http_reader_init() - ready for the first message */
void http_reader_init(struct http_reader *reader, enum http_role role);

void http_reader_deinit(struct http_reader *reader);

/** http_reader_expect_no_body() - the response will answer a HEAD request */
void http_reader_expect_no_body(struct http_reader *reader);

/**
 * http_reader_next() - use bytes up to the next event
 * @data: @len bytes; may be NULL with 0 (reports an event that is pending,
 *        such as END right after HEAD, or MORE)
 * @ret_used: how many were used; the caller keeps the rest for the next call
 *
 * A response's 1xx heads are reported like any other (HEAD, END).
 * Return: 0, or -errno: the connection can't be read any further.
 */
int http_reader_next(struct http_reader *reader, const void *data, size_t len,
		     size_t *ret_used, struct http_event *ret_event,
		     struct err *err);

/**
 * http_reader_eof() - the peer has closed its side
 *
 * Return: 0 between messages, 1 when this ends a response whose body goes on
 * until close (that message is complete now), -EPIPE inside a message.
 */
int http_reader_eof(struct http_reader *reader, struct err *err);

/** http_reader_idle() - between messages, with no byte of the next? */
bool http_reader_idle(const struct http_reader *reader);
