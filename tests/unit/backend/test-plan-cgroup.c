/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The steps for control groups, against what tools/record-cgroups saw on a
 * host of each kind.
 */

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/native/native.h"
#include "backend/plan-position.h"
#include "base/cleanup.h"

struct host {
	const char *recording;
	bool unified;
};

static const struct host hosts[] = {
	{ RECORDINGS "/hybrid-6.18.txt", false },
	{ RECORDINGS "/v2-6.1.txt", true },
};

static const char *const controllers[] = {
	[PLAN_V2] = NULL,
	[PLAN_MEMORY] = "memory",
	[PLAN_PIDS] = "pids",
	[PLAN_CPU] = "cpu",
};

static struct plan plan;

static void make_plan(bool unified)
{
	static struct broker_create spec;
	const struct plan_host host = { .num_cpus = 4, .unified = unified };

	spec.limits = (struct limits)LIMITS_DEFAULTS;
	spec.limits.memory_bytes = 100 << 20;
	spec.limits.pids = 33;
	spec.limits.cpu_milli = 1500;
	plan_make(&spec, &host, &plan);
}

static bool is_cgroup(const struct plan_op *op)
{
	return op->kind == PLAN_CGROUP_MAKE || op->kind == PLAN_CGROUP_ENABLE ||
	       op->kind == PLAN_CGROUP_CLONE || op->kind == PLAN_CGROUP_LIMIT ||
	       op->kind == PLAN_CGROUP_DELEGATE || op->kind == PLAN_CGROUP_OPEN;
}

/* The rest of each line that begins with @word, as a file. */
static FILE *lines_of(const char *recording, const char *word)
{
	FILE *in = fopen(recording, "re");
	FILE *out = tmpfile();
	char line[4096];
	size_t len = strlen(word);

	assert_non_null(in);
	assert_non_null(out);
	while (fgets(line, sizeof(line), in)) {
		if (strncmp(line, word, len) == 0 && line[len] == ' ')
			(void)fputs(line + len + 1, out);
	}
	(void)fclose(in);
	rewind(out);
	return out;
}

static void mount_point(const struct host *host, enum plan_hierarchy which,
			char *buf, size_t size)
{
	FILE *mountinfo = lines_of(host->recording, "mountinfo");

	assert_int_equal(cgroup_find_mount(mountinfo, controllers[which], buf,
					   size),
			 0);
	(void)fclose(mountinfo);
}

/* The mode of a file in the recording; 0 when it isn't there. */
static unsigned int mode_of(const struct host *host, enum plan_hierarchy which,
			    const char *file)
{
	FILE *files = lines_of(host->recording, "file");
	char root[256], dir[512], at[512], name[256];
	unsigned int mode, found = 0;

	mount_point(host, which, root, sizeof(root));
	(void)snprintf(dir, sizeof(dir), "%s/child", root);
	/* NOLINTNEXTLINE(cert-err34-c): our own recording */
	while (fscanf(files, "%511s %o %255s", at, &mode, name) == 3) {
		if (strcmp(at, dir) == 0 && strcmp(name, file) == 0)
			found = mode;
	}
	(void)fclose(files);
	return found;
}

static const char *file_of(const struct plan_op *op)
{
	switch (op->kind) {
	case PLAN_CGROUP_ENABLE:
		return "cgroup.subtree_control";
	case PLAN_CGROUP_CLONE:
		return "cgroup.procs";
	case PLAN_CGROUP_LIMIT:
	case PLAN_CGROUP_OPEN:
		return op->file;
	default:
		return NULL;
	}
}

static void every_file_is_there_on_such_a_host(void **state)
{
	(void)state;
	for (size_t h = 0; h < ARRAY_SIZE(hosts); h++) {
		make_plan(hosts[h].unified);
		for (unsigned int i = 0; i < plan.num; i++) {
			const struct plan_op *op = &plan.ops[i];
			unsigned int mode;

			if (!is_cgroup(op) || !file_of(op) || op->optional)
				continue;
			mode = mode_of(&hosts[h], op->hierarchy, file_of(op));
			assert_true(mode & 0400);
			assert_true(mode & 0200 ||
				    (op->kind == PLAN_CGROUP_OPEN &&
				     !op->writable));
		}
	}
}

static void a_host_is_told_by_its_controllers(void **state)
{
	char line[256], root[256], *list;

	(void)state;
	for (size_t h = 0; h < ARRAY_SIZE(hosts); h++) {
		FILE *values = lines_of(hosts[h].recording, "value");
		bool unified = false;

		mount_point(&hosts[h], PLAN_V2, root, sizeof(root));
		while (fgets(line, sizeof(line), values)) {
			list = strstr(line, " cgroup.controllers ");
			if (!list || strncmp(line, root, strlen(root)) != 0 ||
			    line[strlen(root)] != ' ')
				continue;
			unified = cgroup_has_all(
				list + strlen(" cgroup.controllers "));
		}
		(void)fclose(values);
		assert_int_equal(unified, hosts[h].unified);
	}
	assert_true(cgroup_has_all("cpuset cpu io memory pids\n"));
	assert_false(cgroup_has_all("cpuset io memory pids\n"));
	assert_false(cgroup_has_all("cpu memory.high pids\n"));
	assert_false(cgroup_has_all(""));
}

static void no_v1_hierarchy_is_found_on_a_unified_host(void **state)
{
	FILE *mountinfo = lines_of(hosts[1].recording, "mountinfo");
	char path[256];

	(void)state;
	for (int i = PLAN_MEMORY; i <= PLAN_CPU; i++)
		assert_true(cgroup_find_mount(mountinfo, controllers[i], path,
					      sizeof(path)) < 0);
	(void)fclose(mountinfo);
}

/* What a directory's file is set to; 0 when it isn't. */
static uint64_t limit(const char *dir, const char *file)
{
	for (unsigned int i = 0; i < plan.num; i++) {
		const struct plan_op *op = &plan.ops[i];

		if (op->kind == PLAN_CGROUP_LIMIT &&
		    strcmp(op->dir, dir) == 0 && strcmp(op->file, file) == 0)
			return op->value;
	}
	return 0;
}

static void limits_reach_their_files(void **state)
{
	const uint64_t payload = 100 << 20, total = payload + (16 << 20);

	(void)state;
	make_plan(false);
	assert_int_equal(limit("", "memory.limit_in_bytes"), payload);
	assert_int_equal(limit("", "memory.kmem.tcp.limit_in_bytes"),
			 payload / 8);
	assert_int_equal(limit("", "pids.max"), 34); /* with init */
	assert_int_equal(limit("", "cpu.cfs_quota_us"), 150000);
	make_plan(true);
	assert_int_equal(limit("", "memory.max"), total);
	assert_int_equal(limit("p", "memory.max"), payload);
	assert_int_equal(limit("", "pids.max"), 34);
	assert_int_equal(limit("", "cpu.max"), 150000);
	assert_int_equal(limit("", "cpu.weight"), 150);
}

static void all_is_limited_before_init_is_set_up(void **state)
{
	(void)state;
	for (size_t h = 0; h < ARRAY_SIZE(hosts); h++) {
		make_plan(hosts[h].unified);
		for (unsigned int i = plan_position(&plan, PLAN_SETUP);
		     i < plan.num; i++)
			assert_false(is_cgroup(&plan.ops[i]));
	}
}

/* Each directory's parent first, and no process where a limit is below. */
static void a_unified_group_with_limits_below_holds_no_process(void **state)
{
	unsigned int clone;

	(void)state;
	make_plan(true);
	clone = plan_position(&plan, PLAN_CGROUP_CLONE);
	assert_string_equal(plan.ops[clone].dir, "i");
	for (unsigned int i = 0; i < plan.num; i++) {
		if (plan.ops[i].kind != PLAN_CGROUP_ENABLE)
			continue;
		assert_string_not_equal(plan.ops[i].dir, "i");
		if (*plan.ops[i].dir == '\0')
			assert_true(i < clone);
	}
	assert_string_equal(
		plan.ops[plan_position(&plan, PLAN_CGROUP_DELEGATE)].dir, "p");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_file_is_there_on_such_a_host),
		cmocka_unit_test(a_host_is_told_by_its_controllers),
		cmocka_unit_test(no_v1_hierarchy_is_found_on_a_unified_host),
		cmocka_unit_test(limits_reach_their_files),
		cmocka_unit_test(all_is_limited_before_init_is_set_up),
		cmocka_unit_test(
			a_unified_group_with_limits_below_holds_no_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
