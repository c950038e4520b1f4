/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * client - many HTTP connections of one process, for loads
 *
 * Connections don't block; whoever uses them waits with the epoll descriptor
 * of struct clients. Anything that goes wrong ends the program: a load that
 * isn't what it claims to be is no measurement.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "http/reader.h"

struct client;

/* What all have in common. */
struct clients {
	struct sockaddr_storage addr;
	socklen_t addr_len;
	const char *key; /* API key, or NULL */
	int epoll_fd;
	void *ctx;
	/* A part of a body, and the end of an answer; or NULL. */
	void (*body)(struct client *client, const uint8_t *data, size_t len);
	void (*end)(struct client *client);
};

struct client {
	struct clients *all;
	struct http_reader reader;
	uint64_t sent_us; /* when the last request was sent */
	int fd;
	unsigned int status;
};

/** clients_init() - @address is a path of a unix socket, or IPV4:PORT */
void clients_init(struct clients *all, const char *address);

/** client_open() - connect; blocks while the other side's queue is full */
void client_open(struct clients *all, struct client *client);

/** client_send() - a whole request; @body may be NULL */
void client_send(struct client *client, const char *method, const char *path,
		 const char *body);

/** clients_wait() - take in what came, for at most @timeout_ms */
void clients_wait(struct clients *all, int timeout_ms);

/** client_close() - @reset: as a machine that vanishes does, if by TCP */
void client_close(struct client *client, bool reset);
