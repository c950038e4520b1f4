/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * plan - a spec spelled out: every step that makes one sandbox, in order
 *
 * osbd sends a spec, which can ask for more or less of a thing but can't
 * leave a wall out. plan_make() checks it and writes down each step; the
 * runner in native/ carries the steps out. A plan is data: it can be printed,
 * compared and tested without any privilege.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/broker_msg.h"

enum plan_kind {
	PLAN_CGROUP_CLONE,    /* v2 directory that init is cloned into */
	PLAN_LAUNCH,          /* order the clone; goes on beside what follows */
	PLAN_LISTEN,          /* the socket where osbd finds init */
	PLAN_CGROUP_MAKE,     /* a directory: sandbox, or its payload */
	PLAN_CGROUP_LIMIT,    /* file = value */
	PLAN_CGROUP_DELEGATE, /* init may make execs' directories in it */
	PLAN_LAYER,           /* writable layer of value bytes */
	PLAN_ROOT,            /* image below, layer above */
	PLAN_DEV,
	PLAN_SYS,         /* value: processors shown */
	PLAN_SHM,         /* value: bytes */
	PLAN_BIND,        /* the image's bind number value */
	PLAN_VOLUME,      /* host path source at target */
	PLAN_LAUNCHED,    /* wait for the clone; from here there is a pid */
	PLAN_CGROUP_JOIN, /* init moves in */
	PLAN_SETUP,       /* hand init its mounts and descriptors */
	PLAN_READY,       /* wait until init has closed the walls */
	PLAN_NUM_KINDS
};

enum plan_controller {
	PLAN_MEMORY,
	PLAN_PIDS,
	PLAN_CPU,
	PLAN_NUM_CONTROLLERS
};

struct plan_op {
	enum plan_kind kind;
	enum plan_controller controller; /* CGROUP_* */
	bool payload;    /* CGROUP_*: the payload's directory, not the whole */
	bool optional;   /* CGROUP_LIMIT: this kernel may lack the file */
	bool on_disk;    /* LAYER: not in memory */
	uint32_t inodes; /* LAYER */
	uint64_t value;
	const char *file;   /* CGROUP_LIMIT */
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
};

/** plan_check_spec() - is every field in its range? Names field and range. */
int plan_check_spec(const struct broker_create *in_spec, struct err *err);

/**
 * plan_make() - all steps for a spec that plan_check_spec() passed
 * @spec: must outlive @ret_plan
 */
void plan_make(const struct broker_create *spec, const struct plan_host *host,
	       struct plan *ret_plan);

/** plan_op_format() - one line for a person; always terminated */
void plan_op_format(const struct plan_op *op, char *buf, unsigned int size);
