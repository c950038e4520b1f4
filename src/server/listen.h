/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * listen - new connections
 *
 * The sockets are the broker's: who connects while osbd starts anew waits.
 */

#include <stdbool.h>

#include "base/listener.h"

struct err;
struct server;

struct listener {
	struct server *server;
	struct watch *watch;
	int fd;
	bool is_tcp;
};

/* Ours, and those from the environment of the broker. */
struct listeners {
	struct listener one[1 + LISTENERS_MAX];
	unsigned int num;
	int spare_fd; /* given up for a moment when descriptors run out */
};

/**
 * listen_open() - take the sockets of enum osbd_fd, @num_more beside our own
 *
 * Without keys one that others than this machine can reach is an error.
 */
int listen_open(struct server *server, unsigned int num_more, struct err *err);

/** listen_start() - accept from now on */
int listen_start(struct server *server);

/** listen_stop() - leave new ones to whoever comes after us */
void listen_stop(struct server *server);

/** listen_close() - we are the last */
void listen_close(struct server *server);
