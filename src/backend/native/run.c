/* SPDX-License-Identifier: Apache-2.0 */

/*
 * run - carry out a plan
 *
 * One function per kind of step. Everything a step makes is recorded in
 * struct run, so that a failure at any step undoes the ones before it; after
 * success the sandbox keeps only its pid and pidfd, for all else lives in its
 * init.
 *
 * While the launcher clones, the steps between PLAN_LAUNCH and PLAN_LAUNCHED
 * run here beside it.
 *
 * #syscalls  socket bind listen fchmod fchown fchownat fchmodat mkdirat
 *            openat sched_setaffinity getcpu kill waitid pidfd_open
 *            pidfd_send_signal
 */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/native.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/mnt.h"
#include "wire/fdpass.h"

#define CLONE_TIMEOUT_MS 5000
#define READY_TIMEOUT_MS 10000

#define CGROUP_PATH_MAX 64

struct run {
	struct native *native;
	struct domain *domain;
	struct sandbox *sandbox;
	const struct broker_create *spec;
	uint32_t base;  /* host id of the sandbox's root */
	bool launching; /* the launcher owes us an answer */

	int init_fd;  /* our end of the new init's socket */
	int clone_fd; /* the v2 directory that it is cloned into */
	int fds[SETUP_NUM_FDS + SETUP_BINDS_MAX]; /* by enum setup_fd */
	struct setup *setup;
};

/*
 * Dropping a detached mount waits for an RCU grace period: that, and all other
 * closing, is done when the answer is out.
 */
static void close_later(struct native *native, int *fd)
{
	if (native->num_later == ARRAY_SIZE(native->later))
		native_close_later(native);
	if (*fd >= 0)
		native->later[native->num_later++] = take_fd(fd);
}

/* The directory of a step, or a file in it. */
static const char *cgroup_path(const struct run *run, const struct plan_op *op,
			       const char *file, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%u%s%s%s%s", run->sandbox->slot,
		       *op->dir ? "/" : "", op->dir, *file ? "/" : "", file);
	return buf;
}

static int run_listen(struct run *run, const struct plan_op *op,
		      struct err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int *fd = &run->fds[SETUP_FD_LISTEN];

	(void)op;
	(void)snprintf(addr.sun_path, sizeof(addr.sun_path),
		       "/proc/self/fd/%d/%s.sock", run->native->sandboxes_fd,
		       run->sandbox->id);
	*fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* Before bind, so that it never exists with another mode; its group
	 * comes from the directory: osbd's. */
	if (*fd < 0 || fchmod(*fd, 0660) < 0 ||
	    bind(*fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    listen(*fd, 4) < 0)
		return err_set(err, ERR_INTERNAL, errno,
			       "make the sandbox's socket");
	return 0;
}

static int run_cgroup_make(struct run *run, const struct plan_op *op,
			   struct err *err)
{
	bool *kept = &run->domain->kept[run->sandbox->slot];
	char path[CGROUP_PATH_MAX];

	(void)cgroup_path(run, op, "", path, sizeof(path));
	if (*kept && (op->hierarchy == PLAN_CPU ||
		      (op->hierarchy == PLAN_MEMORY &&
		       cgroup_unlimit(&run->domain->cgroup, path) == 0)))
		return 0;
	if (mkdirat(run->domain->cgroup.fd[op->hierarchy], path, 0755) < 0)
		return err_set(err, ERR_INTERNAL, errno, "make cgroup '%s'",
			       path);
	return 0;
}

static int run_cgroup_enable(struct run *run, const struct plan_op *op,
			     struct err *err)
{
	char path[CGROUP_PATH_MAX];
	int r;

	r = file_write_at(run->domain->cgroup.fd[op->hierarchy],
			  cgroup_path(run, op, "cgroup.subtree_control", path,
				      sizeof(path)),
			  op->text);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "enable %s in '%s'",
			       op->text, path);
	return 0;
}

/*
 * The launcher (block base) clones into this directory. To clone from there
 * into an exec's, init (our base) needs the right to write to the sandbox's
 * own cgroup.procs: that belongs to the one as owner, to the other as group.
 */
static int run_cgroup_clone(struct run *run, const struct plan_op *op,
			    struct err *err)
{
	int v2_fd = run->domain->cgroup.fd[PLAN_V2];
	const uid_t launcher = run->domain->base;
	char path[CGROUP_PATH_MAX], procs[CGROUP_PATH_MAX];

	(void)snprintf(procs, sizeof(procs), "%u/cgroup.procs",
		       run->sandbox->slot);
	run->clone_fd =
		openat(v2_fd, cgroup_path(run, op, "", path, sizeof(path)),
		       O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (run->clone_fd < 0 ||
	    fchownat(run->clone_fd, "cgroup.procs", launcher, run->base, 0) <
		    0 ||
	    fchownat(v2_fd, procs, launcher, run->base, 0) < 0 ||
	    fchmodat(v2_fd, procs, 0664, 0) < 0)
		return err_set(err, ERR_INTERNAL, errno,
			       "delegate a v2 cgroup");
	return 0;
}

/*
 * The launcher works beside us only if it wakes up elsewhere: the kernel takes
 * a message for a sign that its sender is about to sleep, and would queue the
 * receiver behind us on this processor. It drops the choice when awake.
 */
static void wake_elsewhere(const struct run *run)
{
	int here = sched_getcpu();
	cpu_set_t others;

	if (here < 0 || run->native->num_cpus < 2)
		return;
	memset(&others, 0xff, sizeof(others));
	CPU_CLR((size_t)here, &others);
	(void)sched_setaffinity(run->domain->launcher_pid, sizeof(others),
				&others);
}

static int run_launch(struct run *run, const struct plan_op *op,
		      struct err *err)
{
	struct launcher_msg msg = {
		.op = LAUNCHER_CLONE,
		.slot = run->sandbox->slot,
	};
	int sock[2];
	int fds[2];
	int r;

	(void)op;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return err_set(err, ERR_INTERNAL, errno, "socketpair");
	fdpass_refuse(sock[0]);
	run->init_fd = sock[0];
	fds[0] = sock[1];
	fds[1] = run->clone_fd;
	wake_elsewhere(run);
	r = fdpass_send(run->domain->sock_fd, &msg, sizeof(msg), fds, 2);
	close_fd(&sock[1]);
	if (r < 0)
		return err_set(err, ERR_UNAVAILABLE, -r, "ask the launcher");
	run->launching = true;
	return 0;
}

static int run_cgroup_limit(struct run *run, const struct plan_op *op,
			    struct err *err)
{
	char path[CGROUP_PATH_MAX];
	int r;

	r = file_write_u64_at(run->domain->cgroup.fd[op->hierarchy],
			      cgroup_path(run, op, op->file, path,
					  sizeof(path)),
			      op->value);
	if (r == -ENOENT && op->optional)
		return 0;
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "set %s to %llu",
			       op->file, (unsigned long long)op->value);
	return 0;
}

/* Init makes each exec's directory in it. */
static int run_cgroup_delegate(struct run *run, const struct plan_op *op,
			       struct err *err)
{
	char path[CGROUP_PATH_MAX];
	int fd = openat(run->domain->cgroup.fd[op->hierarchy],
			cgroup_path(run, op, "", path, sizeof(path)),
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	run->fds[op->fd] = fd;
	if (fd < 0 || fchown(fd, run->base, run->base) < 0)
		return err_set(err, ERR_INTERNAL, errno, "delegate '%s'", path);
	return 0;
}

/*
 * Init uses these files by descriptor only: it has no right to open them. A
 * high-water mark that can't be reset (before Linux 6.12) is only read.
 */
static int run_cgroup_open(struct run *run, const struct plan_op *op,
			   struct err *err)
{
	char path[CGROUP_PATH_MAX];
	int dir_fd = run->domain->cgroup.fd[op->hierarchy];
	int fd;

	(void)cgroup_path(run, op, op->file, path, sizeof(path));
	fd = openat(dir_fd, path,
		    (op->writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (fd < 0 && errno == EACCES && op->optional)
		fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && !(errno == ENOENT && op->optional))
		return err_set(err, ERR_INTERNAL, errno, "open '%s'", path);
	run->fds[op->fd] = fd;
	return 0;
}

/* Both layer steps in one, since the overlay keeps the layer alive. */
static int run_layer(struct run *run, const struct plan_op *op, struct err *err)
{
	int layer_fd auto_fd = -1;
	char image[48];
	int r;

	if (op->on_disk) {
		r = disk_take(run->native, op->value, op->inodes,
			      &run->sandbox->layer, &layer_fd, err);
		if (r < 0)
			return r;
		run->sandbox->on_disk = true;
	} else {
		r = layer_in_memory(run->native, op->value, op->inodes,
				    &layer_fd);
	}
	image_slot_path(run->domain, run->sandbox->slot, 0, image,
			sizeof(image));
	if (r == 0)
		r = layer_mount_root(run->native, &layer_fd, run->base, image,
				     &run->fds[SETUP_FD_ROOT]);
	if (r == 0)
		r = layer_make_truth(run->native, run->base,
				     &run->fds[SETUP_FD_TRUTH]);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "mount the root");
	return 0;
}

static int run_dev(struct run *run, const struct plan_op *op, struct err *err)
{
	int *fd = &run->fds[SETUP_FD_DEV];
	int r;

	(void)op;
	r = mnt_clone(run->native->mounts_fd, "dev", fd);
	if (r == 0)
		r = mnt_set(*fd, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, -1);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "mount /dev");
	return 0;
}

static int run_sys(struct run *run, const struct plan_op *op, struct err *err)
{
	run->setup->cpus = (uint32_t)op->value;
	return image_sys_open(run->native, run->setup->cpus,
			      &run->fds[SETUP_FD_SYS], err);
}

static int run_shm(struct run *run, const struct plan_op *op, struct err *err)
{
	char size[24], base[16];
	const struct mnt_option options[] = {
		MNT_TEXT("size", size),
		MNT_TEXT("mode", "1777"),
		MNT_TEXT("uid", base),
		MNT_TEXT("gid", base),
	};
	int r;

	(void)snprintf(size, sizeof(size), "%llu",
		       (unsigned long long)op->value);
	(void)snprintf(base, sizeof(base), "%u", run->base);
	r = mnt_new("tmpfs", options, ARRAY_SIZE(options),
		    MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID,
		    &run->fds[SETUP_FD_SHM]);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "mount /dev/shm");
	return 0;
}

static void add_bind(struct run *run, int mnt_fd, const char *target,
		     bool writable)
{
	struct setup *setup = run->setup;
	uint32_t i = setup->num_binds++;

	assert(i < SETUP_BINDS_MAX);
	run->fds[SETUP_NUM_FDS + i] = mnt_fd;
	(void)snprintf(setup->bind[i], sizeof(setup->bind[i]), "%s", target);
	if (writable)
		setup->writable |= 1u << i;
}

static int run_bind(struct run *run, const struct plan_op *op, struct err *err)
{
	char path[48];
	int mnt_fd auto_fd = -1;
	int r;

	image_slot_path(run->domain, run->sandbox->slot,
			(unsigned int)op->value + 1, path, sizeof(path));
	r = mnt_clone(run->native->mounts_fd, path, &mnt_fd);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "bind '%s'",
			       run->native->binds[op->value].target);
	add_bind(run, take_fd(&mnt_fd), run->native->binds[op->value].target,
		 false);
	return 0;
}

static int run_volume(struct run *run, const struct plan_op *op,
		      struct err *err)
{
	int mnt_fd auto_fd = -1;
	int r;

	r = volume_open(run->native, op, run->base, &mnt_fd, err);
	if (r < 0)
		return r;
	add_bind(run, take_fd(&mnt_fd), op->target, !op->read_only);
	return 0;
}

static int run_launched(struct run *run, const struct plan_op *op,
			struct err *err)
{
	struct sandbox *sandbox = run->sandbox;
	struct launcher_msg msg = { 0 };
	size_t len;
	int r;

	(void)op;
	r = domain_wait(run->domain->sock_fd, CLONE_TIMEOUT_MS);
	if (r == 0)
		r = fdpass_recv(run->domain->sock_fd, &msg, sizeof(msg), 0,
				&len, NULL);
	if (r == 0)
		r = launcher_answer_check(&msg, len, LAUNCHER_CLONED);
	if (r == 0 && msg.pid)
		r = child_open(run->native, msg.pid, run->clone_fd,
			       &sandbox->pidfd);
	/* It may answer later, which nobody could pair up again, or it lies. */
	if (r < 0)
		domain_launcher_gone(run->native, run->domain);
	run->launching = false;
	if (r < 0)
		return err_set(err, ERR_UNAVAILABLE, -r,
			       "the launcher didn't answer as it should");
	sandbox->pid = msg.pid;
	if (msg.sys || sandbox->pidfd < 0)
		return err_set(err, ERR_INTERNAL, msg.sys, "launcher: %s",
			       msg.where);
	return 0;
}

static int run_setup(struct run *run, const struct plan_op *op, struct err *err)
{
	struct setup *setup = run->setup;
	int fds[ARRAY_SIZE(run->fds)];
	unsigned int num = 0;
	int r;

	(void)op;
	for (uint32_t i = 0; i < SETUP_NUM_FDS + setup->num_binds; i++) {
		if (run->fds[i] < 0)
			continue;
		fds[num++] = run->fds[i];
		if (i < SETUP_NUM_FDS)
			setup->fds |= 1u << i;
	}
	(void)snprintf(setup->hostname, sizeof(setup->hostname), "sandbox");
	setup->pids = run->spec->limits.pids;
	setup->nofile = run->spec->limits.nofile;
	setup->flags = run->spec->flags;
	setup->life_ms = run->spec->life_ms;
	r = fdpass_send(run->init_fd, setup, SETUP_BYTES(setup->num_binds), fds,
			num);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "send init its setup");
	return 0;
}

static int run_ready(struct run *run, const struct plan_op *op, struct err *err)
{
	struct setup_answer answer = { 0 };
	size_t len;
	int r;

	(void)op;
	r = domain_wait(run->init_fd, READY_TIMEOUT_MS);
	if (r == 0)
		r = fdpass_recv(run->init_fd, &answer, sizeof(answer), 0, &len,
				NULL);
	if (r == 0)
		r = setup_answer_check(&answer, len);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "init didn't get ready");
	if (answer.sys)
		return err_set(err, ERR_INTERNAL, answer.sys, "init: %s",
			       answer.where);
	return 0;
}

/* PLAN_ROOT is for the reader of a plan: run_layer did it. */
static int run_nothing(struct run *run, const struct plan_op *op,
		       struct err *err)
{
	(void)run;
	(void)op;
	(void)err;
	return 0;
}

static int (*const steps[])(struct run *, const struct plan_op *,
			    struct err *) = {
	[PLAN_LISTEN] = run_listen,
	[PLAN_CGROUP_MAKE] = run_cgroup_make,
	[PLAN_CGROUP_ENABLE] = run_cgroup_enable,
	[PLAN_CGROUP_CLONE] = run_cgroup_clone,
	[PLAN_LAUNCH] = run_launch,
	[PLAN_CGROUP_LIMIT] = run_cgroup_limit,
	[PLAN_CGROUP_DELEGATE] = run_cgroup_delegate,
	[PLAN_CGROUP_OPEN] = run_cgroup_open,
	[PLAN_LAYER] = run_layer,
	[PLAN_ROOT] = run_nothing,
	[PLAN_DEV] = run_dev,
	[PLAN_SYS] = run_sys,
	[PLAN_SHM] = run_shm,
	[PLAN_BIND] = run_bind,
	[PLAN_VOLUME] = run_volume,
	[PLAN_LAUNCHED] = run_launched,
	[PLAN_SETUP] = run_setup,
	[PLAN_READY] = run_ready,
};
_Static_assert(ARRAY_SIZE(steps) == PLAN_NUM_KINDS, "a step per kind");

int run_limits(struct native *native, const struct limits *limits,
	       struct sandbox *sandbox, struct err *err)
{
	struct run run = {
		.native = native,
		.domain = &native->domains[sandbox->domain],
		.sandbox = sandbox,
	};
	struct plan plan = { .num = 0 };
	int r = 0;

	plan_cgroups_limit(&plan, native->cgroup.unified, limits);
	for (unsigned int i = 0; r == 0 && i < plan.num; i++) {
		if (plan.ops[i].kind == PLAN_CGROUP_LIMIT &&
		    strcmp(plan.ops[i].file, "pids.max") != 0)
			r = run_cgroup_limit(&run, &plan.ops[i], err);
	}
	return r;
}

/* Ends what a failed run has begun; the caller removes the directories. */
static void undo(struct run *run)
{
	struct sandbox *sandbox = run->sandbox;
	char path[CGROUP_PATH_MAX];
	siginfo_t info;

	if (run->launching)
		(void)run_launched(run, NULL, NULL);
	/* Also what a launcher has made and not told. */
	(void)snprintf(path, sizeof(path), "%u/cgroup.kill", sandbox->slot);
	(void)file_write_at(run->domain->cgroup.fd[PLAN_V2], path, "1");
	close_fd(&run->init_fd); /* an init without setup ends by itself */
	if (sandbox->pidfd >= 0) {
		(void)pidfd_send_signal(sandbox->pidfd, SIGKILL, NULL, 0);
		(void)waitid(P_PIDFD, (id_t)sandbox->pidfd, &info,
			     WEXITED | __WALL);
		close_fd(&sandbox->pidfd);
	}
	sandbox->pid = 0;
}

int run_plan(struct native *native, const struct plan *plan,
	     const struct broker_create *spec, struct sandbox *sandbox,
	     struct err *err)
{
	static struct setup setup; /* 25 kB: too much for the stack */
	struct domain *domain = &native->domains[sandbox->domain];
	struct run run = {
		.native = native,
		.domain = domain,
		.sandbox = sandbox,
		.spec = spec,
		.base = domain->base + sandbox->slot * SLOT_IDS,
		.init_fd = -1,
		.clone_fd = -1,
		.setup = &setup,
	};
	int r = 0;

	memset(&setup, 0, SETUP_BYTES(0));
	for (unsigned int i = 0; i < ARRAY_SIZE(run.fds); i++)
		run.fds[i] = -1;
	for (unsigned int i = 0; r == 0 && i < plan->num; i++)
		r = steps[plan->ops[i].kind](&run, &plan->ops[i], err);
	if (r == 0)
		r = adopt_note(native, sandbox, run.clone_fd);
	if (r < 0)
		undo(&run);
	close_later(native, &run.init_fd);
	close_later(native, &run.clone_fd);
	for (unsigned int i = 0; i < ARRAY_SIZE(run.fds); i++)
		close_later(native, &run.fds[i]);
	return r;
}
