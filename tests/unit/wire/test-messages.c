/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include "wire/broker_msg.h"
#include "wire/files_msg.h"
#include "wire/init_msg.h"

/*
 * The structs cross process boundaries as they lie in memory: a hole would
 * carry bytes of the sender's stack to the other side.
 */
static void messages_have_no_holes_at_their_ends(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct init_kill), 16);
	assert_int_equal(sizeof(struct init_started), 16);
	assert_int_equal(sizeof(struct init_failed), 16);
	assert_int_equal(sizeof(struct init_left), 4 + INIT_COMM_LEN);
	assert_int_equal(sizeof(struct limits), 40);
	assert_int_equal(sizeof(struct broker_volume),
			 2 * (VOLUME_PATH_MAX + 1) + 8);
	assert_int_equal(sizeof(struct broker_answer), 4 * 4 + 256);
	assert_int_equal(sizeof(struct broker_give_up), 2 * 4 + 256);
	assert_int_equal(sizeof(struct files_reply), 4 * 4 + 2 * 8 + 256);
}

static void requests_are_even_and_answers_odd(void **state)
{
	(void)state;
	assert_int_equal(BROKER_HELLO % 2, 0);
	assert_int_equal(BROKER_CREATE % 2, 0);
	assert_int_equal(BROKER_DESTROY % 2, 0);
	assert_int_equal(BROKER_LEAVE % 2, 0);
	assert_int_equal(BROKER_GIVE_UP % 2, 0);
	assert_int_equal(BROKER_ANSWER % 2, 1);
	assert_int_equal(BROKER_GONE % 2, 1);
	assert_int_equal(INIT_EXEC % 2, 0);
	assert_int_equal(INIT_KILL % 2, 0);
	assert_int_equal(INIT_STARTED % 2, 1);
	assert_int_equal(INIT_FAILED % 2, 1);
	assert_int_equal(INIT_EXITED % 2, 1);
}

/* They are kept in files: a number never gets another meaning. */
static void numbers_of_verdicts_stay(void **state)
{
	(void)state;
	assert_int_equal(VERDICT_LOST, 1);
	assert_int_equal(VERDICT_WALL_TIMEOUT, 2);
	assert_int_equal(VERDICT_KILLED, 3);
	assert_int_equal(VERDICT_OOM, 4);
	assert_int_equal(VERDICT_SIGNALED, 5);
	assert_int_equal(VERDICT_EXITED, 6);
	assert_int_equal(VERDICT_CPU_TIMEOUT, 7);
	assert_int_equal(VERDICT_OUTPUT_LIMIT, 8);
	assert_int_equal(VERDICT_EXPIRED, 9);
	assert_int_equal(VERDICT_PIDS_LIMIT, 10);
	assert_int_equal(VERDICT_DISK_FULL, 11);
}

static void the_defaults_are_what_the_manual_says(void **state)
{
	const struct limits limits = LIMITS_DEFAULTS;

	(void)state;
	assert_int_equal(limits.memory_bytes, 512ull << 20);
	assert_int_equal(limits.cpu_milli, 1000);
	assert_int_equal(limits.pids, 256);
	assert_int_equal(limits.disk_bytes, 256ull << 20);
	assert_int_equal(limits.inodes, 64000);
	assert_int_equal(limits.nofile, 1024);
	assert_int_equal(limits.shm_bytes, 64ull << 20);
	/* The writable layer is memory-backed up to half of the memory. */
	assert_true(limits.disk_bytes <= limits.memory_bytes / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_have_no_holes_at_their_ends),
		cmocka_unit_test(requests_are_even_and_answers_odd),
		cmocka_unit_test(numbers_of_verdicts_stay),
		cmocka_unit_test(the_defaults_are_what_the_manual_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
