/* SPDX-License-Identifier: Apache-2.0 */

/*
 * ws_key - the handshake of a WebSocket, both roles (RFC 6455, 4)
 *
 * In a file of its own, so that a client that reads its frames itself can use
 * it without the library below ws.c.
 */

#include "http/ws.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "http/head.h"
#include "http/sha1.h"

/* RFC 4648; @len 16 or 20 here. */
static void base64(const uint8_t *data, size_t len, char *ret)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		size_t have = len - i < 3 ? len - i : 3;
		uint32_t bits = (uint32_t)data[i] << 16;

		if (have > 1)
			bits |= (uint32_t)data[i + 1] << 8;
		if (have > 2)
			bits |= data[i + 2];
		for (size_t k = 0; k < 4; k++)
			*ret++ = k <= have ? digits[bits >> (18 - 6 * k) & 63]
					   : '=';
	}
	*ret = '\0';
}

int ws_new_key(char ret_key[WS_KEY_LEN + 1])
{
	uint8_t random[16];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	base64(random, sizeof(random), ret_key);
	return 0;
}

void ws_accept_key(const char *key, char ret_accept[WS_ACCEPT_LEN + 1])
{
	static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	char text[WS_KEY_LEN + sizeof(guid)];
	uint8_t digest[SHA1_LEN];
	size_t len = strlen(key);

	assert(len == WS_KEY_LEN);
	memcpy(text, key, len);
	memcpy(text + len, guid, sizeof(guid));
	sha1(text, len + sizeof(guid) - 1, digest);
	base64(digest, sizeof(digest), ret_accept);
}

const char *ws_request_key(const struct http_head *head)
{
	const char *key = http_head_get(head, "Sec-WebSocket-Key");
	const char *version = http_head_get(head, "Sec-WebSocket-Version");

	if (!head->upgrade || strcmp(head->method, "GET") != 0 ||
	    !http_head_has_token(head, "Upgrade", "websocket") || !key ||
	    strlen(key) != WS_KEY_LEN || !version || strcmp(version, "13") != 0)
		return NULL;
	return key;
}
