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
 * fdpass_recv() - one message into @size bytes
 * @flags:  MSG_DONTWAIT or 0
 * @ret_len: its length; 0 means that the peer has closed
 * @ret_fds: filled with what came (CLOEXEC); NULL refuses any descriptor
 *
 * Return: 0; -EMSGSIZE when longer than @size, -EBADMSG when descriptors came
 * that were refused or truncated (both: message dropped, descriptors closed);
 * another -errno.
 */
int fdpass_recv(int sock_fd, void *msg, size_t size, int flags, size_t *ret_len,
		struct fdset *ret_fds);
