/* SPDX-License-Identifier: Apache-2.0 */

#include "http/write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

const char *http_status_text(unsigned int status)
{
	static const struct {
		unsigned int status;
		const char *text;
	} texts[] = {
		{ 100, "Continue" },
		{ 101, "Switching Protocols" },
		{ 200, "OK" },
		{ 201, "Created" },
		{ 202, "Accepted" },
		{ 204, "No Content" },
		{ 206, "Partial Content" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 408, "Request Timeout" },
		{ 409, "Conflict" },
		{ 411, "Length Required" },
		{ 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" },
		{ 416, "Range Not Satisfiable" },
		{ 426, "Upgrade Required" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" },
		{ 502, "Bad Gateway" },
		{ 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].status == status)
			return texts[i].text;
	return "Unknown";
}

/* No control byte can be part of a head; blanks only where allowed. */
static bool is_clean(const char *text, bool allow_blank)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c == 0x7f || (c == ' ' && !allow_blank))
			return false;
	}
	return true;
}

void http_put_request(struct buf *out, const char *method, const char *target,
		      const char *host)
{
	if (!is_clean(method, false) || !is_clean(target, false) ||
	    !is_clean(host, false)) {
		out->failed = true;
		return;
	}
	buf_adds(out, method);
	buf_adds(out, " ");
	buf_adds(out, target);
	buf_adds(out, " HTTP/1.1\r\nHost: ");
	buf_adds(out, host);
	buf_adds(out, "\r\n");
}

void http_put_status(struct buf *out, unsigned int status)
{
	buf_addf(out, "HTTP/1.1 %u %s\r\n", status, http_status_text(status));
}

void http_put_field(struct buf *out, const char *name, const char *value)
{
	if (!is_clean(name, false) || !is_clean(value, true)) {
		out->failed = true;
		return;
	}
	buf_adds(out, name);
	buf_adds(out, ": ");
	buf_adds(out, value);
	buf_adds(out, "\r\n");
}

void http_put_number(struct buf *out, const char *name, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	http_put_field(out, name, text);
}

void http_put_end(struct buf *out)
{
	buf_adds(out, "\r\n");
}

void http_put_chunk(struct buf *out, const void *data, size_t len)
{
	if (len == 0)
		return;
	/* All or nothing: half a chunk would break the framing. */
	if (out->failed || buf_room(out) < len + 24) {
		out->failed = true;
		return;
	}
	buf_addf(out, "%zx\r\n", len);
	buf_add(out, data, len);
	buf_adds(out, "\r\n");
}

void http_put_last_chunk(struct buf *out)
{
	buf_adds(out, "0\r\n\r\n");
}
