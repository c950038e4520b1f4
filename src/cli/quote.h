/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * quote - words as a shell reads them back
 */

struct buf;

/**
 * quote_words() - append words with blanks between them
 * @words: ends with NULL
 */
void quote_words(struct buf *out, const char *const *words);
