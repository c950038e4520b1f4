/* SPDX-License-Identifier: Apache-2.0 */

#include "http/url.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int http_percent_decode(const char *text, size_t len, bool plus, char *ret,
			size_t size)
{
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (c == '%') {
			int high, low;

			if (len - i < 3)
				return -EINVAL;
			high = hex_value(text[i + 1]);
			low = hex_value(text[i + 2]);
			if (high < 0 || low < 0)
				return -EINVAL;
			c = (char)(high << 4 | low);
			i += 2;
		} else if (c == '+' && plus) {
			c = ' ';
		}
		if (c == '\0')
			return -EINVAL;
		if (out + 1 >= size)
			return -ENAMETOOLONG;
		ret[out++] = c;
	}
	if (out >= size)
		return -ENAMETOOLONG;
	ret[out] = '\0';
	return 0;
}

void http_percent_encode(struct buf *out, const char *text)
{
	for (; *text; text++) {
		char c = *text;

		if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		    (c >= '0' && c <= '9') || strchr("._~-", c))
			buf_add(out, &c, 1);
		else
			buf_addf(out, "%%%02X", (unsigned char)c);
	}
}

int http_query_next(const char **cursor, char *ret_key, size_t key_size,
		    char *ret_value, size_t value_size)
{
	const char *pair = *cursor;
	size_t len, key_len;
	const char *equal;
	int r;

	pair += strspn(pair, "&");
	if (*pair == '\0')
		return -ENOENT;
	len = strcspn(pair, "&");
	*cursor = pair + len;
	equal = memchr(pair, '=', len);
	key_len = equal ? (size_t)(equal - pair) : len;
	r = http_percent_decode(pair, key_len, true, ret_key, key_size);
	if (r < 0)
		return r;
	if (!equal)
		equal = pair + len - 1; /* an empty value behind the pair */
	return http_percent_decode(equal + 1, len - (size_t)(equal - pair) - 1,
				   true, ret_value, value_size);
}

int http_query_get(const char *query, const char *key, char *ret_value,
		   size_t size)
{
	const char *cursor = query;
	size_t key_len = strlen(key);

	/* Keys of ours need no encoding, so they are looked for as written. */
	while (*cursor) {
		size_t len;

		cursor += strspn(cursor, "&");
		len = strcspn(cursor, "&");
		if (len >= key_len && memcmp(cursor, key, key_len) == 0 &&
		    (len == key_len || cursor[key_len] == '=')) {
			size_t skip = len == key_len ? key_len : key_len + 1;

			return http_percent_decode(cursor + skip, len - skip,
						   true, ret_value, size);
		}
		cursor += len;
	}
	return -ENOENT;
}
