/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * native - sandboxes straight from the kernel
 *
 *   native.c  open and close, the table of sandboxes, destroy and reap
 *   run.c     carries out a plan, step by step
 *   domain.c  id blocks, their launchers and slots
 *   lease.c   which broker an id block belongs to
 *   adopt.c   sandboxes that have outlived their broker
 *   idmap.c   user namespaces that exist only to map ids
 *   image.c   the `host` image and the /dev and /sys templates
 *   layer.c   writable layers, and the roots above them
 *   disk.c    layers on disk: our side of osb-disk, which makes them
 *   child.c   whether a process is the one that a launcher was to make
 *   volume.c  opening the host paths that volume_policy.c allows inside
 *   cgroup.c  finding, making and removing control groups
 *
 * One thread; calls don't overlap. native_open() may allocate; nothing does
 * later. Every mount of ours lives in a mount namespace of the broker's own,
 * below <run>/m, so that the host's is never touched and nothing stays behind.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "backend/native/cgroup.h"
#include "backend/plan.h"
#include "base/err.h"
#include "wire/broker_msg.h"
#include "wire/setup_msg.h"

#define NATIVE_BLOCKS_MAX 64  /* id blocks on the host, all brokers */
#define NATIVE_DOMAINS_MAX 16 /* of one broker */
#define NATIVE_SANDBOXES_MAX 4096
#define NATIVE_RUNTIMES_MAX 8
#define NATIVE_ROOTS_MAX 16
#define LAYER_DIR_DEFAULT "/var/lib/opensandbox/layers"
#define IMAGE_BINDS_MAX 16
#define NATIVE_LOOKS 100 /* one each 10 ms */
#define LEASE_DIR "/run/opensandbox/ids"

#define USER_ID 1000u          /* `sandbox`, inside */
#define IDMAP_SHIFT UINT32_MAX /* idmap_open(): no owner */

struct native_config {
	char run_dir[PATH_MAX];
	char init_path[PATH_MAX];  /* osb-init */
	char files_path[PATH_MAX]; /* osb-files */
	char disk_path[PATH_MAX];  /* osb-disk */
	char cgroup_parent[64];    /* name below each hierarchy's root */
	uint32_t id_base;          /* first host id of block 0 */
	uint32_t num_blocks;
	uid_t osbd_uid;
	gid_t osbd_gid;
	unsigned int num_runtimes;
	char runtimes[NATIVE_RUNTIMES_MAX][PATH_MAX]; /* shown read-only */
	unsigned int num_roots;
	char roots[NATIVE_ROOTS_MAX][PATH_MAX]; /* volumes must lie below */
	char layer_dir[PATH_MAX];               /* files of layers on disk */
	bool private; /* volumes: anything but the deny-list */
};

/*
 * DOMAIN_FREE      nothing valid.
 * DOMAIN_ALIVE     the launcher answers; sandboxes can be made.
 * DOMAIN_ORPHANED  the launcher is gone; its sandboxes live on. The next
 *                  create starts another, or with the last sandbox the block
 *                  is given back.
 */
enum domain_state {
	DOMAIN_FREE,
	DOMAIN_ALIVE,
	DOMAIN_ORPHANED
};

struct domain {
	enum domain_state state;
	const struct native *native; /* that it is of */
	char name[DOMAIN_NAME_MAX + 1];
	uint32_t base;  /* host id of the block's first */
	uint32_t block; /* its number on this host: base / DOMAIN_IDS */
	int lease_fd;   /* locked while the block is ours */
	pid_t launcher_pid;
	int launcher_pidfd;
	int sock_fd;
	struct cgroup_block cgroup;
	unsigned int num_used;
	bool used[DOMAIN_SLOTS];
	bool mapped[DOMAIN_SLOTS]; /* its image mounts exist */
	bool kept[DOMAIN_SLOTS];   /* its v1 groups do, used or not */
};

/*
 * SANDBOX_FREE     nothing valid.
 * SANDBOX_RUNNING  pid and pidfd are valid.
 * SANDBOX_DYING    killed, not yet reaped.
 * SANDBOX_DEAD     reaped; its cgroups still refuse to go.
 */
enum sandbox_state {
	SANDBOX_FREE,
	SANDBOX_RUNNING,
	SANDBOX_DYING,
	SANDBOX_DEAD,
};

/* Our side of osb-disk; pid 0: it doesn't run. */
struct disk {
	pid_t pid;
	int sock_fd;
};

struct sandbox {
	enum sandbox_state state;
	char id[SANDBOX_ID_LEN + 1];
	uint8_t domain;
	uint8_t slot;
	pid_t pid;
	int pidfd;
	uint32_t layer; /* osb-disk's number; 0: none, or closed */
	bool layer_closing;
	bool on_disk; /* its layer; also when osb-disk knows it no more */
};

struct image_bind {
	char source[PATH_MAX]; /* on the host */
	char target[PATH_MAX]; /* inside */
};

struct native {
	struct native_config config;
	int epoll_fd;     /* pidfds; readable means native_reap() */
	int sandboxes_fd; /* <run>/s */
	int mounts_fd;    /* <run>/m in our own mount namespace */
	int layer_fd;     /* attached, of the last create; see layer.c */
	int init_exec_fd;
	int files_fd; /* sealed copy of osb-files */
	unsigned int num_cpus;
	unsigned int num_binds;
	struct image_bind binds[IMAGE_BINDS_MAX];
	bool sys_made[TRUTH_CPUS_MAX + 1]; /* template for so many processors */
	struct cgroup_host cgroup;
	struct disk disk;
	struct domain domains[NATIVE_DOMAINS_MAX];
	pid_t front_pid;        /* osbd: a child that is none of a launcher's */
	unsigned int num_looks; /* left for children that nobody told us of */
	unsigned int num_later;
	int later[SETUP_NUM_FDS + SETUP_BINDS_MAX + 3]; /* to be closed */
	unsigned int num_live;                          /* sandboxes not FREE */
	unsigned int high; /* all beyond are FREE */
	struct sandbox sandboxes[NATIVE_SANDBOXES_MAX];
};

/** Called for each sandbox that has completely gone, or by native_each(). */
typedef void (*native_gone_fn)(void *arg, const char *id);

/**
 * native_open() - prepare the host side; needs root
 *
 * Return: 0, or -errno with one line that says what is missing.
 */
int native_open(struct native *native, const struct native_config *config,
		struct err *err);

/** native_each() - every sandbox that runs, those of an earlier broker too */
void native_each(const struct native *native, native_gone_fn fn, void *arg);

/** native_close() - kill, reap and remove everything; blocks for at most 4 s */
void native_close(struct native *native);

/** native_create() - make a sandbox; ready when it returns 0 */
int native_create(struct native *native, const struct broker_create *spec,
		  struct err *err);

/** native_claim() - other limits of memory and cpu, while nothing runs in it */
int native_claim(struct native *native, const struct broker_claim *in_claim,
		 struct err *err);

/** native_destroy() - kill it; native_reap() reports when it has gone */
int native_destroy(struct native *native, const char *id, struct err *err);

/** native_reap() - collect the dead; call when epoll_fd is readable */
void native_reap(struct native *native, native_gone_fn gone, void *arg);

/**
 * native_idle() - do a little of what can be made ahead
 *
 * Return: true when there is more to do.
 */
bool native_idle(struct native *native);

/** native_close_later() - close what native_create() didn't take time for */
void native_close_later(struct native *native);

/* --- between the files of this folder --- */
int run_plan(struct native *native, const struct plan *plan,
	     const struct broker_create *spec, struct sandbox *sandbox,
	     struct err *err);
int run_limits(struct native *native, const struct limits *limits,
	       struct sandbox *sandbox, struct err *err);
int child_open(const struct native *native, pid_t in_pid, int cgroup_fd,
	       int *ret_pidfd);
void child_reap_others(struct native *native);
int sandbox_remove_dirs(struct native *native, const struct sandbox *sandbox);

struct sandbox *native_alloc(struct native *native);
int native_watch(struct native *native, struct sandbox *sandbox,
		 struct err *err);
int adopt_note(const struct native *native, const struct sandbox *sandbox,
	       int cgroup_fd);
void adopt_all(struct native *native);
/* A block that is free, or whose holder is dead for good... */
int lease_take(const struct native *native, struct domain *domain,
	       struct err *err);
/* ...one that a broker of our run directory held; -ENOENT: another's. */
int lease_take_back(const struct native *native, struct domain *domain,
		    uint32_t base);
int lease_take_over(const struct native *native, const struct domain *domain,
		    struct err *err);

struct domain *domain_adopt(struct native *native, uint32_t base);
int domain_get(struct native *native, const char *name,
	       struct domain **ret_domain, struct err *err);
int domain_slot_take(struct native *native, struct domain *domain,
		     uint8_t *ret_slot, struct err *err);
void domain_slot_release(struct native *native, struct domain *domain,
			 uint8_t slot);
bool domain_prepare_slot(struct native *native);
bool domain_trim(struct native *native);
void domain_launcher_gone(struct native *native, struct domain *domain);
void domain_close(struct native *native, struct domain *domain);
int domain_wait(int fd, int timeout_ms);

int idmap_open(uint32_t base, uint32_t owner, int *ret_userns_fd,
	       struct err *err);

int image_open(struct native *native, struct err *err);
int image_map_slot(struct native *native, const struct domain *domain,
		   uint8_t slot, struct err *err);
void image_slot_path(const struct domain *domain, uint8_t slot,
		     unsigned int mount, char *buf, size_t size);
int image_sys_open(struct native *native, unsigned int cpus, int *ret_mnt_fd,
		   struct err *err);

int layer_open(struct native *native);
int layer_in_memory(const struct native *native, uint64_t bytes,
		    uint32_t inodes, int *ret_mnt_fd);
int layer_mount_root(struct native *native, int *layer_fd, uint32_t base,
		     const char *image, int *ret_mnt_fd);

/**
 * layer_make_truth() - the files that init shows in /proc, on the layer that
 * was mounted last
 * @ret_mnt_fd: a mount of their directory
 *
 * Return: 0 or -errno.
 */
int layer_make_truth(const struct native *native, uint32_t base,
		     int *ret_mnt_fd);
void layer_detach(struct native *native);

int disk_take(struct native *native, uint64_t bytes, uint32_t inodes,
	      uint32_t *ret_layer, int *ret_mnt_fd, struct err *err);
void disk_close(struct native *native, struct sandbox *sandbox);
void disk_sweep(struct native *native);
void disk_answered(struct native *native);
void disk_stop(struct native *native);
bool volume_policy_check(const struct native_config *config, int fd,
			 const char *path, bool read_only);
int volume_open(struct native *native, const struct plan_op *op, uint32_t base,
		int *ret_mnt_fd, struct err *err);
