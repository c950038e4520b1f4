/* SPDX-License-Identifier: Apache-2.0 */

#include "server/api/event.h"

#include <time.h>

#include "http/write.h"
#include "server/conn.h"
#include "server/reply.h"

void event_stream(struct request *req)
{
	struct buf *out = reply_head(req, 200);

	if (!out)
		return;
	http_put_field(out, "Content-Type", "text/event-stream");
	http_put_field(out, "Cache-Control", "no-cache");
	http_put_field(out, "X-Accel-Buffering", "no");
	reply_head_end(req, true);
}

void event_begin(struct event *event, const char *type)
{
	buf_init(&event->buf, EVENT_MAX);
	event->json = (struct json_out){ .buf = &event->buf };
	json_open(&event->json, NULL, '{');
	json_put_text(&event->json, "type", type);
}

void event_send(struct event *event, struct request *req)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now); /* can't fail */
	json_put_int(&event->json, "timestamp",
		     now.tv_sec * 1000 + now.tv_nsec / 1000000);
	json_close(&event->json, '}');
	buf_adds(&event->buf, "\n\n");
	/* Out of memory: the stream can't go on, but who sends it must first
	   come back from here. */
	if (req && req->conn && event->buf.failed)
		conn_break(req->conn);
	else if (req)
		reply_piece(req, buf_data(&event->buf), buf_len(&event->buf));
	buf_deinit(&event->buf);
}

void event_text(struct request *req, const char *type, const void *text,
		size_t len)
{
	struct event event;

	event_begin(&event, type);
	json_put_bytes(&event.json, "text", text, len);
	event_send(&event, req);
}

void event_line(struct request *req, const char *type, const uint8_t *line,
		size_t len, uint64_t offset)
{
	struct event event;

	event_begin(&event, type);
	/* An empty text would be left out by clients' models. */
	json_put_bytes(&event.json, "text", len ? line : (const void *)"\n",
		       len ? len : 1);
	json_put_int(&event.json, "offset", (int64_t)offset);
	event_send(&event, req);
}

void event_put_error(struct event *event, const char *value, const char *trace,
		     const char *more)
{
	struct json_out *json = &event->json;

	json_open(json, "error", '{');
	json_put_text(json, "ename", "CommandExecError");
	json_put_text(json, "evalue", value);
	json_open(json, "traceback", '[');
	json_put_text(json, NULL, trace);
	if (more)
		json_put_text(json, NULL, more);
	json_close(json, ']');
	json_close(json, '}');
}

void event_error(struct request *req, const char *value, const char *trace,
		 const char *more)
{
	struct event event;

	event_begin(&event, "error");
	event_put_error(&event, value, trace, more);
	event_send(&event, req);
}
