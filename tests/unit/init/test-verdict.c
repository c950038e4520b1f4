/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <signal.h>

#include "init/init.h"

static void our_kill_beats_everything(void **state)
{
	(void)state;
	assert_int_equal(verdict_of(VERDICT_WALL_TIMEOUT, SIGKILL, -1,
				    LIMIT_HIT_MEMORY),
			 VERDICT_WALL_TIMEOUT);
	assert_int_equal(verdict_of(VERDICT_CPU_TIMEOUT, SIGKILL, -1,
				    LIMIT_HIT_PIDS),
			 VERDICT_CPU_TIMEOUT);
	assert_int_equal(verdict_of(VERDICT_KILLED, SIGTERM, -1, 0),
			 VERDICT_KILLED);
	/* A program that catches our signal and exits was still ended by us. */
	assert_int_equal(verdict_of(VERDICT_KILLED, 0, 0, 0), VERDICT_KILLED);
	assert_int_equal(verdict_of(VERDICT_OUTPUT_LIMIT, 0, 1,
				    LIMIT_HIT_DISK | LIMIT_HIT_OUTPUT),
			 VERDICT_OUTPUT_LIMIT);
}

static void oom_beats_a_signal(void **state)
{
	(void)state;
	assert_int_equal(verdict_of(0, SIGKILL, -1, LIMIT_HIT_MEMORY),
			 VERDICT_OOM);
	assert_int_equal(verdict_of(0, SIGKILL, -1,
				    LIMIT_HIT_MEMORY | LIMIT_HIT_PIDS),
			 VERDICT_OOM);
}

static void an_oom_of_a_child_is_not_the_main_verdict(void **state)
{
	(void)state;
	assert_int_equal(verdict_of(0, 0, 0, LIMIT_HIT_MEMORY), VERDICT_EXITED);
	assert_int_equal(verdict_of(0, 0, 1, LIMIT_HIT_MEMORY), VERDICT_EXITED);
	assert_int_equal(verdict_of(0, SIGSEGV, -1, LIMIT_HIT_MEMORY),
			 VERDICT_SIGNALED);
}

static void a_signal_beats_what_it_may_have_been_for(void **state)
{
	(void)state;
	assert_int_equal(verdict_of(0, SIGKILL, -1, LIMIT_HIT_PIDS),
			 VERDICT_SIGNALED);
	assert_int_equal(verdict_of(0, SIGABRT, -1, LIMIT_HIT_DISK),
			 VERDICT_SIGNALED);
}

static void who_failed_at_a_limit_failed_of_it(void **state)
{
	(void)state;
	assert_int_equal(verdict_of(0, 0, 2, LIMIT_HIT_PIDS),
			 VERDICT_PIDS_LIMIT);
	assert_int_equal(verdict_of(0, 0, 1, LIMIT_HIT_DISK),
			 VERDICT_DISK_FULL);
	assert_int_equal(verdict_of(0, 0, 1, LIMIT_HIT_INODES),
			 VERDICT_DISK_FULL);
	assert_int_equal(verdict_of(0, 0, 1, LIMIT_HIT_INODES | LIMIT_HIT_PIDS),
			 VERDICT_PIDS_LIMIT);
}

static void the_rest_exited(void **state)
{
	(void)state;
	assert_int_equal(verdict_of(0, 0, 0, 0), VERDICT_EXITED);
	assert_int_equal(verdict_of(0, 0, 7, 0), VERDICT_EXITED);
	assert_int_equal(verdict_of(0, 0, 7, LIMIT_HIT_OUTPUT), VERDICT_EXITED);
	assert_int_equal(verdict_of(0, 0, 0, LIMIT_HIT_DISK), VERDICT_EXITED);
	assert_int_equal(verdict_of(0, 0, 0, LIMIT_HIT_PIDS), VERDICT_EXITED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_kill_beats_everything),
		cmocka_unit_test(oom_beats_a_signal),
		cmocka_unit_test(an_oom_of_a_child_is_not_the_main_verdict),
		cmocka_unit_test(a_signal_beats_what_it_may_have_been_for),
		cmocka_unit_test(who_failed_at_a_limit_failed_of_it),
		cmocka_unit_test(the_rest_exited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
