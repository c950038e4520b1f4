/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * auth - who a request comes from
 */

#include <stdbool.h>
#include <stddef.h>

#include "wire/broker_msg.h"

struct err;

#define KEYS_MAX 1024
#define KEY_LEN_MAX 256
#define KEY_NAME_MAX (DOMAIN_NAME_MAX - 4) /* the domain is "key:<name>" */

struct key;

struct keys {
	struct key *key; /* NULL: none are configured */
	size_t num;
};

/**
 * keys_load() - read a key file: a line `name:key` each, or a bare key
 * @fd: stays the caller's
 *
 * Empty lines and lines that start with '#' don't count. A bare key belongs
 * to the domain "key:default".
 * Return: 0, or -errno with @err naming the line.
 */
int keys_load(int fd, struct keys *ret_keys, struct err *err);

/** keys_parse() - the same from @len bytes of text */
int keys_parse(const char *text, size_t len, struct keys *ret_keys,
	       struct err *err);

/** keys_deinit() - wipe and free */
void keys_deinit(struct keys *keys);

/**
 * keys_find() - the domain of a key, "key:<name>", or NULL
 *
 * Looks at every key, each in constant time.
 */
const char *keys_find(const struct keys *keys, const char *in_key);

/** auth_peer_domain() - "uid:<uid>" of a unix socket's other end */
int auth_peer_domain(int sock_fd, char ret_domain[DOMAIN_NAME_MAX + 1]);
