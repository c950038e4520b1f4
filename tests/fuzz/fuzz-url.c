/* SPDX-License-Identifier: Apache-2.0 */

/*
 * url - percent-encoding, query strings and what a list asks for, from clients
 *
 * Input: a byte (how small the destination is), then the query.
 */

#include <errno.h>

#include "base/buf.h"
#include "base/err.h"
#include "fuzz.h"
#include "http/url.h"
#include "server/api/list_query.h"

#define TEXT_MAX 4096

/* What was decoded, encoded again, is decoded to the same. */
static void check_encoding(const char *text)
{
	struct buf out auto_clean(buf_deinit) = BUF_NULL;
	char again[TEXT_MAX];

	buf_init(&out, 4 * TEXT_MAX);
	http_percent_encode(&out, text);
	CHECK(!out.failed);
	CHECK(http_percent_decode((const char *)buf_data(&out), buf_len(&out),
				  true, again, sizeof(again)) == 0);
	CHECK(strcmp(again, text) == 0);
}

static void decode(const char *text, size_t size)
{
	char *small auto_free = malloc(size);
	char large[TEXT_MAX];
	int r, r_small;

	CHECK(small);
	r = http_percent_decode(text, strlen(text), false, large,
				sizeof(large));
	r_small = http_percent_decode(text, strlen(text), false, small, size);
	if (r == 0) {
		CHECK(strlen(large) <= strlen(text));
		CHECK((r_small == 0) == (strlen(large) < size));
		check_encoding(large);
	} else {
		CHECK(r == -EINVAL || r == -ENAMETOOLONG);
		CHECK(r_small < 0);
	}
	if (r_small == 0)
		CHECK(strcmp(small, large) == 0);
}

/* Does the pair whose raw text starts here name its key without encoding? */
static bool is_plain(const char *pair)
{
	return strcspn(pair, "%+") >= strcspn(pair, "&=");
}

static void check_found(const char *query, const char *key, const char *value)
{
	char found[TEXT_MAX];

	CHECK(http_query_get(query, key, found, sizeof(found)) == 0);
	CHECK(strcmp(found, value) == 0);
}

static void walk(const char *query)
{
	char key[TEXT_MAX], value[TEXT_MAX];
	const char *cursor = query;
	bool first = true;

	for (;;) {
		const char *before = cursor;
		int r = http_query_next(&cursor, key, sizeof(key), value,
					sizeof(value));

		CHECK(cursor >= before && cursor <= query + strlen(query));
		if (r == -ENOENT)
			return;
		CHECK(cursor > before); /* else it would go on for ever */
		before += strspn(before, "&");
		if (r == 0 && first && is_plain(before))
			check_found(query, key, value);
		first = false;
	}
}

/* The one request whose query says more than a value or two. */
static void read_list(const char *text)
{
	struct list_query query auto_clean(list_query_deinit);
	struct err err = ERR_NULL;
	const char *code = NULL;
	unsigned int i = 0;

	list_query_init(&query);
	if (list_query_read(&query, text, &code, &err) < 0) {
		CHECK(code && err.kind == ERR_INVALID);
		return;
	}
	CHECK(query.page >= 1 && query.page <= LIST_PAGE_MAX);
	CHECK(query.page_size >= 1 && query.page_size <= LIST_PAGE_SIZE_MAX);
	CHECK(query.num_states <= LIST_STATES_MAX);
	CHECK(query.metadata.num % 2 == 0);
	strv_for_each(entry, &query.metadata)
	{
		CHECK(i % 2 || *entry); /* no key is empty */
		i++;
	}
	CHECK(i == query.metadata.num);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = { data, size < TEXT_MAX ? size : TEXT_MAX - 1 };
	size_t small = (size_t)fuzz_byte(&in) + 1;
	char *text auto_free = fuzz_text(&in);
	char *tiny auto_free = malloc(small);

	CHECK(tiny);
	decode(text, small);
	walk(text);
	read_list(text);
	if (http_query_get(text, "id", tiny, small) == 0)
		CHECK(strlen(tiny) < small);
	return 0;
}
