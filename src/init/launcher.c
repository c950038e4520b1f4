/* SPDX-License-Identifier: Apache-2.0 */

/*
 * launcher - root of one domain, and of nothing else
 *
 * Theory of operation. The broker (host root) starts one launcher per domain.
 * It shuts itself in, in stages:
 *
 *   isolate_mounts   own mount namespace: an empty read-only tmpfs with /m,
 *                    where new sandboxes attach their root, and a fresh /proc
 *   isolate_user     own user namespace, made as the block's base uid; the
 *                    broker writes its maps (256 slots of 65,536 ids)
 *   isolate_net      own network namespace; it can never return to the host's
 *   isolate_caps     five capabilities, valid in the domain only; a filter
 *                    of the calls that launcher and sandboxes need
 *
 * Then it clones a sandbox per LAUNCHER_CLONE: as a uid of the slot's own (its
 * number, an id of slot 0), so that per-user counts differ and nobody inside,
 * root neither, is or can become the user that init runs as; into a spare network namespace that belongs to
 * the *domain* (root inside a sandbox can't touch it) and straight into the
 * sandbox's v2 cgroup. CLONE_PARENT makes the broker the child's parent and
 * reaper. The launcher writes the child's id maps, since only root of the
 * parent user namespace may.
 *
 * Spare network namespaces are made while nothing else is asked. One whose lo
 * never carried a byte is as new when its sandbox is gone, and serves again:
 * making and tearing down one costs as much as half a sandbox.
 *
 * Rule: before any change meant for a namespace of ours, compare its inode
 * with the host's and refuse when equal.
 *
 * See user_namespaces(7), clone(2), pivot_root(2).
 *
 * #syscalls  clone3 unshare setns mount prctl setresuid setresgid setgroups
 *            prlimit64 sched_setaffinity openat newfstatat poll
 *
 * and for the programs inside, whom their own filter has told by init:
 *
 * #syscalls  sysinfo sched_getaffinity
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "confine/confine.h"
#include "init/init.h"
#include "wire/fdpass.h"

#define NETNS_SPARE 12

/*
 * With fewer than this many a spare one is made at once, up to NETNS_SPARE
 * only in quiet moments: the next sandbox to end may well give one back.
 */
#define NETNS_LOW 2
#define QUIET_MS 50

/*
 * What a sandbox may have of things that the kernel counts by user: counts
 * climb to the domain's creator, so without a limit of its own one sandbox
 * takes everybody's.
 */
#define INOTIFY_INSTANCES "32"
#define INOTIFY_WATCHES "8192"
#define PENDING_SIGNALS 1024

struct launcher {
	int proc_fd; /* /proc, kept: maps are written through it */
	int home_fd; /* our own network namespace */
	ino_t host_net;
	bool has_view; /* LAUNCHER_FD_VIEW came along */
	unsigned int num_spare;
	int spare[NETNS_SPARE];
	int slot_net_fd[DOMAIN_SLOTS]; /* 0: none; never a standard stream */
};

/* A change of ids hides our /proc files from ourselves. */
static int become(uid_t uid)
{
	if (syscall(SYS_setresuid, uid, uid, 0) < 0)
		return -errno;
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ? -errno : 0;
}

static int isolate_mounts(struct launcher *l)
{
	struct stat st;
	int r;

	if (stat("/proc/self/ns/net", &st) < 0)
		return -errno;
	l->host_net = st.st_ino;
	/* While we have a right over it: it is of the domain's former userns. */
	if (l->has_view && (setns(LAUNCHER_FD_VIEW, CLONE_NEWCGROUP) < 0 ||
			    close(LAUNCHER_FD_VIEW) < 0))
		return -errno;
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	r = confine_empty_root("m");
	if (r < 0)
		return r;
	l->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return l->proc_fd < 0 ? -errno : 0;
}

static int isolate_user(uid_t block_base)
{
	struct launcher_msg msg = { .op = LAUNCHER_UNSHARED };
	size_t len;
	int r;

	if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0)
		return -errno;
	if (syscall(SYS_setresuid, -1, block_base, -1) < 0 ||
	    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return -errno;
	if (unshare(CLONE_NEWUSER) < 0)
		return -errno;
	r = fdpass_send(LAUNCHER_FD_BROKER, &msg, sizeof(msg), NULL, 0);
	if (r < 0)
		return r;
	r = fdpass_recv(LAUNCHER_FD_BROKER, &msg, sizeof(msg), 0, &len, NULL);
	if (r < 0)
		return r;
	if (len != sizeof(msg) || msg.op != LAUNCHER_MAPPED)
		return -EPROTO;
	/* A new user namespace resets the securebits. */
	if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0 ||
	    setresgid(0, 0, 0) < 0 || syscall(SYS_setgroups, 0, NULL) < 0 ||
	    setresuid(0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

static int isolate_net(struct launcher *l)
{
	int r;

	/* The broker has put us where sandboxes shall see their root. */
	if (unshare(CLONE_NEWNET | (l->has_view ? 0 : CLONE_NEWCGROUP)) < 0)
		return -errno;
	l->home_fd = openat(l->proc_fd, "self/ns/net", O_RDONLY | O_CLOEXEC);
	if (l->home_fd < 0)
		return -errno;
	r = file_write_at(l->proc_fd, "sys/user/max_inotify_instances",
			  INOTIFY_INSTANCES);
	if (r == 0)
		r = file_write_at(l->proc_fd, "sys/user/max_inotify_watches",
				  INOTIFY_WATCHES);
	return r;
}

static struct sock_filter launcher_filter[] = {
#include "init_filter.h"
};

static int isolate_caps(void)
{
	const struct rlimit pending = { PENDING_SIGNALS, PENDING_SIGNALS };
	int r;

	/* A user namespace takes its maker's limit as its own. */
	if (setrlimit(RLIMIT_SIGPENDING, &pending) < 0)
		return -errno;
	r = caps_keep(CAPS_BIT(CAP_SETUID) | CAPS_BIT(CAP_SETGID) |
		      CAPS_BIT(CAP_SYS_ADMIN) | CAPS_BIT(CAP_NET_ADMIN) |
		      CAPS_BIT(CAP_DAC_OVERRIDE));
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = -errno;
	if (r == 0)
		r = seccomp_load(launcher_filter, ARRAY_SIZE(launcher_filter));
	if (r < 0)
		return r;
	/* Last: a change of ids or capabilities would have cleared it. */
	return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ? -errno : 0;
}

static int netns_fill(struct launcher *l)
{
	struct stat st;

	if (fstatat(l->proc_fd, "thread-self/ns/net", &st, 0) < 0)
		return -errno;
	if (st.st_ino == l->host_net)
		return -EXDEV; /* never touch the host's */
	return confine_netns(l->proc_fd);
}

/* Leaves the caller at home again, whatever happened. */
static int netns_make(struct launcher *l, int *ret_fd)
{
	int fd auto_fd = -1;
	int r;

	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	r = netns_fill(l);
	if (r == 0) {
		fd = openat(l->proc_fd, "thread-self/ns/net",
			    O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			r = -errno;
	}
	if (setns(l->home_fd, CLONE_NEWNET) < 0)
		r = -errno;
	if (r < 0)
		return r;
	*ret_fd = take_fd(&fd);
	return 0;
}

static int netns_take(struct launcher *l, int *ret_fd)
{
	if (l->num_spare == 0)
		return netns_make(l, ret_fd);
	*ret_fd = take_fd(&l->spare[--l->num_spare]);
	return 0;
}

/*
 * Did anything ever happen in it? Sockets go with their processes and nobody
 * inside can change links, routes or rules: traffic is all that could leave a
 * trace (connections in TIME_WAIT, metrics). Leaves the caller at home.
 */
static bool netns_is_pristine(const struct launcher *l, int net_fd)
{
	char text[1024];
	const char *lo;

	if (setns(net_fd, CLONE_NEWNET) < 0)
		return false;
	(void)file_read_at(l->proc_fd, "thread-self/net/dev", text,
			   sizeof(text));
	if (setns(l->home_fd, CLONE_NEWNET) < 0)
		_exit(1); /* lost our way: the broker starts another */
	lo = strstr(text, "lo:");
	return lo && strspn(lo + 3, " 0\n") == strlen(lo + 3);
}

static void release(struct launcher *l, uint32_t slot)
{
	int fd auto_fd = -1;

	if (slot >= DOMAIN_SLOTS || l->slot_net_fd[slot] == 0)
		return;
	fd = l->slot_net_fd[slot];
	l->slot_net_fd[slot] = 0;
	if (l->num_spare < NETNS_SPARE && netns_is_pristine(l, fd))
		l->spare[l->num_spare++] = take_fd(&fd);
}

static int write_maps(const struct launcher *l, pid_t pid, uint32_t base)
{
	char path[32], map[48];
	int r;

	(void)snprintf(map, sizeof(map), "0 %u %u", base, SLOT_IDS);
	(void)snprintf(path, sizeof(path), "%d/uid_map", pid);
	r = file_write_at(l->proc_fd, path, map);
	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "%d/gid_map", pid);
	return file_write_at(l->proc_fd, path, map);
}

/* Never returns in the child. */
static pid_t clone_init(int sock_fd, int cgroup_fd)
{
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
			 CLONE_NEWIPC | CLONE_NEWUTS | CLONE_PARENT |
			 CLONE_INTO_CGROUP,
		.cgroup = (uint64_t)(unsigned int)cgroup_fd,
	};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		init_main(sock_fd, LAUNCHER_FD_FILES);
	return (pid_t)(pid < 0 ? -errno : pid);
}

static void set_where(struct launcher_msg *msg, const char *where)
{
	(void)snprintf(msg->where, sizeof(msg->where), "%s", where);
}

/* The broker woke us away from itself; the clone may run anywhere. */
static void allow_all_cpus(void)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	(void)sched_setaffinity(0, sizeof(all), &all);
}

static int clone_sandbox(struct launcher *l, struct launcher_msg *msg,
			 int sock_fd, int cgroup_fd)
{
	uint32_t base = msg->slot * SLOT_IDS;
	int net_fd auto_fd = -1;
	pid_t pid;
	int r;

	allow_all_cpus();
	set_where(msg, "make its network namespace");
	r = netns_take(l, &net_fd);
	if (r < 0)
		return r;
	set_where(msg, "clone it");
	if (setns(net_fd, CLONE_NEWNET) < 0)
		return -errno;
	r = become(msg->slot);
	pid = r < 0 ? r : clone_init(sock_fd, cgroup_fd);
	if (pid < 0)
		r = pid;
	else
		msg->pid = pid;
	if (become(0) < 0 || setns(l->home_fd, CLONE_NEWNET) < 0)
		_exit(1); /* lost our way: the broker starts another */
	if (r < 0)
		return r;
	release(l, msg->slot); /* of a run that failed half-way */
	l->slot_net_fd[msg->slot] = take_fd(&net_fd);
	set_where(msg, "write its id maps");
	return write_maps(l, pid, base);
}

static void answer(struct launcher *l, struct launcher_msg *msg,
		   struct fdset *fds)
{
	int r = -EPROTO;

	msg->pid = 0;
	msg->where[0] = '\0';
	if (msg->op == LAUNCHER_CLONE && msg->slot > 0 &&
	    msg->slot < DOMAIN_SLOTS && fds->num == 2)
		r = clone_sandbox(l, msg, fds->fd[0], fds->fd[1]);
	msg->op = LAUNCHER_CLONED;
	msg->sys = -r;
	if (fdpass_send(LAUNCHER_FD_BROKER, msg, sizeof(*msg), NULL, 0) < 0)
		_exit(1);
}

/* Answers orders; fills the pool while there are none. */
static int launcher_loop(struct launcher *l)
{
	for (;;) {
		struct pollfd pfd = { .fd = LAUNCHER_FD_BROKER,
				      .events = POLLIN };
		struct fdset fds auto_clean(fdset_close) = FDSET_NULL;
		struct launcher_msg msg;
		size_t len;

		if (l->num_spare < NETNS_SPARE &&
		    poll(&pfd, 1, l->num_spare < NETNS_LOW ? 0 : QUIET_MS) ==
			    0 &&
		    netns_make(l, &l->spare[l->num_spare]) == 0) {
			l->num_spare++;
			continue;
		}
		if (fdpass_recv(LAUNCHER_FD_BROKER, &msg, sizeof(msg), 0, &len,
				&fds) < 0 ||
		    len != sizeof(msg))
			return 0; /* the broker is gone */
		if (msg.op == LAUNCHER_RELEASE)
			release(l, msg.slot);
		else
			answer(l, &msg, &fds);
	}
}

int launcher_main(char **argv)
{
	static struct launcher launcher = { .proc_fd = -1, .home_fd = -1 };
	struct launcher_msg ready = { .op = LAUNCHER_READY };
	const uid_t base = (uid_t)strtoul(argv[2], NULL, 10);
	int r;

	/* Every sandbox sees this command line as its PID 1's. */
	memset(argv[1], 0, strlen(argv[1]));
	memset(argv[2], 0, strlen(argv[2]));
	launcher.has_view = fcntl(LAUNCHER_FD_VIEW, F_GETFD) >= 0;
	r = isolate_mounts(&launcher);
	if (r == 0)
		r = isolate_user(base);
	if (r == 0)
		r = isolate_net(&launcher);
	if (r == 0)
		r = isolate_caps();
	ready.sys = -r;
	if (fdpass_send(LAUNCHER_FD_BROKER, &ready, sizeof(ready), NULL, 0) <
		    0 ||
	    r < 0)
		return 1;
	return launcher_loop(&launcher);
}
