/* SPDX-License-Identifier: Apache-2.0 */

/*
 * lines - a program's output, cut into lines for events
 *
 * Input: four sizes of pieces, then the output, in which '~' stands for almost
 * a whole LINES_MAX of letters. Whatever the pieces, the same lines must come
 * out, and they must be those of a cutter that has all of it before it.
 */

#include "fuzz.h"
#include "server/api/lines.h"

#define STREAM_MAX (3 * LINES_MAX + 8192)
#define PIECES_MAX 8192
#define FILL (LINES_MAX - 3)

struct seen {
	size_t num;
	size_t lens[PIECES_MAX];
	size_t len;
	uint8_t bytes[STREAM_MAX];
};

static void on_line(void *ctx, const uint8_t *line, size_t len)
{
	struct seen *seen = ctx;

	CHECK(len <= LINES_MAX);
	CHECK(seen->num < PIECES_MAX && seen->len + len <= STREAM_MAX);
	seen->lens[seen->num++] = len;
	memcpy(seen->bytes + seen->len, line, len);
	seen->len += len;
}

static void run_stream(struct fuzz in, struct split split, struct seen *seen)
{
	struct lines lines;

	seen->num = 0;
	seen->len = 0;
	lines_init(&lines, 0);
	while (in.len) {
		size_t n;
		uint8_t *piece auto_free = split_take(&split, &in, &n);

		lines_feed(&lines, piece, n, on_line, seen);
	}
	lines_end(&lines, on_line, seen);
	lines_deinit(&lines);
}

static size_t length_of_end(const uint8_t *p, size_t len)
{
	if (len >= 2 && p[0] == '\r' && p[1] == '\n')
		return 2;
	return len ? 1 : 0;
}

/* One line of the stream is one piece, or several when it is too long. */
static void check_lines(const uint8_t *p, size_t len, const struct seen *seen)
{
	const uint8_t *bytes = seen->bytes;
	size_t i = 0;

	while (len) {
		size_t line = 0;
		size_t got = 0;
		size_t first = i;

		while (line < len && p[line] != '\n' && p[line] != '\r')
			line++;
		do {
			CHECK(i < seen->num);
			got += seen->lens[i++];
		} while (got < line);
		CHECK(got == line && memcmp(bytes, p, line) == 0);
		CHECK(line > LINES_MAX || i == first + 1);
		bytes += line;
		p += line;
		len -= line;
		line = length_of_end(p, len);
		p += line;
		len -= line;
	}
	CHECK(i == seen->num);
}

/* Return: the length of the output that the input describes. */
static size_t expand(struct fuzz in, uint8_t *to)
{
	unsigned int num_fills = 0;
	size_t len = 0;

	while (in.len && len < STREAM_MAX - LINES_MAX) {
		uint8_t c = fuzz_byte(&in);

		if (c == '~' && num_fills++ < 2) {
			memset(to + len, 'x', FILL);
			len += FILL;
		} else {
			to[len++] = c;
		}
	}
	return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct split whole = SPLIT_WHOLE;
	static uint8_t stream[STREAM_MAX];
	static struct seen all, parts;
	struct fuzz in = { data, size < PIECES_MAX ? size : PIECES_MAX };
	struct split split = split_read(&in);
	struct fuzz out;

	out = (struct fuzz){ stream, expand(in, stream) };
	run_stream(out, whole, &all);
	check_lines(stream, out.len, &all);
	run_stream(out, split, &parts);
	CHECK(parts.num == all.num && parts.len == all.len);
	CHECK(memcmp(parts.lens, all.lens, all.num * sizeof(all.lens[0])) == 0);
	CHECK(memcmp(parts.bytes, all.bytes, all.len) == 0);
	return 0;
}
