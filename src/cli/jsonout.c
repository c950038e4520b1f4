/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/jsonout.h"

#include <inttypes.h>
#include <string.h>

static void separate(struct jsonout *out)
{
	if (out->need_comma)
		(void)fputc(',', out->stream);
	out->need_comma = true;
}

void jsonout_open(struct jsonout *out, char bracket)
{
	separate(out);
	(void)fputc(bracket, out->stream);
	out->need_comma = false;
}

void jsonout_close(struct jsonout *out, char bracket)
{
	(void)fputc(bracket, out->stream);
	out->need_comma = true;
}

void jsonout_key(struct jsonout *out, const char *key)
{
	jsonout_string(out, key);
	(void)fputc(':', out->stream);
	out->need_comma = false;
}

void jsonout_u64(struct jsonout *out, uint64_t value)
{
	separate(out);
	(void)fprintf(out->stream, "%" PRIu64, value);
}

void jsonout_bool(struct jsonout *out, bool value)
{
	separate(out);
	(void)fputs(value ? "true" : "false", out->stream);
}

void jsonout_null(struct jsonout *out)
{
	separate(out);
	(void)fputs("null", out->stream);
}

void jsonout_string(struct jsonout *out, const char *text)
{
	jsonout_bytes(out, text, strlen(text));
}

static void put_escaped(FILE *stream, unsigned char c)
{
	switch (c) {
	case '"':
		(void)fputs("\\\"", stream);
		break;
	case '\\':
		(void)fputs("\\\\", stream);
		break;
	case '\n':
		(void)fputs("\\n", stream);
		break;
	case '\r':
		(void)fputs("\\r", stream);
		break;
	case '\t':
		(void)fputs("\\t", stream);
		break;
	default:
		(void)fprintf(stream, "\\u%04x", c);
		break;
	}
}

void jsonout_bytes(struct jsonout *out, const void *data, size_t len)
{
	const unsigned char *p = data;
	size_t start = 0;

	separate(out);
	(void)fputc('"', out->stream);
	for (size_t i = 0; i < len; i++) {
		if (p[i] >= 0x20 && p[i] != '"' && p[i] != '\\' && p[i] != 0x7f)
			continue;
		(void)fwrite(p + start, 1, i - start, out->stream);
		put_escaped(out->stream, p[i]);
		start = i + 1;
	}
	if (len > start)
		(void)fwrite(p + start, 1, len - start, out->stream);
	(void)fputc('"', out->stream);
}

void jsonout_base64(struct jsonout *out, const void *data, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = data;
	char four[4];

	separate(out);
	(void)fputc('"', out->stream);
	for (size_t i = 0; i < len; i += 3) {
		uint32_t bits = (uint32_t)p[i] << 16;

		if (i + 1 < len)
			bits |= (uint32_t)p[i + 1] << 8;
		if (i + 2 < len)
			bits |= p[i + 2];
		four[0] = digits[bits >> 18];
		four[1] = digits[(bits >> 12) & 63];
		four[2] = i + 1 < len ? digits[(bits >> 6) & 63] : '=';
		four[3] = i + 2 < len ? digits[bits & 63] : '=';
		(void)fwrite(four, 1, sizeof(four), out->stream);
	}
	(void)fputc('"', out->stream);
}

/* The length of the code point at @p, or 0 when it is none (RFC 3629). */
static size_t code_point_len(const unsigned char *p, size_t left)
{
	unsigned char low = 0x80;
	unsigned char high = 0xbf;
	size_t len;

	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf) {
		len = 2;
	} else if (p[0] >= 0xe0 && p[0] <= 0xef) {
		len = 3;
		low = p[0] == 0xe0 ? 0xa0 : low;   /* overlong */
		high = p[0] == 0xed ? 0x9f : high; /* surrogates */
	} else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
		len = 4;
		low = p[0] == 0xf0 ? 0x90 : low;   /* overlong */
		high = p[0] == 0xf4 ? 0x8f : high; /* above U+10FFFF */
	} else {
		return 0;
	}
	if (left < len || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

bool jsonout_is_utf8(const void *data, size_t len)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < len;) {
		size_t n = code_point_len(p + i, len - i);

		if (n == 0)
			return false;
		i += n;
	}
	return true;
}
