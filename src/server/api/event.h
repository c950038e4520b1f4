/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * event - one event of a stream: a JSON object and an empty line
 *
 * Without SSE's field names: that is what all clients read.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "server/api/lines.h"
#include "server/json.h"

#define EVENT_MAX (8u * LINES_MAX) /* a line with every byte escaped */

struct request;

struct event {
	struct buf buf;
	struct json_out json;
};

/** event_stream() - begin an answer that is a stream of events */
void event_stream(struct request *req);

/** event_begin() - members follow by event->json */
void event_begin(struct event *event, const char *type);

/** event_send() - with its time; @req NULL: thrown away */
void event_send(struct event *event, struct request *req);

/** event_text() - one that has a text only */
void event_text(struct request *req, const char *type, const void *text,
		size_t len);

/** event_line() - a line of output; @offset: of its stream, behind it */
void event_line(struct request *req, const char *type, const uint8_t *line,
		size_t len, uint64_t offset);

/** event_put_error() - the member `error` of an event, as of event_error() */
void event_put_error(struct event *event, const char *value, const char *trace,
		     const char *more);

/**
 * event_error() - how a command failed
 * @more: a second line of the traceback, or NULL
 */
void event_error(struct request *req, const char *value, const char *trace,
		 const char *more);
