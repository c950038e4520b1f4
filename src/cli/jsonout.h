/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * jsonout - write JSON to a stream, without building it in memory first
 *
 * The caller keeps the shape right: commas come before every member or item
 * but the first of its object or array.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct jsonout {
	FILE *stream;
	bool need_comma;
};

/** jsonout_open() - '{' or '[' */
void jsonout_open(struct jsonout *out, char bracket);

/** jsonout_close() - '}' or ']' */
void jsonout_close(struct jsonout *out, char bracket);

/** jsonout_key() - a member's name; its value must follow */
void jsonout_key(struct jsonout *out, const char *key);

void jsonout_u64(struct jsonout *out, uint64_t value);
void jsonout_bool(struct jsonout *out, bool value);
void jsonout_null(struct jsonout *out);

/** jsonout_string() - text that must be UTF-8 (see jsonout_is_utf8()) */
void jsonout_string(struct jsonout *out, const char *text);

/** jsonout_bytes() - the same with a length; may hold NULs */
void jsonout_bytes(struct jsonout *out, const void *data, size_t len);

/** jsonout_base64() - any bytes, as base64 with padding */
void jsonout_base64(struct jsonout *out, const void *data, size_t len);

/** jsonout_is_utf8() - strictly: no overlong form, surrogate, or > U+10FFFF */
bool jsonout_is_utf8(const void *data, size_t len);
