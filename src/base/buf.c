/* SPDX-License-Identifier: Apache-2.0 */

#include "base/buf.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_FIRST 512
#define BUF_KEEP 8192 /* an empty buffer gives back what is above this */

void buf_init(struct buf *buf, size_t max)
{
	assert(max > 0);
	memset(buf, 0, sizeof(*buf));
	buf->max = max;
}

void buf_deinit(struct buf *buf)
{
	free(buf->mem);
	buf->mem = NULL;
	buf->size = 0;
	buf->start = 0;
	buf->end = 0;
}

void buf_reset(struct buf *buf)
{
	buf_consume(buf, buf_len(buf));
	buf->failed = false;
}

/* Makes the allocation hold @need bytes, doubling to keep adds cheap. */
static int grow(struct buf *buf, size_t need)
{
	size_t size = buf->size ? buf->size : BUF_FIRST;
	uint8_t *mem;

	while (size < need)
		size *= 2;
	mem = realloc(buf->mem, size);
	if (!mem)
		return -1;
	buf->mem = mem;
	buf->size = size;
	return 0;
}

uint8_t *buf_reserve(struct buf *buf, size_t len)
{
	size_t have = buf_len(buf);

	if (buf->failed || len > buf->max - have) {
		buf->failed = true;
		return NULL;
	}
	if (buf->size - buf->end >= len && buf->mem)
		return buf->mem + buf->end;
	/* Moving beats growing while at least half of it is consumed. */
	if (buf->mem && buf->start && buf->start >= have) {
		memmove(buf->mem, buf->mem + buf->start, have);
		buf->start = 0;
		buf->end = have;
	}
	if ((buf->size - buf->end < len || !buf->mem) &&
	    grow(buf, buf->end + len) < 0) {
		buf->failed = true;
		return NULL;
	}
	return buf->mem + buf->end;
}

void buf_commit(struct buf *buf, size_t len)
{
	assert(len <= buf->size - buf->end);
	buf->end += len;
}

void buf_add(struct buf *buf, const void *data, size_t len)
{
	uint8_t *at;

	if (len == 0)
		return;
	at = buf_reserve(buf, len);
	if (!at)
		return;
	memcpy(at, data, len);
	buf_commit(buf, len);
}

void buf_adds(struct buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text));
}

void buf_addf(struct buf *buf, const char *fmt, ...)
{
	va_list ap;
	uint8_t *at;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0) {
		buf->failed = true;
		return;
	}
	/* One more for vsnprintf's NUL, which isn't committed. */
	at = buf_reserve(buf, (size_t)n + 1);
	if (!at)
		return;
	va_start(ap, fmt);
	(void)vsnprintf((char *)at, (size_t)n + 1, fmt, ap);
	va_end(ap);
	buf_commit(buf, (size_t)n);
}

void buf_cut(struct buf *buf, size_t len)
{
	assert(len <= buf_len(buf));
	buf->end -= len;
}

void buf_consume(struct buf *buf, size_t len)
{
	assert(len <= buf_len(buf));
	buf->start += len;
	if (buf->start < buf->end)
		return;
	buf->start = 0;
	buf->end = 0;
	if (buf->size > BUF_KEEP) {
		free(buf->mem);
		buf->mem = NULL;
		buf->size = 0;
	}
}
