/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * idempotency - which create was asked for under which key
 *
 * A client that doesn't know whether its create arrived sends it again with
 * the same key, and gets the same sandbox. A key belongs to its domain, and
 * is remembered with a digest of the request, so that it can't silently stand
 * for another one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/broker_msg.h"

#define IDEM_KEY_MAX 255
#define IDEM_KEY_ALLOWED "1 to 255 visible ASCII characters"
#define IDEM_DIGEST_LEN 32
#define IDEM_DOMAIN_MAX 10000 /* keys of one domain; the oldest goes */
#define IDEM_NUM_MAX 131072   /* of all; the oldest of who has most goes */
#define IDEM_LIFE_US (24ll * 3600 * 1000000)
#define IDEM_SEED_LEN 16

struct idem_domain;

struct idem_entry {
	struct idem_entry *next_in_bucket;
	struct idem_entry *older, *newer; /* of the domain */
	struct idem_domain *domain;
	int bucket;         /* its number */
	int64_t created_us; /* since 1970 */
	uint8_t digest[IDEM_DIGEST_LEN];
	char sandbox[SANDBOX_ID_LEN + 1];
	char key[];
};

struct idem {
	struct idem_entry **bucket;
	struct idem_domain *domains; /* that have a key */
	unsigned int num;
	uint8_t seed[IDEM_SEED_LEN];
};

/**
 * idem_init() - no keys yet
 *
 * Readies libcrypto too, which opens files: before the system call filter.
 * Return: 0 or -errno; idem_deinit() is fine in any case.
 */
int idem_init(struct idem *idem);

void idem_deinit(struct idem *idem);

/** idem_key_ok() - can it be one? See IDEM_KEY_ALLOWED */
bool idem_key_ok(const char *in_key);

/** idem_digest() - SHA-256 of a request. Return: 0 or -ENOMEM */
int idem_digest(const void *data, size_t len,
		uint8_t ret_digest[IDEM_DIGEST_LEN]);

/** idem_find() - the key's entry, if it is younger than IDEM_LIFE_US */
const struct idem_entry *idem_find(struct idem *idem, const char *domain,
				   const char *key, int64_t now_us);

/**
 * idem_add() - remember a key that idem_find() doesn't know
 * @sandbox:    its id
 * @created_us: now; or, from a store at the start, what was stored, with the
 *              oldest first
 *
 * Return: 0 or -ENOMEM.
 */
int idem_add(struct idem *idem, const char *domain, const char *key,
	     const uint8_t digest[IDEM_DIGEST_LEN], const char *sandbox,
	     int64_t created_us);

/** idem_drop() - forget a key, if it stands for this sandbox */
void idem_drop(struct idem *idem, const char *domain, const char *key,
	       const char *sandbox);
