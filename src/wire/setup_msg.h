/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * setup_msg - the broker's words to a domain's launcher and to a new init
 *
 * The launcher (osb-init --launcher) is root in its domain's user namespace
 * and clones sandboxes; each clone becomes a sandbox's init and reads one
 * struct setup from a socket of its own. Both trust the broker; the broker
 * trusts neither with more than a pid and an errno.
 */

#include <stddef.h>
#include <stdint.h>

#include "wire/broker_msg.h"

/* What the launcher starts with, by number. */
enum launcher_fd {
	LAUNCHER_FD_BROKER = 3, /* SEQPACKET pair */
	LAUNCHER_FD_FILES = 4,  /* sealed memfd with the osb-files program */
	LAUNCHER_FD_VIEW = 5, /* pidfd whose cgroup namespace to use; or none */
};

/* Ids of one domain, as seen from inside its user namespace. */
#define SLOT_IDS 65536u
#define DOMAIN_SLOTS 256u /* slot 0 is the launcher's own */
#define DOMAIN_IDS (SLOT_IDS * DOMAIN_SLOTS)

enum launcher_op {
	LAUNCHER_UNSHARED = 1, /* launcher: in its user namespace, map me */
	LAUNCHER_MAPPED = 2,   /* broker: maps are written */
	LAUNCHER_READY = 3,    /* launcher: waiting for orders */
	LAUNCHER_CLONE = 4,  /* broker: + 2 fds: init's socket, its v2 cgroup */
	LAUNCHER_CLONED = 5, /* launcher: pid, or sys */
	LAUNCHER_RELEASE = 6, /* broker: nobody lives in this slot any more */
};

struct launcher_msg {
	uint32_t op;
	uint32_t slot; /* CLONE, RELEASE */
	int32_t pid;   /* CLONED: in the broker's pid namespace, or 0 */
	int32_t sys;   /* errno, or 0; then `where` says what failed */
	char where[48];
};

/*
 * The fds that come with struct setup, in this order; binds follow. On a host
 * with unified cgroups there are no SETUP_FD_PIDS, _JOIN_*, _ROOM_* and
 * _MEMORY_TASKS: init is cloned into its place, and one directory is for all of
 * an exec.
 */
enum setup_fd {
	SETUP_FD_ROOT,
	SETUP_FD_DEV,
	SETUP_FD_SYS,
	SETUP_FD_SHM,
	SETUP_FD_CGROUP,    /* v2 directory that execs' are made in */
	SETUP_FD_PIDS,      /* pids directory that execs' are made in */
	SETUP_FD_JOIN_PIDS, /* v1 `tasks` files: init moves itself in by */
	SETUP_FD_JOIN_CPU,  /* writing 0; see init/exec.c for why */
	SETUP_FD_ROOM_0,    /* `tasks` of the payload's cpu cgroups */
	SETUP_FD_ROOM_1,
	SETUP_FD_MEMORY_TASKS,  /* `tasks` of the payload's memory cgroup */
	SETUP_FD_MEMORY_PEAK,   /* its high-water mark, writable: resets */
	SETUP_FD_MEMORY_EVENTS, /* has a line "oom_kill N" */
	SETUP_FD_MEMORY_MAX,    /* the limit: a claim may change it */
	SETUP_FD_MEMORY_STAT,   /* has lines "KEY BYTES" */
	SETUP_FD_TRUTH,  /* directory with the files of enum truth_file */
	SETUP_FD_LISTEN, /* where osbd connects */
	SETUP_NUM_FDS
};

#define SETUP_ROOMS 2u

/* What init keeps up to date: shown in place of /proc's of the same name. */
enum truth_file {
	TRUTH_MEMINFO,
	TRUTH_STAT,
	TRUTH_UPTIME,
	TRUTH_LOADAVG,
	TRUTH_NUM_FILES
};
#define TRUTH_FILES                                    \
	{                                              \
		"meminfo", "stat", "uptime", "loadavg" \
	}

#define TRUTH_CPUS_MAX 64u /* nobody is shown more */
/* The longest is `stat`: a line of so much per processor, and one for all. */
#define TRUTH_LINE_BYTES 176u
#define TRUTH_BYTES(cpus) (1024u + (cpus)*TRUTH_LINE_BYTES)

#define SETUP_BINDS_MAX 24
_Static_assert(SETUP_BINDS_MAX >= VOLUMES_MAX + 8,
	       "room for an image's own binds beside the volumes");

struct setup {
	char hostname[64];
	uint32_t pids; /* of the payload; each exec gets a little less */
	uint32_t nofile;
	uint32_t cpus; /* processors shown */
	uint32_t fds;  /* bit i: enum setup_fd i has come */
	uint32_t num_binds;
	uint32_t writable; /* bit i: bind i may be written to */
	uint32_t flags;    /* enum create_flag */
	uint32_t reserved; /* 0 */
	uint64_t life_ms;  /* it ends by itself then; 0: never */
	char bind[SETUP_BINDS_MAX][VOLUME_PATH_MAX + 1]; /* absolute targets */
};

/* Only the binds that are there travel. */
#define SETUP_BYTES(num_binds)          \
	(offsetof(struct setup, bind) + \
	 (size_t)(num_binds) * sizeof(((struct setup *)0)->bind[0]))

/* Init's one answer: the sandbox is ready, or where it failed. */
struct setup_answer {
	int32_t sys;
	char where[48];
};

/**
 * setup_check() - init: is it whole, and does every string end?
 * @len:     bytes that came; @num_fds: descriptors with them
 *
 * Return: 0 or -EPROTO, as for the other two.
 */
int setup_check(const struct setup *in_setup, size_t len, unsigned int num_fds);

/** setup_answer_check() - broker: the same for init's answer */
int setup_answer_check(const struct setup_answer *in_answer, size_t len);

/**
 * launcher_answer_check() - broker: the same for a launcher's @op
 *
 * `sys` is an errno afterwards: negated it is an error, never a success.
 */
int launcher_answer_check(const struct launcher_msg *in_msg, size_t len,
			  enum launcher_op op);
