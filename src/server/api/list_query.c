/* SPDX-License-Identifier: Apache-2.0 */

#include "server/api/list_query.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "http/url.h"

#define PAGE_SIZE_DEFAULT 20
#define FILTERS_MAX 64
#define FILTER_BYTES_MAX 8192

/* Decoded a second time. Clients differ in whether they encode twice, so a '%'
   without two hex digits is one of the text. */
static int decode(const char *in_text, size_t len, char *ret, size_t size)
{
	size_t out = 0;

	for (size_t i = 0, step; i < len; i += step) {
		char one[2];

		step = in_text[i] == '%' && len - i >= 3 ? 3 : 1;
		if (http_percent_decode(in_text + i, step, true, one,
					sizeof(one)) < 0) {
			step = 1;
			one[0] = in_text[i];
		}
		if (out + 1 >= size)
			return -ENAMETOOLONG;
		ret[out++] = one[0];
	}
	ret[out] = '\0';
	return 0;
}

/* Of two filters with one key the last counts. */
static int set_filter(struct strv *metadata, const char *key, const char *value)
{
	struct strv old = *metadata;
	const char *old_value;
	int r = 0;

	strv_init(metadata, 2 * FILTERS_MAX, FILTER_BYTES_MAX);
	for (const char *old_key = strv_first(&old); old_key && r == 0;
	     old_key = strv_next(&old, old_value)) {
		old_value = strv_next(&old, old_key);
		if (strcmp(old_key, key) == 0)
			continue;
		r = strv_add(metadata, old_key);
		if (r == 0)
			r = strv_add(metadata, old_value);
	}
	if (r == 0)
		r = strv_add(metadata, key);
	if (r == 0)
		r = strv_add(metadata, value);
	strv_deinit(&old);
	return r;
}

/* "a=b&c=d" inside one query value. */
static int read_metadata(struct list_query *query, const char *in_text)
{
	char key[512], value[512];
	int r = 0;

	while (r == 0 && *(in_text += strspn(in_text, "&"))) {
		size_t len = strcspn(in_text, "&");
		size_t key_len = strcspn(in_text, "=&");

		if (key_len == 0 || key_len == len)
			return -EINVAL;
		r = decode(in_text, key_len, key, sizeof(key));
		if (r == 0)
			r = decode(in_text + key_len + 1, len - key_len - 1,
				   value, sizeof(value));
		if (r == 0)
			r = set_filter(&query->metadata, key, value);
		in_text += len;
	}
	return r;
}

static int read_number(const char *text, int64_t max, int64_t *ret_value)
{
	int64_t value = 0;

	if (*text == '\0')
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		value = value * 10 + (*text - '0');
		if (value > max)
			return -ERANGE;
	}
	if (value == 0)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

static int read_pair(struct list_query *query, const char *key,
		     const char *value, const char **ret_code, struct err *err)
{
	*ret_code = "SANDBOX::INVALID_PARAMETER";
	if (strcmp(key, "page") == 0 &&
	    read_number(value, LIST_PAGE_MAX, &query->page) < 0)
		return err_set(err, ERR_INVALID, 0,
			       "page '%.40s': must be from 1 to %d", value,
			       LIST_PAGE_MAX);
	if (strcmp(key, "pageSize") == 0 &&
	    read_number(value, LIST_PAGE_SIZE_MAX, &query->page_size) < 0)
		return err_set(err, ERR_INVALID, 0,
			       "pageSize '%.40s': must be from 1 to %d", value,
			       LIST_PAGE_SIZE_MAX);
	if (strcmp(key, "state") == 0) {
		if (query->num_states == LIST_STATES_MAX ||
		    strlen(value) >= sizeof(query->state[0]))
			return err_set(err, ERR_INVALID, 0,
				       "state '%.40s': not a state", value);
		memcpy(query->state[query->num_states++], value,
		       strlen(value) + 1);
	}
	if (strcmp(key, "metadata") == 0 && read_metadata(query, value) < 0) {
		*ret_code = "INVALID_METADATA_FORMAT";
		return err_set(err, ERR_INVALID, 0,
			       "metadata: must be key=value, joined by &");
	}
	return 0;
}

void list_query_init(struct list_query *query)
{
	memset(query, 0, sizeof(*query));
	query->page = 1;
	query->page_size = PAGE_SIZE_DEFAULT;
	strv_init(&query->metadata, 2 * FILTERS_MAX, FILTER_BYTES_MAX);
}

void list_query_deinit(struct list_query *query)
{
	strv_deinit(&query->metadata);
}

int list_query_read(struct list_query *query, const char *in_query,
		    const char **ret_code, struct err *err)
{
	char key[32];
	char value[FILTER_BYTES_MAX];
	int r;

	for (;;) {
		r = http_query_next(&in_query, key, sizeof(key), value,
				    sizeof(value));
		if (r == -ENOENT)
			return 0;
		*ret_code = "SANDBOX::INVALID_PARAMETER";
		if (r < 0)
			return err_set(err, ERR_INVALID, 0, "malformed query");
		r = read_pair(query, key, value, ret_code, err);
		if (r < 0)
			return r;
	}
}
