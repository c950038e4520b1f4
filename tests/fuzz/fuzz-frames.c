/* SPDX-License-Identifier: Apache-2.0 */

/*
 * frames - a client's end of a WebSocket: what osbd sends
 *
 * Input: four sizes of pieces, then the stream. Whatever the pieces, the same
 * messages must come out, and the same answers.
 */

#include "client/frames.h"
#include "fuzz.h"

#define OUT_MAX (64u * 1024)

struct run {
	struct buf *seen;
	int kind; /* of the binary bytes seen last, else -1 */
};

static void on_text(void *ctx, const uint8_t *data, size_t len)
{
	struct run *run = ctx;

	CHECK(len <= FRAMES_TEXT_MAX);
	run->kind = -1;
	buf_addf(run->seen, "\ntext %zu ", len);
	buf_add(run->seen, data, len);
}

/* Pieces of one kind are one stream: where it is cut means nothing. */
static void on_binary(void *ctx, uint8_t kind, const uint8_t *data, size_t len)
{
	struct run *run = ctx;

	CHECK(len > 0);
	if (run->kind != kind)
		buf_addf(run->seen, "\nbinary %u ", kind);
	run->kind = kind;
	buf_add(run->seen, data, len);
}

static void run_stream(struct fuzz in, struct split split, struct buf *seen)
{
	struct buf out auto_clean(buf_deinit) = BUF_NULL;
	struct run run = { .seen = seen, .kind = -1 };
	struct frames frames;
	int r = 0;

	buf_init(&out, OUT_MAX);
	frames_init(&frames, &out, on_text, on_binary, &run);
	while (in.len && r == 0) {
		size_t n;
		uint8_t *piece auto_free = split_take(&split, &in, &n);

		r = frames_feed(&frames, piece, n);
	}
	buf_addf(seen, "\nend %d %d\n", r, frames.closed);
	buf_add(seen, buf_data(&out), buf_len(&out));
	frames_deinit(&frames);
}

static void check_same(struct fuzz in, struct split split,
		       const struct buf *want)
{
	struct buf seen auto_clean(buf_deinit) = BUF_NULL;

	buf_init(&seen, 4 * OUT_MAX);
	run_stream(in, split, &seen);
	check_equal(buf_data(&seen), buf_len(&seen), buf_data(want),
		    buf_len(want));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct split whole = SPLIT_WHOLE;
	static const struct split bytes = SPLIT_BYTES;
	struct buf seen auto_clean(buf_deinit) = BUF_NULL;
	struct fuzz in = { data, size };
	struct split split = split_read(&in);

	buf_init(&seen, 4 * OUT_MAX);
	run_stream(in, whole, &seen);
	check_same(in, split, &seen);
	check_same(in, bytes, &seen);
	return 0;
}
