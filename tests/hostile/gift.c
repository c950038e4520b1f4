/* SPDX-License-Identifier: Apache-2.0 */

/*
 * gift - descriptors that harm who receives or closes them
 *
 * linger: a TCP connection with bytes that its peer doesn't read and a linger
 * time of days: who closes it last waits. fuse: a file whose file system is a
 * process that doesn't answer: who closes it waits for its flush.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "hostile/hostile.h"

#define FUSE_SECONDS 5

static int open_linger(int *ret_fd)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const struct linger linger = { .l_onoff = 1, .l_linger = 100000 };
	static const char junk[65536];
	socklen_t len = sizeof(addr);
	int listen_fd = socket(AF_INET, SOCK_STREAM, 0); /* stays open */
	int fd auto_fd = socket(AF_INET, SOCK_STREAM, 0);

	if (listen_fd < 0 || fd < 0 ||
	    bind(listen_fd, (struct sockaddr *)&addr, len) < 0 ||
	    listen(listen_fd, 1) < 0 ||
	    getsockname(listen_fd, (struct sockaddr *)&addr, &len) < 0 ||
	    connect(fd, (struct sockaddr *)&addr, len) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) < 0)
		return -errno;
	while (send(fd, junk, sizeof(junk), MSG_DONTWAIT) > 0)
		continue;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Answers until the file is open, and to nothing afterwards. */
static void serve_fuse(int fuse_fd)
{
	static uint8_t in[FUSE_MIN_READ_BUFFER * 4];
	static struct {
		struct fuse_out_header head;
		union {
			struct fuse_init_out init;
			struct fuse_open_out open;
			struct fuse_attr_out attr;
		};
	} out;

	for (;;) {
		const struct fuse_in_header *head = (void *)in;
		size_t len = 0;

		if (read(fuse_fd, in, sizeof(in)) < (ssize_t)sizeof(*head))
			return;
		memset(&out, 0, sizeof(out));
		if (head->opcode == FUSE_INIT) {
			out.init.major = FUSE_KERNEL_VERSION;
			out.init.minor = FUSE_KERNEL_MINOR_VERSION;
			out.init.max_write = 4096;
			len = sizeof(out.init);
		} else if (head->opcode == FUSE_OPEN) {
			len = sizeof(out.open);
		} else if (head->opcode == FUSE_GETATTR) {
			out.attr.attr.ino = 1;
			out.attr.attr.mode = S_IFREG | 0666;
			out.attr.attr.nlink = 1;
			len = sizeof(out.attr);
		} else {
			continue;
		}
		out.head.unique = head->unique;
		out.head.len = (uint32_t)(sizeof(out.head) + len);
		(void)!write(fuse_fd, &out, out.head.len);
	}
}

/* In namespaces of our own, over a file that everybody has. */
static int open_fuse(int *ret_fd)
{
	const char *path = "/etc/hostname";
	char options[96], map[32], group_map[32];
	int fuse_fd auto_fd = -1;

	(void)snprintf(map, sizeof(map), "0 %u 1", geteuid());
	(void)snprintf(group_map, sizeof(group_map), "0 %u 1", getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return -errno;
	if (file_write_at(AT_FDCWD, "/proc/self/uid_map", map) < 0 ||
	    file_write_at(AT_FDCWD, "/proc/self/setgroups", "deny") < 0 ||
	    file_write_at(AT_FDCWD, "/proc/self/gid_map", group_map) < 0)
		return -ENOTSUP;
	/* Where it is root's, a test puts one beside the run directory. */
	fuse_fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fuse_fd < 0)
		fuse_fd = openat(OSBD_FD_SANDBOXES, "../../fuse",
				 O_RDWR | O_CLOEXEC);
	if (fuse_fd < 0)
		return -errno;
	(void)snprintf(options, sizeof(options),
		       "fd=%d,rootmode=100666,user_id=0,group_id=0", fuse_fd);
	if (mount("fuse", path, "fuse", MS_NOSUID | MS_NODEV, options) < 0)
		return -errno;
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		(void)alarm(FUSE_SECONDS); /* who waits can't be killed */
		serve_fuse(fuse_fd);
		_exit(0);
	}
	*ret_fd = open(path, O_RDWR | O_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

static int open_pipe(int *ret_fd)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	*ret_fd = ends[0];
	return 0;
}

int gift_open(const char *kind, int *ret_fd)
{
	if (strcmp(kind, "linger") == 0)
		return open_linger(ret_fd);
	if (strcmp(kind, "fuse") == 0)
		return open_fuse(ret_fd);
	if (strcmp(kind, "fifo") == 0)
		return open_pipe(ret_fd);
	if (strcmp(kind, "memfd") == 0)
		*ret_fd = memfd_create("gift", MFD_CLOEXEC);
	else if (strcmp(kind, "socket") == 0)
		*ret_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	else if (strcmp(kind, "directory") == 0)
		*ret_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	else
		*ret_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

int gift_send(int sock_fd, const void *msg, size_t len, int fd,
	      unsigned int num_fds)
{
	static union {
		char buf[CMSG_SPACE(sizeof(int) * GIFTS_MAX)];
		struct cmsghdr align;
	} control;
	struct iovec iov = { (void *)(uintptr_t)msg, len };
	struct msghdr hdr = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (num_fds > GIFTS_MAX)
		return -EINVAL;
	if (num_fds) {
		struct cmsghdr *cmsg = &control.align;
		int *fds = (void *)CMSG_DATA(cmsg);

		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * num_fds);
		for (unsigned int i = 0; i < num_fds; i++)
			fds[i] = fd;
		hdr.msg_control = control.buf;
		hdr.msg_controllen = CMSG_SPACE(sizeof(int) * num_fds);
	}
	return sendmsg(sock_fd, &hdr, MSG_NOSIGNAL) < 0 ? -errno : 0;
}
