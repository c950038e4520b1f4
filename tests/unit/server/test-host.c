/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include "base/cleanup.h"
#include "server/service/host.h"

static void names_of_this_machine_are_taken(void **state)
{
	static const char *const good[] = {
		"localhost",         "LOCALHOST", "localhost:8080",
		"localhost:",        "127.0.0.1", "127.255.255.255",
		"127.0.0.1:1",       "[::1]",     "[::1]:65535",
		"[0:0:0:0:0:0:0:1]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(host_is_loopback(good[i]));
}

static void all_others_are_not(void **state)
{
	static const char *const bad[] = {
		"",
		":",
		":80",
		"localhost.",
		"localhost.evil.example",
		"evil.localhost",
		"localhost:80x",
		"localhost:80:80",
		"localhost:80@evil.example",
		"evil.example:127",
		"127.0.0.1.evil.example",
		"127.1",
		"0127.0.0.1",
		"2130706433",
		"0x7f000001",
		"0.0.0.0",
		"128.0.0.1",
		"::1",
		"[",
		"[]",
		"[::1",
		"[::1]x",
		"[::1].evil.example",
		"[::]",
		"[::ffff:127.0.0.1]",
		"[::1%lo]",
		"[127.0.0.1]",
		"[localhost]",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(host_is_loopback(bad[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_this_machine_are_taken),
		cmocka_unit_test(all_others_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
