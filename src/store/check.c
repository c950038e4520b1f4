/* SPDX-License-Identifier: Apache-2.0 */

/*
 * check - does the audit log hold together, from its first record to its head?
 *
 * Beside osbd or without it, in a process of its own, which only reads: one
 * transaction, so that it sees one state. The database may have been written
 * by anybody, so whoever starts this gives up its privileges first.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "base/cleanup.h"
#include "store/audit.h"
#include "store/db.h"

/* Returns 1. */
static int fault(struct store_check *check, int64_t seq, int64_t time_us,
		 const char *what)
{
	check->bad_seq = seq < 0 ? 0 : (uint64_t)seq;
	check->bad_time_us = time_us;
	(void)snprintf(check->what, sizeof(check->what), "%s", what);
	return 1;
}

/* One record, which must be the next after @at. */
static int check_row(struct audit *audit, struct row *row,
		     struct audit_head *at, struct store_check *check)
{
	struct store_audit record;
	uint8_t hash[STORE_HASH_LEN];
	int64_t seq = row_i64(row);
	int r;

	record.time_us = row_i64(row);
	record.domain = row_str(row);
	record.request_id = row_str(row);
	record.action = row_str(row);
	record.object = row_str(row);
	record.outcome = row_str(row);
	record.detail = row_str(row);
	row_hash(row, hash, sizeof(hash));
	if (seq != at->seq + 1)
		return fault(check, at->seq + 1, record.time_us,
			     "missing; the time is that of the one behind");
	if (row->bad)
		return fault(check, seq, record.time_us, "changed");
	r = audit_hash(audit, at, seq, &record);
	if (r < 0)
		return r;
	if (memcmp(at->hash, hash, sizeof(hash)) != 0)
		return fault(check, seq, record.time_us,
			     "changed, or the one before it");
	if (strcmp(record.action, AUDIT_BROKEN) == 0)
		return fault(check, seq, record.time_us, record.detail);
	check->num++;
	check->bad_time_us = record.time_us; /* the last good one, for now */
	return 0;
}

static int check_rows(struct audit *audit, sqlite3 *sql, struct audit_head *at,
		      struct store_check *check)
{
	sqlite3_stmt *stmt auto_clean(db_stmt_freep) = NULL;
	int r, rc;

	r = db_prepare(sql,
		       "SELECT seq, time_us, domain, request_id, action,"
		       " object, outcome, detail, hash"
		       " FROM audit ORDER BY seq",
		       &stmt);
	while (r == 0) {
		struct row row = { .stmt = stmt };

		rc = sqlite3_step(stmt);
		if (rc != SQLITE_ROW)
			return db_errno(sql, rc);
		r = check_row(audit, &row, at, check);
	}
	return r;
}

/* The end of the chain, @at, must be what the key has signed. */
static int check_head(struct audit *audit, sqlite3 *sql, int key_r,
		      const struct audit_head *at, struct store_check *check)
{
	uint8_t mac[STORE_HASH_LEN], in_mac[STORE_HASH_LEN];
	struct audit_head head;
	int64_t time_us = check->bad_time_us;
	int r;

	r = audit_read_head(sql, &head, in_mac);
	if (r == -ENOENT)
		return fault(check, at->seq, time_us, "there is no head");
	if (r < 0 && r != -EBADMSG)
		return r;
	if (key_r < 0)
		return fault(check, at->seq, time_us,
			     "head not signed: " AUDIT_KEY_NAME
			     " is gone or unreadable");
	if (r < 0 || audit_mac(audit, &head, mac) < 0 ||
	    CRYPTO_memcmp(mac, in_mac, sizeof(mac)) != 0)
		return fault(check, at->seq, time_us,
			     "head not signed by this key");
	if (head.seq > at->seq) {
		char what[ERR_MSG_MAX];

		(void)snprintf(
			what, sizeof(what),
			"cut off, it and all up to %lld; the time is that of the last",
			(long long)head.seq);
		return fault(check, at->seq + 1, time_us, what);
	}
	if (head.seq < at->seq)
		return fault(check, head.seq + 1, time_us,
			     "added behind the signed head");
	if (memcmp(head.hash, at->hash, sizeof(head.hash)) != 0)
		return fault(check, at->seq, time_us,
			     "not what the head was signed for");
	return 0;
}

static void closep_audit(struct audit *audit)
{
	audit_close(audit);
}

int store_check_audit(int dir_fd, struct store_check *ret_check,
		      struct err *err)
{
	struct store_check check = { .num = 0 };
	struct audit audit auto_clean(closep_audit) = { .sha256 = NULL };
	sqlite3 *sql auto_clean(db_closep) = NULL;
	struct audit_head at = { .seq = 0 };
	int key_r, r;

	if (fchdir(dir_fd) < 0)
		return err_set(err, ERR_INTERNAL, errno,
			       "enter the state directory");
	r = audit_init(&audit);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "start OpenSSL");
	r = db_open_read_only(&db_schema, &sql, err);
	if (r < 0)
		return r;
	key_r = audit_read_key(audit.key);
	r = db_run(sql, "BEGIN");
	if (r == 0)
		r = check_rows(&audit, sql, &at, &check);
	if (r == 0)
		r = check_head(&audit, sql, key_r, &at, &check);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "%s: read the audit log",
			       DB_NAME);
	*ret_check = check;
	return r;
}
