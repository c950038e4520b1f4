/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * write - put HTTP/1.1 heads and chunks into a buffer
 *
 * Values are checked for line breaks and control bytes: such a value fails
 * the buffer (see buf.h), so nothing that came from outside can add a header
 * field or a second message. Ask buf->failed once at the end.
 */

#include <stddef.h>
#include <stdint.h>

struct buf;

/** http_put_request() - request line and Host */
void http_put_request(struct buf *out, const char *method, const char *target,
		      const char *host);

/** http_put_status() - status line */
void http_put_status(struct buf *out, unsigned int status);

/** http_put_field() - one header field */
void http_put_field(struct buf *out, const char *name, const char *value);

/** http_put_number() - one header field with a number */
void http_put_number(struct buf *out, const char *name, uint64_t value);

/** http_put_end() - the empty line after the last field */
void http_put_end(struct buf *out);

/** http_put_chunk() - one chunk; @len 0 puts nothing (it would end the body) */
void http_put_chunk(struct buf *out, const void *data, size_t len);

/** http_put_last_chunk() - the end of a chunked body */
void http_put_last_chunk(struct buf *out);

/** http_status_text() - the reason phrase; "Unknown" when there is none */
const char *http_status_text(unsigned int status);
