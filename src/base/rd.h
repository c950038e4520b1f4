/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * rd, wr - the only way bytes of a message are taken apart or put together
 *
 * A reader never looks beyond its end; after the first short read it stays
 * failed and yields zeros, so a parser may read everything and ask once.
 * A writer never grows beyond its buffer, and fails the same way.
 * Integers are in host order: both ends run on one machine.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rd {
	const uint8_t *p;
	const uint8_t *end;
	bool failed;
};

/** rd_init() - read from @len bytes at @data, which stay the caller's */
void rd_init(struct rd *rd, const void *data, size_t len);
uint32_t rd_u32(struct rd *rd);
uint64_t rd_u64(struct rd *rd);

/** rd_bytes() - the next @len bytes in place, or NULL */
const void *rd_bytes(struct rd *rd, size_t len);

/**
 * rd_str() - the next NUL-terminated string in place, at most @max bytes
 * without its NUL
 *
 * Return: the string, or NULL when unterminated or longer.
 */
const char *rd_str(struct rd *rd, size_t max);

/** rd_done() - everything read, nothing failed, nothing left over? */
bool rd_done(const struct rd *rd);

struct wr {
	uint8_t *p;
	uint8_t *end;
	bool failed;
};

/** wr_init() - write into @size bytes at @data */
void wr_init(struct wr *wr, void *data, size_t size);
void wr_u32(struct wr *wr, uint32_t value);
void wr_u64(struct wr *wr, uint64_t value);
void wr_bytes(struct wr *wr, const void *data, size_t len);
/** wr_str() - the string and its NUL */
void wr_str(struct wr *wr, const char *s);
