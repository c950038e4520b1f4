/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

static void bytes_come_out_in_order(void **state)
{
	struct buf buf auto_clean(buf_deinit) = BUF_NULL;

	(void)state;
	buf_init(&buf, 100);
	assert_int_equal(buf_len(&buf), 0);
	assert_int_equal(buf_room(&buf), 100);
	buf_add(&buf, "ab\0c", 4);
	buf_adds(&buf, "de");
	buf_addf(&buf, "%d-%s", 7, "x");
	assert_int_equal(buf_len(&buf), 9);
	assert_memory_equal(buf_data(&buf), "ab\0cde7-x", 9);
	buf_consume(&buf, 4);
	assert_memory_equal(buf_data(&buf), "de7-x", 5);
	assert_false(buf.failed);
}

static void nothing_is_added_over_the_maximum(void **state)
{
	struct buf buf auto_clean(buf_deinit) = BUF_NULL;

	(void)state;
	buf_init(&buf, 8);
	buf_add(&buf, "12345678", 8);
	assert_false(buf.failed);
	buf_add(&buf, "9", 1);
	assert_true(buf.failed);
	assert_int_equal(buf_len(&buf), 8);
	buf_consume(&buf, 8);
	buf_add(&buf, "9", 1); /* stays failed until it is reset */
	assert_int_equal(buf_len(&buf), 0);
	buf_reset(&buf);
	buf_add(&buf, "9", 1);
	assert_false(buf.failed);
	assert_int_equal(buf_len(&buf), 1);
}

static void a_huge_length_does_not_wrap(void **state)
{
	struct buf buf auto_clean(buf_deinit) = BUF_NULL;

	(void)state;
	buf_init(&buf, 8);
	buf_add(&buf, "abc", 3);
	assert_null(buf_reserve(&buf, SIZE_MAX));
	assert_true(buf.failed);
	assert_int_equal(buf_len(&buf), 3);
}

static void a_long_life_needs_no_more_than_twice_the_maximum(void **state)
{
	struct buf buf auto_clean(buf_deinit) = BUF_NULL;
	unsigned char sent = 0, got = 0;

	(void)state;
	buf_init(&buf, 5000);
	for (int round = 0; round < 20000; round++) {
		for (int i = 0; i < 7 && buf_room(&buf) > 0; i++)
			buf_add(&buf, &(unsigned char){ sent++ }, 1);
		for (int i = 0; i < 5; i++) {
			assert_int_equal(buf_data(&buf)[0], got);
			got++;
			buf_consume(&buf, 1);
		}
	}
	assert_false(buf.failed);
	assert_true(buf.size <= 16384);
}

static void memory_is_given_back_when_it_runs_empty(void **state)
{
	struct buf buf auto_clean(buf_deinit) = BUF_NULL;

	(void)state;
	buf_init(&buf, 1 << 20);
	assert_non_null(buf_reserve(&buf, 1 << 20));
	buf_commit(&buf, 1 << 20);
	buf_consume(&buf, (1 << 20) - 1);
	assert_true(buf.size >= 1 << 20);
	buf_consume(&buf, 1);
	assert_int_equal(buf.size, 0);
}

static void it_can_be_ended_twice_and_without_a_start(void **state)
{
	struct buf buf = BUF_NULL;

	(void)state;
	buf_deinit(&buf);
	buf_init(&buf, 10);
	buf_adds(&buf, "x");
	buf_deinit(&buf);
	buf_deinit(&buf);
	assert_int_equal(buf_len(&buf), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_come_out_in_order),
		cmocka_unit_test(nothing_is_added_over_the_maximum),
		cmocka_unit_test(a_huge_length_does_not_wrap),
		cmocka_unit_test(
			a_long_life_needs_no_more_than_twice_the_maximum),
		cmocka_unit_test(memory_is_given_back_when_it_runs_empty),
		cmocka_unit_test(it_can_be_ended_twice_and_without_a_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
