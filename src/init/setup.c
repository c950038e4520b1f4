/* SPDX-License-Identifier: Apache-2.0 */

/*
 * setup - from a fresh clone to a closed sandbox, called once by init
 *
 * The broker has made every mount that needs host rights (root, devices, /sys,
 * binds) and sends them as detached mounts; init may only put them in place,
 * since only it is in the new mount namespace. Afterwards the old root is
 * gone, and confine_init() takes the rights to do any of this again.
 *
 * Mount points come from the broker's plan, but lie in directories that a
 * volume may have brought along: they are resolved without symbolic links, or
 * a link in a volume could put a mount over /proc.
 *
 * See pivot_root(2), move_mount(2), Documentation/filesystems/sharedsubtree.
 *
 * #syscalls  pivot_root umount2 sethostname setfsuid setfsgid chdir
 *            fchdir mkdir openat openat2 write dup3 close_range fcntl prctl
 *            newfstatat fstat
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mnt.h"
#include "confine/confine.h"
#include "init/init.h"
#include "wire/fdpass.h"

/*
 * Init keeps the launcher's id for this slot, which doesn't exist inside: so
 * root inside can't change its limits or its scheduling, as it could for a
 * process of its own. Only the files that init makes are root's.
 */
static int hide(bool keep)
{
	(void)syscall(SYS_setfsgid, 0);
	(void)syscall(SYS_setfsuid, 0);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	/* The broker is our parent. The next one adopts whom it finds. */
	return prctl(PR_SET_PDEATHSIG, keep ? 0 : SIGKILL, 0, 0, 0) < 0 ? -errno
									: 0;
}

/* Each to its number; -1 for those that didn't come. */
static void place_fds(const struct setup *setup, struct fdset *fds)
{
	const unsigned int num = SETUP_NUM_FDS + setup->num_binds;
	unsigned int from = fds->num;

	for (unsigned int to = num; to-- > 0;) {
		bool came = to >= SETUP_NUM_FDS || setup->fds & (1u << to);

		fds->fd[to] = came ? fds->fd[--from] : -1;
	}
	fds->num = num;
}

static int receive_setup(int sock_fd, struct setup *setup, struct fdset *fds)
{
	size_t len;
	int r;

	r = fdpass_recv(sock_fd, setup, sizeof(*setup), 0, &len, fds);
	if (r == 0)
		r = setup_check(setup, len, fds->num);
	if (r == 0)
		place_fds(setup, fds);
	return r;
}

static int attach_kernel_trees(const struct fdset *fds, int proc_fd)
{
	static const struct mnt_option pts_options[] = {
		MNT_TEXT("ptmxmode", "0666"), MNT_TEXT("mode", "0620"),
		MNT_TEXT("gid", "5"),
		MNT_TEXT("max", "64"), /* the host has 4,096 in all */
	};
	int pts_fd auto_fd = -1;
	int r;

	r = mnt_attach(fds->fd[SETUP_FD_DEV], AT_FDCWD, "dev");
	if (r == 0)
		r = mnt_attach(fds->fd[SETUP_FD_SYS], AT_FDCWD, "sys");
	if (r == 0)
		r = mnt_attach(proc_fd, AT_FDCWD, "proc");
	if (r == 0)
		r = mnt_attach(fds->fd[SETUP_FD_SHM], AT_FDCWD, "dev/shm");
	if (r == 0)
		r = mnt_new("devpts", pts_options, ARRAY_SIZE(pts_options),
			    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, &pts_fd);
	if (r == 0)
		r = mnt_attach(pts_fd, AT_FDCWD, "dev/pts");
	return r;
}

/*
 * A copy of a mount can be made only of one in our namespace: so the directory
 * of the truth is attached, too, and goes with the old root.
 */
static int attach_truth(struct init *init, int truth_fd, int proc_fd)
{
	static const char *const names[] = TRUTH_FILES;
	int r = 0;

	for (unsigned int i = 0; r == 0 && i < TRUTH_NUM_FILES; i++) {
		int mnt_fd auto_fd = -1;

		init->truth_fd[i] =
			openat(truth_fd, names[i], O_RDWR | O_CLOEXEC);
		if (init->truth_fd[i] < 0)
			return -errno;
		r = mnt_clone(truth_fd, names[i], &mnt_fd);
		if (r == 0)
			r = mnt_set(mnt_fd, MOUNT_ATTR_RDONLY, -1);
		if (r == 0)
			r = mnt_attach(mnt_fd, proc_fd, names[i]);
	}
	return r;
}

static int enter_root(struct init *init, const struct fdset *fds, int proc_fd)
{
	int r;

	r = mnt_attach(fds->fd[SETUP_FD_TRUTH], AT_FDCWD, "/m");
	if (r == 0)
		r = mnt_attach(fds->fd[SETUP_FD_ROOT], AT_FDCWD, "/m");
	if (r < 0)
		return r;
	if (fchdir(fds->fd[SETUP_FD_ROOT]) < 0)
		return -errno;
	r = attach_kernel_trees(fds, proc_fd);
	if (r == 0)
		r = attach_truth(init, fds->fd[SETUP_FD_TRUTH], proc_fd);
	if (r < 0)
		return r;
	if (syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return -errno;
	return 0;
}

/* mkdir -p of the parents of @path; the last part is made as asked. */
static int make_target(const char *path, bool is_dir)
{
	char part[VOLUME_PATH_MAX + 1];
	size_t len = strlen(path);

	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (path[i] == '\0' && !is_dir) {
			int fd auto_fd = open(part,
					      O_CREAT | O_CLOEXEC | O_NOFOLLOW |
						      O_NONBLOCK,
					      0644);
			return fd < 0 ? -errno : 0;
		}
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

static int open_target(const char *path)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS,
	};
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

static int attach_bind(int mount_fd, const char *path)
{
	int target_fd auto_fd = open_target(path);
	struct stat st;
	int r;

	if (target_fd == -ENOENT) {
		if (fstat(mount_fd, &st) < 0)
			return -errno;
		r = make_target(path, S_ISDIR(st.st_mode));
		if (r < 0)
			return r;
		target_fd = open_target(path);
	}
	if (target_fd < 0)
		return target_fd;
	return mnt_attach(mount_fd, target_fd, "");
}

static bool is_unified(const struct fdset *fds)
{
	return fds->fd[SETUP_FD_PIDS] < 0;
}

static int join_cgroups(const struct fdset *fds)
{
	if (is_unified(fds))
		return 0; /* cloned into its place */
	for (int i = SETUP_FD_JOIN_PIDS; i <= SETUP_FD_JOIN_CPU; i++) {
		if (write(fds->fd[i], "0", 1) != 1)
			return -errno;
	}
	return 0;
}

/* Whatever the launcher had as standard streams stays outside. */
static int null_stdio(void)
{
	int fd auto_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; i < 3; i++) {
		if (fd < 0 || dup2(fd, i) < 0)
			return -errno;
	}
	return 0;
}

static void keep_fds(struct init *init, struct fdset *fds)
{
	init->cgroup_fd = fdset_take(fds, SETUP_FD_CGROUP);
	init->unified = is_unified(fds);
	init->pids_fd = init->unified ? init->cgroup_fd
				      : fdset_take(fds, SETUP_FD_PIDS);
	init->room_fd[0] = fdset_take(fds, SETUP_FD_ROOM_0);
	init->room_fd[1] = fdset_take(fds, SETUP_FD_ROOM_1);
	init->memory_tasks_fd = fdset_take(fds, SETUP_FD_MEMORY_TASKS);
	init->memory_peak_fd = fdset_take(fds, SETUP_FD_MEMORY_PEAK);
	init->memory_events_fd = fdset_take(fds, SETUP_FD_MEMORY_EVENTS);
	init->memory_max_fd = fdset_take(fds, SETUP_FD_MEMORY_MAX);
	init->memory_stat_fd = fdset_take(fds, SETUP_FD_MEMORY_STAT);
	init->listen_fd = fdset_take(fds, SETUP_FD_LISTEN);
}

/* An exec gets fewer than the payload, so that `echo ok` can always start. */
static uint32_t pids_of_exec(uint32_t pids)
{
	uint32_t reserve = pids / 4 < 8 ? pids / 4 : 8;

	return pids - reserve;
}

static void keep_settings(struct init *init, const struct setup *setup)
{
	init->exec_pids = pids_of_exec(setup->pids);
	init->nofile = setup->nofile;
	init->no_root = setup->flags & CREATE_STRICT;
	truth_init(&init->truth, setup->cpus, now_us());
	if (setup->life_ms)
		init->life_us = now_us() + setup->life_ms * 1000;
	for (uint32_t i = 0; i < setup->num_binds; i++) {
		if (setup->writable & (1u << i))
			memcpy(init->writable[init->num_writable++],
			       setup->bind[i], sizeof(setup->bind[i]));
	}
}

static int attach_binds(const struct setup *setup, const struct fdset *fds)
{
	for (uint32_t i = 0; i < setup->num_binds; i++) {
		int mount_fd = fds->fd[SETUP_NUM_FDS + i];
		int r = 0;

		if (setup->flags & CREATE_STRICT && setup->writable & (1u << i))
			r = mnt_set(mount_fd, MOUNT_ATTR_NOEXEC, -1);
		if (r == 0)
			r = attach_bind(mount_fd, setup->bind[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int close_walls(struct init *init, const struct setup *setup,
		       const char **ret_where)
{
	unsigned int walls = 0;
	int r;

	*ret_where = "mask /proc";
	r = confine_proc("/sys/kernel");
	if (r < 0)
		return r;
	if (setup->flags & CREATE_STRICT) {
		*ret_where = "make its root read-only";
		r = confine_root_read_only();
		if (r < 0)
			return r;
	}
	*ret_where = "confine init";
	if (init->num_writable > 0)
		walls |= CONFINE_NO_SET_ID;
	if (setup->flags & CREATE_STRICT)
		walls |= CONFINE_FEWER_CALLS;
	return confine_init(walls, &init->notify_fd);
}

/*
 * What needs nothing from the broker is done while it still mounts. The fresh
 * /proc must be made while the launcher's is in view: the kernel lets a user
 * namespace have one only beside a fully visible one.
 */
static int prepare(int *ret_proc_fd, const char **ret_where)
{
	int r;

	*ret_where = "forbid user namespaces";
	r = confine_forbid_userns();
	if (r < 0)
		return r;
	*ret_where = "bound its capabilities";
	r = confine_bound();
	if (r < 0)
		return r;
	*ret_where = "mount /proc";
	return mnt_new("proc", NULL, 0,
		       MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
		       ret_proc_fd);
}

int setup_run(struct init *init, int sock_fd, const char **ret_where)
{
	static struct setup setup; /* 25 kB: too much for the stack */
	struct fdset fds auto_clean(fdset_close) = FDSET_NULL;
	int proc_fd auto_fd = -1;
	int r;

	r = prepare(&proc_fd, ret_where);
	if (r < 0)
		return r;
	*ret_where = "read its setup";
	r = receive_setup(sock_fd, &setup, &fds);
	if (r < 0)
		return r;
	*ret_where = "hide";
	r = hide(setup.flags & CREATE_KEEP);
	if (r < 0)
		return r;
	*ret_where = "join its cgroups";
	r = join_cgroups(&fds);
	if (r < 0)
		return r;
	*ret_where = "enter its root";
	r = enter_root(init, &fds, proc_fd);
	if (r < 0)
		return r;
	*ret_where = "open /dev/null";
	r = null_stdio();
	if (r < 0)
		return r;
	if (setup.flags & CREATE_STRICT) {
		*ret_where = "let nothing run from where it can write";
		r = confine_writable();
		if (r < 0)
			return r;
	}
	*ret_where = "mount its volumes";
	r = attach_binds(&setup, &fds);
	if (r < 0)
		return r;
	*ret_where = "set its host name";
	if (sethostname(setup.hostname,
			strnlen(setup.hostname, sizeof(setup.hostname))) < 0)
		return -errno;
	keep_fds(init, &fds);
	keep_settings(init, &setup);
	return close_walls(init, &setup, ret_where);
}
