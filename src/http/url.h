/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * url - percent-encoding and query strings
 */

#include <stdbool.h>
#include <stddef.h>

struct buf;

/**
 * http_percent_decode() - decode @len bytes at @text into a string
 * @plus: '+' means a blank, as in query strings
 * @ret:  @size bytes, NUL-terminated on success
 *
 * Return: 0; -EINVAL for a '%' without two hex digits or for %00 (no string
 * of ours may hold one); -ENAMETOOLONG.
 */
int http_percent_decode(const char *text, size_t len, bool plus, char *ret,
			size_t size);

/** http_percent_encode() - append, with all but [A-Za-z0-9._~-] encoded */
void http_percent_encode(struct buf *out, const char *text);

/**
 * http_query_next() - the next "key=value" of a raw query
 * @cursor: in: where to go on, first the query itself; out: behind the pair
 *
 * Both parts are decoded. A pair without '=' has the value "".
 * Return: 0, -ENOENT at the end, else as http_percent_decode().
 */
int http_query_next(const char **cursor, char *ret_key, size_t key_size,
		    char *ret_value, size_t value_size);

/**
 * http_query_get() - the first value of @key, decoded
 *
 * Return: 0, -ENOENT when absent, else as http_percent_decode().
 */
int http_query_get(const char *query, const char *key, char *ret_value,
		   size_t size);
