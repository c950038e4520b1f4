/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osb-disk - makes and closes the writable layers that lie on disk
 *
 * Purpose:    what memory can't hold: a file system of exact size per
 *             sandbox, ready to be mounted under its root.
 * Process:    root with one capability; started by the broker when somebody
 *             first wants a layer, gone when none has been there for a while.
 * Input from: the broker, trusted (wire/disk_msg.h). Nothing of a sandbox:
 *             file systems are made here and only the kernel reads them.
 * Ownership:  layers live as long as their sandbox's mounts; this process
 *             holds a descriptor of each, so that it does the last close. When
 *             it dies, or leaves since the broker has died, the kernel closes
 *             them, only slower.
 * Threading:  one thread; a child per close.
 * Limits:     LAYERS_MAX.
 *
 * #syscalls  poll read write close fcntl fstatfs statfs openat mkdir
 *            signalfd4 wait4 shutdown brk mmap munmap rt_sigprocmask
 *            rt_sigaction rt_sigreturn restart_syscall getpid gettid tgkill
 *            exit_group
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "confine/confine.h"
#include "disk/disk.h"
#include "wire/disk_msg.h"
#include "wire/fdpass.h"

static struct sock_filter disk_filter[] = {
#include "disk_filter.h"
};

/* Without a layer for so long, it leaves; with only a spare one, it drops it. */
#define QUIET_MS 1000

static int open_files(struct disk *disk, struct err *err)
{
	struct statfs st;

	if (mkdir(disk->path, 0700) < 0 && errno != EEXIST)
		return err_set(err, ERR_UNSUPPORTED, errno,
			       "layer_dir '%.150s'", disk->path);
	disk->dir_fd = open(disk->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (disk->dir_fd < 0 || fstatfs(disk->dir_fd, &st) < 0)
		return err_set(err, ERR_UNSUPPORTED, errno,
			       "layer_dir '%.150s'", disk->path);
	if (st.f_type == TMPFS_MAGIC || st.f_type == RAMFS_MAGIC)
		return err_set(err, ERR_UNSUPPORTED, 0,
			       "layer_dir '%.150s' lies in memory; a disk"
			       " larger than half of memory needs one on disk",
			       disk->path);
	return 0;
}

/* First of all, so that no request is ever served with more. */
static int confine_self(void)
{
	int r;

	r = caps_keep(CAPS_BIT(CAP_SYS_ADMIN)); /* loop devices, mounts */
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = -errno;
	return r < 0 ? r : seccomp_load(disk_filter, ARRAY_SIZE(disk_filter));
}

static int start(struct disk *disk, struct err *err)
{
	sigset_t set;
	int r;

	for (unsigned int i = 0; i < TEMPLATES_MAX; i++)
		disk->templates[i].fd = -1;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &set, NULL) < 0)
		return err_set(err, ERR_INTERNAL, errno, "sigprocmask");
	disk->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (disk->signal_fd < 0)
		return err_set(err, ERR_INTERNAL, errno, "signalfd");
	r = open_files(disk, err);
	return r < 0 ? r : loop_open(&disk->loops, err);
}

static int send_closed(uint32_t number)
{
	const struct disk_close msg = { .op = DISK_CLOSED, .layer = number };

	return fdpass_send(DISK_FD_BROKER, &msg, sizeof(msg), NULL, 0);
}

/* Layers are told by their place in the table, from 1 on. */
static uint32_t number_of(const struct disk *disk, const struct layer *layer)
{
	return (uint32_t)(layer - disk->layers) + 1;
}

/*
 * @start_err: why nothing can be made at all, if so: the broker learns it
 * when it asks.
 */
static int answer_take(struct disk *disk, const struct disk_take *in,
		       const struct err *start_err)
{
	struct disk_taken msg = { .op = DISK_TAKEN };
	struct err err = *start_err;
	struct layer *layer = NULL;
	int mnt_fd auto_fd = -1;

	if (err.kind == ERR_NONE)
		layer = layer_take(disk, in->bytes, in->inodes, &mnt_fd, &err);
	msg.kind = err.kind;
	msg.sys = err.sys;
	(void)snprintf(msg.msg, sizeof(msg.msg), "%s", err.msg);
	if (layer)
		msg.layer = number_of(disk, layer);
	return fdpass_send(DISK_FD_BROKER, &msg, sizeof(msg), &mnt_fd,
			   layer ? 1 : 0);
}

/* A number that isn't in use was our predecessor's: the kernel closed it. */
static int answer_close(struct disk *disk, const struct disk_close *in)
{
	struct layer *layer = NULL;

	if (in->layer >= 1 && in->layer <= LAYERS_MAX)
		layer = &disk->layers[in->layer - 1];
	if (!layer || layer->state != LAYER_USED || layer == disk->spare)
		return send_closed(in->layer);
	layer_close(disk, layer);
	return layer->state == LAYER_FREE ? send_closed(in->layer) : 0;
}

/* Return: 0, or -errno when the broker has gone. */
static int receive(struct disk *disk, const struct err *start_err)
{
	union {
		uint32_t op;
		struct disk_take take;
		struct disk_close close;
	} msg;
	size_t len;
	int r;

	r = fdpass_recv(DISK_FD_BROKER, &msg, sizeof(msg), 0, &len, NULL);
	if (r < 0)
		return r;
	if (len == sizeof(msg.take) && msg.op == DISK_TAKE)
		return answer_take(disk, &msg.take, start_err);
	if (len == sizeof(msg.close) && msg.op == DISK_CLOSE)
		return answer_close(disk, &msg.close);
	return -EPIPE;
}

/* Collects the children that are done. @options: WNOHANG or 0 */
static int reap(struct disk *disk, int options)
{
	struct signalfd_siginfo info;
	pid_t pid;
	int r = 0;

	while (read(disk->signal_fd, &info, sizeof(info)) > 0)
		continue;
	while ((pid = waitpid(-1, NULL, options)) > 0) {
		for (unsigned int i = 0; i < LAYERS_MAX; i++) {
			struct layer *layer = &disk->layers[i];

			if (layer->state != LAYER_CLOSING || layer->pid != pid)
				continue;
			layer_closed(disk, layer);
			if (send_closed(number_of(disk, layer)) < 0)
				r = -EPIPE;
		}
	}
	return r;
}

/* Until the broker goes, or nothing was there to do for a while. */
static void serve(struct disk *disk, const struct err *start_err)
{
	for (;;) {
		struct pollfd pfds[] = {
			{ .fd = DISK_FD_BROKER, .events = POLLIN },
			{ .fd = disk->signal_fd, .events = POLLIN },
		};
		unsigned int needed = disk->num_layers - (disk->spare != NULL);
		int n;

		n = poll(pfds, ARRAY_SIZE(pfds),
			 disk->wanted ? 0 : (needed ? -1 : QUIET_MS));
		if (n < 0 && errno != EINTR)
			return;
		if (n == 0 && disk->wanted)
			layer_prepare(disk);
		else if (n == 0)
			return;
		if (pfds[1].revents && reap(disk, WNOHANG) < 0)
			return;
		if (pfds[0].revents && receive(disk, start_err) < 0)
			return;
	}
}

/*
 * Later requests find nobody, and the broker starts another of us. A layer
 * that is still somebody's is left to the kernel, which closes it with its
 * sandbox.
 */
static void stop(struct disk *disk)
{
	(void)shutdown(DISK_FD_BROKER, SHUT_RDWR);
	if (disk->spare)
		layer_close(disk, disk->spare);
	(void)reap(disk, 0);
	loop_close(&disk->loops);
}

int main(int argc, char **argv)
{
	static struct disk disk = {
		.dir_fd = -1,
		.signal_fd = -1,
		.loops = { .dir_fd = -1, .control_fd = -1 },
	};
	struct err err = ERR_NULL;

	if (argc != 2 || fcntl(DISK_FD_BROKER, F_SETFD, FD_CLOEXEC) < 0) {
		(void)fputs(
			"osb-disk is started by osb-broker, never by hand\n",
			stderr);
		return 2;
	}
	if (confine_self() < 0)
		return 1;
	disk.path = argv[1];
	(void)start(&disk, &err);
	serve(&disk, &err);
	stop(&disk);
	return 0;
}
