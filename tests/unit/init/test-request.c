/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "init/request.h"
#include "wire/setup_msg.h"

struct message {
	struct init_exec head;
	char strings[64];
};

static const struct init_exec plain = {
	.op = INIT_EXEC,
	.uid = 1000,
	.gid = 1000,
	.argc = 2,
	.envc = 1,
};
static const char plain_strings[] = "/tmp\0echo\0hi\0A=1";
static struct request request; /* 64 kB of pointers */

static int parse(const struct init_exec *head, const char *strings, size_t len)
{
	static struct message message;

	message.head = *head;
	memcpy(message.strings, strings, len);
	return request_parse(&message, sizeof(message.head) + len, &request);
}

static void strings_are_found_in_place(void **state)
{
	(void)state;
	assert_int_equal(parse(&plain, plain_strings, sizeof(plain_strings)),
			 0);
	assert_string_equal(request.cwd, "/tmp");
	assert_string_equal(request.argv[0], "echo");
	assert_string_equal(request.argv[1], "hi");
	assert_null(request.argv[2]);
	assert_string_equal(request.envp[0], "A=1");
	assert_null(request.envp[1]);
}

static void a_byte_more_or_less_is_refused(void **state)
{
	(void)state;
	assert_int_equal(parse(&plain, plain_strings,
			       sizeof(plain_strings) - 1),
			 -EPROTO);
	assert_int_equal(parse(&plain, "/tmp\0echo\0hi\0A=1\0", 18), -EPROTO);
	assert_int_equal(parse(&plain, "", 0), -EPROTO);
}

/* -1 would mean: go on as init itself. */
static void ids_outside_the_sandbox_are_refused(void **state)
{
	struct init_exec head = plain;

	(void)state;
	head.uid = UINT32_MAX;
	assert_int_equal(parse(&head, plain_strings, sizeof(plain_strings)),
			 -EINVAL);
	head.uid = SLOT_IDS - 1;
	assert_int_equal(parse(&head, plain_strings, sizeof(plain_strings)), 0);
	head.gid = SLOT_IDS;
	assert_int_equal(parse(&head, plain_strings, sizeof(plain_strings)),
			 -EINVAL);
}

static void a_time_that_would_wrap_is_refused(void **state)
{
	struct init_exec head = plain;

	(void)state;
	head.wall_ms = INIT_WALL_MAX_MS;
	assert_int_equal(parse(&head, plain_strings, sizeof(plain_strings)), 0);
	head.wall_ms = UINT64_MAX / 1000 + 1;
	assert_int_equal(parse(&head, plain_strings, sizeof(plain_strings)),
			 -EINVAL);
	head.wall_ms = 0;
	head.cpu_ms = INIT_WALL_MAX_MS;
	assert_int_equal(parse(&head, plain_strings, sizeof(plain_strings)), 0);
	head.cpu_ms++;
	assert_int_equal(parse(&head, plain_strings, sizeof(plain_strings)),
			 -EINVAL);
}

static void unknown_flags_are_refused(void **state)
{
	struct init_exec head = plain;

	(void)state;
	head.flags = 1u << 8;
	assert_int_equal(parse(&head, plain_strings, sizeof(plain_strings)),
			 -EPROTO);
}

static void descriptors_go_where_the_flags_say(void **state)
{
	const struct init_exec head = { .flags = INIT_EXEC_STDIN |
						 INIT_EXEC_STDERR };
	const int fds[] = { 7, 8, 9 };
	int stdio[INIT_EXEC_FDS];

	(void)state;
	assert_int_equal(request_streams(&head, fds, 2, stdio), 0);
	assert_int_equal(stdio[0], 7);
	assert_int_equal(stdio[1], -1);
	assert_int_equal(stdio[2], 8);
	assert_int_equal(request_streams(&head, fds, 1, stdio), -EPROTO);
	assert_int_equal(request_streams(&head, fds, 3, stdio), -EPROTO);
}

static void a_log_comes_behind_the_streams(void **state)
{
	const struct init_exec head = { .flags = INIT_EXEC_STDIN |
						 INIT_EXEC_LOG |
						 INIT_EXEC_INDEX };
	const int fds[] = { 7, 8, 9 };
	int stdio[INIT_EXEC_FDS];

	(void)state;
	assert_int_equal(request_streams(&head, fds, 3, stdio), 0);
	assert_int_equal(stdio[0], 7);
	assert_int_equal(stdio[1], -1);
	assert_int_equal(stdio[3], 8);
	assert_int_equal(stdio[4], 9);
}

static void a_log_takes_the_place_of_the_streams(void **state)
{
	static const struct {
		uint64_t log_max;
		uint32_t flags;
		int want;
	} cases[] = {
		{ 1, INIT_EXEC_LOG, 0 },
		{ 1, INIT_EXEC_LOG | INIT_EXEC_INDEX | INIT_EXEC_STDIN, 0 },
		{ 0, INIT_EXEC_LOG, -EPROTO },
		{ INIT_INDEX_STDERR, INIT_EXEC_LOG, -EPROTO },
		{ 1, INIT_EXEC_LOG | INIT_EXEC_STDOUT, -EPROTO },
		{ 1, INIT_EXEC_LOG | INIT_EXEC_STDERR, -EPROTO },
		{ 0, INIT_EXEC_INDEX, -EPROTO },
		{ 1, 0, -EPROTO },
		{ 1, INIT_EXEC_LOG | INIT_EXEC_LOG_KILL, 0 },
		{ 1, INIT_EXEC_LOG | INIT_EXEC_LOG_WAIT, 0 },
		{ 1, INIT_EXEC_LOG | INIT_EXEC_LOG_KILL | INIT_EXEC_LOG_WAIT,
		  -EPROTO },
		{ 0, INIT_EXEC_LOG_KILL, -EPROTO },
		{ 0, INIT_EXEC_LOG_WAIT, -EPROTO },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct init_exec head = plain;

		head.flags = cases[i].flags;
		head.log_max = cases[i].log_max;
		assert_int_equal(parse(&head, plain_strings,
				       sizeof(plain_strings)),
				 cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_found_in_place),
		cmocka_unit_test(a_byte_more_or_less_is_refused),
		cmocka_unit_test(ids_outside_the_sandbox_are_refused),
		cmocka_unit_test(a_time_that_would_wrap_is_refused),
		cmocka_unit_test(unknown_flags_are_refused),
		cmocka_unit_test(descriptors_go_where_the_flags_say),
		cmocka_unit_test(a_log_comes_behind_the_streams),
		cmocka_unit_test(a_log_takes_the_place_of_the_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
