/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * cgroup - the control groups of the host, and of one id block
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "backend/plan.h"

struct err;

/* Directories of one block; -1 in a hierarchy that this host lacks. */
struct cgroup_block {
	int fd[PLAN_NUM_HIERARCHIES];
};

#define CGROUP_BLOCK_NULL                \
	{                                \
		.fd = { -1, -1, -1, -1 } \
	}
_Static_assert(PLAN_NUM_HIERARCHIES == 4, "CGROUP_BLOCK_NULL has all");

struct cgroup_host {
	bool unified;                 /* v2 has all controllers */
	int fd[PLAN_NUM_HIERARCHIES]; /* the parent of all blocks, or -1 */
};

int cgroup_open(struct cgroup_host *host, const char *parent, struct err *err);
int cgroup_block_open(const struct cgroup_host *host, uint32_t block,
		      uid_t block_base, struct cgroup_block *ret_block,
		      struct err *err);
int cgroup_block_make(const struct cgroup_host *host, uint32_t block,
		      uid_t block_base, struct cgroup_block *ret_block);
bool cgroup_block_populated(const struct cgroup_host *host, const char *parent,
			    uint32_t block);
void cgroup_slot_clean(const struct cgroup_block *cgroup, unsigned int slot);
/* The launcher: first into the block, to make it its namespace's root... */
int cgroup_block_enter(const struct cgroup_block *cgroup, pid_t pid);
/* ...then into its own place, so that the block can have limits below it. */
int cgroup_block_settle(const struct cgroup_host *host,
			const struct cgroup_block *cgroup, pid_t pid);
/* What another broker, which is dead, has left of it. */
int cgroup_block_clean(const struct cgroup_host *host, const char *parent,
		       uint32_t block);
void cgroup_block_close(const struct cgroup_host *host, uint32_t block,
			struct cgroup_block *cgroup);
int cgroup_remove(int parent_fd, const char *name);
/* The v1 memory group of an ended sandbox: may the next one have it? */
bool cgroup_can_stay(const struct cgroup_block *cgroup, const char *name);
/* ...which can't have limits that don't fit the next one's. */
int cgroup_unlimit(const struct cgroup_block *cgroup, const char *name);

/* Where a hierarchy is mounted; @controller NULL: v2. */
int cgroup_find_mount(FILE *mountinfo, const char *controller, char *buf,
		      size_t size);

/* Does cgroup.controllers name all that we need? */
bool cgroup_has_all(const char *list);
