/* SPDX-License-Identifier: Apache-2.0 */

/*
 * quote - words as a shell reads them back
 *
 * Between single quotes nothing means anything but the next single quote. What
 * needs none goes as it is, since people read the result too.
 */

#include "cli/quote.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"

static bool is_plain(const char *word)
{
	static const char plain[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-./,:@%+";

	return *word && strspn(word, plain) == strlen(word);
}

static void quote_word(struct buf *out, const char *word)
{
	if (is_plain(word)) {
		buf_adds(out, word);
		return;
	}
	buf_adds(out, "'");
	for (;;) {
		size_t len = strcspn(word, "'");

		buf_add(out, word, len);
		word += len;
		if (*word == '\0')
			break;
		buf_adds(out, "'\\''");
		word++;
	}
	buf_adds(out, "'");
}

void quote_words(struct buf *out, const char *const *words)
{
	for (const char *const *word = words; *word; word++) {
		if (word != words)
			buf_adds(out, " ");
		quote_word(out, *word);
	}
}
