/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"

/* What a parser must leave in its output when it refuses. */
#define UNTOUCHED 77u

static void sizes_mean_what_people_write(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} cases[] = {
		{ "1", 1 },
		{ "1b", 1 },
		{ "007", 7 },
		{ "1k", 1000 },
		{ "1K", 1000 },
		{ "1kb", 1000 },
		{ "1Ki", 1024 },
		{ "1KiB", 1024 },
		{ "512mb", 512000000ull },
		{ "512m", 512000000ull },
		{ "512Mi", 512ull << 20 },
		{ "2g", 2000000000ull },
		{ "1Gi", 1ull << 30 },
		{ "3GIB", 3ull << 30 },
		{ "1t", 1000000000000ull },
		{ "1Ti", 1ull << 40 },
		{ "1.5Ki", 1536 },
		{ "1.5g", 1500000000ull },
		{ "0.5kb", 500 },
		{ "1.0009k", 1000 },
		{ "9223372036854775807", INT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t bytes = UNTOUCHED;

		assert_int_equal(units_parse_size(cases[i].text, &bytes), 0);
		assert_int_equal(bytes, cases[i].bytes);
	}
}

static void unreadable_sizes_are_refused(void **state)
{
	static const char *const cases[] = {
		"",    "0",   "0Mi",  "-1",   "+1",    "12q",  "q",     "1.",
		" 1",  "1 ",  "1 Mi", "0x10", "1e3",   "Mi",   "1MiBs", "1ii",
		"1kk", "\n1", "1\n",  "--",   "12,5m", "\xff", "١",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t bytes = UNTOUCHED;

		assert_int_equal(units_parse_size(cases[i], &bytes), -EINVAL);
		assert_int_equal(bytes, UNTOUCHED);
	}
	assert_int_equal(units_parse_size(NULL, NULL), -EINVAL);
}

static void sizes_that_do_not_fit_are_refused(void **state)
{
	static const char *const cases[] = {
		"9223372036854775808",
		"18446744073709551615",
		"18446744073709551616",
		"99999999999999999999999999",
		"8388608Ti",
		"18446744073709551615k",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t bytes = UNTOUCHED;

		assert_int_equal(units_parse_size(cases[i], &bytes), -ERANGE);
		assert_int_equal(bytes, UNTOUCHED);
	}
}

static void cpus_are_thousandths(void **state)
{
	static const struct {
		const char *text;
		uint32_t milli;
	} cases[] = {
		{ "1", 1000 },           { "2", 2000 },     { "0.5", 500 },
		{ "500m", 500 },         { "1m", 1 },       { "0.001", 1 },
		{ "1.25", 1250 },        { "0.1239", 123 }, { "1000", 1000000 },
		{ "1000000m", 1000000 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t milli = UNTOUCHED;

		assert_int_equal(units_parse_cpus(cases[i].text, &milli), 0);
		assert_int_equal(milli, cases[i].milli);
	}
}

static void unreadable_cpus_are_refused(void **state)
{
	static const char *const cases[] = {
		"",      "0",     "-2", "-0.5", "0.0",  "0m", "0.0001",
		"x",     "1.",    ".5", "1m2",  "1.5m", "1 ", "1,5",
		"2cpus", "1.2.3", "+1", "nan",  "inf",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t milli = UNTOUCHED;

		assert_int_equal(units_parse_cpus(cases[i], &milli), -EINVAL);
		assert_int_equal(milli, UNTOUCHED);
	}
	assert_int_equal(units_parse_cpus(NULL, NULL), -EINVAL);
}

static void cpus_that_no_host_has_are_refused(void **state)
{
	static const char *const cases[] = {
		"1001",
		"1000001m",
		"1000001",
		"18446744073709551615",
		"18446744073709551616",
		"18446744073709551615m",
		"18446744073709552", /* times 1000 wraps to a small number */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t milli = UNTOUCHED;

		assert_int_equal(units_parse_cpus(cases[i], &milli), -ERANGE);
		assert_int_equal(milli, UNTOUCHED);
	}
}

static void times_are_milliseconds(void **state)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} cases[] = {
		{ "500ms", 500 },  { "1", 1000 },
		{ "30", 30000 },   { "30s", 30000 },
		{ "5m", 300000 },  { "2h", 7200000 },
		{ "1MS", 1 },      { "87600h", 315360000000ull },
		{ "1.5s", 1500 },  { "0.25", 250 },
		{ "0.5m", 30000 }, { "1.0009s", 1000 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t ms = UNTOUCHED;

		assert_int_equal(units_parse_time(cases[i].text, &ms), 0);
		assert_int_equal(ms, cases[i].ms);
	}
}

static void unreadable_times_are_refused(void **state)
{
	static const char *const cases[] = { "",   "0",   "0s",  "x",  "-1s",
					     "1d", "1.s", "1 s", "ms", "1sm" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t ms = UNTOUCHED;

		assert_int_equal(units_parse_time(cases[i], &ms), -EINVAL);
		assert_int_equal(ms, UNTOUCHED);
	}
}

static void times_over_ten_years_are_refused(void **state)
{
	uint64_t ms = UNTOUCHED;

	(void)state;
	assert_int_equal(units_parse_time("87601h", &ms), -ERANGE);
	assert_int_equal(units_parse_time("18446744073709551615h", &ms),
			 -ERANGE);
	assert_int_equal(ms, UNTOUCHED);
}

static void counts_are_bounded_by_their_caller(void **state)
{
	uint64_t count = UNTOUCHED;

	(void)state;
	assert_int_equal(units_parse_count("256", 256, &count), 0);
	assert_int_equal(count, 256);
	assert_int_equal(units_parse_count("64k", 100000, &count), 0);
	assert_int_equal(count, 64000);
	assert_int_equal(units_parse_count("257", 256, &count), -ERANGE);
	assert_int_equal(units_parse_count("0", 256, &count), -EINVAL);
	assert_int_equal(units_parse_count("-1", 256, &count), -EINVAL);
	assert_int_equal(units_parse_count("1.5", 256, &count), -EINVAL);
	assert_int_equal(count, 64000);
}

static void bounds_are_written_as_they_are_read(void **state)
{
	static const struct {
		uint64_t value;
		const char *size, *cpus, *time;
	} cases[] = {
		{ 500, "500", "0.5", "500ms" },
		{ 1024, "1Ki", "1.024", "1024ms" },
		{ 60000, "60000", "60", "1m" },
		{ 4194304, "4Mi", "4194.304", "4194304ms" },
		{ 0, "0", "0", "0h" },
	};
	char text[UNITS_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		units_format_size(cases[i].value, text);
		assert_string_equal(text, cases[i].size);
		units_format_cpus(cases[i].value, text);
		assert_string_equal(text, cases[i].cpus);
		units_format_time(cases[i].value, text);
		assert_string_equal(text, cases[i].time);
	}
	units_format_time(UNITS_TIME_MAX_MS, text);
	assert_string_equal(text, "87600h");
	units_format_size(1ull << 50, text);
	assert_string_equal(text, "1024Ti");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_mean_what_people_write),
		cmocka_unit_test(unreadable_sizes_are_refused),
		cmocka_unit_test(sizes_that_do_not_fit_are_refused),
		cmocka_unit_test(cpus_are_thousandths),
		cmocka_unit_test(unreadable_cpus_are_refused),
		cmocka_unit_test(cpus_that_no_host_has_are_refused),
		cmocka_unit_test(times_are_milliseconds),
		cmocka_unit_test(unreadable_times_are_refused),
		cmocka_unit_test(times_over_ten_years_are_refused),
		cmocka_unit_test(counts_are_bounded_by_their_caller),
		cmocka_unit_test(bounds_are_written_as_they_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
