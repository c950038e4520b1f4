/* SPDX-License-Identifier: Apache-2.0 */

#include "server/api/range.h"

#include <errno.h>
#include <string.h>

static int parse_u64(const char **text, uint64_t *ret_value)
{
	const char *p = *text;
	uint64_t value = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'),
					   &value) ||
		    value > INT64_MAX)
			return -ERANGE;
	*text = p;
	*ret_value = value;
	return 0;
}

int range_parse(const char *text, struct range *ret_range)
{
	struct range range = { .kind = RANGE_FROM, .length = UINT64_MAX };
	uint64_t last;

	if (strncmp(text, "bytes=", 6) != 0)
		return -EINVAL;
	text += 6;
	if (*text == '-') {
		text++;
		range.kind = RANGE_LAST;
		if (parse_u64(&text, &range.length) < 0 || range.length == 0)
			return -EINVAL;
	} else {
		if (parse_u64(&text, &range.first) < 0 || *text++ != '-')
			return -EINVAL;
		if (*text && *text != ',') {
			if (parse_u64(&text, &last) < 0 || last < range.first)
				return -EINVAL;
			range.length = last - range.first + 1;
		}
	}
	if (*text && *text != ',')
		return -EINVAL;
	*ret_range = range;
	return 0;
}
