/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "sandbox/spec.h"
#include "server/env.h"

static void users_are_names_or_numbers(void **state)
{
	static const char *const bad[] = { "",      "nobody", "-1", "1:",
					   ":1",    "1:x",    "1 ", "65536",
					   "1:2:3", "root:0" };
	uint32_t uid, gid;

	(void)state;
	assert_int_equal(env_user("sandbox", &uid, &gid, NULL), 0);
	assert_int_equal(uid, 1000);
	assert_int_equal(gid, 1000);
	assert_int_equal(env_user("root", &uid, &gid, NULL), 0);
	assert_int_equal(uid, 0);
	assert_int_equal(env_user("12", &uid, &gid, NULL), 0);
	assert_int_equal(gid, 12);
	assert_int_equal(env_user("12:34", &uid, &gid, NULL), 0);
	assert_int_equal(uid, 12);
	assert_int_equal(gid, 34);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (env_user(bad[i], &uid, &gid, NULL) >= 0)
			fail_msg("let through: '%s'", bad[i]);
}

static void the_sandboxes_own_values_win(void **state)
{
	struct spec spec;
	struct strv env;

	(void)state;
	spec_init(&spec);
	assert_int_equal(spec_add_env(&spec, "LANG", "de_DE", NULL), 0);
	assert_int_equal(spec_add_env(&spec, "X", "y", NULL), 0);
	assert_int_equal(env_init(&env, &spec, 0, NULL), 0);
	assert_string_equal(strv_get_env(&env, "LANG", 4), "de_DE");
	assert_string_equal(strv_get_env(&env, "X", 1), "y");
	assert_string_equal(strv_get_env(&env, "HOME", 4), "/root");
	assert_string_equal(strv_get_env(&env, "USER", 4), "root");
	assert_null(strv_get_env(&env, "TERM", 4));
	strv_deinit(&env);
	spec_deinit(&spec);
}

static const char *threads(uint32_t cpu_milli, const char *own)
{
	static char value[8];
	struct spec spec;
	struct strv env;

	spec_init(&spec);
	spec.limits.cpu_milli = cpu_milli;
	if (own)
		assert_int_equal(spec_add_env(&spec, "OMP_NUM_THREADS", own,
					      NULL),
				 0);
	assert_int_equal(env_init(&env, &spec, 1000, NULL), 0);
	(void)snprintf(value, sizeof(value), "%s",
		       strv_get_env(&env, "OMP_NUM_THREADS", 15));
	strv_deinit(&env);
	spec_deinit(&spec);
	return value;
}

static void libraries_start_as_many_threads_as_there_are_processors(
	void **state)
{
	char host[16];
	cpu_set_t set;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	(void)snprintf(host, sizeof(host), "%d", CPU_COUNT(&set));
	assert_string_equal(threads(1000, NULL), "1");
	assert_string_equal(threads(10, NULL), "1");
	assert_string_equal(threads(1001, NULL),
			    CPU_COUNT(&set) > 1 ? "2" : "1");
	assert_string_equal(threads(1000000, NULL), host);
	assert_string_equal(threads(1000, "7"), "7");
}

static void paths_are_expanded(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "/a/b", "/a/b" },
		{ "a/b", "/workspace/a/b" },
		{ "~", "/root" },
		{ "~/x", "/root/x" },
		{ "~x", "/workspace/~x" },
		{ "$D/x", "/data/x" },
		{ "/a/${D}b", "/a//datab" },
		{ "/a/$DE", NULL },
		{ "/a/${D", NULL },
		{ "/a/$", NULL },
		{ "/a/$/b", NULL },
		{ "$R", NULL }, /* not absolute */
	};
	struct strv env;
	char out[32];

	(void)state;
	strv_init(&env, 10, 200);
	assert_int_equal(strv_set_env(&env, "HOME", "/root"), 0);
	assert_int_equal(strv_set_env(&env, "D", "/data"), 0);
	assert_int_equal(strv_set_env(&env, "R", "rel"), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int r = env_path(&env, cases[i].in, out, sizeof(out), NULL);

		assert_int_equal(r == 0, cases[i].out != NULL);
		if (r == 0)
			assert_string_equal(out, cases[i].out);
	}
	assert_true(env_path(&env, "/0123456789012345678901234567890", out,
			     sizeof(out), NULL) < 0);
	strv_deinit(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_are_names_or_numbers),
		cmocka_unit_test(the_sandboxes_own_values_win),
		cmocka_unit_test(
			libraries_start_as_many_threads_as_there_are_processors),
		cmocka_unit_test(paths_are_expanded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
