/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "http/ws.h"

struct end {
	struct ws *ws;
	struct buf out;
	uint8_t *last; /* the last message */
	size_t last_len;
	bool last_text;
	unsigned int num;
};

static void on_message(void *ctx, bool text, const uint8_t *data, size_t len)
{
	struct end *end = ctx;

	free(end->last);
	end->last = malloc(len + 1);
	assert_non_null(end->last);
	memcpy(end->last, data, len);
	end->last[len] = '\0';
	end->last_len = len;
	end->last_text = text;
	end->num++;
}

static void start(struct end *end, enum ws_role role)
{
	memset(end, 0, sizeof(*end));
	buf_init(&end->out, 4u << 20);
	assert_int_equal(ws_new(role, &end->out, on_message, end, &end->ws), 0);
}

static void stop(struct end *end)
{
	ws_free(end->ws);
	buf_deinit(&end->out);
	free(end->last);
}

/* All that @from has to say, in pieces of @step bytes. */
static int carry(struct end *from, struct end *to, size_t step)
{
	while (buf_len(&from->out)) {
		size_t n =
			buf_len(&from->out) < step ? buf_len(&from->out) : step;
		int r = ws_feed(to->ws, buf_data(&from->out), n);

		if (r < 0)
			return r;
		buf_consume(&from->out, n);
	}
	return 0;
}

static void the_accept_key_is_that_of_the_rfc(void **state)
{
	char accept[WS_ACCEPT_LEN + 1];
	char key[WS_KEY_LEN + 1];

	(void)state;
	ws_accept_key("dGhlIHNhbXBsZSBub25jZQ==", accept);
	assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
	assert_int_equal(ws_new_key(key), 0);
	assert_int_equal(strlen(key), WS_KEY_LEN);
}

static void messages_of_all_sizes_arrive(void **state)
{
	static const size_t sizes[] = { 0,     1,     7,      124,   125,
					126,   127,   1000,   65534, 65535,
					65536, 70000, 1048575 };
	struct end client, server;
	uint8_t *data = malloc(1 << 20);

	(void)state;
	assert_non_null(data);
	for (size_t i = 0; i < 1 << 20; i++)
		data[i] = (uint8_t)(i * 7 + (i >> 8));
	start(&client, WS_CLIENT);
	start(&server, WS_SERVER);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t step = i % 2 ? 1000 : 1 << 20;

		assert_int_equal(ws_send(client.ws, false, "\x05", 1, data,
					 sizes[i]),
				 0);
		assert_int_equal(carry(&client, &server, step), 0);
		assert_int_equal(server.last_len, sizes[i] + 1);
		assert_int_equal(server.last[0], 5);
		assert_memory_equal(server.last + 1, data, sizes[i]);
		assert_int_equal(ws_send(server.ws, false, "\x01", 1, data,
					 sizes[i]),
				 0);
		assert_int_equal(carry(&server, &client, step), 0);
		assert_int_equal(client.last_len, sizes[i] + 1);
		assert_memory_equal(client.last + 1, data, sizes[i]);
	}
	assert_int_equal(ws_send_text(server.ws, "{}"), 0);
	assert_int_equal(carry(&server, &client, 1), 0);
	assert_true(client.last_text);
	assert_string_equal((char *)client.last, "{}");
	stop(&client);
	stop(&server);
	free(data);
}

static void a_close_is_answered(void **state)
{
	struct end client, server;

	(void)state;
	start(&client, WS_CLIENT);
	start(&server, WS_SERVER);
	ws_close(server.ws, 1000, "done");
	assert_int_equal(ws_send_text(server.ws, "late"), -EPIPE);
	assert_int_equal(carry(&server, &client, 99), 0);
	assert_int_equal(ws_close_code(client.ws), 1000);
	assert_true(ws_finished(client.ws));
	assert_int_equal(carry(&client, &server, 99), 0);
	assert_true(ws_finished(server.ws));
	stop(&client);
	stop(&server);
}

static void a_too_big_message_is_refused(void **state)
{
	struct end server;
	/* masked binary frame of 2 MiB */
	static const uint8_t head[] = { 0x82, 0xff, 0, 0, 0, 0, 0, 0x20,
					0,    0,    1, 2, 3, 4, 5, 6 };

	(void)state;
	start(&server, WS_SERVER);
	assert_true(ws_feed(server.ws, head, sizeof(head)) < 0);
	assert_int_equal(server.num, 0);
	assert_true(buf_len(&server.out) > 0);
	stop(&server);
}

static void broken_frames_are_refused(void **state)
{
	static const struct {
		uint8_t bytes[8];
		size_t len;
	} bad[] = {
		{ { 0x82, 0x01, 'x' }, 3 },              /* no mask */
		{ { 0xc2, 0x81, 1, 2, 3, 4, 5 }, 7 },    /* RSV bit */
		{ { 0x83, 0x81, 1, 2, 3, 4, 5 }, 7 },    /* opcode 3 */
		{ { 0x81, 0x81, 0, 0, 0, 0, 0xff }, 7 }, /* UTF-8 */
		{ { 0x09, 0x80, 1, 2, 3, 4 }, 6 },       /* split ping */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct end server;

		start(&server, WS_SERVER);
		assert_true(ws_feed(server.ws, bad[i].bytes, bad[i].len) < 0);
		assert_int_equal(server.num, 0);
		stop(&server);
	}
}

static void a_ping_is_answered(void **state)
{
	static const uint8_t ping[] = { 0x89, 0x82, 0, 0, 0, 0, 'h', 'i' };
	struct end server;

	(void)state;
	start(&server, WS_SERVER);
	assert_int_equal(ws_feed(server.ws, ping, sizeof(ping)), 0);
	assert_int_equal(buf_len(&server.out), 4);
	assert_memory_equal(buf_data(&server.out), "\x8a\x02hi", 4);
	stop(&server);
}

static void a_full_output_takes_no_half_frame(void **state)
{
	struct buf out;
	struct ws *ws;
	char data[100] = { 0 };

	(void)state;
	buf_init(&out, 64);
	assert_int_equal(ws_new(WS_SERVER, &out, on_message, NULL, &ws), 0);
	assert_int_equal(ws_send(ws, false, NULL, 0, data, sizeof(data)),
			 -ENOBUFS);
	assert_int_equal(buf_len(&out), 0);
	assert_int_equal(ws_send(ws, false, NULL, 0, data, 10), 0);
	ws_free(ws);
	buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_accept_key_is_that_of_the_rfc),
		cmocka_unit_test(messages_of_all_sizes_arrive),
		cmocka_unit_test(a_close_is_answered),
		cmocka_unit_test(a_too_big_message_is_refused),
		cmocka_unit_test(broken_frames_are_refused),
		cmocka_unit_test(a_ping_is_answered),
		cmocka_unit_test(a_full_output_takes_no_half_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
