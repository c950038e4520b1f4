/* SPDX-License-Identifier: Apache-2.0 */

/*
 * http - heads and bodies of HTTP/1.1, both directions
 *
 * Input: a byte (bit 0: responses, bit 1: to a HEAD request, bit 2: '~' stands
 * for 8 KiB of letters), four sizes of pieces, and the stream. Whatever the
 * pieces, the same messages must come out; and what was read as a request,
 * written again, must be read as the same request.
 */

#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "fuzz.h"
#include "http/reader.h"
#include "http/write.h"

#define STREAM_MAX (256u * 1024)
#define MESSAGES_MAX 64

enum option {
	RESPONSES = 1 << 0,
	NO_BODY = 1 << 1,
	EXPAND = 1 << 2,
};

static void put_head(struct buf *out, const struct http_head *head)
{
	buf_addf(out, "%s %s?%s %u %d%d%d%d%d %llu\n", head->method, head->path,
		 head->query, head->status, head->keep_alive, head->chunked,
		 head->has_length, head->expect_continue, head->upgrade,
		 (unsigned long long)head->content_length);
	for (unsigned int i = 0; i < head->num_fields; i++)
		buf_addf(out, "%s: %s\n", head->field[i].name,
			 head->field[i].value);
}

static void check_text(const char *text, bool blanks)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		CHECK(c >= 0x20 || (blanks && c == '\t'));
		CHECK(c != 0x7f && (blanks || (c != ' ' && c < 0x80)));
	}
}

static void check_head(const struct http_head *head, uint8_t options)
{
	CHECK(head->num_fields <= HTTP_HEADERS_MAX);
	CHECK(!(head->chunked && head->has_length));
	CHECK(head->has_length || head->content_length == 0);
	CHECK(head->content_length <= INT64_MAX);
	for (unsigned int i = 0; i < head->num_fields; i++) {
		CHECK(head->field[i].name[0]);
		check_text(head->field[i].name, false);
		check_text(head->field[i].value, true);
	}
	if (options & RESPONSES) {
		CHECK(head->status >= 100 && head->status <= 999);
		return;
	}
	CHECK(head->method[0] && head->path[0] == '/' && head->status == 0);
	check_text(head->path, false);
	check_text(head->query, false);
}

static bool is_host(const char *name)
{
	return strcasecmp(name, "Host") == 0;
}

/* Written by us, a request we understood says the same. */
static void check_rewrite(const struct http_head *head)
{
	const char *host = http_head_get(head, "Host");
	struct buf target auto_clean(buf_deinit) = BUF_NULL;
	struct buf out auto_clean(buf_deinit) = BUF_NULL;
	struct http_head again;
	unsigned int num = 1;

	if (!host || strpbrk(host, " \t"))
		return; /* not one that we would write */
	buf_init(&target, HTTP_HEAD_MAX + 2);
	buf_init(&out, 2 * HTTP_HEAD_MAX);
	buf_addf(&target, "%s%s%s", head->path, *head->query ? "?" : "",
		 head->query);
	buf_add(&target, "", 1);
	http_put_request(&out, head->method, (const char *)buf_data(&target),
			 host);
	for (unsigned int i = 0; i < head->num_fields; i++)
		if (!is_host(head->field[i].name) &&
		    !strchr(head->field[i].value, '\t'))
			http_put_field(&out, head->field[i].name,
				       head->field[i].value);
	http_put_end(&out);
	CHECK(!out.failed);
	CHECK(http_head_parse(HTTP_READ_REQUESTS, (char *)buf_data(&out),
			      buf_len(&out), &again, NULL) == 0);
	CHECK(strcmp(again.method, head->method) == 0);
	CHECK(strcmp(again.path, head->path) == 0);
	CHECK(strcmp(again.query, head->query) == 0);
	for (unsigned int i = 0; i < head->num_fields; i++) {
		if (is_host(head->field[i].name) ||
		    strchr(head->field[i].value, '\t'))
			continue;
		CHECK(strcmp(again.field[num].name, head->field[i].name) == 0);
		CHECK(strcmp(again.field[num].value, head->field[i].value) ==
		      0);
		num++;
	}
	CHECK(again.num_fields == num);
}

/* One stream through one reader; what came out is written to @out. */
struct run {
	struct http_reader reader;
	struct buf *out;
	uint8_t options;
	unsigned int num_heads;
	uint64_t body; /* bytes of the current message */
};

static void take_head(struct run *run)
{
	const struct http_head *head = &run->reader.head;

	run->body = 0;
	run->num_heads++;
	check_head(head, run->options);
	put_head(run->out, head);
	if (!(run->options & RESPONSES))
		check_rewrite(head);
}

static void take_event(struct run *run, const struct http_event *event,
		       const uint8_t *data, size_t len)
{
	const struct http_head *head = &run->reader.head;

	switch (event->type) {
	case HTTP_EVENT_HEAD:
		take_head(run);
		break;
	case HTTP_EVENT_BODY:
		CHECK(event->len > 0 && event->data >= data &&
		      event->data + event->len <= data + len);
		buf_add(run->out, event->data, event->len);
		run->body += event->len;
		CHECK(head->chunked || !head->has_length ||
		      run->body <= head->content_length);
		break;
	case HTTP_EVENT_END:
		if (head->has_length && !(run->options & RESPONSES))
			CHECK(run->body == head->content_length);
		buf_adds(run->out, "\nEND\n");
		break;
	case HTTP_EVENT_MORE:
		break;
	}
}

/* Return: false when the reader gave up. */
static bool feed(struct run *run, const uint8_t *data, size_t len)
{
	size_t used = 0;

	while (used < len && run->num_heads < MESSAGES_MAX) {
		struct http_event event;
		struct err err = ERR_NULL;
		size_t n = 0;

		if (http_reader_next(&run->reader, data + used, len - used, &n,
				     &event, &err) < 0) {
			CHECK(err.kind != ERR_NONE && n <= len - used);
			buf_addf(run->out, "\nerror %d\n", err.kind);
			return false;
		}
		CHECK(n <= len - used);
		CHECK(n > 0 || event.type != HTTP_EVENT_MORE);
		take_event(run, &event, data + used, len - used);
		used += n;
	}
	return true;
}

/* Half a line end in front: read by some as nothing, by others as a line. */
static bool starts_badly(const struct buf *stream)
{
	const uint8_t *p = buf_data(stream);

	return buf_len(stream) > 1 &&
	       (p[0] == '\n' || (p[0] == '\r' && p[1] != '\n'));
}

static void run_stream(const struct buf *stream, struct split split,
		       uint8_t options, struct buf *out)
{
	struct fuzz in = { buf_data(stream), buf_len(stream) };
	struct run run = { .out = out, .options = options };
	struct http_event event = { .type = HTTP_EVENT_END };
	size_t n;

	http_reader_init(&run.reader, options & RESPONSES ? HTTP_READ_RESPONSES
							  : HTTP_READ_REQUESTS);
	if (options & NO_BODY)
		http_reader_expect_no_body(&run.reader);
	while (in.len) {
		void *piece auto_free = split_take(&split, &in, &n);

		if (!feed(&run, piece, n))
			break;
	}
	while (run.reader.state != HTTP_STATE_FAILED &&
	       event.type != HTTP_EVENT_MORE) {
		CHECK(http_reader_next(&run.reader, NULL, 0, &n, &event,
				       NULL) == 0);
		take_event(&run, &event, NULL, 0);
	}
	CHECK(!starts_badly(stream) || run.num_heads == 0);
	buf_addf(out, "eof %d\n", http_reader_eof(&run.reader, NULL));
	http_reader_deinit(&run.reader);
}

/* The same stream in other pieces is the same stream. */
static void check_same(const struct buf *stream, struct split split,
		       uint8_t options, const struct buf *want)
{
	struct buf out auto_clean(buf_deinit) = BUF_NULL;

	buf_init(&out, 4 * STREAM_MAX);
	run_stream(stream, split, options, &out);
	check_equal(buf_data(&out), buf_len(&out), buf_data(want),
		    buf_len(want));
}

static void put_stream(struct buf *stream, struct fuzz *in, uint8_t options)
{
	static const char letters[8192] = { [0 ... 8191] = 'a' };

	while (in->len) {
		uint8_t c = fuzz_byte(in);

		if (c == '~' && (options & EXPAND) &&
		    buf_len(stream) < STREAM_MAX / 2)
			buf_add(stream, letters, sizeof(letters));
		else
			buf_add(stream, &c, 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct split whole = SPLIT_WHOLE;
	static const struct split bytes = SPLIT_BYTES;
	struct buf stream auto_clean(buf_deinit) = BUF_NULL;
	struct buf out auto_clean(buf_deinit) = BUF_NULL;
	struct fuzz in = { data, size };
	uint8_t options = fuzz_byte(&in);
	struct split split = split_read(&in);

	buf_init(&stream, STREAM_MAX);
	buf_init(&out, 4 * STREAM_MAX);
	put_stream(&stream, &in, options);
	run_stream(&stream, whole, options, &out);
	check_same(&stream, split, options, &out);
	if (!(options & EXPAND))
		check_same(&stream, bytes, options, &out);
	return 0;
}
