/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "http/head.h"

static char raw[HTTP_HEAD_MAX];

static int parse(enum http_role role, const char *text, size_t len,
		 struct http_head *head, struct err *err)
{
	memset(err, 0, sizeof(*err));
	memcpy(raw, text, len);
	return http_head_parse(role, raw, len, head, err);
}

static int parse_request(const char *text, struct http_head *head)
{
	struct err err;

	return parse(HTTP_READ_REQUESTS, text, strlen(text), head, &err);
}

static void a_request_is_taken_apart(void **state)
{
	struct http_head head;

	(void)state;
	assert_int_equal(parse_request("POST /v1/x%20y?a=b&c HTTP/1.1\r\n"
				       "Host: h\r\nX-Empty:\r\n"
				       "X-Pad: \t some value \t\r\n"
				       "Content-Length: 12\r\n\r\n",
				       &head),
			 0);
	assert_string_equal(head.method, "POST");
	assert_string_equal(head.path, "/v1/x%20y");
	assert_string_equal(head.query, "a=b&c");
	assert_string_equal(http_head_get(&head, "x-empty"), "");
	assert_string_equal(http_head_get(&head, "x-pad"), "some value");
	assert_null(http_head_get(&head, "x-pa"));
	assert_true(head.has_length);
	assert_int_equal(head.content_length, 12);
	assert_true(head.keep_alive);
	assert_false(head.upgrade);
}

static void an_absolute_target_loses_its_authority(void **state)
{
	struct http_head head;

	(void)state;
	assert_int_equal(parse_request("GET http://e.com:1/p?q HTTP/1.1\r\n"
				       "Host: e.com\r\n\r\n",
				       &head),
			 0);
	assert_string_equal(head.path, "/p");
	assert_string_equal(head.query, "q");
}

static void connection_tokens_are_understood(void **state)
{
	struct http_head head;

	(void)state;
	assert_int_equal(parse_request("GET / HTTP/1.1\r\nHost: h\r\n"
				       "Connection: keep-alive, Upgrade\r\n"
				       "Upgrade: websocket\r\n\r\n",
				       &head),
			 0);
	assert_true(head.upgrade);
	assert_int_equal(parse_request("GET / HTTP/1.1\r\nHost: h\r\n"
				       "Connection: close\r\n\r\n",
				       &head),
			 0);
	assert_false(head.keep_alive);
	assert_int_equal(parse_request("GET / HTTP/1.0\r\n\r\n", &head), 0);
	assert_false(head.keep_alive);
}

static void a_response_is_taken_apart(void **state)
{
	static const char text[] = "HTTP/1.1 202 Accepted\r\n"
				   "Transfer-Encoding: chunked\r\n\r\n";
	struct http_head head;
	struct err err;

	(void)state;
	assert_int_equal(parse(HTTP_READ_RESPONSES, text, strlen(text), &head,
			       &err),
			 0);
	assert_int_equal(head.status, 202);
	assert_true(head.chunked);
}

/* What another reader may see differently must not get through. */
static void ambiguous_heads_are_refused(void **state)
{
	static const char *const bad[] = {
		"GET / HTTP/1.1\nHost: h\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\n\n",
		"GET / HTTP/1.1\r\nHost: h\rX: y\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\n\tfolded\r\n\r\n",
		"GET / HTTP/1.1\r\nHost : h\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nX-A : h\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nX A: h\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nX\xc3\xa4: h\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nX: a\x01z\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nX: a\x7fz\r\n\r\n",
		"GET / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
		"GET /#f HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /\xc3\xa4 HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET  / HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET * HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET http://h HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET http://h?/x HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET / HTTP/2.0\r\nHost: h\r\n\r\n",
		"GET / HTTP/1.9\r\nHost: h\r\n\r\n",
		"GET / HTTP/0.9\r\nHost: h\r\n\r\n",
		"GET /\r\nHost: h\r\n\r\n",
		"BREW / HTTP/1.1\r\nHost: h\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n"
		"Content-Length: 1\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1, 1\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +1\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x1\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\n"
		"Content-Length: 99999999999999999999\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n"
		"Transfer-Encoding: chunked\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\n"
		"Transfer-Encoding: chunked\r\n"
		"Transfer-Encoding: chunked\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\n"
		"Transfer-Encoding: gzip, chunked\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\n"
		"Transfer-Encoding: identity\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\n"
		"Transfer-Encoding: xchunked\r\n\r\n",
		"POST / HTTP/1.0\r\nHost: h\r\n"
		"Transfer-Encoding: chunked\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nExpect: rain\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\n: empty\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n",
	};
	struct http_head head;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (parse_request(bad[i], &head) >= 0)
			fail_msg("let through: %s", bad[i]);
}

static void a_nul_is_refused(void **state)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: h\0x\r\n\r\n";
	struct http_head head;
	struct err err;

	(void)state;
	assert_true(parse(HTTP_READ_REQUESTS, text, sizeof(text) - 1, &head,
			  &err) < 0);
	assert_int_equal(err.kind, ERR_INVALID);
}

static void sixty_four_fields_are_enough(void **state)
{
	char text[8192];
	struct http_head head;
	struct err err;
	int len;

	(void)state;
	len = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: h\r\n");
	for (unsigned int i = 1; i < HTTP_HEADERS_MAX; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len,
				"X-%u: v\r\n", i);
	memcpy(text + len, "\r\n", 3);
	assert_int_equal(parse(HTTP_READ_REQUESTS, text, (size_t)len + 2, &head,
			       &err),
			 0);
	assert_int_equal(head.num_fields, HTTP_HEADERS_MAX);
	memcpy(text + len, "Y: z\r\n\r\n", 9);
	assert_true(parse(HTTP_READ_REQUESTS, text, (size_t)len + 8, &head,
			  &err) < 0);
	assert_int_equal(err.kind, ERR_TOO_LARGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_taken_apart),
		cmocka_unit_test(an_absolute_target_loses_its_authority),
		cmocka_unit_test(connection_tokens_are_understood),
		cmocka_unit_test(a_response_is_taken_apart),
		cmocka_unit_test(ambiguous_heads_are_refused),
		cmocka_unit_test(a_nul_is_refused),
		cmocka_unit_test(sixty_four_fields_are_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
