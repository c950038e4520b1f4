/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * audit - the chain of the audit log: each record's hash covers the one before
 *
 *	hash of n  =  SHA-256(hash of n-1, record n in one unambiguous form)
 *	mac        =  HMAC-SHA-256(key, number and hash of the last one)
 *
 * The mac is in audit_head and is renewed in the transaction that adds
 * records. The key is in a file of its own.
 */

#include <stdbool.h>
#include <stdint.h>

#include <openssl/evp.h>
#include <sqlite3.h>

#include "store/store.h"

#define AUDIT_KEY_NAME "audit.key"
#define AUDIT_KEY_LEN 32

/* By osbd itself: the log wasn't as the last osbd had left it. */
#define AUDIT_BROKEN "audit.broken"

/* Where the chain ends. */
struct audit_head {
	int64_t seq; /* of the last record; 0: none */
	uint8_t hash[STORE_HASH_LEN];
};

struct audit {
	EVP_MD *sha256;
	EVP_MD_CTX *digest;
	uint8_t key[AUDIT_KEY_LEN];
	struct audit_head head;        /* of the transaction under way */
	struct audit_head signed_head; /* in the database */
	sqlite3_stmt *append, *sign;
};

/**
 * audit_open() - find the end of the chain; make key and head at first
 * @audit: zeroed
 *
 * Whatever was done to the log meanwhile will show for ever: see audit.c.
 */
int audit_open(struct audit *audit, sqlite3 *sql, int64_t now_us,
	       struct err *err);

/** audit_close() - fine on a zeroed one */
void audit_close(struct audit *audit);

/** audit_append() - one more record, in an open transaction; 0 or -errno */
int audit_append(struct audit *audit, sqlite3 *sql,
		 const struct store_audit *record);

/** audit_sign() - last in a transaction: renew the head if need be */
int audit_sign(struct audit *audit, sqlite3 *sql);

/* Pieces, also for store_check_audit(). */

/** audit_init() - the hash function; opens no file later; 0 or -errno */
int audit_init(struct audit *audit);

/** audit_read_key() - -ENOENT: no such file; -EBADMSG: not one of ours */
int audit_read_key(uint8_t key[AUDIT_KEY_LEN]);

/** audit_hash() - of a record behind @head; becomes the new @head */
int audit_hash(struct audit *audit, struct audit_head *head, int64_t seq,
	       const struct store_audit *record);

/** audit_mac() - what signs @head */
int audit_mac(const struct audit *audit, const struct audit_head *head,
	      uint8_t ret_mac[STORE_HASH_LEN]);

/**
 * audit_read_head() - as it is in the database
 *
 * Return: 0, -ENOENT: there is none, -EBADMSG: it makes no sense, or -errno.
 */
int audit_read_head(sqlite3 *sql, struct audit_head *ret_head,
		    uint8_t ret_mac[STORE_HASH_LEN]);
