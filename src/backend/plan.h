/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * plan - a spec spelled out: every step that makes one sandbox, in order
 *
 * osbd sends a spec, which can ask for more or less of a thing but can't
 * leave a wall out. plan_make() checks it and writes down each step; the
 * runner in native/ carries the steps out. A plan is data: it can be compared
 * and tested without any privilege.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/broker_msg.h"
#include "wire/setup_msg.h"

enum plan_kind {
	PLAN_CGROUP_MAKE,     /* a directory */
	PLAN_CGROUP_ENABLE,   /* controllers for what is below it */
	PLAN_CGROUP_CLONE,    /* v2 directory that init is cloned into */
	PLAN_LAUNCH,          /* order the clone; goes on beside what follows */
	PLAN_LISTEN,          /* the socket where osbd finds init */
	PLAN_CGROUP_LIMIT,    /* file = value */
	PLAN_CGROUP_DELEGATE, /* init makes execs' directories in it */
	PLAN_CGROUP_OPEN,     /* a file that init keeps */
	PLAN_LAYER,           /* writable layer of value bytes */
	PLAN_ROOT,            /* image below, layer above */
	PLAN_DEV,
	PLAN_SYS,      /* value: processors shown */
	PLAN_SHM,      /* value: bytes */
	PLAN_BIND,     /* the image's bind number value */
	PLAN_VOLUME,   /* host path source at target */
	PLAN_LAUNCHED, /* wait for the clone; from here there is a pid */
	PLAN_SETUP,    /* hand init its mounts and descriptors */
	PLAN_READY,    /* wait until init has closed the walls */
	PLAN_NUM_KINDS
};

/* Where a control group lies. A host has all of them, or V2 alone. */
enum plan_hierarchy {
	PLAN_V2,
	PLAN_MEMORY,
	PLAN_PIDS,
	PLAN_CPU,
	PLAN_NUM_HIERARCHIES
};

struct plan_op {
	enum plan_kind kind;
	enum plan_hierarchy hierarchy; /* CGROUP_* */
	const char *dir;  /* CGROUP_*: below the sandbox's own, or "" */
	const char *file; /* CGROUP_LIMIT, _OPEN */
	const char *text; /* CGROUP_ENABLE: names with a plus */
	enum setup_fd fd; /* CGROUP_DELEGATE, _OPEN: init's name for it */
	bool writable;    /* CGROUP_OPEN */
	bool optional;    /* CGROUP_LIMIT, _OPEN: this kernel may lack it */
	bool on_disk;     /* LAYER: not in memory */
	uint32_t inodes;  /* LAYER */
	uint64_t value;
	const char *source; /* VOLUME; the two point into the spec */
	const char *target;
	bool read_only; /* VOLUME */
};

#define PLAN_OPS_MAX 64

struct plan {
	unsigned int num;
	struct plan_op ops[PLAN_OPS_MAX];
};

/* What a plan depends on beside the spec. */
struct plan_host {
	unsigned int num_binds; /* of the image */
	unsigned int num_cpus;
	bool unified; /* all controllers are in the v2 hierarchy */
};

/** plan_check_spec() - is every field in its range? Names field and range. */
int plan_check_spec(const struct broker_create *in_spec, struct err *err);

/** plan_check_limits() - the same for limits alone */
int plan_check_limits(const struct limits *in_limits, struct err *err);

/**
 * plan_make() - all steps for a spec that plan_check_spec() passed
 * @spec: must outlive @ret_plan
 */
void plan_make(const struct broker_create *spec, const struct plan_host *host,
	       struct plan *ret_plan);

/**
 * plan_cgroups() - the steps of a sandbox's control groups: plan_cgroup.c
 *
 * In two parts, since init is cloned into one of them while the others are
 * made.
 */
void plan_cgroups_first(struct plan *plan, bool unified);
void plan_cgroups_limit(struct plan *plan, bool unified,
			const struct limits *limits);

/** plan_add() - one more step, all else in it zero */
struct plan_op *plan_add(struct plan *plan, enum plan_kind kind);
