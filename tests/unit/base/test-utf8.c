/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

static void only_an_unfinished_character_is_left_out(void **state)
{
	static const struct {
		const char *text;
		size_t whole;
	} cases[] = {
		{ "", 0 },
		{ "a", 1 },
		{ "a\n", 2 },
		{ "\xe2\x82\xac", 3 },
		{ "\xe2\x82", 0 },
		{ "\xe2", 0 },
		{ "a\xe2\x82", 1 },
		{ "\xc3\xa9", 2 },
		{ "\xc3", 0 },
		{ "x\xf0\x9f\x98\x80", 5 },
		{ "x\xf0\x9f\x98", 1 },
		{ "x\xf0\x9f", 1 },
		/* These never become one. */
		{ "\xff", 1 },
		{ "\x80", 1 },
		{ "a\x80\x80\x80\x80", 5 },
		{ "\xc3\xa9\x80", 3 },
		{ "\xc0", 1 },
		{ "\xf8\x80\x80", 3 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(utf8_whole(cases[i].text,
					    strlen(cases[i].text)),
				 cases[i].whole);
	assert_int_equal(utf8_whole(NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_an_unfinished_character_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
