/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "sandbox/spec.h"

static struct spec spec;

static int setup(void **state)
{
	(void)state;
	spec_init(&spec);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	spec_deinit(&spec);
	return 0;
}

static void limits_are_read_with_their_units(void **state)
{
	(void)state;
	assert_int_equal(spec_set_limit(&spec, "memory", "1Gi", NULL), 0);
	assert_int_equal(spec_set_limit(&spec, "cpu", "500m", NULL), 0);
	assert_int_equal(spec_set_limit(&spec, "pids", "32", NULL), 0);
	assert_int_equal(spec_set_limit(&spec, "inodes", "2k", NULL), 0);
	assert_int_equal(spec.limits.memory_bytes, 1u << 30);
	assert_int_equal(spec.limits.cpu_milli, 500);
	assert_int_equal(spec.limits.pids, 32);
	assert_int_equal(spec.limits.inodes, 2000);
	assert_int_equal(spec.limits.nofile, LIMITS_DEFAULT_NOFILE);
}

static void what_each_exec_may_use_is_a_limit_too(void **state)
{
	static const struct {
		const char *key, *value;
	} bad[] = {
		{ "cpuTime", "0" },      { "cpuTime", "-1s" },
		{ "cpuTime", "88000h" }, { "output", "0" },
		{ "output", "1.5" },     { "output", "lots" },
		{ "output", "9999Ti" },  { "outputPolicy", "drop" },
		{ "outputPolicy", "" },
	};

	(void)state;
	assert_int_equal(spec_set_limit(&spec, "cpuTime", "1.5s", NULL), 0);
	assert_int_equal(spec_set_limit(&spec, "output", "1Mi", NULL), 0);
	assert_int_equal(spec_set_limit(&spec, "outputPolicy", "back-pressure",
					NULL),
			 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = ERR_NULL;

		assert_true(spec_set_limit(&spec, bad[i].key, bad[i].value,
					   &err) < 0);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_non_null(strstr(err.msg, bad[i].key));
	}
	assert_int_equal(spec.exec.cpu_ms, 1500);
	assert_int_equal(spec.exec.output_max, 1 << 20);
	assert_int_equal(spec.exec.output_policy, OUTPUT_WAIT);
	/* That is the sandbox's own. */
	assert_int_equal(spec_set_limit(&spec, "pids", "32", NULL), 0);
	assert_int_equal(spec.exec.pids, 0);
}

static void bad_limits_are_refused_by_name(void **state)
{
	static const struct {
		const char *key, *value;
	} bad[] = {
		{ "memory", "0" },     { "memory", "-1" }, { "memory", "12q" },
		{ "memory", "" },      { "memory", "1" },  { "cpu", "0" },
		{ "cpu", "-2" },       { "pids", "0" },    { "pids", "30001" },
		{ "nofile", "99999" }, { "disk", "1.Gi" }, { "gpu", "1" },
		{ "Memory", "512Mi" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = ERR_NULL;

		assert_true(spec_set_limit(&spec, bad[i].key, bad[i].value,
					   &err) < 0);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_non_null(strstr(err.msg, bad[i].key));
	}
}

static void a_default_disk_fits_a_small_memory(void **state)
{
	(void)state;
	assert_int_equal(spec_set_image(&spec, "host", NULL), 0);
	assert_int_equal(spec_set_limit(&spec, "memory", "64Mi", NULL), 0);
	assert_int_equal(spec_finish(&spec, NULL), 0);
	assert_int_equal(spec.limits.disk_bytes, 32u << 20);
}

static void an_asked_for_disk_is_left_alone(void **state)
{
	(void)state;
	assert_int_equal(spec_set_image(&spec, "host", NULL), 0);
	assert_int_equal(spec_set_limit(&spec, "memory", "2Gi", NULL), 0);
	assert_int_equal(spec_set_limit(&spec, "disk", "1Gi", NULL), 0);
	assert_int_equal(spec_finish(&spec, NULL), 0);
	assert_int_equal(spec.limits.disk_bytes, 1u << 30);
}

static void a_shm_that_does_not_fit_the_memory_is_refused(void **state)
{
	struct err err = ERR_NULL;

	(void)state;
	assert_int_equal(spec_set_image(&spec, "host", NULL), 0);
	assert_int_equal(spec_set_limit(&spec, "shm", "1Gi", NULL), 0);
	assert_true(spec_finish(&spec, &err) < 0);
	assert_string_equal(err.msg,
			    "shm '1Gi': must be at most memory (512Mi)");
}

static void a_disk_may_be_larger_than_memory_if_asked_for(void **state)
{
	(void)state;
	assert_int_equal(spec_set_image(&spec, "host", NULL), 0);
	assert_int_equal(spec_set_limit(&spec, "memory", "64Mi", NULL), 0);
	assert_int_equal(spec_finish(&spec, NULL), 0);
	assert_int_equal(spec.limits.disk_bytes, 32 << 20);
	assert_int_equal(spec_set_limit(&spec, "disk", "10Gi", NULL), 0);
	assert_int_equal(spec_finish(&spec, NULL), 0);
	assert_int_equal(spec.limits.disk_bytes, 10ull << 30);
}

static void a_range_is_told_with_its_unit(void **state)
{
	static const struct {
		const char *key, *value, *bound;
	} bad[] = {
		{ "memory", "1", "at least 4Mi" },
		{ "memory", "2000Ti", "at most 1024Ti" },
		{ "disk", "1k", "at least 64Ki" },
		{ "cpu", "1m", "at least 0.01" },
		{ "cpu", "1001", "at most 1000" },
		{ "pids", "40000", "at most 30000" },
		{ "inodes", "10", "at least 16" },
		{ "nofile", "5", "at least 16" },
		{ "nofile", "20000", "at most 16384" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = ERR_NULL;

		assert_true(spec_set_limit(&spec, bad[i].key, bad[i].value,
					   &err) < 0);
		assert_non_null(strstr(err.msg, bad[i].bound));
	}
}

static void a_volume_target_may_end_with_a_slash(void **state)
{
	struct err err = ERR_NULL;

	(void)state;
	assert_int_equal(spec_add_volume(&spec, "/srv/", "/workspace/", false,
					 NULL),
			 0);
	assert_string_equal(spec.volumes[0].source, "/srv");
	assert_string_equal(spec.volumes[0].target, "/workspace");
	assert_true(spec_add_volume(&spec, "/srv", "/usr/x", false, &err) < 0);
	assert_non_null(strstr(err.msg, "/dev /proc /sys /usr"));
	assert_true(spec_add_volume(&spec, "/srv", "/opt", false, &err) < 0);
	assert_non_null(strstr(err.msg, "/libx32"));
	assert_int_equal(spec_add_volume(&spec, "/srv", "/usrx", false, NULL),
			 0);
}

static void labels_follow_kubernetes(void **state)
{
	static const struct {
		const char *key, *value;
		bool ok;
	} cases[] = {
		{ "name", "x", true },
		{ "name", "", true },
		{ "a.b-c_d", "A.b-C_9", true },
		{ "example.com/name", "v", true },
		{ "", "v", false },
		{ "-a", "v", false },
		{ "a-", "v", false },
		{ "a b", "v", false },
		{ "a", "v v", false },
		{ "a", "-v", false },
		{ "/a", "v", false },
		{ "a/", "v", false },
		{ "a/b/c", "v", false },
		{ "Example.com/a", "v", false },
		{ "a..b/c", "v", false },
		{ "a",
		  "0123456789012345678901234567890123456789"
		  "01234567890123456789012",
		  true },
		{ "a",
		  "0123456789012345678901234567890123456789"
		  "012345678901234567890123",
		  false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (spec_label_ok(cases[i].key, cases[i].value) != cases[i].ok)
			fail_msg("'%s'='%s'", cases[i].key, cases[i].value);
}

static void reserved_metadata_is_refused(void **state)
{
	(void)state;
	assert_true(spec_add_metadata(&spec, "opensandbox.io/x", "y", NULL) <
		    0);
	assert_int_equal(spec_add_metadata(&spec, "my.io/x", "y", NULL), 0);
}

static void volume_paths_must_be_plain(void **state)
{
	static const char *const bad[] = { "",    "rel", "/a/../b", "/a/./b",
					   "/..", "//a", "/a//b",   "." };
	char target[16];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_true(spec_add_volume(&spec, bad[i], "/d", false, NULL) <
			    0);
		assert_true(spec_add_volume(&spec, "/s", bad[i], false, NULL) <
			    0);
	}
	assert_true(spec_add_volume(&spec, "/s", "/", false, NULL) < 0);
	assert_int_equal(spec_add_volume(&spec, "/", "/..d/e.", true, NULL), 0);
	assert_int_equal(spec.num_volumes, 1);
	assert_int_equal(spec.volumes[0].flags, VOLUME_READ_ONLY);
	/* Once only: the later one would hide the other. */
	assert_true(spec_add_volume(&spec, "/t", "/..d/e.", true, NULL) < 0);
	assert_true(spec_add_volume(&spec, "/t", "/..d/e./", true, NULL) < 0);
	for (unsigned int i = 1; i < VOLUMES_MAX; i++) {
		(void)snprintf(target, sizeof(target), "/d%u", i);
		assert_int_equal(spec_add_volume(&spec, "/s", target, false,
						 NULL),
				 0);
	}
	assert_true(spec_add_volume(&spec, "/s", "/d", false, NULL) < 0);
}

static void timeouts_are_at_least_a_minute(void **state)
{
	(void)state;
	assert_true(spec_set_timeout(&spec, 59, NULL) < 0);
	assert_true(spec_set_timeout(&spec, -60, NULL) < 0);
	assert_true(spec_set_timeout(&spec, INT64_MAX, NULL) < 0);
	assert_int_equal(spec_set_timeout(&spec, 60, NULL), 0);
	assert_int_equal(spec.timeout_s, 60);
}

/* Does an entrypoint of these words only wait? */
static bool idles(const char *a, const char *b, const char *c)
{
	const char *const args[] = { a, b, c };
	bool result;

	strv_deinit(&spec.entrypoint);
	for (size_t i = 0; i < 3 && args[i]; i++)
		assert_int_equal(spec_add_entrypoint(&spec, args[i], NULL), 0);
	result = spec_entrypoint_idles(&spec);
	return result;
}

static void entrypoints_that_wait_are_known(void **state)
{
	(void)state;
	assert_true(idles("tail", "-f", "/dev/null"));
	assert_true(idles("/usr/bin/tail", "-f", "/dev/null"));
	assert_true(idles("sleep", "infinity", NULL));
	assert_true(idles("sleep", "3600", NULL));
	assert_false(idles("tail", "-f", "/var/log/x"));
	assert_false(idles("sh", "-c", "tail -f /dev/null"));
	assert_false(idles("sleep", NULL, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			limits_are_read_with_their_units, setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_each_exec_may_use_is_a_limit_too, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_limits_are_refused_by_name,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_default_disk_fits_a_small_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_disk_may_be_larger_than_memory_if_asked_for, setup,
			teardown),
		cmocka_unit_test_setup_teardown(an_asked_for_disk_is_left_alone,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_shm_that_does_not_fit_the_memory_is_refused, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_range_is_told_with_its_unit,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_volume_target_may_end_with_a_slash, setup, teardown),
		cmocka_unit_test(labels_follow_kubernetes),
		cmocka_unit_test_setup_teardown(reserved_metadata_is_refused,
						setup, teardown),
		cmocka_unit_test_setup_teardown(volume_paths_must_be_plain,
						setup, teardown),
		cmocka_unit_test_setup_teardown(timeouts_are_at_least_a_minute,
						setup, teardown),
		cmocka_unit_test_setup_teardown(entrypoints_that_wait_are_known,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
