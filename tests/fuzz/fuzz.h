/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fuzz - what every target needs: its input in pieces, and a way to fail
 *
 * A target is one LLVMFuzzerTestOneInput(). It must not depend on anything
 * but its input: no time, no random number, no file that others write.
 * What a parser is given lies in a heap block of exactly its size, so that
 * the sanitizers see one byte too many.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/** LLVMFuzzerTestOneInput() - the target; called by libFuzzer and replay.c */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_check(bool holds, const char *what, const char *file,
			      int line)
{
	if (holds)
		return;
	(void)fprintf(stderr, "%s:%d: CHECK(%s)\n", file, line, what);
	abort();
}

/* An invariant: broken, it ends the process, in every kind of build. */
#define CHECK(condition) \
	fuzz_check((condition), (#condition), __FILE__, __LINE__)

/** check_equal() - the same bytes? Both may be NULL with 0 */
static inline void check_equal(const void *a, size_t a_len, const void *b,
			       size_t b_len)
{
	CHECK(a_len == b_len);
	CHECK(a_len == 0 || memcmp(a, b, a_len) == 0);
}

/* What is left of the input. */
struct fuzz {
	const uint8_t *p;
	size_t len;
};

/** fuzz_byte() - the next one, or 0 */
static inline uint8_t fuzz_byte(struct fuzz *in)
{
	if (in->len == 0)
		return 0;
	in->len--;
	return *in->p++;
}

/** fuzz_take() - a copy of the next @len bytes (or fewer); *ret_len says */
static inline void *fuzz_take(struct fuzz *in, size_t len, size_t *ret_len)
{
	uint8_t *copy;

	if (len > in->len)
		len = in->len;
	copy = malloc(len ? len : 1);
	CHECK(copy);
	if (in->p && len)
		memcpy(copy, in->p, len);
	in->p += len;
	in->len -= len;
	*ret_len = len;
	return copy;
}

/** fuzz_fill() - a struct from the next bytes, zero where they end */
static inline void fuzz_fill(struct fuzz *in, void *to, size_t size)
{
	size_t len = size < in->len ? size : in->len;

	memset(to, 0, size);
	if (len)
		memcpy(to, in->p, len);
	in->p += len;
	in->len -= len;
}

/** fuzz_line() - a string up to the next line feed, which is used up too */
static inline char *fuzz_line(struct fuzz *in)
{
	const uint8_t *end = in->len ? memchr(in->p, '\n', in->len) : NULL;
	size_t len = end ? (size_t)(end - in->p) : in->len;
	char *line = malloc(len + 1);

	CHECK(line);
	if (len)
		memcpy(line, in->p, len);
	line[len] = '\0';
	in->p += len;
	in->len -= len;
	(void)fuzz_byte(in);
	return line;
}

/** fuzz_text() - all that is left, as a string */
static inline char *fuzz_text(struct fuzz *in)
{
	char *text = malloc(in->len + 1);

	CHECK(text);
	if (in->len)
		memcpy(text, in->p, in->len);
	text[in->len] = '\0';
	in->len = 0;
	return text;
}

/*
 * How a stream is cut: the sizes are used in turn. What a parser makes of a
 * stream must not depend on them.
 */
struct split {
	size_t sizes[4];
	unsigned int next;
};

#define SPLIT_WHOLE                                                 \
	{                                                           \
		.sizes = { SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX } \
	}
#define SPLIT_BYTES                     \
	{                               \
		.sizes = { 1, 1, 1, 1 } \
	}

/** split_read() - four sizes: 1 to 128, or in steps of 512 to 64 KiB */
static inline struct split split_read(struct fuzz *in)
{
	struct split split = { .next = 0 };

	for (size_t i = 0; i < ARRAY_SIZE(split.sizes); i++) {
		size_t byte = fuzz_byte(in);

		split.sizes[i] = byte < 128 ? byte + 1 : (byte - 127) * 512;
	}
	return split;
}

/** split_take() - the next piece of a stream, as fuzz_take() */
static inline void *split_take(struct split *split, struct fuzz *in,
			       size_t *ret_len)
{
	size_t size = split->sizes[split->next++ % ARRAY_SIZE(split->sizes)];

	return fuzz_take(in, size, ret_len);
}
