/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * lines - cut a program's output into the lines that events carry
 *
 * A line ends at LF, CR or CRLF and is given without its end. A line over
 * LINES_MAX is given in parts, not cut inside a UTF-8 character.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define LINES_MAX (64u * 1024)

typedef void (*lines_fn)(void *ctx, const uint8_t *line, size_t len);

struct lines {
	struct buf partial;
	uint64_t pos;  /* bytes taken so far, ends of lines included */
	uint64_t end;  /* for fn: up to where this one goes */
	bool after_cr; /* a LF right now belongs to the CR before */
};

/** lines_init() - as if @pos bytes had been taken */
void lines_init(struct lines *lines, uint64_t pos);
void lines_deinit(struct lines *lines);

/** lines_feed() - call @fn for each line that is complete now */
void lines_feed(struct lines *lines, const uint8_t *data, size_t len,
		lines_fn fn, void *ctx);

/** lines_trim() - forget a character that was cut, at the end of all */
void lines_trim(struct lines *lines);

/** lines_end() - call @fn for what is left without an end */
void lines_end(struct lines *lines, lines_fn fn, void *ctx);
