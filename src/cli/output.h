/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * output - where a program's two output streams go
 *
 * Live, each to its own descriptor; or kept in memory for --json, up to
 * OUTPUT_KEEP_MAX each, after which the rest is read and dropped so that the
 * program isn't held up.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "cli/sink.h"
#include "osb/osb.h"

#define OUTPUT_KEEP_MAX ((size_t)64 << 20)

struct output {
	bool keep;
	bool truncated; /* some of it was dropped */
	int failed;     /* -errno of a descriptor that takes no more */
	enum osb_stream failed_stream;
	struct sink sinks[2]; /* live: by stream - 1 */
	struct buf kept[2];   /* the same */
};

void output_init(struct output *output, bool keep);

void output_deinit(struct output *output);

/** output_take() - an osb_output_fn; the context is the struct output */
void output_take(void *ctx, enum osb_stream stream, const void *data,
		 size_t len);

/** output_blocked() - does a stream wait for its reader? */
bool output_blocked(const struct output *output);

/** output_flush() - go on with what waits */
void output_flush(struct output *output);
