/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <stdio.h>
#include <string.h>

#include "backend/plan-position.h"

static struct broker_create spec;
static struct plan plan;
static const struct plan_host host = { .num_binds = 2, .num_cpus = 4 };

static int good_spec(void **state)
{
	(void)state;
	memset(&spec, 0, sizeof(spec));
	spec.op = BROKER_CREATE;
	(void)snprintf(spec.id, sizeof(spec.id),
		       "0123456789abcdef0123456789abcdef");
	(void)snprintf(spec.domain, sizeof(spec.domain), "uid:1000");
	(void)snprintf(spec.image, sizeof(spec.image), "host");
	spec.limits = (struct limits)LIMITS_DEFAULTS;
	return 0;
}

static void add_volume(const char *source, const char *target, uint32_t flags)
{
	struct broker_volume *volume = &spec.volumes[spec.num_volumes++];

	(void)snprintf(volume->source, sizeof(volume->source), "%s", source);
	(void)snprintf(volume->target, sizeof(volume->target), "%s", target);
	volume->flags = flags;
}

static void assert_refused(const char *word)
{
	struct err err = ERR_NULL;

	assert_true(plan_check_spec(&spec, &err) < 0);
	assert_non_null(strstr(err.msg, word));
}

static void the_defaults_are_accepted(void **state)
{
	struct err err = ERR_NULL;

	(void)state;
	assert_int_equal(plan_check_spec(&spec, &err), 0);
}

static void every_wall_is_in_every_plan(void **state)
{
	static const enum plan_kind walls[] = {
		PLAN_LISTEN, PLAN_CGROUP_CLONE, PLAN_LAUNCH, PLAN_LAYER,
		PLAN_ROOT,   PLAN_DEV,          PLAN_SYS,    PLAN_SHM,
		PLAN_BIND,   PLAN_LAUNCHED,     PLAN_SETUP,  PLAN_READY,
	};

	(void)state;
	plan_make(&spec, &host, &plan);
	for (size_t i = 0; i < sizeof(walls) / sizeof(walls[0]); i++)
		(void)plan_position(&plan, walls[i]);
}

static void init_is_limited_before_it_is_set_up(void **state)
{
	(void)state;
	plan_make(&spec, &host, &plan);
	assert_true(plan_position(&plan, PLAN_LAUNCH) <
		    plan_position(&plan, PLAN_LAUNCHED));
	assert_int_equal(plan_position(&plan, PLAN_READY), plan.num - 1);
}

static void limits_reach_their_mounts(void **state)
{
	(void)state;
	spec.limits.disk_bytes = 10 << 20;
	spec.limits.shm_bytes = 5 << 20;
	spec.limits.cpu_milli = 1500;
	plan_make(&spec, &host, &plan);
	assert_int_equal(plan.ops[plan_position(&plan, PLAN_LAYER)].value,
			 10 << 20);
	assert_int_equal(plan.ops[plan_position(&plan, PLAN_SHM)].value,
			 5 << 20);
	/* 1.5 processors are seen as two. */
	assert_int_equal(plan.ops[plan_position(&plan, PLAN_SYS)].value, 2);
}

static void no_more_processors_than_the_host_has(void **state)
{
	(void)state;
	spec.limits.cpu_milli = 64000;
	plan_make(&spec, &host, &plan);
	assert_int_equal(plan.ops[plan_position(&plan, PLAN_SYS)].value, 4);
}

static void limits_out_of_range_are_refused(void **state)
{
	(void)state;
	spec.limits.memory_bytes = 0;
	assert_refused("memory");
	(void)good_spec(NULL);
	spec.limits.pids = 0;
	assert_refused("pids");
	(void)good_spec(NULL);
	spec.limits.pids = LIMITS_MAX_PIDS + 1;
	assert_refused("pids");
	(void)good_spec(NULL);
	spec.limits.cpu_milli = 1;
	assert_refused("cpu");
	(void)good_spec(NULL);
	spec.limits.nofile = 0;
	assert_refused("nofile");
}

static const struct plan_op *made_layer(void)
{
	plan_make(&spec, &host, &plan);
	return &plan.ops[plan_position(&plan, PLAN_LAYER)];
}

static void a_layer_that_memory_cannot_hold_is_on_disk(void **state)
{
	const uint64_t half = spec.limits.memory_bytes / 2;

	(void)state;
	spec.limits.disk_bytes = half;
	assert_false(made_layer()->on_disk);
	spec.limits.disk_bytes = half + 1;
	assert_true(made_layer()->on_disk);
	assert_int_equal(made_layer()->value, half + 1);
}

static void names_are_strict(void **state)
{
	(void)state;
	spec.id[5] = 'G';
	assert_refused("id");
	(void)good_spec(NULL);
	(void)snprintf(spec.id, sizeof(spec.id), "../../etc/passwd");
	assert_refused("id");
	(void)good_spec(NULL);
	memset(spec.id, 'a', sizeof(spec.id)); /* no NUL */
	assert_refused("id");
	(void)good_spec(NULL);
	(void)snprintf(spec.domain, sizeof(spec.domain), "a/b");
	assert_refused("domain");
	(void)good_spec(NULL);
	spec.domain[0] = '\0';
	assert_refused("domain");
	(void)good_spec(NULL);
	spec.domain[sizeof(spec.domain) - 1] = 'x'; /* behind the NUL */
	assert_refused("domain");
	(void)good_spec(NULL);
	(void)snprintf(spec.image, sizeof(spec.image), "nope");
	assert_refused("image");
}

static void volume_targets_spare_the_walls(void **state)
{
	static const char *const bad[] = {
		"relative", "/",        "/proc", "/proc/sys",  "/sys",
		"/dev/shm", "/usr/lib", "/etc",  "/a/../proc", "/a/./b",
		"/a//b",    "/a/",      "/..",   "/bin",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		(void)good_spec(NULL);
		add_volume("/srv/data", bad[i], 0);
		assert_refused("target");
	}
	(void)good_spec(NULL);
	add_volume("/srv/data", "/workspace/in..put", VOLUME_READ_ONLY);
	assert_int_equal(plan_check_spec(&spec, NULL), 0);
	plan_make(&spec, &host, &plan);
	assert_true(plan.ops[plan_position(&plan, PLAN_VOLUME)].read_only);
}

static void too_many_volumes_and_flags_are_refused(void **state)
{
	(void)state;
	spec.num_volumes = VOLUMES_MAX + 1;
	assert_refused("spec");
	(void)good_spec(NULL);
	add_volume("/srv/data", "/data", 0x80);
	assert_refused("flags");
	(void)good_spec(NULL);
	spec.flags = ~(uint32_t)CREATE_FLAGS_ALL;
	assert_refused("flags");
}

static void the_largest_plan_fits(void **state)
{
	const struct plan_host many = { .num_binds = 16, .num_cpus = 1 };

	(void)state;
	for (int i = 0; i < VOLUMES_MAX; i++)
		add_volume("/srv/data", "/data", 0);
	plan_make(&spec, &many, &plan);
	assert_true(plan.num <= PLAN_OPS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_defaults_are_accepted, good_spec),
		cmocka_unit_test_setup(every_wall_is_in_every_plan, good_spec),
		cmocka_unit_test_setup(init_is_limited_before_it_is_set_up,
				       good_spec),
		cmocka_unit_test_setup(limits_reach_their_mounts, good_spec),
		cmocka_unit_test_setup(no_more_processors_than_the_host_has,
				       good_spec),
		cmocka_unit_test_setup(limits_out_of_range_are_refused,
				       good_spec),
		cmocka_unit_test_setup(
			a_layer_that_memory_cannot_hold_is_on_disk, good_spec),
		cmocka_unit_test_setup(names_are_strict, good_spec),
		cmocka_unit_test_setup(volume_targets_spare_the_walls,
				       good_spec),
		cmocka_unit_test_setup(too_many_volumes_and_flags_are_refused,
				       good_spec),
		cmocka_unit_test_setup(the_largest_plan_fits, good_spec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
