/* SPDX-License-Identifier: Apache-2.0 */

/*
 * reader - message framing: where a head ends, and where its body does
 *
 * Purpose:    cut a byte stream into messages, strictly.
 * Process:    osbd (requests) and osb (responses).
 * Input from: the other end: hostile.
 * Ownership:  keeps one head; body bytes are only pointed at.
 * Invariants: a chunk is "HEX CRLF data CRLF" and nothing else. Extensions
 *             and trailers are where implementations disagree (bare LF in an
 *             extension, fields hidden in a trailer) and nobody needs them, so
 *             extensions are refused and trailers are bounded and dropped.
 */

#include "http/reader.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"

#define CHUNK_DIGITS_MAX 12
#define TRAILER_MAX 4096

void http_reader_init(struct http_reader *reader, enum http_role role)
{
	memset(reader, 0, sizeof(*reader));
	reader->role = role;
	buf_init(&reader->raw, HTTP_HEAD_MAX);
}

void http_reader_deinit(struct http_reader *reader)
{
	buf_deinit(&reader->raw);
}

void http_reader_expect_no_body(struct http_reader *reader)
{
	reader->no_body = true;
}

bool http_reader_idle(const struct http_reader *reader)
{
	return reader->state == HTTP_STATE_DONE ||
	       (reader->state == HTTP_STATE_HEAD && buf_len(&reader->raw) == 0);
}

/* Forgets the last message; its head's strings are gone after this. */
static void start_message(struct http_reader *reader)
{
	buf_reset(&reader->raw);
	reader->scanned = 0;
	reader->body_left = 0;
	reader->line_len = 0;
	reader->line_cr = false;
	reader->state = HTTP_STATE_HEAD;
}

/* What follows a complete head. */
static enum http_reader_state state_after_head(struct http_reader *reader)
{
	const struct http_head *head = &reader->head;

	if (reader->role == HTTP_READ_RESPONSES) {
		bool interim = head->status < 200;
		bool none = reader->no_body || interim || head->status == 204 ||
			    head->status == 304;

		if (!interim)
			reader->no_body = false;
		if (none)
			return HTTP_STATE_END;
		if (!head->chunked && !head->has_length)
			return HTTP_STATE_BODY_CLOSE;
	}
	if (head->chunked)
		return HTTP_STATE_CHUNK_SIZE;
	reader->body_left = head->content_length;
	return reader->body_left ? HTTP_STATE_BODY_LENGTH : HTTP_STATE_END;
}

/* Position behind the empty line that ends the head, or 0. */
static size_t find_head_end(const char *p, size_t from, size_t len)
{
	while (from < len) {
		const char *lf = memchr(p + from, '\n', len - from);
		size_t at;

		if (!lf)
			return 0;
		at = (size_t)(lf - p);
		/* "LF LF" ends it too: to be refused as a bare LF. */
		if ((at >= 3 && memcmp(lf - 3, "\r\n\r", 3) == 0) ||
		    (at >= 1 && lf[-1] == '\n'))
			return at + 1;
		from = at + 1;
	}
	return 0;
}

/*
 * One empty line before a message is an old client's habit (RFC 9112, 2.2). It
 * is a whole CRLF: what others make of less isn't known. line_len counts it.
 */
static bool in_empty_line(const struct http_reader *reader, uint8_t c)
{
	return reader->line_cr || (c == '\r' && reader->line_len == 0);
}

static int empty_line_byte(struct http_reader *reader, uint8_t c,
			   struct err *err)
{
	if (reader->line_cr && c != '\n')
		return err_set(err, ERR_INVALID, 0,
			       "bare CR in front of the head");
	reader->line_len++;
	reader->line_cr = !reader->line_cr;
	return 0;
}

static int read_head(struct http_reader *reader, const uint8_t *data,
		     size_t len, size_t *ret_used, struct http_event *ret_event,
		     struct err *err)
{
	struct buf *raw = &reader->raw;
	size_t before = buf_len(raw);
	size_t take = len < buf_room(raw) ? len : buf_room(raw);
	size_t end;
	int r;

	if (before == 0 && in_empty_line(reader, *data)) {
		*ret_used = 1;
		return empty_line_byte(reader, *data, err);
	}
	buf_add(raw, data, take);
	if (raw->failed)
		return err_set(err, ERR_INTERNAL, ENOMEM, "read a head");
	end = find_head_end((char *)buf_data(raw), reader->scanned,
			    buf_len(raw));
	if (!end) {
		reader->scanned = buf_len(raw);
		*ret_used = take;
		if (buf_room(raw) == 0)
			return err_set(err, ERR_TOO_LARGE, 0,
				       "HTTP head over %u bytes",
				       HTTP_HEAD_MAX);
		return 0;
	}
	*ret_used = end - before;
	r = http_head_parse(reader->role, (char *)buf_data(raw), end,
			    &reader->head, err);
	if (r < 0)
		return r;
	reader->line_len = 0;
	reader->state = state_after_head(reader);
	ret_event->type = HTTP_EVENT_HEAD;
	return 0;
}

/* Body bytes of which a known number is left. */
static void read_counted(struct http_reader *reader, const uint8_t *data,
			 size_t len, enum http_reader_state next,
			 size_t *ret_used, struct http_event *ret_event)
{
	if (len > reader->body_left)
		len = (size_t)reader->body_left;
	reader->body_left -= len;
	if (reader->body_left == 0)
		reader->state = next;
	ret_event->type = HTTP_EVENT_BODY;
	ret_event->data = data;
	ret_event->len = len;
	*ret_used = len;
}

static int hex_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* One byte of "HEX CRLF". */
static int chunk_size_byte(struct http_reader *reader, uint8_t c)
{
	int digit = hex_value(c);

	if (reader->line_cr) {
		if (c != '\n')
			return -EBADMSG;
		reader->line_cr = false;
		reader->line_len = 0;
		reader->state = reader->body_left ? HTTP_STATE_CHUNK_DATA
						  : HTTP_STATE_TRAILER;
		return 0;
	}
	if (c == '\r' && reader->line_len) {
		reader->line_cr = true;
		return 0;
	}
	if (digit < 0 || ++reader->line_len > CHUNK_DIGITS_MAX)
		return -EBADMSG;
	reader->body_left = reader->body_left << 4 | (uint64_t)digit;
	return 0;
}

/* One byte of the CRLF behind a chunk's data. */
static int chunk_crlf_byte(struct http_reader *reader, uint8_t c)
{
	if (c != (reader->line_cr ? '\n' : '\r'))
		return -EBADMSG;
	if (reader->line_cr)
		reader->state = HTTP_STATE_CHUNK_SIZE;
	reader->line_cr = !reader->line_cr;
	return 0;
}

/*
 * One byte of the trailer: lines up to an empty one. line_len counts all its
 * bytes; body_left, which is 0 here, counts those of the current line.
 */
static int trailer_byte(struct http_reader *reader, uint8_t c)
{
	if (++reader->line_len > TRAILER_MAX)
		return -EMSGSIZE;
	if (reader->line_cr) {
		if (c != '\n')
			return -EBADMSG;
		reader->line_cr = false;
		if (reader->body_left == 0)
			reader->state = HTTP_STATE_END;
		reader->body_left = 0;
		return 0;
	}
	if (c == '\r') {
		reader->line_cr = true;
		return 0;
	}
	if ((c < 0x20 && c != '\t') || c == 0x7f)
		return -EBADMSG;
	reader->body_left++;
	return 0;
}

/* The bytes between chunks' data, while there are any. */
static int read_framing(struct http_reader *reader, const uint8_t *data,
			size_t len, size_t *ret_used, struct err *err)
{
	size_t used = 0;
	int r = 0;

	while (used < len && r == 0) {
		if (reader->state == HTTP_STATE_CHUNK_SIZE)
			r = chunk_size_byte(reader, data[used]);
		else if (reader->state == HTTP_STATE_CHUNK_CRLF)
			r = chunk_crlf_byte(reader, data[used]);
		else if (reader->state == HTTP_STATE_TRAILER)
			r = trailer_byte(reader, data[used]);
		else
			break;
		used++;
	}
	*ret_used = used;
	if (r < 0)
		return err_set(err, ERR_INVALID, 0, "malformed chunk");
	return 0;
}

/* One step; the event stays MORE when there is nothing to report yet. */
static int step(struct http_reader *reader, const uint8_t *data, size_t len,
		size_t *ret_used, struct http_event *ret_event, struct err *err)
{
	switch (reader->state) {
	case HTTP_STATE_END:
		reader->state = HTTP_STATE_DONE;
		ret_event->type = HTTP_EVENT_END;
		return 0;
	case HTTP_STATE_DONE:
		if (len)
			start_message(reader);
		return 0;
	case HTTP_STATE_HEAD:
		return len ? read_head(reader, data, len, ret_used, ret_event,
				       err)
			   : 0;
	case HTTP_STATE_BODY_LENGTH:
		if (len)
			read_counted(reader, data, len, HTTP_STATE_END,
				     ret_used, ret_event);
		return 0;
	case HTTP_STATE_CHUNK_DATA:
		if (len)
			read_counted(reader, data, len, HTTP_STATE_CHUNK_CRLF,
				     ret_used, ret_event);
		return 0;
	case HTTP_STATE_BODY_CLOSE:
		if (len) {
			*ret_event = (struct http_event){
				.type = HTTP_EVENT_BODY,
				.data = data,
				.len = len,
			};
			*ret_used = len;
		}
		return 0;
	case HTTP_STATE_CHUNK_SIZE:
	case HTTP_STATE_CHUNK_CRLF:
	case HTTP_STATE_TRAILER:
		return read_framing(reader, data, len, ret_used, err);
	case HTTP_STATE_FAILED:
		break;
	}
	return err_set(err, ERR_INVALID, EBADMSG, "read after a failure");
}

int http_reader_next(struct http_reader *reader, const void *data, size_t len,
		     size_t *ret_used, struct http_event *ret_event,
		     struct err *err)
{
	const uint8_t *p = data;
	size_t used = 0;
	int r;

	*ret_used = 0;
	*ret_event = (struct http_event){ .type = HTTP_EVENT_MORE };
	do {
		enum http_reader_state before = reader->state;
		size_t n = 0;

		r = step(reader, len ? p + used : NULL, len - used, &n,
			 ret_event, err);
		used += n;
		*ret_used = used;
		if (r < 0) {
			reader->state = HTTP_STATE_FAILED;
			return r;
		}
		if (ret_event->type != HTTP_EVENT_MORE)
			return 0;
		if (n == 0 && reader->state == before)
			break; /* no progress without more bytes */
	} while (used < len || reader->state == HTTP_STATE_END);
	return 0;
}

int http_reader_eof(struct http_reader *reader, struct err *err)
{
	if (http_reader_idle(reader))
		return 0;
	if (reader->state == HTTP_STATE_BODY_CLOSE) {
		reader->state = HTTP_STATE_DONE;
		return 1;
	}
	reader->state = HTTP_STATE_FAILED;
	return err_set(err, ERR_UNAVAILABLE, EPIPE,
		       "connection closed inside a message");
}
