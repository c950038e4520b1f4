/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * lookup - find the socket that osbd listens on, and connect
 */

#include <stdbool.h>

#include "base/address.h"

struct osb_error;

#define LOOKUP_SERVICE_SOCKET "/run/opensandbox/osbd.sock"
#define LOOKUP_PATH_MAX 1024

/* Where to connect, and what to start there if nothing answers. */
struct lookup {
	char socket_path[LOOKUP_PATH_MAX];
	char run_dir[LOOKUP_PATH_MAX]; /* "": never start anything there */
	bool is_default; /* run_dir is the user's own one: make its parents */
	char host[ADDRESS_TEXT_MAX]; /* "": not by TCP; else as it was given */
	struct address address;      /* by TCP: the same */
};

/**
 * lookup_given() - the plan for an explicit socket path
 */
int lookup_given(const char *path, struct lookup *ret_lookup,
		 struct osb_error *err);

/** lookup_private() - the plan for this user's private daemon */
int lookup_private(struct lookup *ret_lookup, struct osb_error *err);

/**
 * lookup_connect() - connect to a unix socket by a path of any length
 *
 * Return: a blocking CLOEXEC socket, or -errno (-ENOENT and -ECONNREFUSED
 * mean that nobody listens).
 */
int lookup_connect(const char *path);

/**
 * lookup_domain() - the plan for a service on TCP
 * @domain: as the official clients take it, but a host is a number or
 *          localhost: a scheme may lead, /v1 may follow
 * @protocol: NULL or "": http, which is all that there is
 */
int lookup_domain(const char *domain, const char *protocol,
		  struct lookup *ret_lookup, struct osb_error *err);

/** lookup_connect_tcp() - the same as lookup_connect() for an address */
int lookup_connect_tcp(const struct address *address);
