/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "http/reader.h"

/* What came out of a reader, as text: "H" head, body bytes, "E" end. */
struct seen {
	char text[512];
	size_t len;
};

static void see(struct seen *seen, const void *data, size_t len)
{
	assert_true(seen->len + len < sizeof(seen->text));
	memcpy(seen->text + seen->len, data, len);
	seen->len += len;
	seen->text[seen->len] = '\0';
}

static int feed(struct http_reader *reader, const char *data, size_t len,
		struct seen *seen)
{
	struct err err = ERR_NULL;
	size_t used = 0;

	for (;;) {
		struct http_event ev;
		size_t n;
		int r;

		r = http_reader_next(reader, data + used, len - used, &n, &ev,
				     &err);
		if (r < 0)
			return r;
		used += n;
		if (ev.type == HTTP_EVENT_HEAD)
			see(seen, "H", 1);
		else if (ev.type == HTTP_EVENT_BODY)
			see(seen, ev.data, ev.len);
		else if (ev.type == HTTP_EVENT_END)
			see(seen, "E", 1);
		else if (used == len)
			return 0;
	}
}

/* Whole, and byte by byte: both must come out the same. */
static int run(enum http_role role, const char *text, struct seen *seen)
{
	struct seen slow = { .len = 0 };
	struct http_reader reader;
	int r_slow = 0;
	int r;

	seen->len = 0;
	seen->text[0] = '\0';
	http_reader_init(&reader, role);
	r = feed(&reader, text, strlen(text), seen);
	http_reader_deinit(&reader);
	http_reader_init(&reader, role);
	for (size_t i = 0; text[i] && r_slow == 0; i++)
		r_slow = feed(&reader, text + i, 1, &slow);
	http_reader_deinit(&reader);
	assert_int_equal(r, r_slow);
	assert_string_equal(seen->text, slow.text);
	return r;
}

static void two_requests_on_one_connection(void **state)
{
	struct seen seen;

	(void)state;
	assert_int_equal(run(HTTP_READ_REQUESTS,
			     "POST /a HTTP/1.1\r\nHost: h\r\n"
			     "Content-Length: 3\r\n\r\nabc"
			     "\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n",
			     &seen),
			 0);
	assert_string_equal(seen.text, "HabcEHE");
}

/* Half a line end, or a second one, is no old client's habit. */
static void only_one_whole_empty_line_may_come_first(void **state)
{
	static const char *const bad[] = { "\r",     "\n",       "\n\n",
					   "\r\r\n", "\r\n\r\n", "\r\n\n" };
	struct seen seen;
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		(void)snprintf(text, sizeof(text),
			       "%sGET / HTTP/1.1\r\nHost: h\r\n\r\n", bad[i]);
		assert_true(run(HTTP_READ_REQUESTS, text, &seen) < 0);
		assert_string_equal(seen.text, "");
	}
}

static void chunks_are_joined(void **state)
{
	struct seen seen;

	(void)state;
	assert_int_equal(run(HTTP_READ_REQUESTS,
			     "POST /a HTTP/1.1\r\nHost: h\r\n"
			     "Transfer-Encoding: chunked\r\n\r\n"
			     "3\r\nabc\r\n00A\r\n0123456789\r\n0\r\n"
			     "X-Trailer: dropped\r\n\r\n"
			     "GET /b HTTP/1.1\r\nHost: h\r\n\r\n",
			     &seen),
			 0);
	assert_string_equal(seen.text, "Habc0123456789EHE");
}

static void ambiguous_chunks_are_refused(void **state)
{
	static const char *const bad[] = {
		"3;x=y\r\nabc\r\n0\r\n\r\n", "3\nabc\r\n0\r\n\r\n",
		"3\r\nabc\n0\r\n\r\n",       "3\r\nabcd\r\n0\r\n\r\n",
		"\r\nabc\r\n0\r\n\r\n",      "0x3\r\nabc\r\n0\r\n\r\n",
		"-3\r\nabc\r\n0\r\n\r\n",    " 3\r\nabc\r\n0\r\n\r\n",
		"3 \r\nabc\r\n0\r\n\r\n",    "0000000000003\r\nabc\r\n",
		"0\r\nA: b\n\r\n\r\n",       "0\r\n\rX\r\n",
	};
	struct seen seen;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char text[256] = "POST /a HTTP/1.1\r\nHost: h\r\n"
				 "Transfer-Encoding: chunked\r\n\r\n";

		memcpy(text + strlen(text), bad[i], strlen(bad[i]) + 1);
		if (run(HTTP_READ_REQUESTS, text, &seen) >= 0)
			fail_msg("let through: %s", bad[i]);
	}
}

static void responses_without_a_body_end_at_once(void **state)
{
	struct seen seen;

	(void)state;
	assert_int_equal(run(HTTP_READ_RESPONSES,
			     "HTTP/1.1 100 Continue\r\n\r\n"
			     "HTTP/1.1 204 No Content\r\n\r\n"
			     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
			     &seen),
			 0);
	assert_string_equal(seen.text, "HEHEHokE");
}

static void a_response_without_length_ends_with_the_connection(void **state)
{
	static const char text[] = "HTTP/1.1 200 OK\r\n\r\nsome";
	struct seen seen = { .len = 0 };
	struct http_reader reader;

	(void)state;
	http_reader_init(&reader, HTTP_READ_RESPONSES);
	assert_int_equal(feed(&reader, text, strlen(text), &seen), 0);
	assert_int_equal(http_reader_eof(&reader, NULL), 1);
	assert_string_equal(seen.text, "Hsome");
	http_reader_deinit(&reader);
}

static void a_cut_message_is_told(void **state)
{
	static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n"
				   "\r\nsome";
	struct seen seen = { .len = 0 };
	struct http_reader reader;

	(void)state;
	http_reader_init(&reader, HTTP_READ_RESPONSES);
	assert_int_equal(feed(&reader, text, strlen(text), &seen), 0);
	assert_int_equal(http_reader_eof(&reader, NULL), -EPIPE);
	http_reader_deinit(&reader);
}

static void a_head_has_a_maximum(void **state)
{
	struct http_reader reader;
	struct err err = ERR_NULL;
	struct http_event ev;
	char junk[1000];
	size_t used;
	int r = 0;

	(void)state;
	memset(junk, 'x', sizeof(junk));
	http_reader_init(&reader, HTTP_READ_REQUESTS);
	for (unsigned int i = 0; i < 40 && r == 0; i++)
		r = http_reader_next(&reader, junk, sizeof(junk), &used, &ev,
				     &err);
	assert_true(r < 0);
	assert_int_equal(err.kind, ERR_TOO_LARGE);
	http_reader_deinit(&reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_requests_on_one_connection),
		cmocka_unit_test(only_one_whole_empty_line_may_come_first),
		cmocka_unit_test(chunks_are_joined),
		cmocka_unit_test(ambiguous_chunks_are_refused),
		cmocka_unit_test(responses_without_a_body_end_at_once),
		cmocka_unit_test(
			a_response_without_length_ends_with_the_connection),
		cmocka_unit_test(a_cut_message_is_told),
		cmocka_unit_test(a_head_has_a_maximum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
