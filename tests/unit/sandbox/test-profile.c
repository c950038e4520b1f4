/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "sandbox/profile.h"
#include "sandbox/spec.h"

static struct profiles profiles;
static struct err err;

static int fresh(void **state)
{
	(void)state;
	profiles_init(&profiles);
	return 0;
}

static void set(const char *name, const char *key, const char *value)
{
	assert_return_code(profiles_set(&profiles, name, key, value, &err), 0);
}

static void refuse(const char *name, const char *key, const char *value,
		   const char *what)
{
	const struct profiles before = profiles;

	assert_int_equal(profiles_set(&profiles, name, key, value, &err),
			 -EINVAL);
	assert_non_null(strstr(err.msg, what));
	assert_memory_equal(&profiles, &before, sizeof(before));
}

static void apply(const char *name, struct spec *spec)
{
	const struct profile *profile = profiles_find(&profiles, name);

	assert_non_null(profile);
	spec_init(spec);
	assert_return_code(profile_apply(profile, spec, &err), 0);
}

static void all_that_is_always_there_is_valid(void **state)
{
	struct spec spec;

	(void)state;
	assert_int_equal(profiles.num, 3);
	apply("code", &spec);
	assert_false(spec.strict);
	spec_deinit(&spec);
	apply("strict", &spec);
	assert_true(spec.strict);
	assert_false(spec.contest);
	spec_deinit(&spec);
	apply("judge", &spec);
	assert_true(spec.strict && spec.contest);
	assert_string_equal(spec.profile, "judge");
	assert_int_equal(spec.exec.cpu_ms, 5000);
	assert_int_equal(spec.exec.wall_ms, 10000);
	assert_int_equal(spec.env.num, 4);
	spec_deinit(&spec);
}

static void a_copy_does_not_follow_its_parent(void **state)
{
	struct spec spec;

	(void)state;
	set("a", "inherit", "judge");
	set("a", "memory", "64Mi");
	set("judge", "memory", "1Gi");
	set("judge", "pids", "9");
	apply("a", &spec);
	assert_int_equal(spec.limits.memory_bytes, 64 << 20);
	assert_int_equal(spec.limits.pids, 64);
	spec_deinit(&spec);
	apply("judge", &spec);
	assert_int_equal(spec.limits.pids, 9);
	spec_deinit(&spec);
}

static void a_later_value_replaces_an_earlier_one(void **state)
{
	const struct profile *profile;

	(void)state;
	set("a", "cpu", "1");
	set("a", "cpuTime", "2s");
	set("a", "cpu", "3");
	profile = profiles_find(&profiles, "a");
	assert_string_equal(profile_get(profile, "cpu"), "3");
	assert_string_equal(profile_get(profile, "cpuTime"), "2s");
	assert_null(profile_get(profile, "pu"));
	assert_null(profile_get(profile, "memory"));
	assert_int_equal(profile->len, sizeof("cpuTime=2s") + sizeof("cpu=3"));
}

static void bad_lines_change_nothing(void **state)
{
	(void)state;
	refuse("a", "inherit", "b", "'b'");
	refuse("a", "inherit", "a", "'a'");
	refuse("code", "inherit", "judge", "first");
	refuse("a", "memory", "0", "memory '0'");
	refuse("a", "memory", "-1", "memory '-1'");
	refuse("a", "gold", "1", "'gold'");
	refuse("a", "strict", "YES", "yes or no");
	refuse("a", "timeout", "1s", "timeout");
	refuse("a", "timeout", "soon", "timeout 'soon'");
	refuse("a", "env.", "1", "env");
	refuse("", "cpu", "1", "profile ''");
	refuse("A b", "cpu", "1", "profile 'A b'");
	refuse("aaaaaaaaaabbbbbbbbbbccccccccccdd", "cpu", "1", "31");
}

static void no_more_than_fit_are_taken(void **state)
{
	char long_value[PROFILE_TEXT_MAX];
	char name[16];

	(void)state;
	memset(long_value, 'x', sizeof(long_value) - 1);
	long_value[sizeof(long_value) - 1] = '\0';
	refuse("code", "env.A", long_value, "2048");
	long_value[sizeof(long_value) - sizeof("env.A=")] = '\0';
	set("big", "env.A", long_value);
	refuse("big", "cpu", "1", "2048");
	while (profiles.num < PROFILES_MAX) {
		(void)snprintf(name, sizeof(name), "p%u",
			       (unsigned int)profiles.num);
		set(name, "cpu", "1");
	}
	refuse("another", "cpu", "1", "16");
	set("big", "env.A", "1");
}

static void what_it_says_is_a_default(void **state)
{
	struct spec spec;

	(void)state;
	set("a", "shm", "256Mi");
	apply("a", &spec);
	assert_return_code(spec_set_image(&spec, "host", &err), 0);
	assert_return_code(spec_set_limit(&spec, "memory", "64Mi", &err), 0);
	assert_return_code(spec_finish(&spec, &err), 0);
	assert_int_equal(spec.limits.shm_bytes, 64 << 20);
	spec_deinit(&spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(all_that_is_always_there_is_valid,
				       fresh),
		cmocka_unit_test_setup(a_copy_does_not_follow_its_parent,
				       fresh),
		cmocka_unit_test_setup(a_later_value_replaces_an_earlier_one,
				       fresh),
		cmocka_unit_test_setup(bad_lines_change_nothing, fresh),
		cmocka_unit_test_setup(no_more_than_fit_are_taken, fresh),
		cmocka_unit_test_setup(what_it_says_is_a_default, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
