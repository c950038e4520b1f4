/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

void output_init(struct output *output, bool keep)
{
	memset(output, 0, sizeof(*output));
	output->keep = keep;
	sink_init(&output->sinks[0], STDOUT_FILENO);
	sink_init(&output->sinks[1], STDERR_FILENO);
	for (size_t i = 0; i < ARRAY_SIZE(output->kept); i++)
		buf_init(&output->kept[i], OUTPUT_KEEP_MAX);
}

void output_deinit(struct output *output)
{
	for (size_t i = 0; i < ARRAY_SIZE(output->sinks); i++) {
		sink_deinit(&output->sinks[i]);
		buf_deinit(&output->kept[i]);
	}
}

static void keep(struct output *output, struct buf *kept, const void *data,
		 size_t len)
{
	size_t room = buf_room(kept);

	if (len > room) {
		output->truncated = true;
		len = room;
	}
	if (len > 0)
		buf_add(kept, data, len);
	if (kept->failed) /* no memory for it, though below the limit */
		output->failed = -ENOMEM;
}

static void check(struct output *output, size_t i, int r)
{
	if (r < 0 && output->failed == 0) {
		output->failed = r;
		output->failed_stream = (enum osb_stream)(i + 1);
	}
}

void output_take(void *ctx, enum osb_stream stream, const void *data,
		 size_t len)
{
	struct output *output = ctx;
	size_t i = (size_t)stream - 1;

	if (output->failed)
		return;
	if (output->keep)
		keep(output, &output->kept[i], data, len);
	else
		check(output, i, sink_put(&output->sinks[i], data, len));
}

bool output_blocked(const struct output *output)
{
	return sink_blocked(&output->sinks[0]) ||
	       sink_blocked(&output->sinks[1]);
}

void output_flush(struct output *output)
{
	for (size_t i = 0; i < ARRAY_SIZE(output->sinks); i++)
		check(output, i, sink_flush(&output->sinks[i]));
}
