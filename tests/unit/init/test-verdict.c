/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <signal.h>

#include "init/init.h"

static void our_kill_beats_everything(void **state)
{
	(void)state;
	assert_int_equal(verdict_of(VERDICT_WALL_TIMEOUT, SIGKILL,
				    LIMIT_HIT_MEMORY),
			 VERDICT_WALL_TIMEOUT);
	assert_int_equal(verdict_of(VERDICT_KILLED, SIGTERM, 0),
			 VERDICT_KILLED);
	/* A program that catches our signal and exits was still ended by us. */
	assert_int_equal(verdict_of(VERDICT_KILLED, 0, 0), VERDICT_KILLED);
}

static void oom_beats_a_signal(void **state)
{
	(void)state;
	assert_int_equal(verdict_of(0, SIGKILL, LIMIT_HIT_MEMORY), VERDICT_OOM);
}

static void an_oom_of_a_child_is_not_the_main_verdict(void **state)
{
	(void)state;
	assert_int_equal(verdict_of(0, 0, LIMIT_HIT_MEMORY), VERDICT_EXITED);
	assert_int_equal(verdict_of(0, SIGSEGV, LIMIT_HIT_MEMORY),
			 VERDICT_SIGNALED);
}

static void sigkill_without_an_oom_is_a_signal(void **state)
{
	(void)state;
	assert_int_equal(verdict_of(0, SIGKILL, LIMIT_HIT_PIDS),
			 VERDICT_SIGNALED);
}

static void the_rest_exited(void **state)
{
	(void)state;
	assert_int_equal(verdict_of(0, 0, 0), VERDICT_EXITED);
	assert_int_equal(verdict_of(0, 0, LIMIT_HIT_DISK), VERDICT_EXITED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_kill_beats_everything),
		cmocka_unit_test(oom_beats_a_signal),
		cmocka_unit_test(an_oom_of_a_child_is_not_the_main_verdict),
		cmocka_unit_test(sigkill_without_an_oom_is_a_signal),
		cmocka_unit_test(the_rest_exited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
