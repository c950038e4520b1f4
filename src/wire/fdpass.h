/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fdpass - whole messages with file descriptors over a SEQPACKET socket
 *
 * Surplus, truncated or unexpected descriptors are closed, never leaked into
 * the receiver. See unix(7), recvmsg(2).
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FDPASS_MAX 40

struct fdset {
	unsigned int num;
	int fd[FDPASS_MAX];
};

#define FDSET_NULL       \
	{                \
		.num = 0 \
	}

/** fdset_close() - close all of them; for auto_clean too */
void fdset_close(struct fdset *set);

/** fdset_take() - hand over number @i; -1 when there is none */
int fdset_take(struct fdset *set, unsigned int i);

/**
 * fdpass_send() - one message; descriptors stay the caller's
 * @fds: @num_fds of them, at most FDPASS_MAX; may be NULL with 0
 *
 * Never raises SIGPIPE. Retries EINTR.
 * Return: 0, or -errno (-EAGAIN on a full non-blocking socket).
 */
int fdpass_send(int sock_fd, const void *msg, size_t len, const int *fds,
		unsigned int num_fds);

/** fdpass_send2() - the same with the message in two parts */
int fdpass_send2(int sock_fd, const void *msg, size_t len, const void *more,
		 size_t more_len, const int *fds, unsigned int num_fds);

/**
 * fdpass_refuse() - let no descriptor come in at @sock_fd
 *
 * Whoever receives a descriptor, or only drops one, may be its last holder,
 * and closing can take for ever: a TCP socket with SO_LINGER and a peer that
 * doesn't read, a file whose file system is a process. So a peer that isn't
 * trusted is refused when it sends. Kernels before 6.16 don't know how; there
 * fdpass_recv() still keeps none. A listening socket passes it on.
 */
void fdpass_refuse(int sock_fd);

/**
 * fdpass_recv() - one message into @size bytes
 * @flags:  MSG_DONTWAIT or 0
 * @ret_len: its length; 0 means that the peer has closed
 * @ret_fds: filled with what came (CLOEXEC); NULL refuses any descriptor:
 *           none becomes ours, not even for the time to close it
 *
 * Return: 0; -EMSGSIZE when longer than @size, -EBADMSG when descriptors came
 * that were refused or truncated (both: message dropped, descriptors closed);
 * another -errno.
 */
int fdpass_recv(int sock_fd, void *msg, size_t size, int flags, size_t *ret_len,
		struct fdset *ret_fds);
