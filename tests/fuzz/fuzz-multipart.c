/* SPDX-License-Identifier: Apache-2.0 */

/*
 * multipart - the body of an upload
 *
 * Input: four sizes of pieces, a line with the Content-Type, then the body.
 * Whatever the pieces, the same parts must come out. The body is also sent as
 * the content of one part, and must arrive as it is.
 */

#include "base/err.h"
#include "fuzz.h"
#include "server/api/multipart.h"

#define OUT_MAX (64u * 1024)

static void take_event(const struct multipart *mp,
		       const struct multipart_event *event, struct buf *seen)
{
	switch (event->type) {
	case MULTIPART_PART:
		CHECK(strnlen(mp->name, sizeof(mp->name)) < sizeof(mp->name));
		buf_addf(seen, "\npart '%s' ", mp->name);
		break;
	case MULTIPART_DATA:
		CHECK(event->len > 0 && mp->in_part);
		buf_add(seen, event->data, event->len);
		break;
	case MULTIPART_PART_END:
		buf_adds(seen, "\npart end");
		break;
	case MULTIPART_END:
		CHECK(multipart_ended(mp));
		buf_adds(seen, "\nend");
		break;
	case MULTIPART_MORE:
		break;
	}
}

static int feed(struct multipart *mp, const uint8_t *data, size_t len,
		struct buf *seen)
{
	size_t used = 0;

	while (used < len) {
		struct multipart_event event;
		struct err err = ERR_NULL;
		size_t n = 0;

		if (multipart_next(mp, data + used, len - used, &n, &event,
				   &err) < 0) {
			CHECK(err.kind == ERR_INVALID);
			return -1;
		}
		CHECK(n <= len - used);
		CHECK(n > 0 || event.type != MULTIPART_MORE);
		take_event(mp, &event, seen);
		used += n;
	}
	return 0;
}

static void run_stream(const char *type, struct fuzz in, struct split split,
		       struct buf *seen)
{
	struct multipart mp;
	int r = multipart_init(&mp, type, NULL);

	while (r == 0 && in.len) {
		size_t n;
		uint8_t *piece auto_free = split_take(&split, &in, &n);

		r = feed(&mp, piece, n, seen);
	}
	buf_addf(seen, "\n%d %d", r < 0, r == 0 && multipart_ended(&mp));
	multipart_deinit(&mp);
}

static void check_same(const char *type, struct fuzz in, struct split split,
		       const struct buf *want)
{
	struct buf seen auto_clean(buf_deinit) = BUF_NULL;

	buf_init(&seen, OUT_MAX);
	run_stream(type, in, split, &seen);
	check_equal(buf_data(&seen), buf_len(&seen), buf_data(want),
		    buf_len(want));
}

/* Any content without the delimiter goes through unchanged. */
static void check_content(struct fuzz in, struct split split)
{
	struct buf body auto_clean(buf_deinit) = BUF_NULL;
	struct buf seen auto_clean(buf_deinit) = BUF_NULL;
	struct buf want auto_clean(buf_deinit) = BUF_NULL;
	struct fuzz whole;

	buf_init(&body, OUT_MAX);
	buf_init(&seen, OUT_MAX);
	buf_init(&want, OUT_MAX);
	if (in.len == 0 || memmem(in.p, in.len, "\r\n--b-", 6))
		return;
	buf_adds(&body, "--b-\r\nContent-Disposition: form-data; name=x\r\n"
			"\r\n");
	buf_add(&body, in.p, in.len);
	buf_adds(&body, "\r\n--b---\r\n");
	buf_adds(&want, "\npart 'x' ");
	buf_add(&want, in.p, in.len);
	buf_adds(&want, "\npart end\nend\n0 1");
	whole = (struct fuzz){ buf_data(&body), buf_len(&body) };
	run_stream("multipart/form-data; boundary=b-", whole, split, &seen);
	check_equal(buf_data(&seen), buf_len(&seen), buf_data(&want),
		    buf_len(&want));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct split whole = SPLIT_WHOLE;
	static const struct split bytes = SPLIT_BYTES;
	struct buf seen auto_clean(buf_deinit) = BUF_NULL;
	struct fuzz in = { data, size < OUT_MAX / 4 ? size : OUT_MAX / 4 };
	struct split split = split_read(&in);
	char *type auto_free = fuzz_line(&in);

	buf_init(&seen, OUT_MAX);
	run_stream(type, in, whole, &seen);
	check_same(type, in, split, &seen);
	check_same(type, in, bytes, &seen);
	check_content(in, split);
	return 0;
}
