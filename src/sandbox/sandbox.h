/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * sandbox - the records of all sandboxes, and their life
 *
 * Those that aren't ephemeral outlive this process: what the store holds is
 * loaded at start, and compared with what the broker says is there.
 *
 * PENDING   the broker was asked to create it. Visible; nothing runs in it.
 * RUNNING   usable: sandbox_exec() is allowed.
 * STOPPING  the broker was asked to destroy it. Not found by id any more;
 *           execs are lost.
 * FAILED    it ended by itself, or couldn't be destroyed; only to be looked
 *           at and destroyed.
 *
 * A sandbox is known to its domain only: whoever looks with another one gets
 * NULL, as for an id that doesn't exist.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sandbox/account.h"
#include "sandbox/broker_link.h"
#include "sandbox/expiry.h"
#include "sandbox/idempotency.h"
#include "sandbox/init_link.h"
#include "sandbox/pool.h"
#include "sandbox/spec.h"

#define SANDBOXES_MAX 2048
#define SANDBOX_BUCKETS 1024
#define SANDBOX_EXPIRY_MAX_US (10ll * 365 * 24 * 3600 * 1000000)

/* The numbers are kept in files. */
enum sandbox_state {
	SANDBOX_PENDING = 0,
	SANDBOX_RUNNING = 1,
	SANDBOX_STOPPING = 2,
	SANDBOX_FAILED = 3,
	SANDBOX_NUM_STATES
};

struct sandbox_waiter;

struct sandbox {
	struct sandbox *older, *newer;
	struct sandbox *next_in_bucket;
	struct sandboxes *all;
	unsigned int refs;
	enum sandbox_state state;
	bool doomed;  /* PENDING: to be destroyed as soon as it is created */
	bool made;    /* the broker did */
	bool pooled;  /* ... before it was asked for */
	bool missing; /* loaded, and the broker hasn't named it (yet) */
	unsigned int waits;  /* PENDING, STOPPING: for broker, store, init */
	struct err wait_err; /* what the first of them that failed said */
	bool expired;        /* its time was over, so it ended */
	bool charged; /* to its domain's account: as long as it is visible */
	char id[SANDBOX_ID_LEN + 1];
	char domain[DOMAIN_NAME_MAX + 1];
	struct spec spec;
	int64_t created_us;        /* since 1970 */
	int64_t changed_us;        /* the state, last */
	int64_t expires_us;        /* since 1970; 0: never */
	struct deadline deadline;  /* the same, or when to try again */
	char *idem_key;            /* it was asked for under; or NULL */
	char message[ERR_MSG_MAX]; /* FAILED: why */
	struct init_link *init;    /* opened when first used; or NULL */
	struct command *commands;  /* the newest first */
	const void *bound_to; /* somebody at whose end it is destroyed, or NULL;
				 only ever compared */
	broker_answer_fn created_fn;
	void *created_ctx;
	struct sandbox_waiter *waiters; /* for the same answer */
	broker_answer_fn destroyed_fn;
	void *destroyed_ctx;
};

/* All of them. Embedded in the server; fields are read-only outside. */
struct sandboxes {
	const struct poller *poller;
	struct broker_link *broker;
	struct store *store; /* NULL: nothing is kept */
	int dir_fd;          /* of the init sockets */
	int logs_fd;         /* directory of all logs */
	unsigned int num;    /* records */
	struct pools pools;
	uint64_t commands_started;
	uint64_t commands_output; /* bytes, of those that ended */
	unsigned int num_live;    /* not FAILED: what keeps us from leaving */
	struct sandbox *newest, *oldest;
	struct sandbox *bucket[SANDBOX_BUCKETS]; /* by id */
	struct expiry expiry;
	struct accounts accounts;
	struct idem idem;
};

/* All of it stays the caller's. */
struct sandboxes_setup {
	const struct poller *poller;
	struct broker_link *broker;
	struct store *store; /* NULL: nothing is kept */
	int dir_fd;          /* of the init sockets */
	int logs_fd;         /* directory of all logs */
	const struct account_limits *limits;
};

/**
 * sandboxes_init() - nothing yet
 *
 * Before the system call filter.
 * Return: 0 or -errno; sandboxes_deinit() is fine in any case.
 */
int sandboxes_init(struct sandboxes *all, const struct sandboxes_setup *setup);

/** sandboxes_load() - all that the store has; before broker_hello() */
int sandboxes_load(struct sandboxes *all, struct err *err);

/** sandboxes_loaded() - the broker has named all that it has */
void sandboxes_loaded(struct sandboxes *all);

/** sandboxes_deinit() - forget all records; nothing is called or destroyed */
void sandboxes_deinit(struct sandboxes *all);

/** sandboxes_find() - PENDING, RUNNING or FAILED, of that domain; or NULL */
struct sandbox *sandboxes_find(struct sandboxes *all, const char *in_id,
			       const char *domain);

/** sandbox_visible() - may @domain see it? NULL as domain sees all */
bool sandbox_visible(const struct sandbox *sandbox, const char *domain);

/** sandboxes_gone() - the broker says that it ended by itself */
void sandboxes_gone(struct sandboxes *all, const char *id);

/** sandboxes_there() - the broker says that it runs already */
void sandboxes_there(struct sandboxes *all, const char *id);

/** sandbox_unkeep() - from now on it ends with osbd, as an ephemeral one */
void sandbox_unkeep(struct sandbox *sandbox);

/** sandboxes_release() - destroy all that are bound to @owner */
void sandboxes_release(struct sandboxes *all, const void *owner);

/**
 * sandbox_create() - ask for a new one
 * @spec: taken, also on failure
 * @fn:   called once, later, with NULL or why it failed (no record is left)
 *
 * Return: 0 with a borrowed record, or -errno with @err and no callback.
 */
int sandbox_create(struct sandboxes *all, struct spec *spec, const char *domain,
		   broker_answer_fn fn, void *ctx, struct sandbox **ret_sandbox,
		   struct err *err);

/**
 * sandbox_await() - a PENDING one: hear too how its creation ends
 * @fn: called once, later, after that of sandbox_create()
 *
 * Return: 0 or -ENOMEM.
 */
int sandbox_await(struct sandbox *sandbox, broker_answer_fn fn, void *ctx);

/**
 * sandbox_set_key() - remember under which key it was asked for
 *
 * To be called right after sandbox_create(). A creation that fails frees the
 * key; else it is kept even when the sandbox is gone.
 * Return: 0 or -ENOMEM.
 */
int sandbox_set_key(struct sandbox *sandbox, const char *key,
		    const uint8_t digest[IDEM_DIGEST_LEN]);

/**
 * sandbox_set_expiry() - let it end at another moment, sooner or later
 * @expires_us: since 1970, in the future, at most SANDBOX_EXPIRY_MAX_US ahead
 *
 * Return: 0, or -errno with @err: CONFLICT for one that never expires,
 * NOT_FOUND for one whose moment has come already.
 */
int sandbox_set_expiry(struct sandbox *sandbox, int64_t expires_us,
		       struct err *err);

/** sandbox_set_metadata() - in place of what it had; @metadata is taken */
void sandbox_set_metadata(struct sandbox *sandbox, struct strv *metadata);

/**
 * sandbox_keep() - write down what was changed
 * @fn: called when nothing can undo it any more; maybe at once
 */
void sandbox_keep(struct sandbox *sandbox, broker_answer_fn fn, void *ctx);

/**
 * sandbox_destroy() - end it; not found by id from now on
 * @fn: called once, later (or at once for a FAILED one), or NULL
 *
 * The record is gone when @fn is called with NULL.
 */
void sandbox_destroy(struct sandbox *sandbox, broker_answer_fn fn, void *ctx);

/** sandbox_exec() - init_link_exec() on its link, opened if need be */
int sandbox_exec(struct sandbox *sandbox, const struct exec_spec *spec,
		 const struct exec_ops *ops, void *ctx, struct exec **ret_exec,
		 struct err *err);

/** sandbox_attach() - init_link_attach() on its link, opened if need be */
int sandbox_attach(struct sandbox *sandbox, uint32_t exec_id,
		   const struct exec_ops *ops, void *ctx,
		   struct exec **ret_exec);

/** sandbox_warm() - open the link ahead of the first exec */
void sandbox_warm(struct sandbox *sandbox);

/**
 * sandbox_end_verdict() - of what ran in it when its init was gone
 *
 * EXPIRED or KILLED where we ended it, or its time was over; else LOST.
 */
uint32_t sandbox_end_verdict(const struct sandbox *sandbox);

/** sandbox_state_name() - as the API names it */
const char *sandbox_state_name(enum sandbox_state state);

struct sandbox *sandbox_ref(struct sandbox *sandbox);

/** sandbox_unref() - NULL is fine */
void sandbox_unref(struct sandbox *sandbox);
