/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "http/url.h"
#include "http/write.h"

static void percent_decoding(void **state)
{
	char out[16];

	(void)state;
	assert_int_equal(http_percent_decode("a%2Fb+c", 7, true, out, 16), 0);
	assert_string_equal(out, "a/b c");
	assert_int_equal(http_percent_decode("a+b", 3, false, out, 16), 0);
	assert_string_equal(out, "a+b");
	assert_int_equal(http_percent_decode("a%2", 3, true, out, 16), -EINVAL);
	assert_int_equal(http_percent_decode("%zz", 3, true, out, 16), -EINVAL);
	assert_int_equal(http_percent_decode("%00", 3, true, out, 16), -EINVAL);
	assert_int_equal(http_percent_decode("abcd", 4, true, out, 4),
			 -ENAMETOOLONG);
	assert_int_equal(http_percent_decode("abc", 3, true, out, 4), 0);
}

static void query_values_are_found(void **state)
{
	static const char query[] = "xid=1&id=a%20b&&flag&id=2&e=";
	char out[16];

	(void)state;
	assert_int_equal(http_query_get(query, "id", out, sizeof(out)), 0);
	assert_string_equal(out, "a b");
	assert_int_equal(http_query_get(query, "flag", out, sizeof(out)), 0);
	assert_string_equal(out, "");
	assert_int_equal(http_query_get(query, "e", out, sizeof(out)), 0);
	assert_string_equal(out, "");
	assert_int_equal(http_query_get(query, "i", out, sizeof(out)), -ENOENT);
}

static void query_pairs_come_in_order(void **state)
{
	const char *cursor = "&a=1&b&c=x%3dy&";
	char key[8], value[8];

	(void)state;
	assert_int_equal(http_query_next(&cursor, key, 8, value, 8), 0);
	assert_string_equal(key, "a");
	assert_string_equal(value, "1");
	assert_int_equal(http_query_next(&cursor, key, 8, value, 8), 0);
	assert_string_equal(key, "b");
	assert_string_equal(value, "");
	assert_int_equal(http_query_next(&cursor, key, 8, value, 8), 0);
	assert_string_equal(key, "c");
	assert_string_equal(value, "x=y");
	assert_int_equal(http_query_next(&cursor, key, 8, value, 8), -ENOENT);
}

static void a_field_value_can_not_break_the_head(void **state)
{
	struct buf out;

	(void)state;
	buf_init(&out, 256);
	http_put_status(&out, 200);
	http_put_field(&out, "X", "fine value");
	assert_false(out.failed);
	http_put_field(&out, "X", "a\r\nSet-Cookie: b");
	assert_true(out.failed);
	buf_deinit(&out);
}

static void a_full_buffer_fails(void **state)
{
	struct buf out;

	(void)state;
	buf_init(&out, 8);
	buf_adds(&out, "12345678");
	assert_false(out.failed);
	buf_adds(&out, "9");
	assert_true(out.failed);
	assert_int_equal(buf_len(&out), 8);
	buf_reset(&out);
	buf_adds(&out, "abc");
	buf_consume(&out, 1);
	assert_memory_equal(buf_data(&out), "bc", 2);
	buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percent_decoding),
		cmocka_unit_test(query_values_are_found),
		cmocka_unit_test(query_pairs_come_in_order),
		cmocka_unit_test(a_field_value_can_not_break_the_head),
		cmocka_unit_test(a_full_buffer_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
