/* SPDX-License-Identifier: Apache-2.0 */

/*
 * domain - who trusts whom: an id block, its launcher, its slots
 *
 * A block is 256 slots of 65,536 ids, leased host-wide (lease.c).
 *
 * The launcher (see init/launcher.c) is started with the block. When it dies,
 * its sandboxes live on as an orphaned domain, and the next create starts
 * another launcher. That has a user namespace of its own with the same ids:
 * to the older sandboxes it is a sibling, which has no rights over them.
 *
 * #syscalls  wait4 kill pidfd_open dup2 fcntl execveat poll
 *            openat epoll_ctl umount2
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/native.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "wire/fdpass.h"
#include "wire/spawn.h"

#define LAUNCHER_TIMEOUT_MS 5000
#define OOM_SCORE_ADJ 500

/* Slots whose mounts are made ahead, per domain. */
#define SPARE_SLOTS 4

/* Return: 0 when readable, -ETIMEDOUT, or another -errno. */
int domain_wait(int fd, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int n;

	do {
		n = poll(&pfd, 1, timeout_ms);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n == 0 ? -ETIMEDOUT : 0;
}

static int verify_op(int sock_fd, enum launcher_op op)
{
	struct launcher_msg msg = { 0 };
	size_t len = 0;
	int r;

	r = domain_wait(sock_fd, LAUNCHER_TIMEOUT_MS);
	if (r == 0)
		r = fdpass_recv(sock_fd, &msg, sizeof(msg), 0, &len, NULL);
	if (r == 0)
		r = launcher_answer_check(&msg, len, op);
	return r < 0 ? r : -msg.sys;
}

static int write_maps(const struct domain *domain)
{
	static const char *const files[] = { "uid_map", "gid_map" };
	char path[48], map[48];

	(void)snprintf(map, sizeof(map), "0 %u %u", domain->base, DOMAIN_IDS);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		int r;

		(void)snprintf(path, sizeof(path), "/proc/%d/%s",
			       domain->launcher_pid, files[i]);
		r = file_write_at(AT_FDCWD, path, map);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The other side of launcher.c's stages. */
static int introduce(const struct native *native, struct domain *domain)
{
	struct launcher_msg mapped = { .op = LAUNCHER_MAPPED };
	char path[48];
	int r;

	r = verify_op(domain->sock_fd, LAUNCHER_UNSHARED);
	if (r == 0)
		r = write_maps(domain);
	if (r == 0)
		r = cgroup_block_enter(&domain->cgroup, domain->launcher_pid);
	/* One after the first has its view from a sandbox: LAUNCHER_FD_VIEW. */
	if (r == -EBUSY)
		r = cgroup_block_settle(&native->cgroup, &domain->cgroup,
					domain->launcher_pid);
	if (r == 0)
		r = fdpass_send(domain->sock_fd, &mapped, sizeof(mapped), NULL,
				0);
	if (r == 0)
		r = verify_op(domain->sock_fd, LAUNCHER_READY);
	if (r < 0)
		return r;
	/* Its clones inherit it, and theirs: when the host runs out of memory,
	 * sandboxes go first. */
	(void)snprintf(path, sizeof(path), "/proc/%d/oom_score_adj",
		       domain->launcher_pid);
	r = file_write_u64_at(AT_FDCWD, path, OOM_SCORE_ADJ);
	if (r < 0)
		return r;
	return cgroup_block_settle(&native->cgroup, &domain->cgroup,
				   domain->launcher_pid);
}

/*
 * Once a unified hierarchy has controllers in the block, no process can stand
 * at its root to begin a cgroup namespace there; its sandboxes are in one.
 */
static int open_view(const struct domain *domain)
{
	const struct native *native = domain->native;

	for (unsigned int i = 0; native->cgroup.unified && i < native->high;
	     i++) {
		const struct sandbox *sandbox = &native->sandboxes[i];

		if (sandbox->state == SANDBOX_RUNNING &&
		    &native->domains[sandbox->domain] == domain)
			return fcntl(sandbox->pidfd, F_DUPFD_CLOEXEC, 10);
	}
	return -1;
}

/* @arg: the domain, in its table */
static void exec_launcher(void *arg, int sock_fd)
{
	const struct domain *domain = arg;
	const struct native *native = domain->native;
	char base_text[16];
	char *const argv[] = { (char[]){ "osb-init" }, (char[]){ "--launcher" },
			       base_text, NULL };
	char *const envp[] = { NULL };
	sigset_t none;
	int init_fd, view_fd;

	(void)snprintf(base_text, sizeof(base_text), "%u", domain->base);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	/* Away from 3 to 5 first, so that no dup2 overwrites a source. */
	sock_fd = fcntl(sock_fd, F_DUPFD_CLOEXEC, 10);
	init_fd = fcntl(native->init_exec_fd, F_DUPFD_CLOEXEC, 10);
	view_fd = open_view(domain);
	if (dup2(native->files_fd, LAUNCHER_FD_FILES) >= 0 &&
	    dup2(sock_fd, LAUNCHER_FD_BROKER) >= 0 && init_fd >= 0 &&
	    (view_fd < 0 || dup2(view_fd, LAUNCHER_FD_VIEW) >= 0))
		(void)syscall(SYS_execveat, init_fd, "", argv, envp,
			      AT_EMPTY_PATH);
}

static int start_launcher(struct native *native, struct domain *domain,
			  struct err *err)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = domain };
	pid_t pid;
	int r;

	domain->native = native;
	pid = spawn(SPAWN_REFUSES_FDS, exec_launcher, domain, &domain->sock_fd);
	if (pid < 0)
		return err_set(err, ERR_INTERNAL, -pid, "start a launcher");
	domain->launcher_pid = pid;
	domain->launcher_pidfd = pidfd_open(pid, 0);
	if (domain->launcher_pidfd < 0 ||
	    epoll_ctl(native->epoll_fd, EPOLL_CTL_ADD, domain->launcher_pidfd,
		      &event) < 0)
		return err_set(err, ERR_INTERNAL, errno, "watch a launcher");
	r = introduce(native, domain);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r,
			       "start a launcher in a user namespace");
	return 0;
}

static void end_launcher(struct domain *domain)
{
	if (domain->launcher_pid > 0) {
		(void)kill(domain->launcher_pid, SIGKILL);
		(void)waitpid(domain->launcher_pid, NULL, 0);
	}
	domain->launcher_pid = 0;
	close_fd(&domain->launcher_pidfd); /* leaves the epoll set with it */
	close_fd(&domain->sock_fd);
}

/* Drops the image mounts of a block we give back. */
static void unmap_slots(const struct native *native,
			const struct domain *domain)
{
	char path[PATH_MAX + 64], name[48];

	for (unsigned int slot = 0; slot < DOMAIN_SLOTS; slot++) {
		if (!domain->mapped[slot])
			continue;
		for (unsigned int i = 0; i <= native->num_binds; i++) {
			image_slot_path(domain, (uint8_t)slot, i, name,
					sizeof(name));
			(void)snprintf(path, sizeof(path), "%s/m/%s",
				       native->config.run_dir, name);
			(void)umount2(path, MNT_DETACH);
		}
	}
}

void domain_close(struct native *native, struct domain *domain)
{
	if (domain->state == DOMAIN_FREE)
		return;
	end_launcher(domain);
	unmap_slots(native, domain);
	cgroup_block_close(&native->cgroup, domain->block, &domain->cgroup);
	close_fd(&domain->lease_fd);
	memset(domain, 0, sizeof(*domain));
}

static void reset(struct domain *domain)
{
	memset(domain, 0, sizeof(*domain));
	domain->lease_fd = domain->launcher_pidfd = domain->sock_fd = -1;
	domain->cgroup = (struct cgroup_block)CGROUP_BLOCK_NULL;
}

static int domain_open(struct native *native, const char *name,
		       struct domain *domain, struct err *err)
{
	int r;

	reset(domain);
	r = lease_take(native, domain, err);
	if (r < 0)
		return r;
	domain->state = DOMAIN_ALIVE;
	(void)snprintf(domain->name, sizeof(domain->name), "%s", name);
	r = lease_take_over(native, domain, err);
	if (r == 0)
		r = cgroup_block_open(&native->cgroup, domain->block,
				      domain->base, &domain->cgroup, err);
	if (r == 0)
		r = start_launcher(native, domain, err);
	if (r < 0)
		domain_close(native, domain);
	return r;
}

/* Somebody's who has nothing running, now free; NULL when all have. */
static struct domain *close_idle(struct native *native)
{
	for (unsigned int i = 0; i < NATIVE_DOMAINS_MAX; i++) {
		struct domain *domain = &native->domains[i];

		if (domain->state == DOMAIN_ALIVE && domain->num_used == 0) {
			domain_close(native, domain);
			return domain;
		}
	}
	return NULL;
}

static struct domain *find_room(struct native *native)
{
	for (unsigned int i = 0; i < NATIVE_DOMAINS_MAX; i++) {
		if (native->domains[i].state == DOMAIN_FREE)
			return &native->domains[i];
	}
	return close_idle(native);
}

/* NULL: it isn't ours, or there is no room for it in the table. */
struct domain *domain_adopt(struct native *native, uint32_t base)
{
	struct domain *domain = find_room(native);

	if (!domain)
		return NULL;
	reset(domain);
	if (lease_take_back(native, domain, base) < 0)
		return NULL;
	if (cgroup_block_make(&native->cgroup, domain->block, domain->base,
			      &domain->cgroup) < 0) {
		close_fd(&domain->lease_fd);
		return NULL;
	}
	domain->state = DOMAIN_ORPHANED;
	return domain;
}

/* Another launcher for one that has lost its own. */
static bool revive(struct native *native, struct domain *domain)
{
	domain->state = DOMAIN_ALIVE;
	if (start_launcher(native, domain, NULL) == 0)
		return true;
	domain_launcher_gone(native, domain);
	return false;
}

int domain_get(struct native *native, const char *name,
	       struct domain **ret_domain, struct err *err)
{
	struct domain *domain;
	int r;

	for (unsigned int i = 0; i < NATIVE_DOMAINS_MAX; i++) {
		domain = &native->domains[i];
		/* Just died, and not yet noticed? */
		if (domain->state == DOMAIN_ALIVE &&
		    domain_wait(domain->launcher_pidfd, 0) == 0)
			domain_launcher_gone(native, domain);
		/* A full one is followed by another block of the same name. */
		if (domain->state == DOMAIN_FREE ||
		    domain->num_used == DOMAIN_SLOTS - 1 ||
		    strcmp(domain->name, name) != 0)
			continue;
		if (domain->state == DOMAIN_ALIVE || revive(native, domain)) {
			*ret_domain = domain;
			return 0;
		}
	}
	domain = find_room(native);
	if (!domain)
		return err_set(err, ERR_QUOTA, 0,
			       "all %u domains have sandboxes running",
			       NATIVE_DOMAINS_MAX);
	r = domain_open(native, name, domain, err);
	/* No block left? Others may keep one without need. */
	if (r < 0 && err->kind == ERR_QUOTA && close_idle(native))
		r = domain_open(native, name, domain, err);
	if (r < 0)
		return r;
	*ret_domain = domain;
	return 0;
}

void domain_launcher_gone(struct native *native, struct domain *domain)
{
	domain->state = DOMAIN_ORPHANED;
	native->num_looks = NATIVE_LOOKS;
	end_launcher(domain);
	if (domain->num_used == 0)
		domain_close(native, domain);
}

/* Slot 0 is the launcher's own. */
static int find_slot(const struct domain *domain, bool mapped)
{
	for (int slot = 1; slot < (int)DOMAIN_SLOTS; slot++) {
		if (!domain->used[slot] && domain->mapped[slot] == mapped)
			return slot;
	}
	return -1;
}

int domain_slot_take(struct native *native, struct domain *domain,
		     uint8_t *ret_slot, struct err *err)
{
	int slot = find_slot(domain, true);
	int r;

	if (slot < 0) {
		slot = find_slot(domain, false);
		if (slot < 0)
			return err_set(err, ERR_QUOTA, 0,
				       "domain '%s' has its %u sandboxes",
				       domain->name, DOMAIN_SLOTS - 1);
		r = image_map_slot(native, domain, (uint8_t)slot, err);
		if (r < 0)
			return r;
		domain->mapped[slot] = true;
	}
	domain->used[slot] = true;
	domain->num_used++;
	*ret_slot = (uint8_t)slot;
	return 0;
}

void domain_slot_release(struct native *native, struct domain *domain,
			 uint8_t slot)
{
	const struct launcher_msg msg = { .op = LAUNCHER_RELEASE,
					  .slot = slot };

	/* A launcher that can't be told makes a new namespace next time. */
	if (domain->state == DOMAIN_ALIVE)
		(void)fdpass_send(domain->sock_fd, &msg, sizeof(msg), NULL, 0);
	domain->used[slot] = false;
	domain->num_used--;
	if (domain->state == DOMAIN_ORPHANED && domain->num_used == 0)
		domain_close(native, domain);
}

/* Return: true when a slot was made ahead. */
bool domain_prepare_slot(struct native *native)
{
	for (unsigned int i = 0; i < NATIVE_DOMAINS_MAX; i++) {
		struct domain *domain = &native->domains[i];
		unsigned int spare = 0;
		int slot;

		if (domain->state != DOMAIN_ALIVE)
			continue;
		for (unsigned int s = 1; s < DOMAIN_SLOTS; s++)
			spare += domain->mapped[s] && !domain->used[s];
		slot = spare < SPARE_SLOTS ? find_slot(domain, false) : -1;
		if (slot > 0 &&
		    image_map_slot(native, domain, (uint8_t)slot, NULL) == 0) {
			domain->mapped[slot] = true;
			return true;
		}
	}
	return false;
}

/* Return: true when groups that nobody may need soon were removed. */
bool domain_trim(struct native *native)
{
	for (unsigned int i = 0; i < NATIVE_DOMAINS_MAX; i++) {
		struct domain *domain = &native->domains[i];
		unsigned int spare = 0;
		char name[16];

		for (unsigned int s = 1; s < DOMAIN_SLOTS; s++) {
			if (!domain->kept[s] || domain->used[s] ||
			    ++spare <= SPARE_SLOTS)
				continue;
			(void)snprintf(name, sizeof(name), "%u", s);
			domain->kept[s] = false;
			/* If not now, then with the block. */
			(void)cgroup_remove(domain->cgroup.fd[PLAN_MEMORY],
					    name);
			(void)cgroup_remove(domain->cgroup.fd[PLAN_CPU], name);
			return true;
		}
	}
	return false;
}
