/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * reply - answers to a request
 *
 * All are no-ops when the client has gone. An answer is one of: reply_json(),
 * reply_empty() or an error, which finish the request; or reply_begin(),
 * any number of pieces, and reply_end().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct request;
struct sandbox;

/** reply_json() - a complete body; @body is emptied */
void reply_json(struct request *req, unsigned int status, struct buf *body);

/** reply_empty() - no body */
void reply_empty(struct request *req, unsigned int status);

/** reply_error() - the envelope {"code","message"} */
void reply_error(struct request *req, unsigned int status, const char *code,
		 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/**
 * reply_err() - the envelope from an err, with the status of its kind
 *
 * What is ERR_INTERNAL is logged with the request id; the client gets that.
 */
void reply_err(struct request *req, const char *code, const struct err *err);

/** reply_too_fast() - 429: over @rate of @what; there is room in @wait_s */
void reply_too_fast(struct request *req, const char *what, uint64_t rate,
		    unsigned int wait_s);

/**
 * reply_head() - status line and standing fields; the caller may put more
 * fields into the returned buffer, then ends with reply_head_end()
 *
 * Return: the output, or NULL when the client has gone.
 */
struct buf *reply_head(struct request *req, unsigned int status);

/** reply_head_end() - end of the head; @chunked: of a body in chunks */
void reply_head_end(struct request *req, bool chunked);

/** reply_piece() - part of the body */
void reply_piece(struct request *req, const void *data, size_t len);

/** reply_end() - the body is complete */
void reply_end(struct request *req);

/** reply_sandbox() - the request's {id} as its domain may see it, or 404 */
struct sandbox *reply_sandbox(struct request *req);
