/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/lookup.h"
#include "osb/osb.h"

static void a_domain_is_host_and_port(void **state)
{
	static const struct {
		const char *domain;
		const char *host;
		const char *address;
	} table[] = {
		{ "localhost:8080", "localhost:8080", "127.0.0.1:8080" },
		{ "http://127.0.0.1:8080/", "127.0.0.1:8080",
		  "127.0.0.1:8080" },
		{ "HTTP://[::1]:1/v1", "[::1]:1", "[::1]:1" },
		{ "10.0.0.1/v1/", "10.0.0.1", "10.0.0.1:80" },
		{ "[fe80::1]", "[fe80::1]", "[fe80::1]:80" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		char text[ADDRESS_TEXT_MAX];
		struct lookup lookup;

		assert_int_equal(lookup_domain(table[i].domain, NULL, &lookup,
					       NULL),
				 0);
		assert_string_equal(lookup.host, table[i].host);
		address_format(&lookup.address, text);
		assert_string_equal(text, table[i].address);
		assert_string_equal(lookup.run_dir, "");
	}
}

static void another_domain_is_refused(void **state)
{
	static const char *const table[] = {
		"",
		":",
		":80",
		"localhost:",
		"localhost:0",
		"localhost:65536",
		"localhost:80x",
		"name:80",
		"me@127.0.0.1",
		"::1",
		"[::1",
		"127.0.0.1:80/x",
		"127.0.0.1:80?x",
		"unix:x",
		"https://localhost",
		"://localhost",
		"http://",
		"127.0.0.1\r\nX: y",
	};
	struct osb_error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct lookup lookup = { .host = "as it was" };

		assert_int_equal(lookup_domain(table[i], "http", &lookup, &err),
				 -EINVAL);
		assert_non_null(strstr(err.message, "OPEN_SANDBOX_DOMAIN"));
		assert_string_equal(lookup.host, "as it was");
	}
}

static void a_domain_of_any_length_is_refused(void **state)
{
	struct lookup lookup;
	char text[4096];

	(void)state;
	memset(text, '1', sizeof(text));
	for (size_t len = sizeof(text) - 1; len > 16; len /= 2) {
		text[len] = '\0';
		assert_int_equal(lookup_domain(text, NULL, &lookup, NULL),
				 -EINVAL);
	}
}

static void only_http_is_spoken(void **state)
{
	struct osb_error err;
	struct lookup lookup;

	(void)state;
	assert_int_equal(lookup_domain("localhost", "https", &lookup, &err),
			 -EINVAL);
	assert_non_null(strstr(err.message, "OPEN_SANDBOX_PROTOCOL 'https'"));
	assert_int_equal(lookup_domain("localhost", "", &lookup, &err), 0);
	assert_int_equal(lookup_domain("localhost", "HTTP", &lookup, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_domain_is_host_and_port),
		cmocka_unit_test(another_domain_is_refused),
		cmocka_unit_test(a_domain_of_any_length_is_refused),
		cmocka_unit_test(only_http_is_spoken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
