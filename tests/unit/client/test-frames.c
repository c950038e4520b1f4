/* SPDX-License-Identifier: Apache-2.0 */

/* A client's frames against the server's end of them (http/ws.h). */

#include "test.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "client/frames.h"
#include "http/ws.h"

struct pair {
	struct frames client;
	struct buf client_out;
	struct ws *server;
	struct buf server_out;
	/* what the client got */
	unsigned int num_texts;
	size_t text_len;
	size_t binary_len;
	uint8_t kind;
	uint8_t last_byte;
	/* what the server got */
	unsigned int num_messages;
	bool was_text;
	size_t message_len;
	uint8_t first_byte;
};

static void on_text(void *ctx, const uint8_t *data, size_t len)
{
	struct pair *pair = ctx;

	(void)data;
	pair->num_texts++;
	pair->text_len = len;
}

static void on_binary(void *ctx, uint8_t kind, const uint8_t *data, size_t len)
{
	struct pair *pair = ctx;

	pair->kind = kind;
	pair->binary_len += len;
	pair->last_byte = data[len - 1];
}

static void on_message(void *ctx, bool text, const uint8_t *data, size_t len)
{
	struct pair *pair = ctx;

	pair->num_messages++;
	pair->was_text = text;
	pair->message_len = len;
	pair->first_byte = len ? data[0] : 0;
}

static void start(struct pair *pair)
{
	memset(pair, 0, sizeof(*pair));
	buf_init(&pair->client_out, 4u << 20);
	buf_init(&pair->server_out, 4u << 20);
	frames_init(&pair->client, &pair->client_out, on_text, on_binary, pair);
	assert_int_equal(ws_new(WS_SERVER, &pair->server_out, on_message, pair,
				&pair->server),
			 0);
}

static void stop(struct pair *pair)
{
	frames_deinit(&pair->client);
	ws_free(pair->server);
	buf_deinit(&pair->client_out);
	buf_deinit(&pair->server_out);
}

static int to_client(struct pair *pair, size_t step)
{
	struct buf *from = &pair->server_out;
	int r = 0;

	while (r == 0 && buf_len(from)) {
		size_t n = buf_len(from) < step ? buf_len(from) : step;

		r = frames_feed(&pair->client, buf_data(from), n);
		buf_consume(from, n);
	}
	return r;
}

static int to_server(struct pair *pair)
{
	int r = ws_feed(pair->server, buf_data(&pair->client_out),
			buf_len(&pair->client_out));

	buf_reset(&pair->client_out);
	return r;
}

static const size_t sizes[] = { 0,   1,     2,     124,   125,  126,
				127, 65534, 65535, 65536, 70000 };
static uint8_t bytes[70000];

static void the_server_understands_all_sizes(void **state)
{
	struct pair pair;

	(void)state;
	start(&pair);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		memset(bytes, (int)i + 1, sizeof(bytes));
		assert_int_equal(frames_put_binary(&pair.client, 7, bytes,
						   sizes[i]),
				 0);
		assert_int_equal(to_server(&pair), 0);
		assert_int_equal(pair.num_messages, i + 1);
		assert_false(pair.was_text);
		assert_int_equal(pair.message_len, sizes[i] + 1);
		assert_int_equal(pair.first_byte, 7);
	}
	assert_int_equal(frames_put_text(&pair.client, "hello"), 0);
	assert_int_equal(to_server(&pair), 0);
	assert_true(pair.was_text);
	assert_int_equal(pair.message_len, 5);
	stop(&pair);
}

static void messages_arrive_however_they_are_cut(void **state)
{
	static const size_t steps[] = { 1, 2, 3, 7, 4096, 1u << 20 };
	const uint8_t kind = 2;

	(void)state;
	for (size_t s = 0; s < ARRAY_SIZE(steps); s++) {
		struct pair pair;
		size_t total = 0;

		start(&pair);
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			bytes[sizes[i] ? sizes[i] - 1 : 0] = 0x5a;
			assert_int_equal(ws_send(pair.server, false, &kind, 1,
						 bytes, sizes[i]),
					 0);
			assert_int_equal(ws_send_text(pair.server, "{}"), 0);
			total += sizes[i];
		}
		assert_int_equal(to_client(&pair, steps[s]), 0);
		assert_int_equal(pair.binary_len, total);
		assert_int_equal(pair.kind, 2);
		assert_int_equal(pair.last_byte, 0x5a);
		assert_int_equal(pair.num_texts, ARRAY_SIZE(sizes));
		assert_int_equal(pair.text_len, 2);
		stop(&pair);
	}
}

static void a_close_is_answered(void **state)
{
	struct pair pair;

	(void)state;
	start(&pair);
	ws_close(pair.server, 1000, "done");
	assert_int_equal(to_client(&pair, 1), 0);
	assert_true(pair.client.closed);
	assert_int_equal(to_server(&pair), 0);
	assert_true(ws_finished(pair.server));
	stop(&pair);
}

static void a_ping_between_fragments_is_answered(void **state)
{
	static const uint8_t wire[] = { 0x01, 1,    'a', 0x89, 1,
					'x',  0x80, 2,   'b',  'c' };
	struct pair pair;

	(void)state;
	start(&pair);
	assert_int_equal(frames_feed(&pair.client, wire, sizeof(wire)), 0);
	assert_int_equal(pair.num_texts, 1);
	assert_int_equal(pair.text_len, 3);
	assert_int_equal(buf_len(&pair.client_out), 2 + 4 + 1);
	assert_int_equal(buf_data(&pair.client_out)[0], 0x8a);
	stop(&pair);
}

static int feed_fresh(const uint8_t *wire, size_t len)
{
	struct pair pair;
	int r;

	start(&pair);
	r = frames_feed(&pair.client, wire, len);
	stop(&pair);
	return r;
}

static void a_broken_frame_is_refused(void **state)
{
	static const uint8_t wires[][10] = {
		{ 0x81, 0x80 },        /* masked */
		{ 0xc1, 0x00 },        /* a reserved bit */
		{ 0x83, 0x00 },        /* opcode 3 */
		{ 0x8b, 0x00 },        /* opcode 11 */
		{ 0x80, 0x00 },        /* nothing to continue */
		{ 0x09, 0x00 },        /* a ping in fragments */
		{ 0x89, 126, 0, 126 }, /* a long ping */
		{ 0x82, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
	};
	static const uint8_t inside[] = { 0x01, 1, 'a', 0x81, 1, 'b' };
	static const uint8_t huge[] = { 0x81, 127, 0, 0, 0, 0, 0, 0x20, 0, 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wires); i++)
		assert_int_equal(feed_fresh(wires[i], sizeof(wires[i])),
				 -EBADMSG);
	assert_int_equal(feed_fresh(inside, sizeof(inside)), -EBADMSG);
	assert_int_equal(feed_fresh(huge, sizeof(huge)), 0);
}

static void a_text_over_the_limit_is_refused(void **state)
{
	static const uint8_t head[] = { 0x81, 127, 0, 0, 0, 0, 0, 0x20, 0, 0 };
	struct pair pair;
	int r;

	(void)state;
	start(&pair);
	r = frames_feed(&pair.client, head, sizeof(head));
	for (int i = 0; r == 0 && i < 40; i++)
		r = frames_feed(&pair.client, bytes, sizeof(bytes));
	assert_int_equal(r, -EMSGSIZE);
	stop(&pair);
}

static void a_full_output_takes_no_half_frame(void **state)
{
	struct pair pair;

	(void)state;
	start(&pair);
	buf_deinit(&pair.client_out);
	buf_init(&pair.client_out, 100);
	assert_int_equal(frames_put_binary(&pair.client, 0, bytes, 94),
			 -ENOBUFS);
	assert_int_equal(buf_len(&pair.client_out), 0);
	assert_int_equal(frames_put_binary(&pair.client, 0, bytes, 93), 0);
	stop(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_server_understands_all_sizes),
		cmocka_unit_test(messages_arrive_however_they_are_cut),
		cmocka_unit_test(a_close_is_answered),
		cmocka_unit_test(a_ping_between_fragments_is_answered),
		cmocka_unit_test(a_broken_frame_is_refused),
		cmocka_unit_test(a_text_over_the_limit_is_refused),
		cmocka_unit_test(a_full_output_takes_no_half_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
