/* SPDX-License-Identifier: Apache-2.0 */

/*
 * plan_cgroup - a sandbox's control groups, on both kinds of hosts
 *
 * Hybrid: the limits are in v1 hierarchies, of one directory each; the v2 one
 * is empty of controllers, and has what v1 lacks: kill, and an exec's
 * processes in one place.
 *
 *	memory: <sandbox>               payload; init stays in the launcher's
 *	pids:   <sandbox>/e<exec>
 *	cpu:    <sandbox>               init
 *	        <sandbox>/r0, r1        payload
 *	v2:     <sandbox>/e<exec>       init is in <sandbox>
 *
 * Unified: all in one, where a group with limits below it holds no process.
 *
 *	v2:     <sandbox>/i             init
 *	        <sandbox>/p/e<exec>     payload
 *
 * On both, the memory limit is the payload's and init isn't in its group, so
 * that it survives a full one. Memory groups are what an idle sandbox costs
 * most: each has a map over all file systems of the host, and its removal walks
 * them. So no more than needed: v2 wants a group around the two. An exec's own
 * pids limit is a little lower than the sandbox's, which leaves room for
 * another.
 *
 * Of processor time init gets as much as all others together, and an
 * exec as much as one that has a thousand processes. On v2 each has a group of
 * its own for that. A v1 group of cpu is unaccounted memory, some 20 kB of it,
 * and nothing can limit how many a delegated directory holds: so init can make
 * none, and puts its execs into two that we make, where fewer processes are.
 *
 * Everything is made and limited before a process is in it: to move one, or
 * to enable a controller around one, waits for an RCU grace period. Init
 * moves itself between v1 groups, through `tasks`, which doesn't.
 *
 * See cgroups(7), Documentation/admin-guide/cgroup-v2.rst.
 */

#include "backend/plan.h"
#include "wire/init_msg.h"

/* For init itself and the kernel's own data about the sandbox. */
#define INIT_MEMORY_BYTES (16ull << 20)
#define CPU_PERIOD_US 100000u
/* On v1 beside the memory limit, on v2 within: an eighth of it more. */
#define SOCKET_MEMORY_SHARE 8

static struct plan_op *add(struct plan *plan, enum plan_kind kind,
			   enum plan_hierarchy hierarchy, const char *dir)
{
	struct plan_op *op = plan_add(plan, kind);

	op->hierarchy = hierarchy;
	op->dir = dir;
	return op;
}

static struct plan_op *add_limit(struct plan *plan,
				 enum plan_hierarchy hierarchy, const char *dir,
				 const char *file, uint64_t value)
{
	struct plan_op *op = add(plan, PLAN_CGROUP_LIMIT, hierarchy, dir);

	op->file = file;
	op->value = value;
	return op;
}

static struct plan_op *add_open(struct plan *plan,
				enum plan_hierarchy hierarchy, const char *dir,
				const char *file, enum setup_fd fd)
{
	struct plan_op *op = add(plan, PLAN_CGROUP_OPEN, hierarchy, dir);

	op->file = file;
	op->fd = fd;
	op->writable = fd < SETUP_FD_MEMORY_EVENTS;
	return op;
}

/* On v2 no more than it needs: groups are memory that nobody is charged for. */
static void add_delegate(struct plan *plan, enum plan_hierarchy hierarchy,
			 const char *dir, enum setup_fd fd)
{
	if (hierarchy == PLAN_V2)
		add_limit(plan, hierarchy, dir, "cgroup.max.descendants",
			  INIT_EXECS_MAX);
	add(plan, PLAN_CGROUP_DELEGATE, hierarchy, dir)->fd = fd;
}

static uint64_t at_least(uint64_t value, uint64_t least)
{
	return value < least ? least : value;
}

static uint64_t quota_of(const struct limits *limits)
{
	return (uint64_t)limits->cpu_milli * CPU_PERIOD_US / 1000;
}

static void limit_hybrid(struct plan *plan, const struct limits *limits)
{
	uint64_t shares =
		at_least((uint64_t)limits->cpu_milli * 1024 / 1000, 2);

	add(plan, PLAN_CGROUP_MAKE, PLAN_MEMORY, "");
	add(plan, PLAN_CGROUP_MAKE, PLAN_PIDS, "");
	add(plan, PLAN_CGROUP_MAKE, PLAN_CPU, "");
	add(plan, PLAN_CGROUP_MAKE, PLAN_CPU, "r0");
	add(plan, PLAN_CGROUP_MAKE, PLAN_CPU, "r1");
	add_limit(plan, PLAN_MEMORY, "", "memory.limit_in_bytes",
		  limits->memory_bytes);
	/* Memory and swap together: no swap. */
	add_limit(plan, PLAN_MEMORY, "", "memory.memsw.limit_in_bytes",
		  limits->memory_bytes)
		->optional = true;
	/*
	 * What TCP and UDP keep for their sockets v1 counts apart, if told to:
	 * else a sandbox could take all that the host has for its own.
	 */
	add_limit(plan, PLAN_MEMORY, "", "memory.kmem.tcp.limit_in_bytes",
		  limits->memory_bytes / SOCKET_MEMORY_SHARE)
		->optional = true;
	add_limit(plan, PLAN_PIDS, "", "pids.max", limits->pids + 1 /* init */);
	add_limit(plan, PLAN_CPU, "", "cpu.cfs_quota_us", quota_of(limits));
	add_limit(plan, PLAN_CPU, "", "cpu.shares", shares);
	add_open(plan, PLAN_PIDS, "", "tasks", SETUP_FD_JOIN_PIDS);
	add_open(plan, PLAN_CPU, "", "tasks", SETUP_FD_JOIN_CPU);
	add_open(plan, PLAN_CPU, "r0", "tasks", SETUP_FD_ROOM_0);
	add_open(plan, PLAN_CPU, "r1", "tasks", SETUP_FD_ROOM_1);
	add_delegate(plan, PLAN_V2, "", SETUP_FD_CGROUP);
	add_delegate(plan, PLAN_PIDS, "", SETUP_FD_PIDS);
	add_open(plan, PLAN_MEMORY, "", "tasks", SETUP_FD_MEMORY_TASKS);
	add_open(plan, PLAN_MEMORY, "", "memory.max_usage_in_bytes",
		 SETUP_FD_MEMORY_PEAK);
	add_open(plan, PLAN_MEMORY, "", "memory.oom_control",
		 SETUP_FD_MEMORY_EVENTS);
	add_open(plan, PLAN_MEMORY, "", "memory.limit_in_bytes",
		 SETUP_FD_MEMORY_MAX);
	add_open(plan, PLAN_MEMORY, "", "memory.stat", SETUP_FD_MEMORY_STAT);
}

static void limit_unified(struct plan *plan, const struct limits *limits)
{
	/* A whole processor has the default weight, 100. */
	uint64_t weight = at_least(limits->cpu_milli / 10, 1);

	add(plan, PLAN_CGROUP_MAKE, PLAN_V2, "p");
	add(plan, PLAN_CGROUP_ENABLE, PLAN_V2, "p")->text = "+pids +cpu";
	add_limit(plan, PLAN_V2, "", "memory.max",
		  limits->memory_bytes + INIT_MEMORY_BYTES);
	add_limit(plan, PLAN_V2, "", "memory.swap.max", 0)->optional = true;
	add_limit(plan, PLAN_V2, "p", "memory.max", limits->memory_bytes);
	add_limit(plan, PLAN_V2, "", "pids.max", limits->pids + 1 /* init */);
	add_limit(plan, PLAN_V2, "", "cpu.max", quota_of(limits));
	add_limit(plan, PLAN_V2, "", "cpu.weight",
		  weight > 10000 ? 10000 : weight);
	add_delegate(plan, PLAN_V2, "p", SETUP_FD_CGROUP);
	add_open(plan, PLAN_V2, "p", "memory.peak", SETUP_FD_MEMORY_PEAK)
		->optional = true; /* Linux 5.19 */
	add_open(plan, PLAN_V2, "p", "memory.events", SETUP_FD_MEMORY_EVENTS);
	add_open(plan, PLAN_V2, "p", "memory.max", SETUP_FD_MEMORY_MAX);
	add_open(plan, PLAN_V2, "p", "memory.stat", SETUP_FD_MEMORY_STAT);
}

void plan_cgroups_first(struct plan *plan, bool unified)
{
	add(plan, PLAN_CGROUP_MAKE, PLAN_V2, "");
	if (unified) {
		add(plan, PLAN_CGROUP_ENABLE, PLAN_V2, "")->text =
			"+memory +pids +cpu";
		add(plan, PLAN_CGROUP_MAKE, PLAN_V2, "i");
	}
	add(plan, PLAN_CGROUP_CLONE, PLAN_V2, unified ? "i" : "");
}

void plan_cgroups_limit(struct plan *plan, bool unified,
			const struct limits *limits)
{
	if (unified)
		limit_unified(plan, limits);
	else
		limit_hybrid(plan, limits);
}
