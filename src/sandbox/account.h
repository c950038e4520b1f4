/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * account - what each domain has of the host, and how fast it asks for more
 *
 * Two kinds of bounds. Rooms are for what lives: sandboxes and guaranteed
 * memory, of a domain and of all together. Rates are for what happens:
 * creates and requests, each a token bucket of the domain's own, so that no
 * domain can use up another's.
 */

#include <stdbool.h>
#include <stdint.h>

#include "wire/broker_msg.h"

#define ACCOUNTS_MAX 4096 /* twice as many as can have a sandbox */
#define ACCOUNT_BUCKETS 512
#define ACCOUNT_RATE_MAX 1000000u /* also the largest burst */

struct err;

struct account_limits {
	uint64_t max_sandboxes; /* of one domain */
	uint64_t max_guarantee; /* of one domain; bytes */
	uint64_t memory_bytes;  /* for the guarantees of all */
	uint64_t create_rate;   /* per second; 0: any */
	uint64_t create_burst;
	uint64_t request_rate; /* per second, twice of it at once; 0: any */
};

struct account {
	struct account *next_in_bucket;
	struct account *older, *newer; /* by last use */
	char domain[DOMAIN_NAME_MAX + 1];
	unsigned int num_sandboxes;
	uint64_t guarantee_bytes;
	/* When each bucket will be full again; monotonic. */
	uint64_t creates_full_ns, requests_full_ns;
};

struct accounts {
	struct account_limits limits;
	uint64_t guarantee_bytes; /* of all */
	unsigned int num;
	struct account *newest, *oldest;
	struct account *bucket[ACCOUNT_BUCKETS];
};

void accounts_init(struct accounts *accounts,
		   const struct account_limits *limits);

void accounts_deinit(struct accounts *accounts);

/** account_find() - what is known of a domain; NULL: it has nothing */
const struct account *account_find(const struct accounts *accounts,
				   const char *domain);

/**
 * account_check_room() - may the domain have one more sandbox?
 * @guarantee: its bytes
 *
 * Return: 0, or -errno with @err, which says what is full.
 */
int account_check_room(const struct accounts *accounts, const char *domain,
		       uint64_t guarantee, struct err *err);

/**
 * account_charge() - a sandbox is there; whether or not there was room
 *
 * Return: 0 or -ENOMEM.
 */
int account_charge(struct accounts *accounts, const char *domain,
		   uint64_t guarantee);

/** account_release() - one that was charged is there no more */
void account_release(struct accounts *accounts, const char *domain,
		     uint64_t guarantee);

/**
 * account_may_create() - take a token for a create
 * @now_ms: monotonic
 * @ret_wait_s: when there is none: after how many seconds there is one, >= 1
 */
bool account_may_create(struct accounts *accounts, const char *domain,
			uint64_t now_ms, unsigned int *ret_wait_s);

/** account_may_request() - the same for a request of any kind */
bool account_may_request(struct accounts *accounts, const char *domain,
			 uint64_t now_ms, unsigned int *ret_wait_s);

/**
 * account_host_memory() - what the host has for guarantees
 * @reserve: bytes to be left to the host; 0: a tenth of it, at least 256Mi
 *
 * Return: 0, or -errno with @err.
 */
int account_host_memory(uint64_t reserve, uint64_t *ret_bytes, struct err *err);
