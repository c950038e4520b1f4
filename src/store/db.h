/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * db - the SQLite database of a state directory: its name, rules and versions
 *
 * One connection, used by one thread at a time. The directory is the working
 * directory; see db_vfs in db.c.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "base/cleanup.h"

struct err;

#define DB_NAME "osbd.db"
#define DB_APPLICATION_ID 0x6f736264 /* "osbd" */

/* Number n (from 0) leads from version n to n + 1; each one transaction. */
struct db_schema {
	const char *const *migrations;
	unsigned int num;
};

extern const struct db_schema db_schema; /* what this build wants */

/**
 * db_open() - open it, make or migrate it when need be
 * @schema: &db_schema, or a test's own
 *
 * Return: 0, or -errno with @err; then it is of the version it was, or of one
 * in between.
 */
int db_open(const struct db_schema *schema, sqlite3 **ret_sql, struct err *err);

/** db_open_read_only() - the same without any change to it */
int db_open_read_only(const struct db_schema *schema, sqlite3 **ret_sql,
		      struct err *err);

/** db_close() - leaves the log of unchecked pages to the next; NULL is fine */
void db_close(sqlite3 *sql);
DEFINE_AUTO(sqlite3 *, db_close);

/** db_errno() - a result code of SQLite's last call as -errno, or 0 */
int db_errno(sqlite3 *sql, int rc);

/** db_run() - statements without result; returns -errno */
int db_run(sqlite3 *sql, const char *text);

/** db_prepare() - one that lives as long as the connection, or -errno */
int db_prepare(sqlite3 *sql, const char *text, sqlite3_stmt **ret_stmt);

/** db_stmt_free() - NULL is fine */
void db_stmt_free(sqlite3_stmt *stmt);
DEFINE_AUTO(sqlite3_stmt *, db_stmt_free);

/*
 * The columns of a row, one after the other. What doesn't fit yields zero and
 * is remembered, so that a record may be read whole and asked about once.
 */
struct row {
	sqlite3_stmt *stmt;
	int at;
	bool bad;
};

int64_t row_i64(struct row *row);
uint64_t row_u64(struct row *row);
uint32_t row_u32(struct row *row);
int32_t row_i32(struct row *row);
/** row_text() - copy it with its NUL into @size bytes */
void row_text(struct row *row, char *text, size_t size);
/** row_str() - in place, until the next step of the statement */
const char *row_str(struct row *row);
/** row_bytes() - in place, or NULL when there are none */
const void *row_bytes(struct row *row, size_t *ret_len);
/** row_hash() - exactly @size bytes */
void row_hash(struct row *row, uint8_t *hash, size_t size);
