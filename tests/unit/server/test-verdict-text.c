/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "server/api/verdict.h"
#include "server/json.h"
#include "server/run.h"

/* The object, parsed again as a client would. */
static json_t *put(const struct run_result *result)
{
	struct buf buf;
	json_t *json;

	buf_init(&buf, 16384);
	verdict_put(&buf, result, "prog", "/some/dir");
	assert_false(buf.failed);
	json = json_loadb((char *)buf_data(&buf), buf_len(&buf), 0, NULL);
	assert_non_null(json);
	buf_deinit(&buf);
	return json;
}

static const char *text_of(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? text : "(none)";
}

static void an_exit_has_a_code_and_no_signal(void **state)
{
	struct run_result result = {
		.outcome = RUN_EXITED,
		.exited = { .verdict = VERDICT_EXITED,
			    .exit_code = 7,
			    .wall_us = 1500000,
			    .num_left = 1,
			    .left = { { .pid = 9, .comm = "sl\xff" } },
			    .limits_hit = LIMIT_HIT_PIDS | LIMIT_HIT_DISK },
	};
	json_t *json auto_json = put(&result);
	const json_t *left, *hits;

	(void)state;
	assert_string_equal(text_of(json, "type"), "verdict");
	assert_string_equal(text_of(json, "verdict"), "exited");
	assert_int_equal(json_integer_value(json_object_get(json, "exit_code")),
			 7);
	assert_true(json_is_null(json_object_get(json, "signal")));
	assert_int_equal(json_integer_value(json_object_get(json, "wall_ms")),
			 1500);
	left = json_array_get(json_object_get(json, "left_running"), 0);
	assert_int_equal(json_integer_value(json_object_get(left, "pid")), 9);
	assert_string_equal(text_of(left, "name"), "sl\xef\xbf\xbd");
	hits = json_object_get(json, "limits_hit");
	assert_int_equal(json_array_size(hits), 2);
	assert_string_equal(json_string_value(json_array_get(hits, 1)), "disk");
}

static void a_signal_has_a_name_and_no_code(void **state)
{
	struct run_result result = {
		.outcome = RUN_EXITED,
		.exited = { .verdict = VERDICT_SIGNALED,
			    .exit_code = -1,
			    .signal = SIGSEGV },
	};
	json_t *json auto_json = put(&result);

	(void)state;
	assert_string_equal(text_of(json, "verdict"), "signaled");
	assert_string_equal(text_of(json, "signal"), "SIGSEGV");
	assert_true(json_is_null(json_object_get(json, "exit_code")));
}

static void a_program_that_is_not_there_is_127(void **state)
{
	struct run_result result = {
		.outcome = RUN_FAILED,
		.stage = INIT_STAGE_EXEC,
		.sys = ENOENT,
	};
	json_t *missing auto_json = put(&result);
	json_t *denied auto_json = NULL;
	json_t *no_dir auto_json = NULL;

	(void)state;
	assert_string_equal(text_of(missing, "verdict"), "exited");
	assert_int_equal(json_integer_value(
				 json_object_get(missing, "exit_code")),
			 127);
	assert_string_equal(text_of(missing, "message"),
			    "exec 'prog': No such file or directory");
	result.sys = EACCES;
	denied = put(&result);
	assert_int_equal(json_integer_value(
				 json_object_get(denied, "exit_code")),
			 126);
	result.stage = INIT_STAGE_CWD;
	result.sys = ENOENT;
	no_dir = put(&result);
	assert_int_equal(json_integer_value(
				 json_object_get(no_dir, "exit_code")),
			 126);
	assert_non_null(
		strstr(text_of(no_dir, "message"), "no such directory inside"));
	assert_non_null(strstr(text_of(no_dir, "message"), "/some/dir"));
}

static void every_ending_has_a_name_and_a_text(void **state)
{
	static const struct {
		uint32_t verdict;
		int exit_code;
		const char *name, *message;
	} cases[] = {
		{ VERDICT_CPU_TIMEOUT, -1, "cpu_timeout",
		  "killed: its processor time was over after 1.5 s" },
		{ VERDICT_OUTPUT_LIMIT, -1, "output_limit",
		  "killed: it printed more than its limit" },
		{ VERDICT_KILLED, -1, "killed", "killed as asked for" },
		{ VERDICT_EXPIRED, -1, "expired",
		  "killed: its sandbox's time was over" },
		{ VERDICT_OOM, -1, "oom",
		  "killed: it needed more memory than its limit" },
		{ VERDICT_PIDS_LIMIT, 2, "pids_limit",
		  "exited with status 2: there were as many processes as it "
		  "may have" },
		{ VERDICT_DISK_FULL, 1, "disk_full",
		  "exited with status 1: its disk was full" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct run_result result = {
			.outcome = RUN_EXITED,
			.exited = { .verdict = cases[i].verdict,
				    .exit_code = cases[i].exit_code,
				    .signal = cases[i].exit_code < 0 ? SIGKILL
								     : 0,
				    .cpu_us = 1500000,
				    .limits_hit = LIMIT_HIT_OUTPUT },
			.output_bytes = 77,
		};
		json_t *json auto_json = put(&result);
		const json_t *hits = json_object_get(json, "limits_hit");

		assert_string_equal(text_of(json, "verdict"), cases[i].name);
		assert_string_equal(text_of(json, "message"), cases[i].message);
		assert_int_equal(json_integer_value(
					 json_object_get(json, "output_bytes")),
				 77);
		assert_string_equal(json_string_value(json_array_get(hits, 0)),
				    "output");
	}
}

static void a_lost_program_has_neither(void **state)
{
	struct run_result result = { .outcome = RUN_LOST };
	json_t *json auto_json = put(&result);

	(void)state;
	assert_string_equal(text_of(json, "verdict"), "lost");
	assert_true(json_is_null(json_object_get(json, "exit_code")));
	assert_true(json_is_null(json_object_get(json, "signal")));
}

static void signals_are_known_by_name(void **state)
{
	(void)state;
	assert_int_equal(verdict_signal_number("SIGTERM"), SIGTERM);
	assert_int_equal(verdict_signal_number("INT"), SIGINT);
	assert_int_equal(verdict_signal_number("SIGNOPE"), 0);
	assert_int_equal(verdict_signal_number("9"), 0);
	assert_int_equal(verdict_signal_number(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exit_has_a_code_and_no_signal),
		cmocka_unit_test(a_signal_has_a_name_and_no_code),
		cmocka_unit_test(a_program_that_is_not_there_is_127),
		cmocka_unit_test(every_ending_has_a_name_and_a_text),
		cmocka_unit_test(a_lost_program_has_neither),
		cmocka_unit_test(signals_are_known_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
