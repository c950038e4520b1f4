/* SPDX-License-Identifier: Apache-2.0 */

/*
 * download - a Range from a client, and a file helper's reply from a sandbox
 *
 * Input: a line with the Range; then either 'r' and the bytes of a reply, or a
 * line of numbers: kind size length.
 */

#include <errno.h>

#include "base/err.h"
#include "fuzz.h"
#include "server/api/file_reply.h"
#include "server/api/range.h"

static void read_range(const char *text, struct range *ret_range)
{
	struct range range = { .kind = RANGE_NONE, .length = UINT64_MAX };
	int r = range_parse(text, &range);

	*ret_range = range;
	if (r < 0) {
		CHECK(r == -EINVAL && range.kind == RANGE_NONE);
		return;
	}
	CHECK(strncmp(text, "bytes=", 6) == 0);
	CHECK(range.kind == RANGE_FROM || range.kind == RANGE_LAST);
	CHECK(range.length > 0 && range.first <= INT64_MAX);
	CHECK(range.kind == RANGE_FROM || range.first == 0);
	CHECK(range.length == UINT64_MAX ||
	      range.length <= (uint64_t)INT64_MAX + 1 - range.first);
}

static void make_reply(struct fuzz *in, struct files_reply *reply)
{
	char *line auto_free = NULL;
	char *at;

	if (in->len && *in->p == 'r') {
		(void)fuzz_byte(in);
		fuzz_fill(in, reply, sizeof(*reply));
		return;
	}
	line = fuzz_line(in);
	at = line;
	memset(reply, 'x', sizeof(*reply)); /* its text has no end */
	reply->magic = FILES_REPLY_MAGIC;
	reply->kind = (uint32_t)strtoul(at, &at, 10);
	reply->size = strtoull(at, &at, 10);
	reply->length = strtoull(at, &at, 10);
}

/* As it comes out of a pipe: in pieces, with content behind it. */
static void take(struct file_reply *said, const struct files_reply *reply,
		 uint8_t piece)
{
	uint8_t out[sizeof(*reply) + 8] = { 0 };
	size_t at = 0;

	memcpy(out, reply, sizeof(*reply));
	while (said->have < sizeof(*reply)) {
		size_t len = (size_t)piece + 1;
		size_t n;

		if (len > sizeof(out) - at)
			len = sizeof(out) - at;
		n = file_reply_take(said, out + at, len);
		CHECK(n > 0 && n <= len);
		at += n;
	}
	CHECK(at == sizeof(*reply));
	CHECK(file_reply_take(said, out, sizeof(out)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = { data, size };
	uint8_t piece = fuzz_byte(&in);
	char *text auto_free = fuzz_line(&in);
	struct file_reply said = { .have = 0 };
	struct files_reply reply;
	struct range range;

	read_range(text, &range);
	make_reply(&in, &reply);
	take(&said, &reply, piece);
	CHECK(memchr(said.msg.msg, '\0', sizeof(said.msg.msg)));
	CHECK(file_reply_complete(&said) == (reply.magic == FILES_REPLY_MAGIC));
	if (!file_reply_fits(&said, &range))
		return 0;
	CHECK(said.msg.kind == ERR_NONE && said.msg.size <= INT64_MAX);
	CHECK(said.msg.length <= range.length);
	CHECK(range.first + said.msg.length <= said.msg.size);
	CHECK(said.msg.length > 0 || range.kind == RANGE_NONE);
	return 0;
}
