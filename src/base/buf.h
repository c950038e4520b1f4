/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * buf - a growing byte queue that can't exist without a maximum
 *
 * Bytes are added at the end and consumed from the front. What doesn't fit
 * below the maximum isn't added at all, and the buffer stays failed until it
 * is reset, so a writer may add everything and ask once. Memory is given back
 * when the buffer runs empty after having been large.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *mem;
	size_t size;  /* allocated */
	size_t start; /* consumed up to here */
	size_t end;   /* filled up to here */
	size_t max;   /* unconsumed bytes it may hold */
	bool failed;
};

#define BUF_NULL            \
	{                   \
		.mem = NULL \
	}

/** buf_init() - an empty buffer for at most @max bytes; allocates nothing */
void buf_init(struct buf *buf, size_t max);

/** buf_deinit() - free the memory; fine on BUF_NULL and twice */
void buf_deinit(struct buf *buf);

/** buf_reset() - forget the bytes and the failure */
void buf_reset(struct buf *buf);

/** buf_data() - the unconsumed bytes, or NULL; valid until the next change */
static inline uint8_t *buf_data(const struct buf *buf)
{
	/* Not even 0 may be added to NULL. */
	return buf->mem ? buf->mem + buf->start : NULL;
}

/** buf_len() - how many bytes wait */
static inline size_t buf_len(const struct buf *buf)
{
	return buf->end - buf->start;
}

/** buf_room() - how many more it may take */
static inline size_t buf_room(const struct buf *buf)
{
	return buf->max - buf_len(buf);
}

/**
 * buf_reserve() - room for @len bytes at the end, to be filled in place
 *
 * Return: where to write, or NULL (over the maximum or no memory; failed).
 */
uint8_t *buf_reserve(struct buf *buf, size_t len);

/** buf_commit() - @len bytes of the last buf_reserve() were filled */
void buf_commit(struct buf *buf, size_t len);

/** buf_add() - append bytes; nothing when failed or when they don't fit */
void buf_add(struct buf *buf, const void *data, size_t len);

/** buf_adds() - append a string without its NUL */
void buf_adds(struct buf *buf, const char *text);

/** buf_addf() - append formatted text without its NUL */
void buf_addf(struct buf *buf, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** buf_cut() - drop @len bytes at the end; never more than are there */
void buf_cut(struct buf *buf, size_t len);

/** buf_consume() - drop @len bytes at the front; never more than are there */
void buf_consume(struct buf *buf, size_t len);
