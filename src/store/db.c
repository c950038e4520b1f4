/* SPDX-License-Identifier: Apache-2.0 */

/*
 * db - open it by name alone, see that it is ours and whole, migrate it
 *
 * Theory of operation. osbd may not walk down to its state directory: parents
 * may be closed to its user. It gets the directory as a descriptor, makes it
 * its working directory, and opens "osbd.db" there. SQLite would make a full
 * path of it, with getcwd(3), which fails for want of search permission; so
 * we register a copy of its file layer whose "full" name is the name itself.
 *
 * The mode is WAL, without the shared-memory-free exclusive locking: so
 * `osb audit verify` can read while osbd writes. That one osbd at a time has
 * it open is seen to by a lock of our own (store.c).
 *
 * All files are opened here, and none later: the log and its index stay open
 * with the connection, and what SQLite wants to put into temporary files is
 * kept in memory. So we need none of the calls that open a file.
 *
 * A database that we don't understand is left as it is. Nobody wants to find
 * that an empty one took the place of theirs.
 *
 * #syscalls  pread64 pwrite64 fsync fdatasync ftruncate fstat newfstatat
 *            fcntl close clock_nanosleep
 */

#include "store/db.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"

#define BUSY_MS 2000 /* for `osb audit verify` to get out of the way */
#define ROW_BYTES_MAX (8 * 1024 * 1024) /* more than we ever write into one */

/* What is wrong with a file that isn't one of ours. */
#define LEFT_ALONE "it is left as it is: move it away to start without"

static int keep_name(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
	(void)vfs;
	(void)sqlite3_snprintf(size, out, "%s", name);
	return SQLITE_OK;
}

/* SQLite's own list of file layers wants one that lives as long as it. */
static int db_vfs(const char **ret_name)
{
	static sqlite3_vfs vfs;
	const sqlite3_vfs *base = sqlite3_vfs_find(NULL);

	if (!base)
		return -ENOMEM;
	if (!vfs.zName) {
		vfs = *base;
		vfs.pNext = NULL;
		vfs.zName = "osbd";
		vfs.xFullPathname = keep_name;
		if (sqlite3_vfs_register(&vfs, 0) != SQLITE_OK)
			return -ENOMEM;
	}
	*ret_name = vfs.zName;
	return 0;
}

int db_errno(sqlite3 *sql, int rc)
{
	int sys;

	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EUCLEAN;
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return -EROFS;
	case SQLITE_CONSTRAINT:
		return rc == SQLITE_CONSTRAINT_FOREIGNKEY ? -ENOENT : -EEXIST;
	default:
		sys = sqlite3_system_errno(sql);
		return sys > 0 ? -sys : -EIO;
	}
}

/* The same for a person; what SQLite says is better than an errno's text. */
static int fail(sqlite3 *sql, int rc, struct err *err, const char *what)
{
	int r = db_errno(sql, rc);

	if (r == 0) /* a row too many, or too few */
		r = -EUCLEAN;
	if (r == -EUCLEAN)
		(void)err_set(err, ERR_INTERNAL, 0,
			      "%s is damaged (%s: %s); %s", DB_NAME, what,
			      sqlite3_errmsg(sql), LEFT_ALONE);
	else
		(void)err_set(err, ERR_INTERNAL, -r, "%s: %s (%s)", DB_NAME,
			      what, sqlite3_errmsg(sql));
	return r;
}

int db_run(sqlite3 *sql, const char *text)
{
	return db_errno(sql, sqlite3_exec(sql, text, NULL, NULL, NULL));
}

int db_prepare(sqlite3 *sql, const char *text, sqlite3_stmt **ret_stmt)
{
	return db_errno(sql, sqlite3_prepare_v3(sql, text, -1,
						SQLITE_PREPARE_PERSISTENT,
						ret_stmt, NULL));
}

void db_stmt_free(sqlite3_stmt *stmt)
{
	(void)sqlite3_finalize(stmt); /* repeats the last error, if any */
}

/* The one number that @text yields; returns a code of SQLite's. */
static int ask(sqlite3 *sql, const char *text, int64_t *ret_value)
{
	sqlite3_stmt *stmt auto_clean(db_stmt_freep) = NULL;
	int rc = sqlite3_prepare_v2(sql, text, -1, &stmt, NULL);

	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(stmt);
	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
	*ret_value = sqlite3_column_int64(stmt, 0);
	return SQLITE_OK;
}

/* Ours, and not of a later build? Nothing is written yet. */
static int check_version(sqlite3 *sql, const struct db_schema *schema,
			 unsigned int *ret_version, struct err *err)
{
	int64_t version = 0, id = 0, tables = 0;
	int rc;

	rc = ask(sql, "PRAGMA user_version", &version);
	if (rc == SQLITE_OK)
		rc = ask(sql, "PRAGMA application_id", &id);
	if (rc == SQLITE_OK)
		rc = ask(sql, "SELECT count(*) FROM sqlite_schema", &tables);
	if (rc != SQLITE_OK)
		return fail(sql, rc, err, "read it");
	if (version < 0 || (version == 0 && tables > 0) ||
	    (version > 0 && id != DB_APPLICATION_ID))
		return err_set(err, ERR_INTERNAL, EMEDIUMTYPE,
			       "%s is somebody else's database; %s", DB_NAME,
			       LEFT_ALONE);
	if (version > (int64_t)schema->num)
		return err_set(err, ERR_UNSUPPORTED, 0,
			       "%s is of version %lld, written by a newer "
			       "osbd; this one knows versions up to %u",
			       DB_NAME, (long long)version, schema->num);
	*ret_version = (unsigned int)version;
	return 0;
}

static int set_version(sqlite3 *sql, unsigned int version)
{
	char text[128];

	(void)sqlite3_snprintf(
		sizeof(text), text,
		"PRAGMA application_id = %d; PRAGMA user_version = %u",
		DB_APPLICATION_ID, version);
	return db_run(sql, text);
}

static int migrate(sqlite3 *sql, const struct db_schema *schema,
		   unsigned int version, struct err *err)
{
	for (; version < schema->num; version++) {
		int r = db_run(sql, "BEGIN IMMEDIATE");

		if (r == 0)
			r = db_run(sql, schema->migrations[version]);
		if (r == 0)
			r = set_version(sql, version + 1);
		if (r == 0)
			r = db_run(sql, "COMMIT");
		if (r < 0) {
			(void)err_set(err, ERR_INTERNAL, 0,
				      "%s: migrate to version %u: %s", DB_NAME,
				      version + 1, sqlite3_errmsg(sql));
			(void)db_run(sql, "ROLLBACK");
			return r;
		}
	}
	return 0;
}

/*
 * Whole, as far as start depends on it? The audit log is left out: it may be
 * large, and has a check of its own.
 */
static int check_tables(sqlite3 *sql, struct err *err)
{
	static const char *const texts[] = {
		"PRAGMA quick_check(sandboxes)",
		"PRAGMA quick_check(execs)",
		"PRAGMA quick_check(requests)",
		"PRAGMA quick_check(usage)",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		sqlite3_stmt *stmt auto_clean(db_stmt_freep) = NULL;
		const char *found;
		int rc = sqlite3_prepare_v2(sql, texts[i], -1, &stmt, NULL);

		if (rc == SQLITE_OK)
			rc = sqlite3_step(stmt);
		if (rc != SQLITE_ROW)
			return fail(sql, rc, err, "check it");
		found = (const char *)sqlite3_column_text(stmt, 0);
		if (!found || strcmp(found, "ok") != 0)
			return err_set(err, ERR_INTERNAL, EUCLEAN,
				       "%s is damaged (%.120s); %s", DB_NAME,
				       found ? found : "no answer", LEFT_ALONE);
	}
	return 0;
}

static int set_up(sqlite3 *sql, struct err *err)
{
	/* 4 MiB: what a log that grew during a check shrinks to again. */
	static const char rules[] = "PRAGMA synchronous = NORMAL;"
				    "PRAGMA foreign_keys = ON;"
				    "PRAGMA journal_size_limit = 4194304;"
				    "PRAGMA wal_autocheckpoint = 0";
	sqlite3_stmt *stmt auto_clean(db_stmt_freep) = NULL;
	const char *mode;
	int rc;

	rc = sqlite3_prepare_v2(sql, "PRAGMA journal_mode = WAL", -1, &stmt,
				NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc != SQLITE_ROW)
		return fail(sql, rc, err, "switch it to WAL");
	mode = (const char *)sqlite3_column_text(stmt, 0);
	if (!mode || strcmp(mode, "wal") != 0)
		return err_set(err, ERR_UNSUPPORTED, 0,
			       "%s: the file system can't map a file into "
			       "memory, which WAL needs",
			       DB_NAME);
	rc = sqlite3_exec(sql, rules, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : fail(sql, rc, err, "set it up");
}

/* The connection, with what makes a file from others harmless to read. */
static int connect_to(int flags, sqlite3 **ret_sql, struct err *err)
{
	sqlite3 *sql auto_clean(db_closep) = NULL;
	const char *vfs;
	int rc;

	if (db_vfs(&vfs) < 0)
		return err_set(err, ERR_INTERNAL, ENOMEM, "start SQLite");
	rc = sqlite3_open_v2(DB_NAME, &sql, flags | SQLITE_OPEN_NOMUTEX, vfs);
	if (!sql)
		return err_set(err, ERR_INTERNAL, ENOMEM, "start SQLite");
	if (rc != SQLITE_OK)
		return fail(sql, rc, err, "open it");
	(void)sqlite3_extended_result_codes(sql, 1);
	(void)sqlite3_busy_timeout(sql, BUSY_MS);
	(void)sqlite3_limit(sql, SQLITE_LIMIT_LENGTH, ROW_BYTES_MAX);
	(void)sqlite3_db_config(sql, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(sql, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	/* The end of a process is no time to wait for a disk. */
	(void)sqlite3_db_config(sql, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	rc = sqlite3_exec(sql,
			  "PRAGMA temp_store = MEMORY;"
			  "PRAGMA cell_size_check = ON",
			  NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		return fail(sql, rc, err, "open it");
	*ret_sql = take_ptr(sql);
	return 0;
}

int db_open(const struct db_schema *schema, sqlite3 **ret_sql, struct err *err)
{
	sqlite3 *sql auto_clean(db_closep) = NULL;
	int fd auto_fd = -1;
	unsigned int version = 0;
	int r;

	/* Only for its mode; the log and its index will get the same. */
	fd = open(DB_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, ERR_INTERNAL, errno, "open %s", DB_NAME);
	close_fd(&fd); /* now: a close drops all locks of the process on it */
	r = connect_to(SQLITE_OPEN_READWRITE, &sql, err);
	if (r == 0)
		r = check_version(sql, schema, &version, err);
	if (r == 0)
		r = set_up(sql, err);
	if (r == 0)
		r = migrate(sql, schema, version, err);
	if (r == 0)
		r = check_tables(sql, err);
	if (r == 0)
		*ret_sql = take_ptr(sql);
	return r;
}

int db_open_read_only(const struct db_schema *schema, sqlite3 **ret_sql,
		      struct err *err)
{
	sqlite3 *sql auto_clean(db_closep) = NULL;
	unsigned int version = 0;
	struct stat st;
	int r;

	if (stat(DB_NAME, &st) < 0)
		return err_set(err, ERR_NOT_FOUND, errno, "%s", DB_NAME);
	if (!S_ISREG(st.st_mode)) /* a fifo would have us wait */
		return err_set(err, ERR_INVALID, 0, "%s isn't a file", DB_NAME);
	r = connect_to(SQLITE_OPEN_READONLY, &sql, err);
	if (r == 0)
		r = check_version(sql, schema, &version, err);
	if (r == 0 && version == 0)
		return err_set(err, ERR_NOT_FOUND, 0, "%s is empty", DB_NAME);
	if (r == 0)
		*ret_sql = take_ptr(sql);
	return r;
}

void db_close(sqlite3 *sql)
{
	(void)sqlite3_close_v2(sql); /* waits for nothing */
}

int64_t row_i64(struct row *row)
{
	return sqlite3_column_int64(row->stmt, row->at++);
}

uint64_t row_u64(struct row *row)
{
	int64_t value = row_i64(row);

	if (value < 0)
		row->bad = true;
	return value < 0 ? 0 : (uint64_t)value;
}

uint32_t row_u32(struct row *row)
{
	int64_t value = row_i64(row);

	if (value < 0 || value > UINT32_MAX) {
		row->bad = true;
		return 0;
	}
	return (uint32_t)value;
}

int32_t row_i32(struct row *row)
{
	int64_t value = row_i64(row);

	if (value < INT32_MIN || value > INT32_MAX) {
		row->bad = true;
		return 0;
	}
	return (int32_t)value;
}

const char *row_str(struct row *row)
{
	int at = row->at++;
	const char *text = (const char *)sqlite3_column_text(row->stmt, at);

	if (!text ||
	    strlen(text) != (size_t)sqlite3_column_bytes(row->stmt, at)) {
		row->bad = true;
		return "";
	}
	return text;
}

void row_text(struct row *row, char *text, size_t size)
{
	const char *value = row_str(row);
	size_t len = strlen(value);

	if (len >= size) {
		row->bad = true;
		len = 0;
	}
	memcpy(text, value, len);
	text[len] = '\0';
}

const void *row_bytes(struct row *row, size_t *ret_len)
{
	int at = row->at++;
	const void *data = sqlite3_column_blob(row->stmt, at);

	*ret_len = (size_t)sqlite3_column_bytes(row->stmt, at);
	return data;
}

void row_hash(struct row *row, uint8_t *hash, size_t size)
{
	size_t len;
	const void *data = row_bytes(row, &len);

	if (!data || len != size) {
		row->bad = true;
		memset(hash, 0, size);
		return;
	}
	memcpy(hash, data, size);
}
