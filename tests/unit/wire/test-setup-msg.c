/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <string.h>

#include "wire/setup_msg.h"

static struct setup setup;

static int make_setup(void **state)
{
	(void)state;
	memset(&setup, 0, sizeof(setup));
	memcpy(setup.hostname, "box", sizeof("box"));
	setup.pids = 10;
	setup.cpus = 1;
	setup.fds = (1u << SETUP_NUM_FDS) - 1;
	setup.num_binds = 1;
	memcpy(setup.bind[0], "/data", sizeof("/data"));
	return 0;
}

static void setup_counts_must_agree(void **state)
{
	const unsigned int fds = SETUP_NUM_FDS + 1;

	(void)state;
	assert_int_equal(setup_check(&setup, SETUP_BYTES(1), fds), 0);
	assert_int_equal(setup_check(&setup, SETUP_BYTES(2), fds), -EPROTO);
	assert_int_equal(setup_check(&setup, SETUP_BYTES(0) - 1, fds), -EPROTO);
	assert_int_equal(setup_check(&setup, SETUP_BYTES(1), fds + 1), -EPROTO);
	setup.fds &= ~1u;
	assert_int_equal(setup_check(&setup, SETUP_BYTES(1), fds - 1), 0);
	setup.fds |= 1u << SETUP_NUM_FDS; /* no such descriptor */
	assert_int_equal(setup_check(&setup, SETUP_BYTES(1), fds), -EPROTO);
	setup.num_binds = UINT32_MAX;
	assert_int_equal(setup_check(&setup, sizeof(setup), fds), -EPROTO);
}

static void setup_shows_some_processors(void **state)
{
	const unsigned int fds = SETUP_NUM_FDS + 1;

	(void)state;
	setup.cpus = TRUTH_CPUS_MAX;
	assert_int_equal(setup_check(&setup, SETUP_BYTES(1), fds), 0);
	setup.cpus = TRUTH_CPUS_MAX + 1;
	assert_int_equal(setup_check(&setup, SETUP_BYTES(1), fds), -EPROTO);
	setup.cpus = 0;
	assert_int_equal(setup_check(&setup, SETUP_BYTES(1), fds), -EPROTO);
}

static void setup_strings_must_end(void **state)
{
	const unsigned int fds = SETUP_NUM_FDS + 1;

	(void)state;
	memset(setup.bind[0], '/', sizeof(setup.bind[0]));
	assert_int_equal(setup_check(&setup, SETUP_BYTES(1), fds), -EPROTO);
	memcpy(setup.bind[0], "data", sizeof("data"));
	assert_int_equal(setup_check(&setup, SETUP_BYTES(1), fds), -EPROTO);
}

/* Negated it would look like a success. */
static void a_negative_errno_is_refused(void **state)
{
	struct setup_answer answer = { .sys = -1 };
	struct launcher_msg msg = { .op = LAUNCHER_CLONED, .sys = INT32_MIN };

	(void)state;
	assert_int_equal(setup_answer_check(&answer, sizeof(answer)), -EPROTO);
	assert_int_equal(launcher_answer_check(&msg, sizeof(msg),
					       LAUNCHER_CLONED),
			 -EPROTO);
	answer.sys = ENOENT;
	msg.sys = ENOENT;
	assert_int_equal(setup_answer_check(&answer, sizeof(answer)), 0);
	assert_int_equal(launcher_answer_check(&msg, sizeof(msg),
					       LAUNCHER_CLONED),
			 0);
}

static void another_answer_than_the_one_waited_for_is_refused(void **state)
{
	struct launcher_msg msg = { .op = LAUNCHER_READY };

	(void)state;
	assert_int_equal(launcher_answer_check(&msg, sizeof(msg),
					       LAUNCHER_CLONED),
			 -EPROTO);
	msg.op = LAUNCHER_CLONED;
	msg.pid = -1;
	assert_int_equal(launcher_answer_check(&msg, sizeof(msg),
					       LAUNCHER_CLONED),
			 -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(setup_counts_must_agree, make_setup),
		cmocka_unit_test_setup(setup_shows_some_processors, make_setup),
		cmocka_unit_test_setup(setup_strings_must_end, make_setup),
		cmocka_unit_test(a_negative_errno_is_refused),
		cmocka_unit_test(
			another_answer_than_the_one_waited_for_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
