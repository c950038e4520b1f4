/* SPDX-License-Identifier: Apache-2.0 */

/*
 * units - sizes, times, counts, CPUs and moments; numbers in the kernel's files
 *
 * Input: eight bytes of a number, then lines of text. Nothing outside of its
 * documented range is accepted, and what is formatted is parsed to the same.
 */

#include <time.h>

#include "base/file.h"
#include "base/ranges.h"
#include "base/rfc3339.h"
#include "base/units.h"
#include "fuzz.h"

static void check_size(uint64_t bytes)
{
	char text[UNITS_TEXT_MAX];
	uint64_t again;

	units_format_size(bytes, text);
	CHECK(strnlen(text, sizeof(text)) < sizeof(text));
	if (bytes == 0 || bytes > INT64_MAX)
		return;
	CHECK(units_parse_size(text, &again) == 0 && again == bytes);
}

static void check_time(uint64_t ms)
{
	char text[UNITS_TEXT_MAX];
	uint64_t again;

	units_format_time(ms, text);
	CHECK(strnlen(text, sizeof(text)) < sizeof(text));
	if (ms == 0 || ms > UNITS_TIME_MAX_MS)
		return;
	CHECK(units_parse_time(text, &again) == 0 && again == ms);
}

static void check_cpus(uint64_t milli)
{
	char text[UNITS_TEXT_MAX];
	uint32_t again;

	units_format_cpus(milli, text);
	CHECK(strnlen(text, sizeof(text)) < sizeof(text));
	if (milli == 0 || milli > LIMITS_MAX_CPU_MILLI)
		return;
	CHECK(units_parse_cpus(text, &again) == 0 && again == milli);
}

/* As the API writes it, it is the same moment. */
static void check_moment(int64_t us)
{
	time_t seconds = us / 1000000;
	char text[64], whole[80];
	int64_t again;
	struct tm tm;

	CHECK(us >= 0 && gmtime_r(&seconds, &tm));
	CHECK(strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) > 0);
	/* Of the last day of 9999, a zone may make the first of 10000. */
	if (tm.tm_year + 1900 > 9999)
		return;
	(void)snprintf(whole, sizeof(whole), "%s.%06dZ", text,
		       (int)(us % 1000000));
	CHECK(rfc3339_parse(whole, &again) == 0 && again == us);
}

static void read_text(const char *text, uint64_t max)
{
	uint64_t value;
	uint32_t milli;
	int64_t us;

	if (units_parse_size(text, &value) == 0) {
		CHECK(value > 0 && value <= INT64_MAX);
		check_size(value);
	}
	if (units_parse_time(text, &value) == 0) {
		CHECK(value > 0 && value <= UNITS_TIME_MAX_MS);
		check_time(value);
	}
	if (units_parse_count(text, max, &value) == 0)
		CHECK(value > 0 && value <= max);
	if (units_parse_cpus(text, &milli) == 0) {
		CHECK(milli > 0 && milli <= LIMITS_MAX_CPU_MILLI);
		check_cpus(milli);
	}
	if (rfc3339_parse(text, &us) == 0)
		check_moment(us);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = { data, size };
	char *all auto_free = NULL;
	uint64_t number;

	fuzz_fill(&in, &number, sizeof(number));
	check_size(number);
	check_time(number);
	check_time(number % UNITS_TIME_MAX_MS);
	check_cpus(number);
	check_cpus(number % LIMITS_MAX_CPU_MILLI);
	all = malloc(in.len + 1);
	CHECK(all);
	memcpy(all, in.p, in.len);
	all[in.len] = '\0';
	(void)file_keyed(all, "oom_kill");
	while (in.len) {
		char *line auto_free = fuzz_line(&in);

		read_text(line, number);
	}
	return 0;
}
