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

static void on_message(void *ctx, bool text, const uint8_t *data, size_t len)
{
	struct buf *seen = ctx;

	CHECK(len <= WS_MESSAGE_MAX);
	buf_addf(seen, "\n%s %zu ", text ? "text" : "binary", len);
	buf_add(seen, data, len);
}

static void run_stream(struct fuzz in, struct split split, struct buf *seen)
{
	struct buf out auto_clean(buf_deinit) = BUF_NULL;
	struct ws *ws;
	int r = 0;

	buf_init(&out, OUT_MAX);
	CHECK(ws_new(WS_SERVER, &out, on_message, seen, &ws) == 0);
	while (in.len && r == 0 && !ws_close_code(ws)) {
		size_t n;
		uint8_t *piece auto_free = split_take(&split, &in, &n);

		r = ws_feed(ws, piece, n);
	}
	/*
	 * An error and a close end the connection alike, and which of the two
	 * it was may depend on the pieces: wslay drops pongs that wait behind
	 * an error, and sees a close's reason only as far as one piece holds it.
	 */
	if (r == 0 && !ws_close_code(ws))
		buf_add(seen, buf_data(&out), buf_len(&out));
	else
		buf_adds(seen, "\nover");
	ws_free(ws);
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
	struct buf seen auto_clean(buf_deinit) = BUF_NULL;
	struct fuzz in = { data, size < OUT_MAX / 2 ? size : OUT_MAX / 2 };
	struct split split = split_read(&in);

	buf_init(&seen, 4 * OUT_MAX);
	run_stream(in, whole, &seen);
	check_same(in, split, &seen);
	check_same(in, bytes, &seen);
	check_to_client(in, split);
	check_to_server(in);
	return 0;
}
