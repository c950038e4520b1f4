/* SPDX-License-Identifier: Apache-2.0 */

#include "server/reply.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "http/write.h"
#include "server/conn.h"
#include "server/json.h"
#include "server/server.h"
#include "server/service/audit.h"
#include "server/service/log.h"
#include "server/service/origin.h"

/* For what is full: nobody knows when that will change. */
#define RETRY_AFTER_S 5

struct buf *reply_head(struct request *req, unsigned int status)
{
	struct buf *out;

	if (!req->conn || req->replied)
		return NULL;
	out = &req->conn->out;
	req->replied = true;
	req->status = status;
	audit_answer(req, status);
	http_put_status(out, status);
	http_put_field(out, "X-Request-ID", req->id);
	origin_put_fields(req, out);
	if (status == 429)
		http_put_number(out, "Retry-After",
				req->retry_after_s ? req->retry_after_s
						   : RETRY_AFTER_S);
	return out;
}

void reply_head_end(struct request *req, bool chunked)
{
	struct buf *out = &req->conn->out;

	/* The connection can't go on when part of the body wasn't read. */
	if (!req->upgraded && (!req->head || !req->head->keep_alive ||
			       !req->body_complete || req->server->draining))
		http_put_field(out, "Connection", "close");
	if (chunked)
		http_put_field(out, "Transfer-Encoding", "chunked");
	http_put_end(out);
	req->chunked = chunked;
	conn_wrote(req->conn);
}

void reply_piece(struct request *req, const void *data, size_t len)
{
	if (!req->conn)
		return;
	if (req->chunked)
		http_put_chunk(&req->conn->out, data, len);
	else
		buf_add(&req->conn->out, data, len);
	conn_wrote(req->conn);
}

void reply_end(struct request *req)
{
	if (!req->conn)
		return;
	if (req->chunked)
		http_put_last_chunk(&req->conn->out);
	/* Cut output would be taken for something else: say nothing more. */
	if (req->conn->out.failed)
		request_abort(req);
	else
		request_finish(req);
}

void reply_json(struct request *req, unsigned int status, struct buf *body)
{
	struct buf *out;

	if (body->failed) {
		reply_error(req, 500, "GENERAL::UNKNOWN_ERROR",
			    "the answer is too large");
		return;
	}
	out = reply_head(req, status);
	if (!out)
		return;
	http_put_field(out, "Content-Type", "application/json");
	http_put_number(out, "Content-Length", buf_len(body));
	reply_head_end(req, false);
	/* The answer to HEAD tells of a body and has none. */
	if (!req->head || strcmp(req->head->method, "HEAD") != 0)
		buf_add(out, buf_data(body), buf_len(body));
	buf_reset(body);
	reply_end(req);
}

void reply_empty(struct request *req, unsigned int status)
{
	struct buf *out = reply_head(req, status);

	if (!out)
		return;
	if (status != 204)
		http_put_number(out, "Content-Length", 0);
	reply_head_end(req, false);
	reply_end(req);
}

static void reply_envelope(struct request *req, unsigned int status,
			   const char *code, const char *message)
{
	struct buf body auto_clean(buf_deinit) = BUF_NULL;
	struct json_out json = { .buf = &body };

	/* Too late for an answer of another kind. */
	if (req->replied) {
		request_abort(req);
		return;
	}
	buf_init(&body, 8192);
	json_open(&json, NULL, '{');
	json_put_text(&json, "code", code);
	json_put_text(&json, "message", message);
	json_close(&json, '}');
	reply_json(req, status, &body);
}

void reply_error(struct request *req, unsigned int status, const char *code,
		 const char *fmt, ...)
{
	char message[2 * ERR_MSG_MAX];
	va_list ap;

	if (!req->conn)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	reply_envelope(req, status, code, message);
}

void reply_err(struct request *req, const char *code, const struct err *err)
{
	unsigned int status = (unsigned int)err_http_status(err->kind);

	if (err->kind != ERR_INTERNAL) {
		reply_error(req, status, code, "%s", err->msg);
		return;
	}
	log_line(LOG_ERROR, req, "request %s: %s", req->id, err->msg);
	reply_error(req, status, code,
		    "internal error; the log has more about request %s",
		    req->id);
}

void reply_too_fast(struct request *req, const char *what, uint64_t rate,
		    unsigned int wait_s)
{
	req->retry_after_s = wait_s;
	reply_error(req, 429, "SANDBOX::RATE_LIMITED",
		    "more than %" PRIu64 " %s per second; try again in %u s",
		    rate, what, wait_s);
}

struct sandbox *reply_sandbox(struct request *req)
{
	struct sandbox *sandbox =
		sandboxes_find(&req->server->sandboxes, req->in_id,
			       req->by_id ? NULL : req->domain);

	if (!sandbox)
		reply_error(req, 404, "SANDBOX::NOT_FOUND",
			    "sandbox %s not found", req->in_id);
	return sandbox;
}
