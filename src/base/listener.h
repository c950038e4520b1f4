/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * listener - sockets that take connections, and systemd's way to hand them on
 *
 * See sd_listen_fds(3) and sd_notify(3): a number in the environment, and a
 * datagram.
 */

#include <stdint.h>
#include <sys/types.h>

struct address;
struct err;

#define LISTENERS_MAX 8      /* that come from the environment */
#define LISTENERS_FIRST_FD 3 /* by the convention */

/** listener_tcp() - bind and listen; another may have been there a moment ago */
int listener_tcp(const struct address *address, int *ret_fd, struct err *err);

/**
 * listener_unix() - bind and listen at a path, with this mode
 *
 * A socket there that nobody serves any more is replaced; anything else is an
 * error.
 */
int listener_unix(const char *path, mode_t mode, int *ret_fd, struct err *err);

/**
 * listener_inherit() - how many LISTEN_FDS are ours, from LISTENERS_FIRST_FD on
 *
 * Each is made CLOEXEC; the variables are removed.
 * Return: 0 (@ret_num may be 0), or -errno: one isn't a listening stream
 * socket, or there are over LISTENERS_MAX.
 */
int listener_inherit(unsigned int *ret_num, struct err *err);

/** listener_notify() - one line for $NOTIFY_SOCKET, if there is one */
void listener_notify(const char *line);
