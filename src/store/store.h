/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * store - what osbd remembers over its own death, and the audit log
 *
 * Writes are queued, done in order by a thread of ours, and answered on the
 * caller's loop once they are committed; an answer to a client waits for
 * that. Committed means: it is there after osbd was killed, in whatever state
 * it was. After a power cut the last moments may be missing, but what is there
 * is consistent.
 *
 * Loading is synchronous, at start: before the first write.
 *
 * A callback's ctx must live until it was called: hold a reference. What is
 * passed to a function here is copied.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/poller.h"
#include "wire/broker_msg.h"
#include "wire/limits.h"

#define STORE_OPS_MAX 65536u /* that have had no callback yet */
#define STORE_BYTES_MAX (64u * 1024 * 1024)
#define STORE_ITEM_MAX (1024u * 1024) /* bytes of one write */
#define STORE_KEY_MAX 255             /* of an Idempotency-Key */
#define STORE_HASH_LEN 32
#define STORE_AUDIT_MAX 1023 /* bytes of each text of an audit record */

struct store;

/* Strings packed with their NULs, as struct strv holds them; or any bytes. */
struct store_bytes {
	const void *data; /* NULL when len is 0 */
	size_t len;
};

enum store_sandbox_flag {
	STORE_STRICT = 1 << 0,
	STORE_CONTEST = 1 << 1,
};

/* Numbers of enums are kept in files: give each a fixed value. */
struct store_sandbox {
	char id[SANDBOX_ID_LEN + 1];
	char domain[DOMAIN_NAME_MAX + 1];
	char image[IMAGE_NAME_MAX + 1];
	char message[ERR_MSG_MAX];
	uint32_t state;
	bool ephemeral; /* ends with who asked for it */
	int64_t created_us, changed_us;
	int64_t expires_us; /* 0: never */
	struct limits limits;
	uint64_t guarantee_bytes;
	char profile[32];
	uint32_t flags; /* enum store_sandbox_flag */
	/* Of each exec that names none; 0: none. */
	uint64_t exec_wall_ms, exec_cpu_ms, exec_output_max;
	uint32_t exec_output_policy;
	struct store_bytes env, metadata, entrypoint;
};

struct store_exec {
	char id[SANDBOX_ID_LEN + 1]; /* the same form */
	char sandbox_id[SANDBOX_ID_LEN + 1];
	const char *command; /* for people; NULL reads back as "" */
	uint32_t number;     /* init's exec_id */
	uint32_t uid;
	bool background, merged, truncated;
	int64_t started_us;
	int64_t finished_us; /* 0: not yet; then all below is 0 */
	uint32_t verdict;    /* enum verdict */
	int32_t exit_code, signal;
	uint32_t limits_hit;
	uint64_t log_bytes;
	uint64_t wall_us, cpu_us;
	uint64_t peak_memory_bytes;
	uint32_t peak_pids;
	uint32_t num_left;       /* processes that outlived it... */
	struct store_bytes left; /* ...and some of them: struct init_left */
};

/* An Idempotency-Key that was used; outlives its sandbox. */
struct store_request {
	char domain[DOMAIN_NAME_MAX + 1];
	char key[STORE_KEY_MAX + 1];
	uint8_t hash[STORE_HASH_LEN]; /* of the body */
	char sandbox_id[SANDBOX_ID_LEN + 1];
	int64_t created_us;
};

/* Totals of a domain; as an argument of store_add_usage() what to add. */
struct store_usage {
	char domain[DOMAIN_NAME_MAX + 1];
	uint64_t requests;
	uint64_t sandboxes_created;
	uint64_t execs_started;
	uint64_t cpu_us;
	uint64_t output_bytes;
	int64_t last_used_us; /* the later one stays */
};

/* Texts beyond STORE_AUDIT_MAX are cut; NULL is "". */
struct store_audit {
	int64_t time_us; /* since 1970 */
	const char *domain;
	const char *request_id;
	const char *action; /* "sandbox.create"; "audit." is ours */
	const char *object;
	const char *outcome; /* "ok", or why not */
	const char *detail;
};

/**
 * store_open() - open or make the database of a state directory
 * @dir_fd: becomes the working directory of the whole process, since SQLite
 *     needs paths; the descriptor stays the caller's
 * @poller: or NULL: no loop; callbacks come in store_close() only
 *
 * Starts the thread: seccomp_load_all_threads() comes after this, and nothing
 * here opens a file any more. A database that is damaged, or was written by a
 * newer version, is refused and left alone; so is one that another process
 * has open.
 *
 * Return: 0, or -errno with @err.
 */
int store_open(int dir_fd, const struct poller *poller,
	       struct store **ret_store, struct err *err);

/**
 * store_close() - commit what is queued and end the thread
 *
 * All outstanding callbacks are called before it returns; none may queue
 * anything. NULL is fine.
 */
void store_close(struct store *store);

/*
 * Loading. @fn is called for each record, the oldest first; what it points at
 * is valid during the call. When it returns a negative number, that ends the
 * loop and is returned. Else: 0, or -errno with @err.
 */
typedef int (*store_sandbox_fn)(void *ctx, const struct store_sandbox *sandbox);
typedef int (*store_exec_fn)(void *ctx, const struct store_exec *exec);
typedef int (*store_request_fn)(void *ctx, const struct store_request *request);
typedef int (*store_usage_fn)(void *ctx, const struct store_usage *usage);

int store_each_sandbox(struct store *store, store_sandbox_fn fn, void *ctx,
		       struct err *err);
int store_each_exec(struct store *store, store_exec_fn fn, void *ctx,
		    struct err *err);
int store_each_request(struct store *store, store_request_fn fn, void *ctx,
		       struct err *err);
int store_each_usage(struct store *store, store_usage_fn fn, void *ctx,
		     struct err *err);

/*
 * Writing. @fn (or NULL) is called once, later: with 0 when it is committed,
 * or -errno: -ENOSPC, -EIO ... for the disk; -ENOENT: an exec of a sandbox
 * that isn't in the store.
 *
 * Return: 0, or -errno with @err and no callback: ERR_UNAVAILABLE when too
 * much waits already, ERR_TOO_LARGE for one above STORE_ITEM_MAX.
 */
typedef void (*store_done_fn)(void *ctx, int r);

/** store_put_sandbox() - insert it, or replace all of its fields */
int store_put_sandbox(struct store *store, const struct store_sandbox *sandbox,
		      store_done_fn fn, void *ctx, struct err *err);

/** store_delete_sandbox() - and its execs; fine when it isn't there */
int store_delete_sandbox(struct store *store, const char *id, store_done_fn fn,
			 void *ctx, struct err *err);

/** store_put_exec() - insert it, or replace all of its fields */
int store_put_exec(struct store *store, const struct store_exec *exec,
		   store_done_fn fn, void *ctx, struct err *err);

int store_delete_exec(struct store *store, const char *id, store_done_fn fn,
		      void *ctx, struct err *err);

/** store_put_request() - insert it, or replace that of this domain and key */
int store_put_request(struct store *store, const struct store_request *request,
		      store_done_fn fn, void *ctx, struct err *err);

/** store_delete_request() - fine when it isn't there */
int store_delete_request(struct store *store, const char *domain,
			 const char *key, store_done_fn fn, void *ctx,
			 struct err *err);

/** store_prune_requests() - forget all that were made before @before_us */
int store_prune_requests(struct store *store, int64_t before_us,
			 store_done_fn fn, void *ctx, struct err *err);

/** store_add_usage() - add to the totals of its domain; they saturate */
int store_add_usage(struct store *store, const struct store_usage *delta,
		    store_done_fn fn, void *ctx, struct err *err);

/** store_audit() - append a record to the audit log */
int store_audit(struct store *store, const struct store_audit *audit,
		store_done_fn fn, void *ctx, struct err *err);

/**
 * store_group_begin() - what is queued until store_group_end() is committed
 * together or not at all
 *
 * Within one turn of the loop; groups don't nest. When one of them fails, all
 * get its error. One that isn't even queued is not part of the group.
 */
void store_group_begin(struct store *store);
void store_group_end(struct store *store);

struct store_check {
	uint64_t num; /* records that are there and fit */
	/* The first that doesn't, when something is wrong: */
	uint64_t bad_seq;
	int64_t bad_time_us; /* 0: there is no record to tell it */
	char what[ERR_MSG_MAX];
};

/**
 * store_check_audit() - walk through the audit log of a state directory
 *
 * Opens the database on its own, read-only; works while osbd runs. Changes
 * the working directory, as store_open().
 *
 * Return: 0: intact; 1: not, see @ret_check; or -errno with @err.
 */
int store_check_audit(int dir_fd, struct store_check *ret_check,
		      struct err *err);
