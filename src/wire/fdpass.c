/* SPDX-License-Identifier: Apache-2.0 */

/*
 * #syscalls  sendmsg recvmsg close
 */

#include "wire/fdpass.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/cleanup.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16 */
#endif

void fdset_close(struct fdset *set)
{
	for (unsigned int i = 0; i < set->num; i++)
		close_fd(&set->fd[i]);
	set->num = 0;
}

int fdset_take(struct fdset *set, unsigned int i)
{
	if (i >= set->num)
		return -1;
	return take_fd(&set->fd[i]);
}

int fdpass_send2(int sock_fd, const void *msg, size_t len, const void *more,
		 size_t more_len, const int *fds, unsigned int num_fds)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * FDPASS_MAX)];
		struct cmsghdr align;
	} control;
	struct iovec iov[2] = {
		{ .iov_base = (void *)(uintptr_t)msg, .iov_len = len },
		{ .iov_base = (void *)(uintptr_t)more, .iov_len = more_len },
	};
	struct msghdr hdr = {
		.msg_iov = iov,
		.msg_iovlen = more_len ? 2 : 1,
	};
	ssize_t n;

	assert(num_fds <= FDPASS_MAX);
	if (num_fds) {
		struct cmsghdr *cmsg;

		memset(&control, 0, sizeof(control));
		hdr.msg_control = control.buf;
		hdr.msg_controllen = CMSG_SPACE(sizeof(int) * num_fds);
		cmsg = CMSG_FIRSTHDR(&hdr);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * num_fds);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * num_fds);
	}
	do {
		n = sendmsg(sock_fd, &hdr, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

int fdpass_send(int sock_fd, const void *msg, size_t len, const int *fds,
		unsigned int num_fds)
{
	return fdpass_send2(sock_fd, msg, len, NULL, 0, fds, num_fds);
}

void fdpass_refuse(int sock_fd)
{
	const int off = 0;

	(void)setsockopt(sock_fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
}

/* Gathers what the control data holds; whatever doesn't fit is closed. */
static void collect_fds(struct msghdr *hdr, struct fdset *set)
{
	struct cmsghdr *cmsg;

	for (cmsg = CMSG_FIRSTHDR(hdr); cmsg; cmsg = CMSG_NXTHDR(hdr, cmsg)) {
		size_t num;

		if (cmsg->cmsg_level != SOL_SOCKET ||
		    cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		num = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < num; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int),
			       sizeof(fd));
			if (set->num < FDPASS_MAX)
				set->fd[set->num++] = fd;
			else
				close_fd(&fd);
		}
	}
}

int fdpass_recv(int sock_fd, void *msg, size_t size, int flags, size_t *ret_len,
		struct fdset *ret_fds)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * FDPASS_MAX)];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = msg, .iov_len = size };
	struct msghdr hdr = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		/* Without room the kernel drops them before they get a number. */
		.msg_control = ret_fds ? control.buf : NULL,
		.msg_controllen = ret_fds ? sizeof(control.buf) : 0,
	};
	struct fdset fds auto_clean(fdset_close) = FDSET_NULL;
	ssize_t n;

	do {
		n = recvmsg(sock_fd, &hdr, flags | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	collect_fds(&hdr, &fds);
	if (hdr.msg_flags & MSG_TRUNC)
		return -EMSGSIZE;
	if (hdr.msg_flags & MSG_CTRUNC)
		return -EBADMSG;
	if (ret_fds) {
		*ret_fds = fds;
		fds.num = 0;
	}
	*ret_len = (size_t)n;
	return 0;
}
