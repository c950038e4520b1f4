/* SPDX-License-Identifier: Apache-2.0 */

/*
 * frames - a client's end of a WebSocket (RFC 6455), without any I/O
 *
 * Input from: osbd, and through it a sandbox: hostile. A frame's head is
 *             checked before its payload is looked at; what has to be kept
 *             (text, pings) is bounded by its buffer.
 * Ownership:  owns two small buffers; the output is the owner's.
 */

#include "client/frames.h"

#include <errno.h>
#include <string.h>

#define OPCODE_CONTINUATION 0x0
#define OPCODE_TEXT 0x1
#define OPCODE_BINARY 0x2
#define OPCODE_CLOSE 0x8
#define OPCODE_PING 0x9
#define OPCODE_PONG 0xa
#define FIN 0x80
#define RESERVED 0x70
#define MASKED 0x80
#define CONTROL_MAX 125 /* payload of a control frame */
#define MASK_LEN 4
#define HEAD_MAX (2 + 8 + MASK_LEN)

void frames_init(struct frames *frames, struct buf *out, frames_text_fn on_text,
		 frames_binary_fn on_binary, void *ctx)
{
	memset(frames, 0, sizeof(*frames));
	frames->out = out;
	frames->on_text = on_text;
	frames->on_binary = on_binary;
	frames->ctx = ctx;
	buf_init(&frames->text, FRAMES_TEXT_MAX);
	buf_init(&frames->control, CONTROL_MAX);
}

void frames_deinit(struct frames *frames)
{
	buf_deinit(&frames->text);
	buf_deinit(&frames->control);
}

/*
 * A client must mask (5.3), lest a script in a browser make a proxy on the
 * way see what it likes. Here is neither: a mask of zeros is valid, and
 * leaves the bytes as they are.
 */
static int put_frame(struct frames *frames, uint8_t opcode, const void *first,
		     size_t first_len, const void *data, size_t len)
{
	size_t total = first_len + len;
	uint8_t head[HEAD_MAX] = { (uint8_t)(FIN | opcode) };
	size_t n = 2;

	if (total <= CONTROL_MAX) {
		head[1] = (uint8_t)(MASKED | total);
	} else if (total <= UINT16_MAX) {
		head[1] = MASKED | 126;
		head[n++] = (uint8_t)(total >> 8);
		head[n++] = (uint8_t)total;
	} else {
		head[1] = MASKED | 127;
		for (int shift = 56; shift >= 0; shift -= 8)
			head[n++] = (uint8_t)((uint64_t)total >> shift);
	}
	n += MASK_LEN;
	if (buf_room(frames->out) < n + total)
		return -ENOBUFS;
	buf_add(frames->out, head, n);
	if (first_len)
		buf_add(frames->out, first, first_len);
	if (len)
		buf_add(frames->out, data, len);
	return frames->out->failed ? -ENOBUFS : 0;
}

int frames_put_text(struct frames *frames, const char *text)
{
	return put_frame(frames, OPCODE_TEXT, NULL, 0, text, strlen(text));
}

int frames_put_binary(struct frames *frames, uint8_t kind, const void *data,
		      size_t len)
{
	return put_frame(frames, OPCODE_BINARY, &kind, sizeof(kind), data, len);
}

static uint8_t opcode_of(const struct frames *frames)
{
	return frames->head[0] & 0x0f;
}

static bool is_control(const struct frames *frames)
{
	return opcode_of(frames) & 0x08;
}

/* How long this frame's head is, as far as that is known yet. */
static size_t head_size(const struct frames *frames)
{
	if (frames->head_len < 2)
		return 2;
	switch (frames->head[1] & 0x7f) {
	case 126:
		return 4;
	case 127:
		return 10;
	default:
		return 2;
	}
}

static uint64_t payload_len(const struct frames *frames)
{
	uint64_t len = 0;

	if (frames->head_len == 2)
		return frames->head[1] & 0x7f;
	for (size_t i = 2; i < frames->head_len; i++)
		len = len << 8 | frames->head[i];
	return len;
}

/* The head is complete: may such a frame come now? */
static int begin_frame(struct frames *frames)
{
	uint8_t opcode = opcode_of(frames);

	frames->left = payload_len(frames);
	frames->in_payload = true;
	if ((frames->head[0] & RESERVED) || (frames->head[1] & MASKED) ||
	    frames->left > INT64_MAX)
		return -EBADMSG;
	if (is_control(frames)) {
		buf_reset(&frames->control);
		return opcode <= OPCODE_PONG && (frames->head[0] & FIN) &&
				       frames->left <= CONTROL_MAX
			       ? 0
			       : -EBADMSG;
	}
	if (opcode == OPCODE_CONTINUATION)
		return frames->message ? 0 : -EBADMSG;
	if (opcode > OPCODE_BINARY || frames->message)
		return -EBADMSG;
	frames->message = opcode;
	frames->has_kind = false;
	return 0;
}

static int take_payload(struct frames *frames, const uint8_t *data, size_t len)
{
	if (is_control(frames)) {
		buf_add(&frames->control, data, len);
		return 0;
	}
	if (frames->message == OPCODE_TEXT) {
		buf_add(&frames->text, data, len);
		return frames->text.failed ? -EMSGSIZE : 0;
	}
	if (!frames->has_kind) {
		frames->has_kind = true;
		frames->kind = data[0];
		data++;
		len--;
	}
	if (len)
		frames->on_binary(frames->ctx, frames->kind, data, len);
	return 0;
}

/* No room for an answer: the owner learns of the end soon enough. */
static void end_control(struct frames *frames)
{
	const void *data = buf_data(&frames->control);
	size_t len = buf_len(&frames->control);

	if (opcode_of(frames) == OPCODE_PING) {
		(void)put_frame(frames, OPCODE_PONG, NULL, 0, data, len);
	} else if (opcode_of(frames) == OPCODE_CLOSE && !frames->closed) {
		frames->closed = true;
		(void)put_frame(frames, OPCODE_CLOSE, NULL, 0, data, len);
	}
}

static void end_frame(struct frames *frames)
{
	frames->in_payload = false;
	frames->head_len = 0;
	if (is_control(frames)) {
		end_control(frames);
		return;
	}
	if (!(frames->head[0] & FIN))
		return;
	if (frames->message == OPCODE_TEXT) {
		frames->on_text(frames->ctx, buf_data(&frames->text),
				buf_len(&frames->text));
		buf_reset(&frames->text);
	}
	frames->message = 0;
}

int frames_feed(struct frames *frames, const uint8_t *data, size_t len)
{
	size_t n;
	int r;

	while (len > 0 && !frames->closed) {
		if (!frames->in_payload) {
			frames->head[frames->head_len++] = *data++;
			len--;
			if (frames->head_len < head_size(frames))
				continue;
			r = begin_frame(frames);
			if (r < 0)
				return r;
		}
		n = frames->left < len ? (size_t)frames->left : len;
		r = n ? take_payload(frames, data, n) : 0;
		if (r < 0)
			return r;
		data += n;
		len -= n;
		frames->left -= n;
		if (frames->left == 0)
			end_frame(frames);
	}
	return 0;
}
