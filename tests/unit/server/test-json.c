/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "server/json.h"

static char text[512];

/* What json_put_bytes() makes of these bytes. */
static const char *escaped(const char *bytes, size_t len)
{
	struct buf buf;
	struct json_out out = { .buf = &buf };

	buf_init(&buf, sizeof(text) - 1);
	json_put_bytes(&out, NULL, bytes, len);
	assert_false(buf.failed);
	memcpy(text, buf_data(&buf), buf_len(&buf));
	text[buf_len(&buf)] = '\0';
	buf_deinit(&buf);
	return text;
}

static void strings_are_escaped_as_clients_expect(void **state)
{
	(void)state;
	assert_string_equal(escaped("a\"b\\c\n\t\r", 8),
			    "\"a\\\"b\\\\c\\n\\t\\r\"");
	assert_string_equal(escaped("<&>", 3), "\"\\u003c\\u0026\\u003e\"");
	assert_string_equal(escaped("\0\x1b\x0b\x0c\x1c", 5),
			    "\"\\u0000\\u001b\\u000b\\u000c\\u001c\"");
	assert_string_equal(escaped("\xc2\x85\xe2\x80\xa8\xe2\x80\xa9", 8),
			    "\"\\u0085\\u2028\\u2029\"");
	assert_string_equal(escaped("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9),
			    "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
}

#define BAD "\xef\xbf\xbd"

static void what_is_not_utf8_is_replaced_byte_by_byte(void **state)
{
	(void)state;
	assert_string_equal(escaped("a\xff\xfe"
				    "b",
				    4),
			    "\"a" BAD BAD "b\"");
	assert_string_equal(escaped("\xc0\xaf", 2), "\"" BAD BAD "\"");
	assert_string_equal(escaped("\xe0\x80\xaf", 3), "\"" BAD BAD BAD "\"");
	assert_string_equal(escaped("\xed\xa0\x80", 3), "\"" BAD BAD BAD "\"");
	assert_string_equal(escaped("\xf4\x90\x80\x80", 4),
			    "\"" BAD BAD BAD BAD "\"");
	assert_string_equal(escaped("\xe2\x82", 2), "\"" BAD BAD "\"");
	assert_string_equal(escaped("\xc3", 1), "\"" BAD "\"");
	assert_string_equal(escaped("\x80", 1), "\"" BAD "\"");
}

static void values_are_separated_by_commas(void **state)
{
	struct buf buf;
	struct json_out out = { .buf = &buf };

	(void)state;
	buf_init(&buf, 512);
	json_open(&out, NULL, '{');
	json_put_int(&out, "a", -5);
	json_open(&out, "b", '[');
	json_close(&out, ']');
	json_open(&out, "c", '[');
	json_put_text(&out, NULL, "x");
	json_put_null(&out, NULL);
	json_open(&out, NULL, '{');
	json_close(&out, '}');
	json_close(&out, ']');
	json_put_bool(&out, "d", true);
	json_put_time(&out, "t", 1769860800123456);
	json_close(&out, '}');
	buf_add(&buf, "", 1);
	assert_string_equal((char *)buf_data(&buf),
			    "{\"a\":-5,\"b\":[],\"c\":[\"x\",null,{}],"
			    "\"d\":true,"
			    "\"t\":\"2026-01-31T12:00:00.123456Z\"}");
	buf_deinit(&buf);
}

static void members_are_absent_right_or_wrong(void **state)
{
	json_t *object auto_json =
		json_loads("{\"n\":null,\"t\":\"x\",\"i\":7,\"f\":1.5}", 0,
			   NULL);
	const char *value = NULL;
	int64_t number = 0;
	bool flag;

	(void)state;
	assert_int_equal(json_get_text(object, "none", &value, NULL), 1);
	assert_int_equal(json_get_text(object, "n", &value, NULL), 1);
	assert_int_equal(json_get_text(object, "t", &value, NULL), 0);
	assert_string_equal(value, "x");
	assert_true(json_get_text(object, "i", &value, NULL) < 0);
	assert_int_equal(json_get_int(object, "i", 0, 7, &number, NULL), 0);
	assert_int_equal(number, 7);
	assert_true(json_get_int(object, "i", 0, 6, &number, NULL) < 0);
	assert_true(json_get_int(object, "i", 8, 9, &number, NULL) < 0);
	assert_true(json_get_int(object, "f", 0, 9, &number, NULL) < 0);
	assert_true(json_get_bool(object, "i", &flag, NULL) < 0);
}

static void only_objects_are_bodies(void **state)
{
	static const char *const bad[] = {
		"[]", "7", "{", "{}{}x", "\"x\"", "{\"a\":\"\\u0000\"}", "{a:1}"
	};
	json_t *object auto_json = json_read("", 0, NULL);

	(void)state;
	assert_non_null(object);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = ERR_NULL;

		assert_null(json_read(bad[i], strlen(bad[i]), &err));
		assert_int_equal(err.kind, ERR_INVALID);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_escaped_as_clients_expect),
		cmocka_unit_test(what_is_not_utf8_is_replaced_byte_by_byte),
		cmocka_unit_test(values_are_separated_by_commas),
		cmocka_unit_test(members_are_absent_right_or_wrong),
		cmocka_unit_test(only_objects_are_bodies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
