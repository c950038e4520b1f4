/* SPDX-License-Identifier: Apache-2.0 */

/*
 * audit - append to the chain, and never hide that it was broken
 *
 * Theory of operation. Who changes or removes a record breaks the chain
 * behind it; who computes the chain anew, or cuts its end off, can't sign the
 * head without the key. So `osb audit verify` shows it, unless osbd itself
 * heals it by going on from what it finds. It doesn't:
 *
 *   - the head is signed, records are missing behind: go on from the head.
 *     The gap in the numbers stays.
 *   - the head isn't signed by our key, or there are records beyond it: add a
 *     record AUDIT_BROKEN that says so, which counts as a fault for ever.
 *
 * What can't be seen: everything, key and database together, put back to an
 * older state, and what whoever can read the key writes. Who needs more sends
 * the records to another machine.
 */

#include "store/audit.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "store/db.h"

#define KEY_NEW_NAME AUDIT_KEY_NAME ".new"

int audit_init(struct audit *audit)
{
	/* Its configuration could load any code. */
	if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1)
		return -ENOMEM;
	audit->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	audit->digest = EVP_MD_CTX_new();
	if (!audit->sha256 || !audit->digest)
		return -ENOMEM;
	return 0;
}

void audit_close(struct audit *audit)
{
	db_stmt_free(audit->append);
	db_stmt_free(audit->sign);
	EVP_MD_CTX_free(audit->digest);
	EVP_MD_free(audit->sha256);
	OPENSSL_cleanse(audit->key, sizeof(audit->key));
	memset(audit, 0, sizeof(*audit));
}

/* Little-endian, so that a chain can be checked on any machine. */
static void put_le(uint8_t *out, uint64_t value, unsigned int len)
{
	for (unsigned int i = 0; i < len; i++)
		out[i] = (uint8_t)(value >> (8 * i));
}

static bool hash_text(EVP_MD_CTX *digest, const char *text)
{
	size_t len = strlen(text);
	uint8_t head[4];

	put_le(head, len, sizeof(head));
	return EVP_DigestUpdate(digest, head, sizeof(head)) == 1 &&
	       EVP_DigestUpdate(digest, text, len) == 1;
}

int audit_hash(struct audit *audit, struct audit_head *head, int64_t seq,
	       const struct store_audit *record)
{
	EVP_MD_CTX *digest = audit->digest;
	uint8_t numbers[16];
	bool ok;

	put_le(numbers, (uint64_t)seq, 8);
	put_le(numbers + 8, (uint64_t)record->time_us, 8);
	ok = EVP_DigestInit_ex(digest, audit->sha256, NULL) == 1 &&
	     EVP_DigestUpdate(digest, head->hash, sizeof(head->hash)) == 1 &&
	     EVP_DigestUpdate(digest, numbers, sizeof(numbers)) == 1 &&
	     hash_text(digest, record->domain) &&
	     hash_text(digest, record->request_id) &&
	     hash_text(digest, record->action) &&
	     hash_text(digest, record->object) &&
	     hash_text(digest, record->outcome) &&
	     hash_text(digest, record->detail) &&
	     EVP_DigestFinal_ex(digest, head->hash, NULL) == 1;
	head->seq = seq;
	return ok ? 0 : -ENOMEM;
}

int audit_mac(const struct audit *audit, const struct audit_head *head,
	      uint8_t ret_mac[STORE_HASH_LEN])
{
	uint8_t text[8 + STORE_HASH_LEN];
	unsigned int len = STORE_HASH_LEN;

	put_le(text, (uint64_t)head->seq, 8);
	memcpy(text + 8, head->hash, STORE_HASH_LEN);
	if (!HMAC(audit->sha256, audit->key, sizeof(audit->key), text,
		  sizeof(text), ret_mac, &len))
		return -ENOMEM;
	return 0;
}

int audit_read_key(uint8_t key[AUDIT_KEY_LEN])
{
	int fd auto_fd = open(AUDIT_KEY_NAME,
			      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size != AUDIT_KEY_LEN ||
	    read(fd, key, AUDIT_KEY_LEN) != AUDIT_KEY_LEN)
		return -EBADMSG;
	return 0;
}

/* Whole or not at all. */
static int make_key(uint8_t key[AUDIT_KEY_LEN])
{
	int fd auto_fd = -1;

	if (getrandom(key, AUDIT_KEY_LEN, 0) != AUDIT_KEY_LEN)
		return -EIO;
	if (unlink(KEY_NEW_NAME) < 0 && errno != ENOENT)
		return -errno;
	fd = open(KEY_NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	errno = EIO; /* a short write has none */
	if (write(fd, key, AUDIT_KEY_LEN) != AUDIT_KEY_LEN || fsync(fd) < 0 ||
	    rename(KEY_NEW_NAME, AUDIT_KEY_NAME) < 0)
		return -errno;
	return 0;
}

int audit_read_head(sqlite3 *sql, struct audit_head *ret_head,
		    uint8_t ret_mac[STORE_HASH_LEN])
{
	sqlite3_stmt *stmt auto_clean(db_stmt_freep) = NULL;
	struct row row = { .at = 0 };
	int r, rc;

	r = db_prepare(sql, "SELECT seq, hash, mac FROM audit_head", &stmt);
	if (r < 0)
		return r;
	rc = sqlite3_step(stmt);
	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE ? -ENOENT : db_errno(sql, rc);
	row.stmt = stmt;
	ret_head->seq = row_i64(&row);
	row_hash(&row, ret_head->hash, sizeof(ret_head->hash));
	row_hash(&row, ret_mac, STORE_HASH_LEN);
	return row.bad || ret_head->seq < 0 ? -EBADMSG : 0;
}

/* The last record that is there; number 0 when there is none. */
static int read_last(sqlite3 *sql, struct audit_head *ret_last)
{
	sqlite3_stmt *stmt auto_clean(db_stmt_freep) = NULL;
	struct row row = { .at = 0 };
	int r, rc;

	memset(ret_last, 0, sizeof(*ret_last));
	r = db_prepare(sql,
		       "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1",
		       &stmt);
	if (r < 0)
		return r;
	rc = sqlite3_step(stmt);
	if (rc != SQLITE_ROW)
		return db_errno(sql, rc); /* SQLITE_DONE: 0 */
	row.stmt = stmt;
	ret_last->seq = row_i64(&row);
	row_hash(&row, ret_last->hash, sizeof(ret_last->hash));
	return 0; /* a hash of another size: the chain won't fit, which shows */
}

static int bind_text(sqlite3_stmt *stmt, int at, const char *text)
{
	return sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC);
}

/* What SQLite keeps of a number beyond int64_t's end isn't one any more. */
static int next_seq(const struct audit_head *head, int64_t *ret_seq)
{
	if (head->seq == INT64_MAX)
		return -EOVERFLOW;
	*ret_seq = head->seq + 1;
	return 0;
}

int audit_append(struct audit *audit, sqlite3 *sql,
		 const struct store_audit *record)
{
	struct audit_head next = audit->head;
	sqlite3_stmt *stmt = audit->append;
	int64_t seq;
	int r, rc;

	r = next_seq(&next, &seq);
	if (r == 0)
		r = audit_hash(audit, &next, seq, record);
	if (r < 0)
		return r;
	rc = sqlite3_bind_int64(stmt, 1, seq) |
	     sqlite3_bind_int64(stmt, 2, record->time_us) |
	     bind_text(stmt, 3, record->domain) |
	     bind_text(stmt, 4, record->request_id) |
	     bind_text(stmt, 5, record->action) |
	     bind_text(stmt, 6, record->object) |
	     bind_text(stmt, 7, record->outcome) |
	     bind_text(stmt, 8, record->detail) |
	     sqlite3_bind_blob(stmt, 9, next.hash, sizeof(next.hash),
			       SQLITE_STATIC);
	if (rc != SQLITE_OK)
		return -ENOMEM;
	r = db_errno(sql, sqlite3_step(stmt));
	(void)sqlite3_reset(stmt); /* repeats the error */
	if (r == 0)
		audit->head = next;
	return r;
}

int audit_sign(struct audit *audit, sqlite3 *sql)
{
	uint8_t mac[STORE_HASH_LEN];
	int r, rc;

	if (audit->head.seq == audit->signed_head.seq &&
	    memcmp(audit->head.hash, audit->signed_head.hash,
		   sizeof(audit->head.hash)) == 0)
		return 0;
	r = audit_mac(audit, &audit->head, mac);
	if (r < 0)
		return r;
	rc = sqlite3_bind_int64(audit->sign, 1, audit->head.seq) |
	     sqlite3_bind_blob(audit->sign, 2, audit->head.hash,
			       sizeof(audit->head.hash), SQLITE_STATIC) |
	     sqlite3_bind_blob(audit->sign, 3, mac, sizeof(mac), SQLITE_STATIC);
	if (rc != SQLITE_OK)
		return -ENOMEM;
	r = db_errno(sql, sqlite3_step(audit->sign));
	(void)sqlite3_reset(audit->sign); /* repeats the error */
	return r;
}

static int prepare(struct audit *audit, sqlite3 *sql)
{
	int r;

	r = db_prepare(sql,
		       "INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		       &audit->append);
	if (r < 0)
		return r;
	return db_prepare(sql,
			  "INSERT OR REPLACE INTO audit_head"
			  " VALUES (1, ?, ?, ?)",
			  &audit->sign);
}

/* Why the head can't be gone on from, or NULL. */
static const char *find_fault(const struct audit *audit, int head_r,
			      const struct audit_head *last,
			      const uint8_t in_mac[STORE_HASH_LEN],
			      bool has_key)
{
	uint8_t mac[STORE_HASH_LEN];

	if (head_r == -ENOENT && has_key)
		return "there is a key, but no log";
	if (head_r < 0)
		return "the head of the log is gone";
	if (!has_key)
		return "the key of the log is gone";
	if (audit_mac(audit, &audit->head, mac) < 0 ||
	    CRYPTO_memcmp(mac, in_mac, sizeof(mac)) != 0)
		return "the head of the log wasn't signed by this key";
	if (last->seq > audit->head.seq)
		return "there were records beyond the head of the log";
	return NULL;
}

static int record_fault(struct audit *audit, sqlite3 *sql, int64_t now_us,
			const struct audit_head *last, const char *fault)
{
	const struct store_audit record = {
		.time_us = now_us,
		.domain = "",
		.request_id = "",
		.action = AUDIT_BROKEN,
		.object = "",
		.outcome = "found at start",
		.detail = fault,
	};

	audit->head = *last; /* the head can't be believed */
	return audit_append(audit, sql, &record);
}

/* In one transaction: what is wrong is noted, and there is a head. */
static int begin_chain(struct audit *audit, sqlite3 *sql, int64_t now_us,
		       bool has_key)
{
	uint8_t mac[STORE_HASH_LEN];
	struct audit_head last;
	const char *fault;
	int head_r, r;

	head_r = audit_read_head(sql, &audit->head, mac);
	if (head_r < 0 && head_r != -ENOENT && head_r != -EBADMSG)
		return head_r;
	if (head_r < 0)
		memset(&audit->head, 0, sizeof(audit->head));
	r = read_last(sql, &last);
	if (r < 0)
		return r;
	audit->signed_head = audit->head;
	if (head_r == -ENOENT && last.seq == 0 && !has_key) {
		audit->signed_head.seq = -1; /* new: sign the empty log */
		return audit_sign(audit, sql);
	}
	fault = find_fault(audit, head_r, &last, mac, has_key);
	if (!fault)
		return 0;
	r = record_fault(audit, sql, now_us, &last, fault);
	return r < 0 ? r : audit_sign(audit, sql);
}

int audit_open(struct audit *audit, sqlite3 *sql, int64_t now_us,
	       struct err *err)
{
	bool has_key;
	int r;

	r = audit_init(audit);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "start OpenSSL");
	r = audit_read_key(audit->key);
	has_key = r == 0;
	if (r == -ENOENT)
		r = make_key(audit->key);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r,
			       r == -EBADMSG ? "%s isn't %d random bytes"
					     : "%s of %d bytes",
			       AUDIT_KEY_NAME, AUDIT_KEY_LEN);
	r = prepare(audit, sql);
	if (r == 0)
		r = db_run(sql, "BEGIN IMMEDIATE");
	if (r == 0)
		r = begin_chain(audit, sql, now_us, has_key);
	if (r == 0)
		r = db_run(sql, "COMMIT");
	if (r < 0) {
		(void)err_set(err, ERR_INTERNAL, -r, "%s: the audit log",
			      DB_NAME);
		(void)db_run(sql, "ROLLBACK");
		return r;
	}
	audit->signed_head = audit->head;
	return 0;
}
