/* SPDX-License-Identifier: Apache-2.0 */

/*
 * disk - our side of osb-disk, which makes and closes layers on disk
 *
 * It is started when somebody first wants one, and leaves when none has been
 * there for a while, so a request that finds it gone starts another.
 *
 * #syscalls  kill dup2 fcntl execve close_range mkdir epoll_ctl
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/native.h"
#include "base/cleanup.h"
#include "wire/disk_msg.h"
#include "wire/fdpass.h"
#include "wire/spawn.h"

/* mke2fs for a size that is new takes some milliseconds. */
#define TAKE_TIMEOUT_MS 10000

static void exec_disk(void *arg, int sock_fd)
{
	const struct native *native = arg;
	char *const argv[] = {
		(char[]){ "osb-disk" },
		(char *)(uintptr_t)native->config.layer_dir,
		NULL,
	};
	char *const envp[] = { NULL };

	/* Above all others' numbers first: 3 may be one of them. */
	sock_fd = fcntl(sock_fd, F_DUPFD, 10);
	if (dup2(sock_fd, DISK_FD_BROKER) >= 0 && close_range(4, ~0u, 0) == 0)
		(void)execve(native->config.disk_path, argv, envp);
}

static int disk_start(struct native *native)
{
	struct epoll_event event = { .events = EPOLLIN,
				     .data.ptr = &native->disk };
	struct disk *disk = &native->disk;

	/* Its parent is the package's, or whoever chose another's. */
	if (strcmp(native->config.layer_dir, LAYER_DIR_DEFAULT) == 0)
		(void)mkdir("/var/lib/opensandbox", 0755);
	disk->pid = spawn(SPAWN_TRUSTED, exec_disk, native, &disk->sock_fd);
	if (disk->pid < 0)
		return disk->pid;
	return epoll_ctl(native->epoll_fd, EPOLL_CTL_ADD, disk->sock_fd,
			 &event) < 0
		       ? -errno
		       : 0;
}

/* Once it is left alone it ends by itself, when it has closed what is left. */
void disk_stop(struct native *native)
{
	struct disk *disk = &native->disk;

	close_fd(&disk->sock_fd);
	disk->pid = 0;
	native->num_looks = NATIVE_LOOKS; /* reaped when it has closed all */
	for (unsigned int i = 0; i < native->high; i++)
		native->sandboxes[i].layer = 0;
}

static void closed(struct native *native, uint32_t layer)
{
	for (unsigned int i = 0; i < native->high; i++) {
		if (native->sandboxes[i].layer != layer)
			continue;
		native->sandboxes[i].layer = 0;
		native->sandboxes[i].on_disk = false;
	}
}

/* Until a TAKEN came or nothing is there; -EPIPE when osb-disk has gone. */
static int receive(struct native *native, struct disk_taken *msg,
		   struct fdset *ret_fds)
{
	for (;;) {
		size_t len = 0;
		int r = fdpass_recv(native->disk.sock_fd, msg, sizeof(*msg), 0,
				    &len, ret_fds);

		if (r < 0)
			return r;
		if (len == sizeof(*msg) && msg->op == DISK_TAKEN)
			return 0;
		fdset_close(ret_fds);
		if (len != sizeof(struct disk_close) || msg->op != DISK_CLOSED)
			return -EPIPE;
		closed(native, ((const struct disk_close *)(void *)msg)->layer);
	}
}

/* What an osb-disk that is gone has left, each new one clears away. */
void disk_sweep(struct native *native)
{
	if (native->disk.pid == 0)
		(void)disk_start(native);
}

void disk_answered(struct native *native)
{
	struct fdset fds auto_clean(fdset_close) = FDSET_NULL;
	struct disk_taken msg;

	/* Nobody waits for a TAKEN here. */
	if (receive(native, &msg, &fds) != -EAGAIN)
		disk_stop(native);
}

static int ask(struct native *native, const struct disk_take *take,
	       struct disk_taken *ret_msg, struct fdset *ret_fds)
{
	int r;

	r = native->disk.pid > 0 ? 0 : disk_start(native);
	if (r == 0)
		r = fdpass_send(native->disk.sock_fd, take, sizeof(*take), NULL,
				0);
	while (r == 0) {
		r = receive(native, ret_msg, ret_fds);
		if (r != -EAGAIN)
			break;
		r = domain_wait(native->disk.sock_fd, TAKE_TIMEOUT_MS);
	}
	/* Or it would go on, with layers that nobody knows of. */
	if (r == -ETIMEDOUT)
		(void)kill(native->disk.pid, SIGKILL);
	if (r < 0)
		disk_stop(native);
	return r;
}

int disk_take(struct native *native, uint64_t bytes, uint32_t inodes,
	      uint32_t *ret_layer, int *ret_mnt_fd, struct err *err)
{
	const struct disk_take take = {
		.op = DISK_TAKE,
		.bytes = bytes,
		.inodes = inodes,
	};
	struct fdset fds auto_clean(fdset_close) = FDSET_NULL;
	struct disk_taken msg = { 0 };
	int r;

	r = ask(native, &take, &msg, &fds);
	if (r < 0 && r != -ETIMEDOUT) /* it was just leaving */
		r = ask(native, &take, &msg, &fds);
	if (r < 0)
		return err_set(err, ERR_UNAVAILABLE, -r, "ask '%.150s'",
			       native->config.disk_path);
	msg.msg[sizeof(msg.msg) - 1] = '\0';
	if (msg.kind)
		return err_set(err, msg.kind, 0, "%s", msg.msg);
	*ret_mnt_fd = fdset_take(&fds, 0);
	*ret_layer = msg.layer;
	return *ret_mnt_fd < 0 ? err_set(err, ERR_INTERNAL, 0, "osb-disk") : 0;
}

void disk_close(struct native *native, struct sandbox *sandbox)
{
	const struct disk_close msg = {
		.op = DISK_CLOSE,
		.layer = sandbox->layer,
	};

	if (sandbox->layer == 0 || sandbox->layer_closing)
		return;
	/* A full queue: again at the next native_reap(). */
	if (fdpass_send(native->disk.sock_fd, &msg, sizeof(msg), NULL, 0) == 0)
		sandbox->layer_closing = true;
}
