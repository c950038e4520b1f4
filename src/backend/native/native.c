/* SPDX-License-Identifier: Apache-2.0 */

/*
 * #syscalls  unshare mount mkdir chown chmod openat epoll_create1 epoll_ctl
 *            epoll_wait memfd_create pread64 fcntl fchmod unlinkat waitid
 *            pidfd_send_signal
 */

#include "backend/native/native.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mnt.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* Linux 6.3; older kernels need and know no flag */
#endif

#define CLOSE_TIMEOUT_MS 4000

static struct sandbox *find(struct native *native, const char *id)
{
	for (unsigned int i = 0; i < native->high; i++) {
		struct sandbox *sandbox = &native->sandboxes[i];

		if (sandbox->state != SANDBOX_FREE &&
		    strcmp(sandbox->id, id) == 0)
			return sandbox;
	}
	return NULL;
}

/* --- open --- */

static int make_dir(const char *path, mode_t mode, uid_t uid, gid_t gid,
		    struct err *err)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_set(err, ERR_INTERNAL, errno, "make '%s'", path);
	if (chown(path, uid, gid) < 0 || chmod(path, mode) < 0)
		return err_set(err, ERR_INTERNAL, errno, "own '%s'", path);
	return 0;
}

/* What a broker that was killed left in a directory that is now ours. */
static void remove_stale_sockets(struct native *native, const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char id[sizeof(entry->d_name)];
		const char *end = strstr(entry->d_name, ".sock");

		if (!end)
			continue;
		(void)snprintf(id, sizeof(id), "%.*s",
			       (int)(end - entry->d_name), entry->d_name);
		if (!find(native, id))
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		(void)closedir(dir);
}

static int open_dirs(struct native *native, struct err *err)
{
	const struct native_config *config = &native->config;
	char path[PATH_MAX + 8];
	int r;

	(void)snprintf(path, sizeof(path), "%s/s", config->run_dir);
	/* osbd connects to sockets in it; they inherit its group. */
	r = make_dir(path, 02710, 0, config->osbd_gid, err);
	if (r < 0)
		return r;
	native->sandboxes_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (native->sandboxes_fd < 0)
		return err_set(err, ERR_INTERNAL, errno, "open '%s'", path);
	adopt_all(native);
	remove_stale_sockets(native, path);
	(void)snprintf(path, sizeof(path), "%s/m", config->run_dir);
	return make_dir(path, 0700, 0, 0, err);
}

/* From here on nothing that we mount is seen by the host. */
static int isolate_mounts(struct native *native, struct err *err)
{
	static const struct mnt_option options[] = {
		MNT_TEXT("mode", "0700"),
		MNT_TEXT("size", "16m"),
	};
	char path[PATH_MAX + 8];
	int r;

	if (unshare(CLONE_NEWNS) < 0)
		return err_set(err, ERR_UNSUPPORTED, errno,
			       "make a mount namespace (run as root)");
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return err_set(err, ERR_INTERNAL, errno, "detach mounts");
	(void)snprintf(path, sizeof(path), "%s/m", native->config.run_dir);
	r = mnt_new("tmpfs", options, ARRAY_SIZE(options),
		    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, &native->mounts_fd);
	if (r == 0)
		r = mnt_attach(native->mounts_fd, AT_FDCWD, path);
	if (r == 0 && mount(NULL, path, NULL, MS_PRIVATE, NULL) < 0)
		r = -errno;
	if (r == 0)
		r = layer_open(native);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "mount '%s'", path);
	return 0;
}

/*
 * A copy of osb-files that nobody can change and that is in no file system:
 * init executes it by descriptor, whatever root it lives in.
 */
static int seal_program(const char *path, int *ret_fd, struct err *err)
{
	int file_fd auto_fd = open(path, O_RDONLY | O_CLOEXEC);
	int mem_fd auto_fd =
		memfd_create("osb-files",
			     MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
	off_t offset = 0;
	struct stat st;

	if (mem_fd < 0 && errno == EINVAL)
		mem_fd = memfd_create("osb-files",
				      MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (file_fd < 0 || mem_fd < 0 || fstat(file_fd, &st) < 0)
		return err_set(err, ERR_INTERNAL, errno, "open '%s'", path);
	while (offset < st.st_size) {
		char buf[65536];
		ssize_t n = pread(file_fd, buf, sizeof(buf), offset);

		if (n <= 0 || write(mem_fd, buf, (size_t)n) != n)
			return err_set(err, ERR_INTERNAL, errno, "copy '%s'",
				       path);
		offset += n;
	}
	if (fchmod(mem_fd, 0555) < 0 ||
	    fcntl(mem_fd, F_ADD_SEALS,
		  F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return err_set(err, ERR_INTERNAL, errno, "seal '%s'", path);
	*ret_fd = take_fd(&mem_fd);
	return 0;
}

static int open_programs(struct native *native, struct err *err)
{
	const char *path = native->config.init_path;

	native->init_exec_fd = open(path, O_PATH | O_CLOEXEC);
	if (native->init_exec_fd < 0)
		return err_set(err, ERR_INTERNAL, errno, "open '%s'", path);
	return seal_program(native->config.files_path, &native->files_fd, err);
}

int native_open(struct native *native, const struct native_config *config,
		struct err *err)
{
	int r;

	native->config = *config;
	native->num_cpus = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	native->disk.sock_fd = -1;
	native->num_looks = NATIVE_LOOKS; /* `osb serve` left us a child */
	native->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (native->epoll_fd < 0)
		return err_set(err, ERR_INTERNAL, errno, "epoll_create1");
	(void)umask(0); /* every mode is given in full */
	r = open_programs(native, err);
	if (r == 0)
		r = cgroup_open(&native->cgroup, config->cgroup_parent, err);
	if (r == 0)
		r = open_dirs(native, err);
	if (r == 0)
		r = isolate_mounts(native, err);
	if (r == 0)
		r = image_open(native, err);
	return r;
}

/* --- the table --- */

struct sandbox *native_alloc(struct native *native)
{
	for (unsigned int i = 0; i < NATIVE_SANDBOXES_MAX; i++) {
		if (native->sandboxes[i].state != SANDBOX_FREE)
			continue;
		if (i >= native->high)
			native->high = i + 1;
		return &native->sandboxes[i];
	}
	return NULL;
}

static void forget(struct native *native, struct sandbox *sandbox)
{
	domain_slot_release(native, &native->domains[sandbox->domain],
			    sandbox->slot);
	memset(sandbox, 0, sizeof(*sandbox));
	native->num_live--;
	while (native->high > 0 &&
	       native->sandboxes[native->high - 1].state == SANDBOX_FREE)
		native->high--;
}

/* Socket and cgroups. Return: 0, or -EBUSY while the kernel isn't done. */
int sandbox_remove_dirs(struct native *native, const struct sandbox *sandbox)
{
	struct domain *domain = &native->domains[sandbox->domain];
	bool *kept = &domain->kept[sandbox->slot];
	char name[SANDBOX_ID_LEN + 8];
	int result = 0;

	(void)snprintf(name, sizeof(name), "%s.sock", sandbox->id);
	(void)unlinkat(native->sandboxes_fd, name, 0);
	(void)snprintf(name, sizeof(name), "%u", sandbox->slot);
	*kept = cgroup_can_stay(&domain->cgroup, name);
	for (unsigned int i = 0; i < PLAN_NUM_HIERARCHIES; i++) {
		int r = *kept && (i == PLAN_MEMORY || i == PLAN_CPU)
				? 0
				: cgroup_remove(domain->cgroup.fd[i], name);

		if (r < 0)
			result = r;
	}
	return result;
}

/* Return: 0 when nothing is left, or -EBUSY: again at the next call. */
static int remove_rest(struct native *native, struct sandbox *sandbox)
{
	disk_close(native, sandbox);
	if (sandbox->layer > 0)
		return -EBUSY; /* osb-disk isn't done */
	if (sandbox->on_disk)
		disk_sweep(native); /* it has forgotten about this one */
	return sandbox_remove_dirs(native, sandbox);
}

/* --- create, destroy, reap --- */

int native_watch(struct native *native, struct sandbox *sandbox,
		 struct err *err)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = sandbox };

	if (epoll_ctl(native->epoll_fd, EPOLL_CTL_ADD, sandbox->pidfd, &event) <
	    0)
		return err_set(err, ERR_INTERNAL, errno, "watch a sandbox");
	return 0;
}

int native_create(struct native *native, const struct broker_create *spec,
		  struct err *err)
{
	const struct plan_host host = {
		.num_binds = native->num_binds,
		.num_cpus = native->num_cpus,
		.unified = native->cgroup.unified,
	};
	static struct plan plan; /* 4 kB, reused */
	struct sandbox *sandbox;
	struct domain *domain;
	int r;

	r = plan_check_spec(spec, err);
	if (r < 0)
		return r;
	if (find(native, spec->id))
		return err_set(err, ERR_CONFLICT, 0, "this id is in use");
	sandbox = native_alloc(native);
	if (!sandbox)
		return err_set(err, ERR_QUOTA, 0, "all %u sandboxes are in use",
			       NATIVE_SANDBOXES_MAX);
	r = domain_get(native, spec->domain, &domain, err);
	if (r == 0)
		r = domain_slot_take(native, domain, &sandbox->slot, err);
	if (r < 0)
		return r;
	memcpy(sandbox->id, spec->id, sizeof(sandbox->id));
	sandbox->domain = (uint8_t)(domain - native->domains);
	sandbox->pidfd = -1;
	sandbox->state = SANDBOX_DEAD; /* not FREE: child_open() looks */
	native->num_live++;
	plan_make(spec, &host, &plan);
	r = run_plan(native, &plan, spec, sandbox, err);
	if (r == 0)
		r = native_watch(native, sandbox, err);
	if (r < 0) {
		native->num_looks = NATIVE_LOOKS;
		if (remove_rest(native, sandbox) == 0)
			forget(native, sandbox);
		return r;
	}
	sandbox->state = SANDBOX_RUNNING;
	return 0;
}

int native_claim(struct native *native, const struct broker_claim *in_claim,
		 struct err *err)
{
	struct sandbox *sandbox = find(native, in_claim->id);
	int r = plan_check_limits(&in_claim->limits, err);

	if (r < 0)
		return r;
	if (!sandbox || sandbox->state != SANDBOX_RUNNING)
		return err_set(err, ERR_NOT_FOUND, 0, "no sandbox '%.32s'",
			       in_claim->id);
	return run_limits(native, &in_claim->limits, sandbox, err);
}

static void kill_sandbox(struct sandbox *sandbox)
{
	sandbox->state = SANDBOX_DYING;
	/* PID 1 of its namespace: the kernel ends all others with it. */
	(void)pidfd_send_signal(sandbox->pidfd, SIGKILL, NULL, 0);
}

int native_destroy(struct native *native, const char *id, struct err *err)
{
	struct sandbox *sandbox = find(native, id);

	if (!sandbox)
		return err_set(err, ERR_NOT_FOUND, 0, "no sandbox '%.32s'", id);
	if (sandbox->state == SANDBOX_RUNNING)
		kill_sandbox(sandbox);
	return 0;
}

void native_each(const struct native *native, native_gone_fn fn, void *arg)
{
	for (unsigned int i = 0; i < native->high; i++) {
		if (native->sandboxes[i].state == SANDBOX_RUNNING)
			fn(arg, native->sandboxes[i].id);
	}
}

static void destroy_all(struct native *native)
{
	for (unsigned int i = 0; i < native->high; i++) {
		if (native->sandboxes[i].state == SANDBOX_RUNNING)
			kill_sandbox(&native->sandboxes[i]);
	}
}

static bool is_sandbox(const struct native *native, const void *ptr)
{
	const struct sandbox *first = native->sandboxes;

	return (const struct sandbox *)ptr >= first &&
	       (const struct sandbox *)ptr < first + NATIVE_SANDBOXES_MAX;
}

static void bury(struct sandbox *sandbox)
{
	siginfo_t info = { 0 };
	int r = waitid(P_PIDFD, (id_t)sandbox->pidfd, &info,
		       WEXITED | WNOHANG | __WALL);

	/* An adopted one is nobody's child of ours, but dead all the same. */
	if ((r < 0 && errno != ECHILD) || (r == 0 && info.si_pid == 0))
		return;
	close_fd(&sandbox->pidfd);
	sandbox->state = SANDBOX_DEAD;
}

void native_reap(struct native *native, native_gone_fn gone, void *arg)
{
	struct epoll_event events[64];
	int num = epoll_wait(native->epoll_fd, events, ARRAY_SIZE(events), 0);
	char id[SANDBOX_ID_LEN + 1];

	for (int i = 0; i < num; i++) {
		if (is_sandbox(native, events[i].data.ptr))
			bury(events[i].data.ptr);
		else if (events[i].data.ptr == &native->disk)
			disk_answered(native);
		else
			domain_launcher_gone(native, events[i].data.ptr);
	}
	child_reap_others(native);
	for (unsigned int i = 0; i < native->high; i++) {
		struct sandbox *sandbox = &native->sandboxes[i];

		if (sandbox->state != SANDBOX_DEAD)
			continue;
		if (remove_rest(native, sandbox) < 0)
			continue;
		memcpy(id, sandbox->id, sizeof(id));
		forget(native, sandbox);
		gone(arg, id);
	}
}

void native_close_later(struct native *native)
{
	layer_detach(native);
	while (native->num_later > 0)
		close_fd(&native->later[--native->num_later]);
}

bool native_idle(struct native *native)
{
	if (native->num_later > 0 || native->layer_fd >= 0) {
		native_close_later(native);
		return true;
	}

	return domain_prepare_slot(native) || domain_trim(native);
}

static void ignore_gone(void *arg, const char *id)
{
	(void)arg;
	(void)id;
}

void native_close(struct native *native)
{
	const struct timespec tick = { .tv_nsec = 5 * 1000 * 1000 };

	destroy_all(native);
	for (unsigned int i = 0;
	     native->num_live > 0 && i < CLOSE_TIMEOUT_MS / 5; i++) {
		native_reap(native, ignore_gone, NULL);
		if (native->num_live > 0)
			(void)nanosleep(&tick, NULL);
	}
	for (unsigned int i = 0; i < NATIVE_DOMAINS_MAX; i++)
		domain_close(native, &native->domains[i]);
	disk_stop(native);
}
