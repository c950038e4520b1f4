/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * units - the sizes, times and counts that people write
 *
 * One parser for the command line, the API and configuration files, so that
 * a value means the same everywhere. Zero, negative and unreadable values are
 * errors, as are fractions of what can't be divided; nothing is rounded
 * silently to "no limit".
 */

#include <stdint.h>

/* For messages: what each parser allows. */
#define UNITS_SIZE_ALLOWED "a positive size such as 512Mi, 512mb or 1Gi"
#define UNITS_CPUS_ALLOWED "a positive number of CPUs such as 0.5, 2 or 500m"
#define UNITS_TIME_ALLOWED "a positive time such as 500ms, 30s, 5m or 2h"
#define UNITS_COUNT_ALLOWED "a positive whole number"

#define UNITS_TIME_MAX_MS (10ull * 365 * 24 * 3600 * 1000) /* ten years */
#define UNITS_TEXT_MAX 32

/**
 * units_parse_size() - digits, then k m g t with optional i (binary) or b
 * (decimal), any case: 1k = 1kb = 1000, 1Ki = 1KiB = 1024, 1.5Ki = 1536
 *
 * A fraction is rounded down to whole bytes.
 * Return: 0, or -EINVAL, or -ERANGE when it doesn't fit.
 */
int units_parse_size(const char *text, uint64_t *ret_bytes);

/**
 * units_parse_cpus() - "2", "0.5", "500m" to thousandths of a CPU
 *
 * Return: 0, or -EINVAL, or -ERANGE (below 1m or above 1,000,000m).
 */
int units_parse_cpus(const char *text, uint32_t *ret_milli);

/**
 * units_parse_time() - "500ms" "1.5s" "5m" "2h"; a bare number is seconds
 *
 * Return: 0, or -EINVAL, or -ERANGE (over ten years).
 */
int units_parse_time(const char *text, uint64_t *ret_ms);

/**
 * units_parse_count() - a positive decimal, optionally with k or m (the
 * decimal 1,000 and 1,000,000), as for inodes: "64k"
 *
 * Return: 0, or -EINVAL, or -ERANGE when above @max.
 */
int units_parse_count(const char *text, uint64_t max, uint64_t *ret_count);

/** units_format_size() - exact, as it can be parsed: 4194304 is "4Mi" */
void units_format_size(uint64_t bytes, char ret_text[UNITS_TEXT_MAX]);

/** units_format_cpus() - the same: 500 is "0.5", 1000 is "1" */
void units_format_cpus(uint64_t milli, char ret_text[UNITS_TEXT_MAX]);

/** units_format_time() - the same in the largest unit without a rest */
void units_format_time(uint64_t ms, char ret_text[UNITS_TEXT_MAX]);
