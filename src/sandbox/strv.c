/* SPDX-License-Identifier: Apache-2.0 */

#include "sandbox/strv.h"

#include <errno.h>
#include <string.h>

void strv_init(struct strv *strv, uint32_t max_num, size_t max_bytes)
{
	buf_init(&strv->bytes, max_bytes);
	strv->num = 0;
	strv->max_num = max_num;
}

void strv_deinit(struct strv *strv)
{
	buf_deinit(&strv->bytes);
	strv->num = 0;
}

int strv_add(struct strv *strv, const char *text)
{
	size_t len = strlen(text) + 1;

	if (strv->num == strv->max_num || len > buf_room(&strv->bytes))
		return -E2BIG;
	buf_add(&strv->bytes, text, len);
	if (strv->bytes.failed)
		return -ENOMEM;
	strv->num++;
	return 0;
}

const char *strv_first(const struct strv *strv)
{
	return strv->num ? (const char *)buf_data(&strv->bytes) : NULL;
}

const char *strv_next(const struct strv *strv, const char *text)
{
	const char *end =
		(const char *)buf_data(&strv->bytes) + buf_len(&strv->bytes);

	text += strlen(text) + 1;
	return text < end ? text : NULL;
}

/* The entry "KEY=..." whose key is @key, @len bytes of it. */
static const char *find_env(const struct strv *strv, const char *key,
			    size_t len)
{
	strv_for_each(text, strv) if (strncmp(text, key, len) == 0 &&
				      text[len] == '=') return text;
	return NULL;
}

static void remove_entry(struct strv *strv, const char *entry)
{
	char *data = (char *)buf_data(&strv->bytes);
	size_t len = strlen(entry) + 1;
	size_t at = (size_t)(entry - data);

	memmove(data + at, data + at + len, buf_len(&strv->bytes) - at - len);
	strv->bytes.end -= len;
	strv->num--;
}

int strv_set_env(struct strv *strv, const char *key, const char *value)
{
	size_t key_len = strlen(key);
	const char *old;
	size_t len;
	char *at;

	if (key_len == 0 || strchr(key, '='))
		return -EINVAL;
	old = find_env(strv, key, key_len);
	if (old)
		remove_entry(strv, old);
	/* All or nothing: half an entry would run into the next. */
	len = key_len + 1 + strlen(value) + 1;
	if (strv->num == strv->max_num || len > buf_room(&strv->bytes))
		return -E2BIG;
	at = (char *)buf_reserve(&strv->bytes, len);
	if (!at)
		return -ENOMEM;
	memcpy(at, key, key_len);
	at[key_len] = '=';
	memcpy(at + key_len + 1, value, len - key_len - 1);
	buf_commit(&strv->bytes, len);
	strv->num++;
	return 0;
}

int strv_set_env_text(struct strv *strv, const char *text)
{
	const char *equal = strchr(text, '=');
	const char *old;

	if (!equal || equal == text)
		return -EINVAL;
	old = find_env(strv, text, (size_t)(equal - text));
	if (old)
		remove_entry(strv, old);
	return strv_add(strv, text);
}

const char *strv_get_env(const struct strv *strv, const char *key, size_t len)
{
	const char *entry = find_env(strv, key, len);

	return entry ? entry + len + 1 : NULL;
}
