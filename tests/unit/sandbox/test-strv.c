/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <string.h>

#include "sandbox/strv.h"

static void strings_come_back_in_order(void **state)
{
	struct strv strv;
	const char *text;

	(void)state;
	strv_init(&strv, 3, 100);
	assert_null(strv_first(&strv));
	assert_int_equal(strv_add(&strv, "a"), 0);
	assert_int_equal(strv_add(&strv, ""), 0);
	assert_int_equal(strv_add(&strv, "ccc"), 0);
	assert_int_equal(strv_add(&strv, "d"), -E2BIG);
	text = strv_first(&strv);
	assert_string_equal(text, "a");
	text = strv_next(&strv, text);
	assert_string_equal(text, "");
	text = strv_next(&strv, text);
	assert_string_equal(text, "ccc");
	assert_null(strv_next(&strv, text));
	assert_int_equal(buf_len(&strv.bytes), 7);
	strv_deinit(&strv);
}

static void a_newer_value_replaces_the_older(void **state)
{
	struct strv env;

	(void)state;
	strv_init(&env, 10, 100);
	assert_int_equal(strv_set_env(&env, "A", "1"), 0);
	assert_int_equal(strv_set_env(&env, "AB", "2"), 0);
	assert_int_equal(strv_set_env(&env, "A", "three"), 0);
	assert_int_equal(strv_set_env_text(&env, "AB=four"), 0);
	assert_int_equal(env.num, 2);
	assert_string_equal(strv_get_env(&env, "A", 1), "three");
	assert_string_equal(strv_get_env(&env, "ABC", 2), "four");
	assert_null(strv_get_env(&env, "ABC", 3));
	assert_int_equal(strv_set_env(&env, "", "x"), -EINVAL);
	assert_int_equal(strv_set_env(&env, "A=B", "x"), -EINVAL);
	assert_int_equal(strv_set_env_text(&env, "=x"), -EINVAL);
	assert_int_equal(strv_set_env_text(&env, "x"), -EINVAL);
	strv_deinit(&env);
}

static void a_full_list_stays_as_it_is(void **state)
{
	struct strv env;

	(void)state;
	strv_init(&env, 10, 8);
	assert_int_equal(strv_set_env(&env, "AB", "12"), 0);
	assert_int_equal(strv_set_env(&env, "C", "1"), -E2BIG);
	assert_int_equal(strv_add(&env, "12"), -E2BIG);
	assert_int_equal(strv_add(&env, "1"), 0);
	assert_int_equal(env.num, 2);
	assert_string_equal(strv_first(&env), "AB=12");
	strv_deinit(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_come_back_in_order),
		cmocka_unit_test(a_newer_value_replaces_the_older),
		cmocka_unit_test(a_full_list_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
