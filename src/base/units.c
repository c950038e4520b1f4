/* SPDX-License-Identifier: Apache-2.0 */

#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <strings.h>

#include "base/ranges.h"

#define MILLION 1000000ull

struct unit {
	const char *suffix;
	uint64_t factor;
};

/* Reads leading digits; at least one is needed. */
static int parse_digits(const char **text, uint64_t *ret_value)
{
	const char *p = *text;
	uint64_t value = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return -ERANGE;
	}
	*text = p;
	*ret_value = value;
	return 0;
}

/* What is behind a point, if there is one: millionths. */
static int parse_fraction(const char **text, uint64_t *ret_millionths)
{
	const char *p = *text;
	uint64_t weight = MILLION / 10;
	uint64_t value = 0;

	*ret_millionths = 0;
	if (*p != '.')
		return 0;
	p++;
	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		value += (uint64_t)(*p - '0') * weight;
		weight /= 10; /* beyond it: below resolution */
	}
	*text = p;
	*ret_millionths = value;
	return 1;
}

/* Digits and one suffix of a table that ends with a NULL suffix. */
static int parse_with_unit(const char *text, const struct unit *units,
			   bool fractions, uint64_t *ret_value)
{
	uint64_t value;
	uint64_t millionths = 0;
	int r;

	if (!text)
		return -EINVAL;
	r = parse_digits(&text, &value);
	if (r == 0 && fractions)
		r = parse_fraction(&text, &millionths);
	if (r < 0)
		return r;
	for (; units->suffix; units++) {
		if (strcasecmp(text, units->suffix) != 0)
			continue;
		if (r > 0 && units->factor == 1)
			return -EINVAL; /* there is no half a byte */
		if (__builtin_mul_overflow(value, units->factor, &value) ||
		    __builtin_add_overflow(value,
					   millionths * units->factor / MILLION,
					   &value))
			return -ERANGE;
		if (value == 0)
			return -EINVAL;
		*ret_value = value;
		return 0;
	}
	return -EINVAL;
}

int units_parse_size(const char *text, uint64_t *ret_bytes)
{
	static const struct unit units[] = {
		{ "", 1 },
		{ "b", 1 },
		{ "k", 1000ull },
		{ "kb", 1000ull },
		{ "ki", 1ull << 10 },
		{ "kib", 1ull << 10 },
		{ "m", 1000000ull },
		{ "mb", 1000000ull },
		{ "mi", 1ull << 20 },
		{ "mib", 1ull << 20 },
		{ "g", 1000000000ull },
		{ "gb", 1000000000ull },
		{ "gi", 1ull << 30 },
		{ "gib", 1ull << 30 },
		{ "t", 1000000000000ull },
		{ "tb", 1000000000000ull },
		{ "ti", 1ull << 40 },
		{ "tib", 1ull << 40 },
		{ NULL, 0 },
	};
	uint64_t bytes;
	int r;

	r = parse_with_unit(text, units, true, &bytes);
	if (r < 0)
		return r;
	if (bytes > INT64_MAX) /* the kernel's files hold signed numbers */
		return -ERANGE;
	*ret_bytes = bytes;
	return 0;
}

int units_parse_cpus(const char *text, uint32_t *ret_milli)
{
	uint64_t whole, milli;
	uint64_t weight = 100;
	int r;

	if (!text)
		return -EINVAL;
	r = parse_digits(&text, &whole);
	if (r < 0)
		return r;
	if (*text == 'm' && text[1] == '\0') {
		milli = whole;
	} else {
		if (whole > LIMITS_MAX_CPU_MILLI)
			return -ERANGE;
		milli = whole * 1000;
		if (*text == '.') {
			text++;
			if (*text == '\0')
				return -EINVAL;
			for (; *text >= '0' && *text <= '9'; text++) {
				milli += (uint64_t)(*text - '0') * weight;
				weight /= 10; /* beyond 1m: below resolution */
			}
		}
		if (*text != '\0')
			return -EINVAL;
	}
	if (milli == 0)
		return -EINVAL;
	if (milli > LIMITS_MAX_CPU_MILLI)
		return -ERANGE;
	*ret_milli = (uint32_t)milli;
	return 0;
}

int units_parse_time(const char *text, uint64_t *ret_ms)
{
	static const struct unit units[] = {
		{ "", 1000 },       { "ms", 1 },          { "s", 1000 },
		{ "m", 60 * 1000 }, { "h", 3600 * 1000 }, { NULL, 0 },
	};
	uint64_t ms;
	int r;

	r = parse_with_unit(text, units, true, &ms);
	if (r < 0)
		return r;
	if (ms > UNITS_TIME_MAX_MS)
		return -ERANGE;
	*ret_ms = ms;
	return 0;
}

int units_parse_count(const char *text, uint64_t max, uint64_t *ret_count)
{
	static const struct unit units[] = {
		{ "", 1 },
		{ "k", 1000 },
		{ "m", 1000000 },
		{ NULL, 0 },
	};
	uint64_t count;
	int r;

	r = parse_with_unit(text, units, false, &count);
	if (r < 0)
		return r;
	if (count > max)
		return -ERANGE;
	*ret_count = count;
	return 0;
}

void units_format_size(uint64_t bytes, char ret_text[UNITS_TEXT_MAX])
{
	static const char *const units[] = { "", "Ki", "Mi", "Gi", "Ti" };
	unsigned int i = 0;

	while (bytes > 0 && bytes % 1024 == 0 && i < 4) {
		bytes /= 1024;
		i++;
	}
	(void)snprintf(ret_text, UNITS_TEXT_MAX, "%" PRIu64 "%s", bytes,
		       units[i]);
}

void units_format_cpus(uint64_t milli, char ret_text[UNITS_TEXT_MAX])
{
	size_t len;
	int n = snprintf(ret_text, UNITS_TEXT_MAX, "%" PRIu64 ".%03u",
			 milli / 1000, (unsigned int)(milli % 1000));

	/* No zeroes behind the point, and no point behind a whole number. */
	for (len = n > 0 ? (size_t)n : 1; ret_text[len - 1] == '0'; len--)
		;
	if (ret_text[len - 1] == '.')
		len--;
	ret_text[len] = '\0';
}

void units_format_time(uint64_t ms, char ret_text[UNITS_TEXT_MAX])
{
	static const struct unit units[] = { { "h", 3600 * 1000 },
					     { "m", 60 * 1000 },
					     { "s", 1000 } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (ms % units[i].factor != 0)
			continue;
		(void)snprintf(ret_text, UNITS_TEXT_MAX, "%" PRIu64 "%s",
			       ms / units[i].factor, units[i].suffix);
		return;
	}
	(void)snprintf(ret_text, UNITS_TEXT_MAX, "%" PRIu64 "ms", ms);
}
