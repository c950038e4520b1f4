/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * queue - what record.c hands to the store's thread: a statement with values
 */

#include "store/store.h"

enum stmt {
	STMT_PUT_SANDBOX,
	STMT_DELETE_SANDBOX,
	STMT_PUT_EXEC,
	STMT_DELETE_EXEC,
	STMT_PUT_REQUEST,
	STMT_DELETE_REQUEST,
	STMT_PRUNE_REQUESTS,
	STMT_ADD_USAGE,
	STMT_NUM,
	STMT_AUDIT = STMT_NUM, /* by audit.c: time, then six texts */
};

enum value_type {
	VALUE_INT,
	VALUE_TEXT, /* with its NUL, which isn't counted */
	VALUE_BYTES,
};

struct value {
	enum value_type type;
	int64_t number;
	const void *data;
	size_t len;
};

/* The text of each, with a '?' for every value. */
extern const char *const record_stmts[STMT_NUM];

struct write {
	enum stmt stmt;
	const struct value *values;
	unsigned int num;
	store_done_fn fn;
	void *ctx;
};

/** queue_add() - copy it; returns as the functions of store.h */
int queue_add(struct store *store, const struct write *write, struct err *err);

/** queue_sql() - the connection, for loading; only before the first write */
struct sqlite3 *queue_sql(struct store *store);
