/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * rfc3339 - moments as clients write them
 */

#include <stdint.h>

#define RFC3339_ALLOWED "a time such as 2026-01-31T12:00:00Z"

/**
 * rfc3339_parse() - "2026-01-31T12:00:00.5+01:00" to microseconds since 1970
 *
 * As RFC 3339, and what clients' libraries make of ISO 8601 beside it: no
 * seconds where they are zero, a zone without its colon or minutes, and no
 * zone, which means UTC. A fraction has one to nine digits; what is below a
 * microsecond is cut off. Leap seconds are refused, as by most clients.
 *
 * Return: 0, or -EINVAL, or -ERANGE before 1970.
 */
int rfc3339_parse(const char *in_text, int64_t *ret_us);
