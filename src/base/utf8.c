/* SPDX-License-Identifier: Apache-2.0 */

#include "base/utf8.h"

#include <stdint.h>

/* How long a character is by its first byte; 0: it can't be one. */
static size_t length_by(uint8_t first)
{
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef)
		return 3;
	return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

size_t utf8_whole(const void *data, size_t len)
{
	const uint8_t *p = data;
	size_t tail = 0;

	while (tail < 3 && tail < len && (p[len - 1 - tail] & 0xc0) == 0x80)
		tail++;
	if (tail == len || length_by(p[len - 1 - tail]) <= tail + 1)
		return len;
	return len - 1 - tail;
}
