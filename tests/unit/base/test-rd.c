/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <string.h>

#include "base/rd.h"

static void what_is_written_can_be_read(void **state)
{
	uint8_t buf[64];
	struct wr wr;
	struct rd rd;

	(void)state;
	wr_init(&wr, buf, sizeof(buf));
	wr_u32(&wr, 0x01020304u);
	wr_u64(&wr, 0x1122334455667788ull);
	wr_str(&wr, "hello");
	wr_str(&wr, "");
	wr_bytes(&wr, "\0\xff", 2);
	assert_false(wr.failed);

	rd_init(&rd, buf, (size_t)(wr.p - buf));
	assert_int_equal(rd_u32(&rd), 0x01020304u);
	assert_int_equal(rd_u64(&rd), 0x1122334455667788ull);
	assert_string_equal(rd_str(&rd, 5), "hello");
	assert_string_equal(rd_str(&rd, 5), "");
	assert_false(rd_done(&rd));
	assert_memory_equal(rd_bytes(&rd, 2), "\0\xff", 2);
	assert_true(rd_done(&rd));
}

static void a_short_message_yields_zeros_and_stays_failed(void **state)
{
	const uint8_t buf[6] = { 1, 2, 3, 4, 5, 6 };
	struct rd rd;

	(void)state;
	rd_init(&rd, buf, sizeof(buf));
	assert_int_not_equal(rd_u32(&rd), 0);
	assert_int_equal(rd_u64(&rd), 0);
	assert_true(rd.failed);
	assert_int_equal(rd_u32(&rd), 0);
	assert_null(rd_bytes(&rd, 1)); /* though two bytes are left */
	assert_null(rd_bytes(&rd, 0));
	assert_null(rd_str(&rd, 10));
	assert_false(rd_done(&rd));
}

static void an_empty_message_is_done_at_once(void **state)
{
	struct rd rd;

	(void)state;
	rd_init(&rd, "", 0);
	assert_true(rd_done(&rd));
	assert_null(rd_str(&rd, 10));
	assert_false(rd_done(&rd));
}

static void bytes_left_over_are_not_done(void **state)
{
	struct rd rd;

	(void)state;
	rd_init(&rd, "\1\0\0\0x", 5);
	assert_int_equal(rd_u32(&rd), 1);
	assert_false(rd.failed);
	assert_false(rd_done(&rd));
}

static void an_unterminated_string_is_refused(void **state)
{
	struct rd rd;

	(void)state;
	rd_init(&rd, "abc", 3);
	assert_null(rd_str(&rd, 100));
	assert_true(rd.failed);
}

static void a_string_longer_than_allowed_is_refused(void **state)
{
	struct rd rd;

	(void)state;
	rd_init(&rd, "abcd", 5);
	assert_null(rd_str(&rd, 3));
	rd_init(&rd, "abcd", 5);
	assert_string_equal(rd_str(&rd, 4), "abcd");
}

static void a_huge_length_does_not_wrap(void **state)
{
	struct rd rd;
	struct wr wr;
	uint8_t buf[8] = { 0 };

	(void)state;
	rd_init(&rd, buf, sizeof(buf));
	assert_null(rd_bytes(&rd, SIZE_MAX));
	wr_init(&wr, buf, sizeof(buf));
	wr_bytes(&wr, buf, SIZE_MAX);
	assert_true(wr.failed);
}

static void a_full_buffer_fails_and_writes_nothing_more(void **state)
{
	uint8_t buf[9];
	struct wr wr;

	(void)state;
	memset(buf, 0xee, sizeof(buf));
	wr_init(&wr, buf, 8);
	wr_u32(&wr, 0);
	wr_u64(&wr, 0); /* doesn't fit */
	assert_true(wr.failed);
	wr_u32(&wr, 0); /* would fit, comes too late */
	assert_int_equal(buf[4], 0xee);
	assert_int_equal(buf[8], 0xee);
}

static void a_string_needs_room_for_its_nul(void **state)
{
	uint8_t buf[4];
	struct wr wr;

	(void)state;
	wr_init(&wr, buf, sizeof(buf));
	wr_str(&wr, "abc");
	assert_false(wr.failed);
	wr_init(&wr, buf, sizeof(buf));
	wr_str(&wr, "abcd");
	assert_true(wr.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_can_be_read),
		cmocka_unit_test(a_short_message_yields_zeros_and_stays_failed),
		cmocka_unit_test(an_empty_message_is_done_at_once),
		cmocka_unit_test(bytes_left_over_are_not_done),
		cmocka_unit_test(an_unterminated_string_is_refused),
		cmocka_unit_test(a_string_longer_than_allowed_is_refused),
		cmocka_unit_test(a_huge_length_does_not_wrap),
		cmocka_unit_test(a_full_buffer_fails_and_writes_nothing_more),
		cmocka_unit_test(a_string_needs_room_for_its_nul),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
