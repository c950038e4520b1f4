/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * range - which bytes of a file a client wants (RFC 9110, 14.2)
 */

#include <stdint.h>

struct range {
	enum {
		RANGE_NONE,
		RANGE_FROM,
		RANGE_LAST
	} kind;
	uint64_t first;
	uint64_t length; /* UINT64_MAX: to the end */
};

/**
 * range_parse() - "bytes=a-b", "bytes=a-" or "bytes=-n"; of several, the first
 *
 * No byte of it lies beyond INT64_MAX.
 * Return: 0 or -EINVAL.
 */
int range_parse(const char *text, struct range *ret_range);
