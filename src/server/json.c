/* SPDX-License-Identifier: Apache-2.0 */

#include "server/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"

static void put_key(struct json_out *out, const char *key)
{
	if (out->comma)
		buf_add(out->buf, ",", 1);
	out->comma = true;
	if (key) {
		buf_add(out->buf, "\"", 1);
		buf_adds(out->buf, key);
		buf_add(out->buf, "\":", 2);
	}
}

void json_open(struct json_out *out, const char *key, char bracket)
{
	put_key(out, key);
	buf_add(out->buf, &bracket, 1);
	out->comma = false;
}

void json_close(struct json_out *out, char bracket)
{
	buf_add(out->buf, &bracket, 1);
	out->comma = true;
}

/*
 * The character at @p, if it is well-formed UTF-8 (RFC 3629: no overlong
 * forms, no surrogates, nothing above U+10FFFF).
 * Return: its length with *ret_code, or 0.
 */
static size_t utf8_char(const uint8_t *p, size_t len, uint32_t *ret_code)
{
	static const uint32_t min[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t need;
	uint32_t code;

	if (p[0] < 0x80) {
		*ret_code = p[0];
		return 1;
	}
	if (p[0] >= 0xc2 && p[0] <= 0xdf) {
		need = 2;
		code = p[0] & 0x1f;
	} else if (p[0] >= 0xe0 && p[0] <= 0xef) {
		need = 3;
		code = p[0] & 0x0f;
	} else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
		need = 4;
		code = p[0] & 0x07;
	} else {
		return 0;
	}
	if (need > len)
		return 0;
	for (size_t i = 1; i < need; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	if (code < min[need] || code > 0x10ffff ||
	    (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return need;
}

/* The short escape of a character, or 0. */
static char short_escape(uint32_t code)
{
	switch (code) {
	case '"':
		return '"';
	case '\\':
		return '\\';
	case '\n':
		return 'n';
	case '\r':
		return 'r';
	case '\t':
		return 't';
	default:
		return 0;
	}
}

/*
 * Go's encoder escapes <, > and & too, and clients compare with it. U+0085,
 * U+2028 and U+2029 end a line for Python's splitlines().
 */
static bool needs_escape(uint32_t code)
{
	return code < 0x20 || code == '"' || code == '\\' || code == '<' ||
	       code == '>' || code == '&' || code == 0x7f || code == 0x85 ||
	       code == 0x2028 || code == 0x2029;
}

static void put_escaped(struct buf *buf, uint32_t code)
{
	char letter = short_escape(code);

	if (letter)
		buf_addf(buf, "\\%c", letter);
	else
		buf_addf(buf, "\\u%04x", code);
}

void json_put_bytes(struct json_out *out, const char *key, const void *data,
		    size_t len)
{
	const uint8_t *p = data;
	size_t plain = 0; /* start of what can be copied as it is */
	size_t i = 0;

	put_key(out, key);
	buf_add(out->buf, "\"", 1);
	while (i < len) {
		uint32_t code = 0xfffd;
		size_t n = utf8_char(p + i, len - i, &code);

		if (n && !needs_escape(code)) {
			i += n;
			continue;
		}
		buf_add(out->buf, p + plain, i - plain);
		if (n)
			put_escaped(out->buf, code);
		else
			buf_adds(out->buf, "\xef\xbf\xbd");
		i += n ? n : 1;
		plain = i;
	}
	buf_add(out->buf, p + plain, len - plain);
	buf_add(out->buf, "\"", 1);
}

void json_put_text(struct json_out *out, const char *key, const char *text)
{
	json_put_bytes(out, key, text, strlen(text));
}

void json_put_int(struct json_out *out, const char *key, int64_t value)
{
	put_key(out, key);
	buf_addf(out->buf, "%" PRId64, value);
}

void json_put_bool(struct json_out *out, const char *key, bool value)
{
	put_key(out, key);
	buf_adds(out->buf, value ? "true" : "false");
}

void json_put_null(struct json_out *out, const char *key)
{
	put_key(out, key);
	buf_adds(out->buf, "null");
}

void json_put_time(struct json_out *out, const char *key, int64_t us)
{
	time_t seconds = us / 1000000;
	struct tm tm;
	char text[64];
	size_t len;

	if (!gmtime_r(&seconds, &tm))
		memset(&tm, 0, sizeof(tm));
	len = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(text + len, sizeof(text) - len, ".%06dZ",
		       (int)(us % 1000000));
	json_put_text(out, key, text);
}

json_t *json_read(const void *data, size_t len, struct err *err)
{
	json_error_t why;
	json_t *json;

	/* Clients may send an empty body where everything is optional. */
	if (len == 0)
		return json_object();
	json = json_loadb(data, len, 0, &why);
	if (!json) {
		(void)err_set(err, ERR_INVALID, 0, "body isn't JSON: %s",
			      why.text);
		return NULL;
	}
	if (!json_is_object(json)) {
		(void)err_set(err, ERR_INVALID, 0, "body isn't a JSON object");
		json_decref(json);
		return NULL;
	}
	return json;
}

/* The member, or NULL when absent or null. */
static const json_t *get(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return value && !json_is_null(value) ? value : NULL;
}

int json_get_text(const json_t *object, const char *key, const char **ret_text,
		  struct err *err)
{
	const json_t *value = get(object, key);

	if (!value)
		return 1;
	if (!json_is_string(value))
		return err_set(err, ERR_INVALID, 0, "%s: must be a string",
			       key);
	*ret_text = json_string_value(value);
	return 0;
}

int json_get_int(const json_t *object, const char *key, int64_t min,
		 int64_t max, int64_t *ret_value, struct err *err)
{
	const json_t *value = get(object, key);

	if (!value)
		return 1;
	if (!json_is_integer(value) || json_integer_value(value) < min ||
	    json_integer_value(value) > max)
		return err_set(err, ERR_INVALID, 0,
			       "%s: must be a whole number from %" PRId64
			       " to %" PRId64,
			       key, min, max);
	*ret_value = json_integer_value(value);
	return 0;
}

int json_get_bool(const json_t *object, const char *key, bool *ret_value,
		  struct err *err)
{
	const json_t *value = get(object, key);

	if (!value)
		return 1;
	if (!json_is_boolean(value))
		return err_set(err, ERR_INVALID, 0, "%s: must be true or false",
			       key);
	*ret_value = json_is_true(value);
	return 0;
}

int json_get_object(const json_t *object, const char *key,
		    const json_t **ret_object, struct err *err)
{
	const json_t *value = get(object, key);

	if (!value)
		return 1;
	if (!json_is_object(value))
		return err_set(err, ERR_INVALID, 0, "%s: must be an object",
			       key);
	*ret_object = value;
	return 0;
}

int json_get_array(const json_t *object, const char *key,
		   const json_t **ret_array, struct err *err)
{
	const json_t *value = get(object, key);

	if (!value)
		return 1;
	if (!json_is_array(value))
		return err_set(err, ERR_INVALID, 0, "%s: must be an array",
			       key);
	*ret_array = value;
	return 0;
}
