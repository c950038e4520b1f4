/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * ws - one WebSocket (RFC 6455), both roles, without any I/O
 *
 * What the peer sends is hostile and read by wslay; whole messages come out
 * of it by callback. What we send is framed by us straight into the owner's
 * output buffer, one copy and no queue in between; wslay's answers to pings
 * and closes go to the same buffer. A frame is put there whole or not at all.
 *
 * The owner watches buf_len() of the output for back-pressure, and closes
 * the socket when ws_finished() and the output is sent.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct http_head;
struct ws;

#define WS_KEY_LEN 24    /* base64 of 16 random bytes */
#define WS_ACCEPT_LEN 28 /* base64 of a SHA-1 */
#define WS_MESSAGE_MAX (1024u * 1024)
#define WS_FRAGMENTS_MAX 1024

enum ws_role {
	WS_SERVER,
	WS_CLIENT, /* masks what it sends */
};

/*
 * A whole message; @data is the library's and valid during the call. The
 * callback may send and close, but not free the ws.
 */
typedef void (*ws_message_fn)(void *ctx, bool text, const uint8_t *data,
			      size_t len);

/**
 * ws_new() - a WebSocket whose handshake is done
 * @out: where frames are put; stays the caller's and must outlive the ws
 */
int ws_new(enum ws_role role, struct buf *out, ws_message_fn on_message,
	   void *ctx, struct ws **ret_ws);

/** ws_free() - NULL is fine */
void ws_free(struct ws *ws);

/**
 * ws_feed() - bytes from the peer; calls back for each complete message
 *
 * Return: 0, or -errno when the peer broke the protocol or sent a message
 * over WS_MESSAGE_MAX (a close frame with the reason is then in the output).
 */
int ws_feed(struct ws *ws, const void *data, size_t len);

/**
 * ws_send() - one message, in two parts so that a type byte needs no copy
 * @head: may be NULL with 0
 *
 * Return: 0, -ENOBUFS when the output has no room for all of it, -EPIPE after
 * a close was sent.
 */
int ws_send(struct ws *ws, bool text, const void *head, size_t head_len,
	    const void *data, size_t len);

/** ws_send_text() - a text message from a string */
int ws_send_text(struct ws *ws, const char *text);

/** ws_close() - send a close frame, once; later sends are refused */
void ws_close(struct ws *ws, unsigned int code, const char *reason);

/** ws_close_code() - what the peer's close frame said; 0: none came yet */
unsigned int ws_close_code(const struct ws *ws);

/** ws_finished() - close sent and received: nothing more will come or go */
bool ws_finished(const struct ws *ws);

/** ws_new_key() - a client's Sec-WebSocket-Key */
int ws_new_key(char ret_key[WS_KEY_LEN + 1]);

/** ws_accept_key() - the Sec-WebSocket-Accept that answers @key */
void ws_accept_key(const char *key, char ret_accept[WS_ACCEPT_LEN + 1]);

/**
 * ws_request_key() - does the head ask for a WebSocket?
 *
 * Return: its key, or NULL when it isn't a valid version 13 handshake.
 */
const char *ws_request_key(const struct http_head *head);
