/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/jsonout.h"

static void valid_utf8_is_told_from_the_rest(void **state)
{
	static const char *const good[] = {
		"",
		"plain",
		"\xc3\xa9",
		"\xe2\x82\xac",
		"\xed\x9f\xbf",
		"\xef\xbf\xbf",
		"\xf0\x90\x80\x80",
		"\xf4\x8f\xbf\xbf",
	};
	static const char *const bad[] = {
		"\x80", /* begins in the middle */
		"\xc3", /* ends early */
		"\xe2\x82",
		"\xf0\x9f\x98",
		"\xc0\x80", /* overlong */
		"\xc1\xbf",
		"\xe0\x9f\xbf",
		"\xf0\x8f\xbf\xbf",
		"\xed\xa0\x80", /* a surrogate */
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xff",
		"a\xc3z",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(jsonout_is_utf8(good[i], strlen(good[i])));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(jsonout_is_utf8(bad[i], strlen(bad[i])));
	assert_true(jsonout_is_utf8("a\0b", 3));
}

/* What @put writes, as a string to be freed. */
static char *written(void (*put)(struct jsonout *out))
{
	struct jsonout out = { .stream = NULL };
	char *text = NULL;
	size_t len;

	out.stream = open_memstream(&text, &len);
	assert_non_null(out.stream);
	put(&out);
	(void)fclose(out.stream);
	return text;
}

static void put_object(struct jsonout *out)
{
	jsonout_open(out, '{');
	jsonout_key(out, "a");
	jsonout_u64(out, UINT64_MAX);
	jsonout_key(out, "b");
	jsonout_open(out, '[');
	jsonout_null(out);
	jsonout_bool(out, true);
	jsonout_close(out, ']');
	jsonout_key(out, "c");
	jsonout_bytes(out, "\"\\\n\0\x01\x7f\xc3\xa9/", 9);
	jsonout_close(out, '}');
}

static void put_base64(struct jsonout *out)
{
	jsonout_open(out, '[');
	jsonout_base64(out, "", 0);
	jsonout_base64(out, "f", 1);
	jsonout_base64(out, "fo", 2);
	jsonout_base64(out, "foo", 3);
	jsonout_base64(out, "\xff\xfe\xfd\xfc", 4);
	jsonout_close(out, ']');
}

static void values_are_escaped_and_separated(void **state)
{
	char *text auto_free = written(put_object);

	(void)state;
	assert_string_equal(
		text, "{\"a\":18446744073709551615,\"b\":[null,true],"
		      "\"c\":\"\\\"\\\\\\n\\u0000\\u0001\\u007f\xc3\xa9/\"}");
}

static void base64_is_that_of_the_rfc(void **state)
{
	char *text auto_free = written(put_base64);

	(void)state;
	assert_string_equal(text,
			    "[\"\",\"Zg==\",\"Zm8=\",\"Zm9v\",\"//79/A==\"]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_utf8_is_told_from_the_rest),
		cmocka_unit_test(values_are_escaped_and_separated),
		cmocka_unit_test(base64_is_that_of_the_rfc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
