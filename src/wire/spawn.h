/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * spawn - a child process with a SEQPACKET socket to it
 */

#include <sys/types.h>

enum spawn_trust {
	SPAWN_TRUSTED,
	SPAWN_REFUSES_FDS, /* our end takes no descriptors: fdpass_refuse() */
};

/**
 * spawn() - fork, and run @child in the new process, which ends with 127 if
 * that returns
 * @ret_sock_fd: our end, non-blocking: no child of ours may stop us
 *
 * The child has copies of all our descriptors, its end of the socket among
 * them (CLOEXEC).
 * Return: its pid, or -errno with nothing started.
 */
pid_t spawn(enum spawn_trust trust, void (*child)(void *arg, int sock_fd),
	    void *arg, int *ret_sock_fd);
