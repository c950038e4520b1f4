/* SPDX-License-Identifier: Apache-2.0 */

#include "server/api/lines.h"

#include "base/utf8.h"

void lines_init(struct lines *lines, uint64_t pos)
{
	buf_init(&lines->partial, LINES_MAX);
	lines->after_cr = false;
	lines->pos = lines->end = pos;
}

void lines_deinit(struct lines *lines)
{
	buf_deinit(&lines->partial);
}

void lines_end(struct lines *lines, lines_fn fn, void *ctx)
{
	if (buf_len(&lines->partial) == 0)
		return;
	lines->end = lines->pos;
	fn(ctx, buf_data(&lines->partial), buf_len(&lines->partial));
	buf_reset(&lines->partial);
}

/* How much of a full buffer can go without cutting a character. */
static size_t whole_chars(const uint8_t *p, size_t len)
{
	size_t cut = len;

	while (cut > 0 && len - cut < 3 && (p[cut - 1] & 0xc0) == 0x80)
		cut--;
	if (cut > 0 && p[cut - 1] >= 0xc0)
		return cut - 1;
	return len; /* ends with ASCII, or isn't UTF-8 anyway */
}

void lines_trim(struct lines *lines)
{
	struct buf *partial = &lines->partial;
	size_t len = buf_len(partial);
	size_t cut = len - utf8_whole(buf_data(partial), len);

	lines->pos -= cut;
	buf_cut(partial, cut);
}

/*
 * Bytes of a line whose end isn't known yet. A full buffer waits for what
 * follows: a line end there makes it a whole line, which must not be told
 * apart from one that came in one piece.
 */
static void add_partial(struct lines *lines, const uint8_t *data, size_t len,
			lines_fn fn, void *ctx)
{
	struct buf *partial = &lines->partial;

	while (len) {
		size_t n;

		if (buf_room(partial) == 0) {
			size_t cut = whole_chars(buf_data(partial),
						 buf_len(partial));

			lines->end = lines->pos - (buf_len(partial) - cut);
			fn(ctx, buf_data(partial), cut);
			buf_consume(partial, cut);
		}
		n = len < buf_room(partial) ? len : buf_room(partial);
		buf_add(partial, data, n);
		lines->pos += n;
		data += n;
		len -= n;
		/* No memory: this piece is all that can be lost. */
		if (partial->failed)
			buf_reset(partial);
	}
}

static size_t find_end(const uint8_t *data, size_t len)
{
	size_t i = 0;

	while (i < len && data[i] != '\n' && data[i] != '\r')
		i++;
	return i;
}

void lines_feed(struct lines *lines, const uint8_t *data, size_t len,
		lines_fn fn, void *ctx)
{
	while (len) {
		size_t n;

		if (lines->after_cr && *data == '\n') {
			lines->after_cr = false;
			lines->pos++;
			data++;
			len--;
			continue;
		}
		lines->after_cr = false;
		n = find_end(data, len);
		if (n == len) {
			add_partial(lines, data, len, fn, ctx);
			return;
		}
		if (buf_len(&lines->partial) || n > LINES_MAX) {
			add_partial(lines, data, n, fn, ctx);
			lines->pos++;
			lines_end(lines, fn, ctx);
		} else {
			lines->pos += n + 1;
			lines->end = lines->pos;
			fn(ctx, data, n);
		}
		lines->after_cr = data[n] == '\r';
		data += n + 1;
		len -= n + 1;
	}
}
