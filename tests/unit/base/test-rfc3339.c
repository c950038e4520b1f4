/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/rfc3339.h"

#define S 1000000ll
#define NOON 1769860800ll /* 2026-01-31T12:00:00Z */
#define UNTOUCHED 77

static void moments_mean_what_clients_write(void **state)
{
	static const struct {
		const char *text;
		int64_t us;
	} cases[] = {
		{ "1970-01-01T00:00:00Z", 0 },
		{ "2026-01-31T12:00:00Z", NOON * S },
		{ "2026-01-31t12:00:00z", NOON * S },
		{ "2026-01-31 12:00:00Z", NOON * S },
		{ "2026-01-31T12:00Z", NOON * S },
		{ "2026-01-31T12:00:00", NOON * S },
		{ "2026-01-31T12:00:00.000001", NOON * S + 1 },
		{ "2026-01-31T13:00:00+01:00", NOON * S },
		{ "2026-01-31T13:00:00+0100", NOON * S },
		{ "2026-01-31T13:00:00+01", NOON * S },
		{ "2026-01-31T06:30:00-05:30", NOON * S },
		{ "2026-02-01T00:00:00+12:00", NOON * S },
		{ "2026-01-31T12:00:00-00:00", NOON * S },
		{ "2026-01-31T12:00:00.5Z", NOON * S + 500000 },
		{ "2026-01-31T12:00:00,5Z", NOON * S + 500000 },
		{ "2026-01-31T12:00:00.1234567Z", NOON * S + 123456 },
		{ "2026-01-31T12:00:00.999999999Z", NOON * S + 999999 },
		{ "1970-01-01T01:00:00+01:00", 0 },
		{ "2000-02-29T00:00:00Z", 951782400 * S },
		{ "2024-02-29T23:59:59Z", 1709251199 * S },
		{ "2100-03-01T00:00:00Z", 4107542400 * S },
		{ "9999-12-31T23:59:59Z", 253402300799 * S },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t us = UNTOUCHED;

		assert_int_equal(rfc3339_parse(cases[i].text, &us), 0);
		assert_int_equal(us, cases[i].us);
	}
}

static void everything_else_is_refused(void **state)
{
	static const char *const cases[] = {
		"",
		"now",
		"2026",
		"2026-01-31",
		"2026-01-31T",
		"2026-01-31T12",
		"2026-01-31T12:0",
		"2026-01-31T12:00:0Z",
		"2026-01-31T12:00:00.Z",
		"2026-01-31T12:00:00.1234567890Z",
		"2026-01-31T12:00.5Z",
		"2026-01-31T12:00:00ZZ",
		"2026-01-31T12:00:00Z ",
		" 2026-01-31T12:00:00Z",
		"2026-01-31T12:00:00+",
		"2026-01-31T12:00:00+1",
		"2026-01-31T12:00:00+01:",
		"2026-01-31T12:00:00+24:00",
		"2026-01-31T12:00:00+01:60",
		"2026-01-31T12:00:00+01:000",
		"2026-01-31T24:00:00Z",
		"2026-01-31T12:60:00Z",
		"2026-01-31T12:00:60Z",
		"2026-00-31T12:00:00Z",
		"2026-13-01T12:00:00Z",
		"2026-01-00T12:00:00Z",
		"2026-01-32T12:00:00Z",
		"2026-04-31T12:00:00Z",
		"2025-02-29T12:00:00Z",
		"2100-02-29T12:00:00Z",
		"0000-01-01T12:00:00Z",
		"+2026-01-31T12:00:00Z",
		"-026-01-31T12:00:00Z",
		"20260131T120000Z",
		"2026-01-31X12:00:00Z",
		"2026/01/31T12:00:00Z",
		"1769860800",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t us = UNTOUCHED;

		assert_int_equal(rfc3339_parse(cases[i], &us), -EINVAL);
		assert_int_equal(us, UNTOUCHED);
	}
}

static void before_1970_is_out_of_range(void **state)
{
	int64_t us = UNTOUCHED;

	(void)state;
	assert_int_equal(rfc3339_parse("1969-12-31T23:59:59Z", &us), -ERANGE);
	assert_int_equal(rfc3339_parse("0001-01-01T00:00:00Z", &us), -ERANGE);
	assert_int_equal(rfc3339_parse("1970-01-01T00:00:00+00:01", &us),
			 -ERANGE);
	assert_int_equal(us, UNTOUCHED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moments_mean_what_clients_write),
		cmocka_unit_test(everything_else_is_refused),
		cmocka_unit_test(before_1970_is_out_of_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
