/* SPDX-License-Identifier: Apache-2.0 */

/*
 * log - how a line is made
 *
 * Values come from clients: a path, a request's id. Text shows control bytes
 * as '?'; JSON is escaped by json.c. A path is shown as the client sent it,
 * with all that isn't plain ASCII in percent form, and never its query.
 */

#include "server/service/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "server/conn.h"
#include "server/json.h"

#define LINE_MAX_BYTES 4096 /* PIPE_BUF: other writers never cut into it */
#define MESSAGE_MAX 1024
#define PATH_SHOWN_MAX 400
#define JSON_MESSAGE_MAX 480 /* six times that, escaped, still fits */

/*
 * The one thing that isn't below struct server: a process has one stderr, and
 * has to say what is wrong also where there is no server yet.
 */
static bool as_json;

void log_as_json(bool json)
{
	as_json = json;
}

static void write_line(char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			line[i] = '?';
	line[len++] = '\n';
	/* One write, one line; dprintf(3) would want to seek first. */
	(void)!write(STDERR_FILENO, line, len);
}

static void write_text(const char *message)
{
	char line[MESSAGE_MAX + 16];
	int n = snprintf(line, sizeof(line) - 1, "osbd: %s", message);

	if (n < 0)
		return;
	write_line(line, strlen(line));
}

/* What every line has. */
static void open_object(struct json_out *json, enum log_level level,
			const char *message, const struct request *req)
{
	static const char *const levels[] = { "info", "warn", "error" };
	_Static_assert(ARRAY_SIZE(levels) == LOG_NUM_LEVELS,
		       "every level has a name");
	struct timespec ts;
	struct tm tm;
	char text[64];
	size_t len;

	(void)clock_gettime(CLOCK_REALTIME, &ts); /* can't fail */
	if (!gmtime_r(&ts.tv_sec, &tm))
		return;
	len = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(text + len, sizeof(text) - len, ".%03uZ",
		       (unsigned int)(ts.tv_nsec / 1000000) % 1000);
	json_open(json, NULL, '{');
	json_put_text(json, "time", text);
	json_put_text(json, "level", levels[level]);
	json_put_bytes(json, "msg", message,
		       strnlen(message, JSON_MESSAGE_MAX));
	if (!req)
		return;
	json_put_text(json, "request_id", req->id);
	if (req->domain[0])
		json_put_text(json, "domain", req->domain);
}

static void close_object(struct json_out *json)
{
	char line[LINE_MAX_BYTES];
	size_t len;

	json_close(json, '}');
	len = buf_len(json->buf);
	if (json->buf->failed || len >= sizeof(line))
		return; /* no memory: nothing whole could be said */
	memcpy(line, buf_data(json->buf), len);
	write_line(line, len);
}

void log_line(enum log_level level, const struct request *req, const char *fmt,
	      ...)
{
	struct buf buf auto_clean(buf_deinit) = BUF_NULL;
	struct json_out json = { .buf = &buf };
	char message[MESSAGE_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	if (!as_json) {
		write_text(message);
		return;
	}
	buf_init(&buf, LINE_MAX_BYTES - 1);
	open_object(&json, level, message, req);
	close_object(&json);
}

void server_log(const char *fmt, ...)
{
	char message[MESSAGE_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	log_line(LOG_ERROR, NULL, "%s", message);
}

/* As far as there is room for it whole. */
static void encode_path(const char *path, char ret_text[PATH_SHOWN_MAX])
{
	size_t len = 0;

	for (; *path && len + 4 < PATH_SHOWN_MAX; path++) {
		unsigned char c = (unsigned char)*path;

		if (c > ' ' && c < 0x7f && c != '"' && c != '\\')
			ret_text[len++] = (char)c;
		else
			len += (size_t)snprintf(ret_text + len, 4, "%%%02X", c);
	}
	ret_text[len] = '\0';
}

void log_access(const struct request *req, uint64_t duration_us)
{
	struct buf buf auto_clean(buf_deinit) = BUF_NULL;
	struct json_out json = { .buf = &buf };
	const char *method = req->head ? req->head->method : "-";
	char path[PATH_SHOWN_MAX];
	char message[MESSAGE_MAX];

	encode_path(req->head ? req->head->path : "-", path);
	if (!as_json) {
		(void)snprintf(message, sizeof(message),
			       "%s %s %u %" PRIu64 " ms domain=%s request=%s",
			       method, path, req->status, duration_us / 1000,
			       req->domain[0] ? req->domain : "-", req->id);
		write_text(message);
		return;
	}
	buf_init(&buf, LINE_MAX_BYTES - 1);
	open_object(&json, LOG_INFO, "request", req);
	json_put_text(&json, "method", method);
	json_put_text(&json, "path", path);
	json_put_int(&json, "status", req->status);
	json_put_int(&json, "duration_ms", (int64_t)(duration_us / 1000));
	close_object(&json);
}
