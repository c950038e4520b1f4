/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * confine - the one way through the walls
 *
 * In stages, since everything in a sandbox descends from its init:
 *
 *   confine_forbid_userns()  once, in init, while /proc/sys is writable
 *   confine_bound()  once, in init: what no later process can gain
 *   confine_init()  once, in init, after its mounts: capabilities,
 *                   no_new_privs, the system call filter. Every later process
 *                   inherits them.
 *   confine_exec()  in each program's own process, before its first byte of
 *                   user code: Landlock, resource limits, ids.
 *
 * Nothing here allocates; both run in static binaries. See capabilities(7),
 * seccomp(2), landlock(7), user_namespaces(7).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Those that not every sandbox has. */
enum confine_wall {
	CONFINE_NO_SET_ID = 1 << 0, /* no set-user-ID or set-group-ID bit may be
				       set, nor a file capability */
	CONFINE_FEWER_CALLS = 1 << 1, /* none of strict.syscalls */
};

enum confine_ruleset {
	CONFINE_ROOT, /* may write wherever file modes allow */
	CONFINE_USER, /* may write in the usual places only */
	CONFINE_NUM_RULESETS
};

struct confine {
	int ruleset_fd; /* from confine_ruleset_open(), or -1: no Landlock */
	uint32_t uid, gid;
	uint32_t nofile;
};

/**
 * confine_forbid_userns() - no user namespace below the caller's, ever
 *
 * Needs CAP_SYS_RESOURCE in it, and its /proc. Return: 0 or -errno.
 */
int confine_forbid_userns(void);

/** confine_bound() - the capabilities that may exist in the sandbox at all */
int confine_bound(void);

/**
 * confine_init() - the walls that everything in the sandbox shares
 *
 * Needs the full capabilities of a fresh user namespace; leaves just the ones
 * listed in confine.c.
 * @walls: enum confine_wall
 * @ret_listener_fd: where the calls come that the caller has to answer; -1
 *     when the kernel answers them
 *
 * Return: 0 or -errno.
 */
int confine_init(unsigned int walls, int *ret_listener_fd);

/**
 * confine_writable() - nothing runs from where programs can write
 *
 * The usual places become mounts of their own, noexec. Before volumes are put
 * into them, which would be covered. Return: 0 or -errno.
 */
int confine_writable(void);

/** confine_root_read_only() - but for those; after volumes have their places */
int confine_root_read_only(void);

/*
 * The fourth argument of a sysinfo(2) or sched_getaffinity(2) that the kernel
 * is to answer: nothing comes of it, and nothing there is a secret.
 */
#define CONFINE_ASK_KERNEL 0x6f736221u

/**
 * confine_ruleset_open() - a Landlock ruleset for this mount namespace
 * @writable: further directories (volumes) that even CONFINE_USER may change
 *
 * Return: 0 with *@ret_fd -1 where the kernel has no Landlock, or -errno.
 */
int confine_ruleset_open(enum confine_ruleset which,
			 const char *const *writable, size_t num_writable,
			 int *ret_fd);

/**
 * confine_exec() - the walls of one program
 *
 * Safe in a child that shares its parent's memory. Return: 0 or -errno.
 */
int confine_exec(const struct confine *confine);

/**
 * confine_daemon() - for a process of ours that needs no privilege at all:
 * becomes uid:gid for good, drops every capability, sets no_new_privs and
 * leaves nothing to a debugger of the same user
 *
 * Return: 0 or -errno.
 */
int confine_daemon(uint32_t uid, uint32_t gid);

/**
 * confine_files() - open no file from now on but those below a directory
 *
 * And /dev/urandom, which libraries want. For the calling thread and those it
 * starts; needs no_new_privs. Where the kernel has no Landlock, file modes
 * must do. Does nothing under a sanitizer, as seccomp_load().
 *
 * Return: 0 or -errno.
 */
int confine_files(int dir_fd);

/**
 * confine_empty_root() - an empty read-only root with a fresh /proc and one
 * more directory, in the caller's own mount namespace; the old root is gone
 *
 * Return: 0 or -errno.
 */
int confine_empty_root(const char *extra_dir);

/**
 * confine_netns() - make the caller's fresh network namespace a sandbox's
 * @proc_fd: its /proc
 *
 * lo up, IPv6 prohibited by rule but for ::1, every port free to bind. Make
 * sure first that it isn't the host's. Return: 0 or -errno.
 */
int confine_netns(int proc_fd);

/**
 * confine_proc() - cover the parts of /proc that are the host's business
 * @empty_dir: what to cover directories with; /dev/null covers files, and
 *     CONFINE_CPUINFO the one that tells of processors
 *
 * Return: 0 or -errno.
 */
int confine_proc(const char *empty_dir);

/* In a /sys that the backend makes per number of processors. */
#define CONFINE_CPUINFO "/sys/devices/system/cpu/cpuinfo"

/* The stages, for those who need just one; see the files named. */
int caps_keep(uint64_t keep);                                    /* caps.c */
int caps_bound(uint64_t keep);                                   /* caps.c */
int seccomp_load_exec(unsigned int walls, int *ret_listener_fd); /* seccomp.c */

/**
 * seccomp_load() - a process's own filter, generated from its #syscalls notes
 *
 * Everything else is EPERM from now on, here and in all children; a number
 * above the highest that is allowed is ENOSYS. Needs no_new_privs.
 * Does nothing under a sanitizer. Return: 0 or -errno.
 */
struct sock_filter;
int seccomp_load(struct sock_filter *filter, size_t len);

/** seccomp_load_all_threads() - the same for those that run already, or none */
int seccomp_load_all_threads(struct sock_filter *filter, size_t len);

#define CAPS_BIT(cap) (1ull << (cap))
