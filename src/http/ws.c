/* SPDX-License-Identifier: Apache-2.0 */

/*
 * ws - WebSocket messages over wslay
 *
 * Purpose:    turn bytes into messages, and messages into frames.
 * Process:    osbd (server role) and osb (client role).
 * Input from: the other end: hostile.
 * Ownership:  owns wslay's context; the output buffer is the owner's.
 * Invariants: a frame enters the output whole, so wslay's own control frames
 *             and our data frames never interleave.
 */

#include "http/ws.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <wslay/wslay.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "http/head.h"

#define MASK_LEN 4
#define FRAME_HEAD_MAX (2 + 8 + MASK_LEN)
#define CLOSE_REASON_MAX 123 /* RFC 6455, 5.5 */

struct ws {
	enum ws_role role;
	struct buf *out;
	ws_message_fn on_message;
	void *ctx;
	wslay_event_context_ptr wslay;
	unsigned int fragments; /* of the message in progress */
	const uint8_t *in; /* what ws_feed() was given and isn't read yet */
	size_t in_len;
	bool close_sent;
	uint8_t random[256]; /* masks, fetched many at a time */
	size_t random_used;
};

/* Masks must not be predictable (RFC 6455, 10.3). */
static int next_mask(struct ws *ws, uint8_t *ret_mask, size_t len)
{
	if (sizeof(ws->random) - ws->random_used < len) {
		ssize_t n = getrandom(ws->random, sizeof(ws->random), 0);

		if (n != (ssize_t)sizeof(ws->random))
			return -EIO;
		ws->random_used = 0;
	}
	memcpy(ret_mask, ws->random + ws->random_used, len);
	ws->random_used += len;
	return 0;
}

static int on_genmask(wslay_event_context_ptr ctx, uint8_t *mask, size_t len,
		      void *data)
{
	(void)ctx;
	return next_mask(data, mask, len) < 0 ? -1 : 0;
}

static ssize_t on_recv(wslay_event_context_ptr ctx, uint8_t *to, size_t len,
		       int flags, void *data)
{
	struct ws *ws = data;

	(void)flags;
	if (ws->in_len == 0) {
		wslay_event_set_error(ctx, WSLAY_ERR_WOULDBLOCK);
		return -1;
	}
	if (len > ws->in_len)
		len = ws->in_len;
	memcpy(to, ws->in, len);
	ws->in += len;
	ws->in_len -= len;
	return (ssize_t)len;
}

/* wslay's own frames: pongs and closes, at most 139 bytes each. */
static ssize_t on_send(wslay_event_context_ptr ctx, const uint8_t *from,
		       size_t len, int flags, void *data)
{
	struct ws *ws = data;

	(void)flags;
	buf_add(ws->out, from, len);
	if (ws->out->failed) {
		wslay_event_set_error(ctx, WSLAY_ERR_CALLBACK_FAILURE);
		return -1;
	}
	return (ssize_t)len;
}

/* wslay keeps every fragment in an allocation of its own. */
static void on_frame(wslay_event_context_ptr ctx,
		     const struct wslay_event_on_frame_recv_start_arg *arg,
		     void *data)
{
	struct ws *ws = data;

	(void)ctx;
	if (!wslay_is_ctrl_frame(arg->opcode))
		ws->fragments++;
}

static void on_msg(wslay_event_context_ptr ctx,
		   const struct wslay_event_on_msg_recv_arg *arg, void *data)
{
	struct ws *ws = data;

	(void)ctx;
	if (wslay_is_ctrl_frame(arg->opcode))
		return; /* answered by wslay */
	ws->fragments = 0;
	ws->on_message(ws->ctx, arg->opcode == WSLAY_TEXT_FRAME, arg->msg,
		       arg->msg_length);
}

int ws_new(enum ws_role role, struct buf *out, ws_message_fn on_message,
	   void *ctx, struct ws **ret_ws)
{
	static const struct wslay_event_callbacks callbacks = {
		.recv_callback = on_recv,
		.send_callback = on_send,
		.genmask_callback = on_genmask,
		.on_frame_recv_start_callback = on_frame,
		.on_msg_recv_callback = on_msg,
	};
	struct ws *ws = calloc(1, sizeof(*ws));
	int r;

	if (!ws)
		return -ENOMEM;
	ws->role = role;
	ws->out = out;
	ws->on_message = on_message;
	ws->ctx = ctx;
	ws->random_used = sizeof(ws->random);
	if (role == WS_SERVER)
		r = wslay_event_context_server_init(&ws->wslay, &callbacks, ws);
	else
		r = wslay_event_context_client_init(&ws->wslay, &callbacks, ws);
	if (r != 0) {
		free(ws);
		return -ENOMEM;
	}
	wslay_event_config_set_max_recv_msg_length(ws->wslay, WS_MESSAGE_MAX);
	*ret_ws = ws;
	return 0;
}

void ws_free(struct ws *ws)
{
	if (!ws)
		return;
	wslay_event_context_free(ws->wslay);
	free(ws);
}

int ws_feed(struct ws *ws, const void *data, size_t len)
{
	int r;

	ws->in = data;
	ws->in_len = len;
	r = wslay_event_recv(ws->wslay);
	ws->in = NULL;
	if (wslay_event_want_write(ws->wslay) &&
	    wslay_event_send(ws->wslay) != 0)
		return -ENOBUFS;
	if (r == WSLAY_ERR_NOMEM)
		return -ENOMEM;
	if (r != 0 || ws->fragments > WS_FRAGMENTS_MAX)
		return -EPROTO;
	/* wslay answers a protocol error with a close and stops reading. */
	if (ws->in_len && !wslay_event_get_close_received(ws->wslay))
		return -EPROTO;
	if (!wslay_event_get_read_enabled(ws->wslay) &&
	    !wslay_event_get_close_received(ws->wslay))
		return -EPROTO;
	return 0;
}

/* The bytes before the payload; returns how many. */
static size_t put_frame_head(uint8_t *to, bool text, bool masked, size_t len)
{
	uint8_t mask_bit = masked ? 0x80 : 0;

	to[0] = (uint8_t)(0x80 |
			  (text ? WSLAY_TEXT_FRAME : WSLAY_BINARY_FRAME));
	if (len < 126) {
		to[1] = (uint8_t)(mask_bit | len);
		return 2;
	}
	if (len <= UINT16_MAX) {
		to[1] = mask_bit | 126;
		to[2] = (uint8_t)(len >> 8);
		to[3] = (uint8_t)len;
		return 4;
	}
	to[1] = mask_bit | 127;
	for (unsigned int i = 0; i < 8; i++)
		to[2 + i] = (uint8_t)((uint64_t)len >> (56 - 8 * i));
	return 10;
}

/* Eight bytes at a time; @p begins where the mask does. */
static void apply_mask(uint8_t *p, size_t len, const uint8_t mask[MASK_LEN])
{
	uint64_t wide;
	size_t i = 0;

	memcpy(&wide, mask, MASK_LEN);
	memcpy((uint8_t *)&wide + MASK_LEN, mask, MASK_LEN);
	for (; i + sizeof(wide) <= len; i += sizeof(wide)) {
		uint64_t word;

		memcpy(&word, p + i, sizeof(word));
		word ^= wide;
		memcpy(p + i, &word, sizeof(word));
	}
	for (; i < len; i++)
		p[i] ^= mask[i % MASK_LEN];
}

int ws_send(struct ws *ws, bool text, const void *head, size_t head_len,
	    const void *data, size_t len)
{
	bool masked = ws->role == WS_CLIENT;
	size_t total = head_len + len;
	uint8_t mask[MASK_LEN];
	uint8_t *frame;
	size_t n;

	if (ws->close_sent || wslay_event_get_close_sent(ws->wslay))
		return -EPIPE;
	if (buf_room(ws->out) < total + FRAME_HEAD_MAX)
		return -ENOBUFS;
	if (masked && next_mask(ws, mask, sizeof(mask)) < 0)
		return -EIO;
	frame = buf_reserve(ws->out, total + FRAME_HEAD_MAX);
	if (!frame)
		return -ENOBUFS;
	n = put_frame_head(frame, text, masked, total);
	if (masked) {
		memcpy(frame + n, mask, sizeof(mask));
		n += sizeof(mask);
	}
	if (head_len)
		memcpy(frame + n, head, head_len);
	if (len)
		memcpy(frame + n + head_len, data, len);
	if (masked)
		apply_mask(frame + n, total, mask);
	buf_commit(ws->out, n + total);
	return 0;
}

int ws_send_text(struct ws *ws, const char *text)
{
	return ws_send(ws, true, NULL, 0, text, strlen(text));
}

void ws_close(struct ws *ws, unsigned int code, const char *reason)
{
	size_t len = strlen(reason);

	if (ws->close_sent || wslay_event_get_close_sent(ws->wslay))
		return;
	if (len > CLOSE_REASON_MAX)
		len = CLOSE_REASON_MAX;
	ws->close_sent = true;
	/* A full output or no memory: the owner closes the socket anyway. */
	if (wslay_event_queue_close(ws->wslay, (uint16_t)code,
				    (const uint8_t *)reason, len) == 0)
		(void)wslay_event_send(ws->wslay);
}

unsigned int ws_close_code(const struct ws *ws)
{
	unsigned int code;

	if (!wslay_event_get_close_received(ws->wslay))
		return 0;
	code = wslay_event_get_status_code_received(ws->wslay);
	return code ? code : WSLAY_CODE_NO_STATUS_RCVD;
}

bool ws_finished(const struct ws *ws)
{
	return wslay_event_get_close_received(ws->wslay) &&
	       wslay_event_get_close_sent(ws->wslay);
}
