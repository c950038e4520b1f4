/* SPDX-License-Identifier: Apache-2.0 */

#include "backend/plan.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "wire/walls.h"

/* A field holds one string with nothing behind it: no hidden second value. */
static bool is_clean(const char *field, size_t size)
{
	size_t len = strnlen(field, size);

	for (size_t i = len; i < size; i++) {
		if (field[i] != '\0')
			return false;
	}
	return len > 0 && len < size;
}

static bool is_id(const char *id)
{
	return strspn(id, "0123456789abcdef") == SANDBOX_ID_LEN &&
	       id[SANDBOX_ID_LEN] == '\0';
}

static bool is_domain(const char *name)
{
	return name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789._:-")] == '\0';
}

/*
 * Absolute, normal, and not over a tree that is a wall: those names are
 * compared before any file system is asked.
 */
static bool is_target(const char *path)
{
	if (path[0] != '/' || path[1] == '\0' || strstr(path, "//") ||
	    path[strlen(path) - 1] == '/')
		return false;
	for (const char *p = path; p; p = strchr(p + 1, '/')) {
		size_t len = strcspn(p + 1, "/");

		if ((len == 1 && p[1] == '.') ||
		    (len == 2 && p[1] == '.' && p[2] == '.'))
			return false;
	}
	return !walls_hold(path);
}

static int check_range(const char *name, uint64_t value, uint64_t min,
		       uint64_t max, struct err *err)
{
	if (value >= min && value <= max)
		return 0;
	return err_set(err, ERR_INVALID, 0,
		       "%s %" PRIu64 ": allowed are %" PRIu64 " to %" PRIu64,
		       name, value, min, max);
}

int plan_check_limits(const struct limits *in, struct err *err)
{
	int r;

	r = check_range("memory", in->memory_bytes, LIMITS_MIN_MEMORY,
			1ull << 50, err);
	if (r == 0)
		r = check_range("disk", in->disk_bytes, LIMITS_MIN_DISK,
				1ull << 50, err);
	if (r == 0)
		r = check_range("shm", in->shm_bytes, 4096, 1ull << 50, err);
	if (r == 0)
		r = check_range("inodes", in->inodes, 16, LIMITS_MAX_INODES,
				err);
	if (r == 0)
		r = check_range("cpu", in->cpu_milli, 10, 1000000, err);
	if (r == 0)
		r = check_range("pids", in->pids, 1, LIMITS_MAX_PIDS, err);
	if (r == 0)
		r = check_range("nofile", in->nofile, 16, LIMITS_MAX_NOFILE,
				err);
	return r;
}

static int check_volume(const struct broker_volume *in, struct err *err)
{
	if (!is_clean(in->source, sizeof(in->source)) || in->source[0] != '/')
		return err_set(err, ERR_INVALID, 0,
			       "volume source: expected an absolute path");
	if (!is_clean(in->target, sizeof(in->target)) || !is_target(in->target))
		return err_set(err, ERR_INVALID, 0,
			       "volume target '%.*s': expected an absolute path"
			       " without '.' or '..', outside the image's own"
			       " directories",
			       100, in->target);
	if ((in->flags & ~(uint32_t)VOLUME_READ_ONLY) || in->reserved)
		return err_set(err, ERR_INVALID, 0, "volume: unknown flags");
	return 0;
}

int plan_check_spec(const struct broker_create *in_spec, struct err *err)
{
	int r;

	if (!is_clean(in_spec->id, sizeof(in_spec->id)) || !is_id(in_spec->id))
		return err_set(err, ERR_INVALID, 0, "sandbox id: not 32 hex");
	if (!is_clean(in_spec->domain, sizeof(in_spec->domain)) ||
	    !is_domain(in_spec->domain))
		return err_set(err, ERR_INVALID, 0, "domain: not a name");
	if (!is_clean(in_spec->image, sizeof(in_spec->image)) ||
	    strcmp(in_spec->image, "host") != 0)
		return err_set(err, ERR_INVALID, 0,
			       "image: the only one here is 'host'");
	if ((in_spec->flags & ~(uint32_t)CREATE_FLAGS_ALL) ||
	    in_spec->life_ms > LIFE_MAX_MS ||
	    in_spec->num_volumes > VOLUMES_MAX)
		return err_set(err, ERR_INVALID, 0, "spec: unknown flags");
	r = plan_check_limits(&in_spec->limits, err);
	for (uint32_t i = 0; r == 0 && i < in_spec->num_volumes; i++)
		r = check_volume(&in_spec->volumes[i], err);
	return r;
}

struct plan_op *plan_add(struct plan *plan, enum plan_kind kind)
{
	struct plan_op *op = &plan->ops[plan->num++];

	assert(plan->num <= PLAN_OPS_MAX);
	memset(op, 0, sizeof(*op));
	op->kind = kind;
	return op;
}

static void add_value(struct plan *plan, enum plan_kind kind, uint64_t value)
{
	plan_add(plan, kind)->value = value;
}

static uint64_t shown_cpus(const struct limits *limits,
			   const struct plan_host *host)
{
	uint64_t cpus = (limits->cpu_milli + 999) / 1000;

	if (cpus > host->num_cpus)
		cpus = host->num_cpus;
	return cpus < TRUTH_CPUS_MAX ? cpus : TRUTH_CPUS_MAX;
}

static void add_mounts(struct plan *plan, const struct broker_create *spec,
		       const struct plan_host *host)
{
	const struct limits *limits = &spec->limits;
	const uint64_t cpus = shown_cpus(limits, host);
	struct plan_op *op;

	op = plan_add(plan, PLAN_LAYER);
	op->value = limits->disk_bytes;
	/* In memory it must leave the programs their share. */
	op->on_disk = limits->disk_bytes > limits->memory_bytes / 2;
	op->inodes = limits->inodes;
	plan_add(plan, PLAN_ROOT);
	plan_add(plan, PLAN_DEV);
	add_value(plan, PLAN_SYS, cpus);
	add_value(plan, PLAN_SHM, limits->shm_bytes);
	for (unsigned int i = 0; i < host->num_binds; i++)
		add_value(plan, PLAN_BIND, i);
	for (uint32_t i = 0; i < spec->num_volumes; i++) {
		op = plan_add(plan, PLAN_VOLUME);
		op->source = spec->volumes[i].source;
		op->target = spec->volumes[i].target;
		op->read_only = spec->volumes[i].flags & VOLUME_READ_ONLY;
	}
}

void plan_make(const struct broker_create *spec, const struct plan_host *host,
	       struct plan *ret_plan)
{
	struct plan *plan = ret_plan;

	plan->num = 0;
	plan_cgroups_first(plan, host->unified);
	plan_add(plan, PLAN_LAUNCH);
	plan_add(plan, PLAN_LISTEN);
	plan_cgroups_limit(plan, host->unified, &spec->limits);
	add_mounts(plan, spec, host);
	plan_add(plan, PLAN_LAUNCHED);
	plan_add(plan, PLAN_SETUP);
	plan_add(plan, PLAN_READY);
}
