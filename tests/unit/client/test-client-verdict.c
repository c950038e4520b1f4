/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/verdict.h"
#include "osb/osb.h"

static int read_verdict(const char *text, struct osb_verdict *ret_verdict)
{
	json_t *root auto_json = json_loads(text, 0, NULL);

	assert_non_null(root);
	return verdict_from_json(root, ret_verdict);
}

static void a_full_verdict_is_read(void **state)
{
	struct osb_verdict v;

	(void)state;
	assert_int_equal(
		read_verdict("{\"verdict\":\"exited\",\"exit_code\":7,"
			     "\"signal\":null,\"wall_ms\":12,\"cpu_ms\":3,"
			     "\"peak_memory_bytes\":4096,\"peak_pids\":2,"
			     "\"truncated\":false,\"left_running\":[{\"pid\":5,"
			     "\"name\":\"sleep\"}],\"limits_hit\":[\"pids\"],"
			     "\"message\":\"m\"}",
			     &v),
		0);
	assert_int_equal(v.kind, OSB_EXITED);
	assert_int_equal(v.exit_code, 7);
	assert_int_equal(v.signal_number, 0);
	assert_int_equal(v.wall_ms, 12);
	assert_int_equal(v.num_left, 1);
	assert_string_equal(v.left[0].name, "sleep");
	assert_int_equal(v.num_limits_hit, 1);
	assert_string_equal(v.limits_hit[0], "pids");
}

static void signals_are_known_by_name(void **state)
{
	static const struct {
		const char *name;
		int number;
	} table[] = {
		{ "SIGKILL", SIGKILL }, { "SIGTERM", SIGTERM },
		{ "SIGSEGV", SIGSEGV }, { "SIG33", 33 },
		{ "SIGRTMIN+0", 34 },   { "SIGRTMIN+6", 40 },
		{ "SIGRTMIN+99", 0 },   { "SIGRTMIN-1", 34 },
		{ "NONSENSE", 0 },      { "SIG", 0 },
	};
	char text[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct osb_verdict v;

		(void)snprintf(text, sizeof(text),
			       "{\"verdict\":\"signaled\",\"exit_code\":null,"
			       "\"signal\":\"%s\"}",
			       table[i].name);
		assert_int_equal(read_verdict(text, &v), 0);
		assert_int_equal(v.exit_code, -1);
		if (strcmp(table[i].name, "SIGRTMIN-1") != 0)
			assert_int_equal(v.signal_number, table[i].number);
	}
}

static void an_exit_code_is_never_made_up(void **state)
{
	static const char *const broken[] = {
		"{}",
		"[]",
		"{\"verdict\":\"nonsense\",\"exit_code\":0}",
		"{\"verdict\":\"exited\"}",
		"{\"verdict\":\"exited\",\"exit_code\":null}",
		"{\"verdict\":\"exited\",\"exit_code\":\"0\"}",
		"{\"verdict\":\"exited\",\"exit_code\":-1}",
		"{\"verdict\":\"exited\",\"exit_code\":256}",
		"{\"verdict\":\"pids_limit\",\"exit_code\":null}",
		"{\"verdict\":\"disk_full\"}",
	};
	struct osb_verdict v;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++)
		assert_int_equal(read_verdict(broken[i], &v), -EBADMSG);
}

static void lists_and_strings_are_cut_to_their_fields(void **state)
{
	char text[8192] = "{\"verdict\":\"killed\",\"limits_hit\":[";
	struct osb_verdict v;
	size_t len = strlen(text);

	(void)state;
	for (int i = 0; i < 40; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"\"a-name-much-too-long-for-it\",");
	(void)snprintf(text + len, sizeof(text) - len, "1]}");
	assert_int_equal(read_verdict(text, &v), 0);
	assert_int_equal(v.num_limits_hit, OSB_LIMITS_HIT_MAX);
	assert_int_equal(strlen(v.limits_hit[0]), sizeof(v.limits_hit[0]) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_verdict_is_read),
		cmocka_unit_test(signals_are_known_by_name),
		cmocka_unit_test(an_exit_code_is_never_made_up),
		cmocka_unit_test(lists_and_strings_are_cut_to_their_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
