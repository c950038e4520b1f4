/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "base/cleanup.h"

/* Parses and says it again. */
static const char *again(const char *text)
{
	static char shown[ADDRESS_TEXT_MAX];
	struct address address;

	assert_int_equal(address_parse(text, 8080, &address), 0);
	address_format(&address, shown);
	return shown;
}

static void what_is_allowed_is_shown_with_its_port(void **state)
{
	(void)state;
	assert_string_equal(again("127.0.0.1"), "127.0.0.1:8080");
	assert_string_equal(again("192.0.2.7:1"), "192.0.2.7:1");
	assert_string_equal(again("0.0.0.0:0"), "0.0.0.0:0");
	assert_string_equal(again("localhost:65535"), "127.0.0.1:65535");
	assert_string_equal(again("[::1]"), "[::1]:8080");
	assert_string_equal(again("[2001:DB8::1]:99"), "[2001:db8::1]:99");
	assert_string_equal(again("unix:/run/x"), "unix:/run/x");
}

static void anything_else_is_refused_and_changes_nothing(void **state)
{
	static const char *const bad[] = {
		"",
		":80",
		"host",
		"host.example:80",
		"1.2.3",
		"1.2.3.4:",
		"1.2.3.4:8k",
		"1.2.3.4:+1",
		"1.2.3.4:65536",
		"1.2.3.4:000080",
		"1.2.3.4 ",
		"::1",
		"[::1",
		"[::1]8",
		"[]",
		"[1.2.3.4]",
		"unix:",
		"LOCALHOST",
		"[::1%lo]",
		"1.2.3.4:1:2",
	};
	struct address address = { .len = 77 };
	char path[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(address_parse(bad[i], 80, &address), -EINVAL);
	memset(path, 'x', sizeof(path));
	memcpy(path, "unix:/", 6);
	path[5 + 108] = '\0';
	assert_int_equal(address_parse(path, 80, &address), -EINVAL);
	assert_int_equal(address.len, 77);
	path[5 + 107] = '\0';
	assert_int_equal(address_parse(path, 80, &address), 0);
}

static bool is_loopback(const char *text)
{
	struct address address;

	assert_int_equal(address_parse(text, 80, &address), 0);
	return address_is_loopback(&address);
}

static void loopback_is_what_no_other_machine_can_reach(void **state)
{
	(void)state;
	assert_true(is_loopback("127.0.0.1"));
	assert_true(is_loopback("127.255.255.254"));
	assert_true(is_loopback("[::1]"));
	assert_true(is_loopback("[::ffff:127.0.0.1]"));
	assert_true(is_loopback("unix:/x"));
	assert_false(is_loopback("0.0.0.0"));
	assert_false(is_loopback("128.0.0.1"));
	assert_false(is_loopback("[::]"));
	assert_false(is_loopback("[::ffff:10.0.0.1]"));
	assert_false(is_loopback("[fe80::1]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_allowed_is_shown_with_its_port),
		cmocka_unit_test(anything_else_is_refused_and_changes_nothing),
		cmocka_unit_test(loopback_is_what_no_other_machine_can_reach),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
