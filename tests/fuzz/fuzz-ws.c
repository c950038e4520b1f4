/* SPDX-License-Identifier: Apache-2.0 */

/*
 * ws - osbd's end of a WebSocket: what a client sends
 *
 * Input: four sizes of pieces, then a stream of frames. Whatever the pieces,
 * the same messages and answers must come out. The same bytes are also sent
 * as a message, by either end to the other, and must arrive as they are.
 */

#include "client/frames.h"
#include "fuzz.h"
#include "http/ws.h"

#define OUT_MAX (64u * 1024)
#define CLOSE_FRAME 0x88

static void on_message(void *ctx, bool text, const uint8_t *data, size_t len)
{
	struct buf *seen = ctx;

	CHECK(len <= WS_MESSAGE_MAX);
	buf_addf(seen, "\n%s %zu ", text ? "text" : "binary", len);
	buf_add(seen, data, len);
}

/* What came of a stream. */
struct result {
	struct buf seen; /* messages */
	struct buf out;  /* answers */
	bool over;       /* by an error or a close: the same to osbd */
};

static void result_deinit(struct result *result)
{
	buf_deinit(&result->seen);
	buf_deinit(&result->out);
}

static void run_stream(struct fuzz in, struct split split,
		       struct result *result)
{
	struct ws *ws;
	int r = 0;

	buf_init(&result->seen, OUT_MAX);
	buf_init(&result->out, OUT_MAX);
	CHECK(ws_new(WS_SERVER, &result->out, on_message, &result->seen, &ws) ==
	      0);
	while (in.len && r == 0 && !ws_close_code(ws)) {
		size_t n;
		uint8_t *piece auto_free = split_take(&split, &in, &n);

		r = ws_feed(ws, piece, n);
	}
	result->over = r < 0 || ws_close_code(ws);
	ws_free(ws);
}

/*
 * wslay drops pongs that wait behind an error or a close, and sees that a
 * close's reason isn't text only as far as one piece holds it. So answers are
 * compared while the connection lives, and ends where no close is in sight.
 */
static void check_same(struct fuzz in, struct split split,
		       const struct result *want)
{
	struct result got auto_clean(result_deinit) = { .over = false };

	run_stream(in, split, &got);
	check_equal(buf_data(&got.seen), buf_len(&got.seen),
		    buf_data(&want->seen), buf_len(&want->seen));
	if (!got.over && !want->over)
		check_equal(buf_data(&got.out), buf_len(&got.out),
			    buf_data(&want->out), buf_len(&want->out));
	CHECK(got.over == want->over || memchr(in.p, CLOSE_FRAME, in.len));
}

static void on_binary(void *ctx, uint8_t kind, const uint8_t *data, size_t len)
{
	struct buf *seen = ctx;

	CHECK(kind == 1);
	buf_add(seen, data, len);
}

static void on_text(void *ctx, const uint8_t *data, size_t len)
{
	(void)ctx;
	(void)data;
	(void)len;
	CHECK(false); /* nobody sent a text */
}

static void check_to_client(struct fuzz in, struct split split)
{
	struct buf wire auto_clean(buf_deinit) = BUF_NULL;
	struct buf seen auto_clean(buf_deinit) = BUF_NULL;
	const uint8_t kind = 1;
	struct frames frames;
	struct fuzz frame;
	struct ws *ws;

	buf_init(&wire, OUT_MAX);
	buf_init(&seen, OUT_MAX);
	CHECK(ws_new(WS_SERVER, &wire, on_message, &seen, &ws) == 0);
	CHECK(ws_send(ws, false, &kind, 1, in.p, in.len) == 0);
	frames_init(&frames, &wire, on_text, on_binary, &seen);
	frame = (struct fuzz){ buf_data(&wire), buf_len(&wire) };
	while (frame.len) {
		size_t n;
		uint8_t *piece auto_free = split_take(&split, &frame, &n);

		CHECK(frames_feed(&frames, piece, n) == 0);
	}
	CHECK(frames.message == 0);
	check_equal(buf_data(&seen), buf_len(&seen), in.p, in.len);
	frames_deinit(&frames);
	ws_free(ws);
}

static void check_to_server(struct fuzz in)
{
	struct buf wire auto_clean(buf_deinit) = BUF_NULL;
	struct buf seen auto_clean(buf_deinit) = BUF_NULL;
	struct buf want auto_clean(buf_deinit) = BUF_NULL;
	struct frames frames;
	struct ws *ws;

	buf_init(&wire, OUT_MAX);
	buf_init(&seen, OUT_MAX);
	buf_init(&want, OUT_MAX);
	frames_init(&frames, &wire, on_text, on_binary, &seen);
	CHECK(frames_put_binary(&frames, 'k', in.p, in.len) == 0);
	CHECK(ws_new(WS_SERVER, &want, on_message, &seen, &ws) == 0);
	CHECK(ws_feed(ws, buf_data(&wire), buf_len(&wire)) == 0);
	buf_addf(&want, "\nbinary %zu k", in.len + 1);
	buf_add(&want, in.p, in.len);
	check_equal(buf_data(&seen), buf_len(&seen), buf_data(&want),
		    buf_len(&want));
	frames_deinit(&frames);
	ws_free(ws);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct split whole = SPLIT_WHOLE;
	static const struct split bytes = SPLIT_BYTES;
	struct result result auto_clean(result_deinit) = { .over = false };
	struct fuzz in = { data, size < OUT_MAX / 2 ? size : OUT_MAX / 2 };
	struct split split = split_read(&in);

	run_stream(in, whole, &result);
	check_same(in, split, &result);
	check_same(in, bytes, &result);
	check_to_client(in, split);
	check_to_server(in);
	return 0;
}
