/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>

#include "base/cleanup.h"
#include "state-dir.h"
#include "store/db.h"

static void a_database_of_version_1_is_migrated(void **state)
{
	/* The one there is, and one that a later build would bring. */
	const char *const two[] = {
		db_schema.migrations[0],
		"ALTER TABLE requests ADD COLUMN note TEXT NOT NULL"
		" DEFAULT 'none'",
	};
	const struct db_schema schema = { two, ARRAY_SIZE(two) };
	struct store_request request = { .domain = "alice", .key = "k" };
	sqlite3 *sql = NULL;

	(void)state;
	assert_int_equal(db_schema.num, 1);
	open_store();
	assert_int_equal(store_put_request(dir.store, &request, NULL, NULL,
					   NULL),
			 0);
	close_store();
	assert_int_equal(ask("PRAGMA user_version"), 1);
	assert_int_equal(db_open(&schema, &sql, NULL), 0);
	db_close(sql);
	assert_int_equal(ask("PRAGMA user_version"), 2);
	assert_int_equal(
		ask("SELECT count(*) FROM requests WHERE note = 'none'"), 1);
}

static void a_migration_that_fails_changes_nothing(void **state)
{
	const char *const two[] = {
		db_schema.migrations[0],
		"DROP TABLE execs; UPDATE absent SET x = 1",
	};
	const struct db_schema schema = { two, ARRAY_SIZE(two) };
	struct err err = ERR_NULL;
	sqlite3 *sql = NULL;

	(void)state;
	open_store();
	close_store();
	assert_true(db_open(&schema, &sql, &err) < 0);
	assert_null(sql);
	assert_string_equal(err.msg, "osbd.db: migrate to version 2: "
				     "no such table: absent");
	assert_int_equal(ask("PRAGMA user_version"), 1);
	assert_int_equal(ask("SELECT count(*) FROM execs"), 0);
	open_store();
}

static void a_newer_version_is_refused(void **state)
{
	struct err err = ERR_NULL;

	(void)state;
	open_store();
	close_store();
	tamper("PRAGMA user_version = 99");
	refuse_store(&err);
	assert_int_equal(err.kind, ERR_UNSUPPORTED);
	assert_string_equal(err.msg, "osbd.db is of version 99, written by a "
				     "newer osbd; this one knows versions up "
				     "to 1");
	assert_int_equal(ask("PRAGMA user_version"), 99);
}

static void somebody_elses_database_is_refused(void **state)
{
	struct err err = ERR_NULL;

	(void)state;
	tamper("CREATE TABLE addresses (name TEXT)");
	refuse_store(&err);
	assert_non_null(strstr(err.msg, "somebody else's database"));
	tamper("PRAGMA user_version = 1");
	refuse_store(&err);
	assert_non_null(strstr(err.msg, "somebody else's database"));
	assert_int_equal(ask("SELECT count(*) FROM sqlite_schema"), 1);
}

static void write_file(const void *data, size_t len, off_t at)
{
	int fd = openat(dir.fd, "osbd.db", O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, len, at), len);
	(void)close(fd);
}

static void what_is_no_database_is_refused_and_left(void **state)
{
	static const char text[] = "these are my notes, not a database, and "
				   "they are dear to me: don't touch them!";
	char now[sizeof(text)];
	struct err err = ERR_NULL;
	int fd;

	(void)state;
	write_file(text, sizeof(text), 0);
	refuse_store(&err);
	assert_non_null(strstr(err.msg, "osbd.db is damaged"));
	assert_non_null(strstr(err.msg, "it is left as it is"));
	assert_int_equal(file_size("osbd.db"), sizeof(text));
	fd = openat(dir.fd, "osbd.db", O_RDONLY);
	assert_int_equal(read(fd, now, sizeof(now)), sizeof(now));
	assert_memory_equal(now, text, sizeof(text));
	(void)close(fd);
}

static void a_damaged_database_is_refused(void **state)
{
	static char noise[4096];
	struct err err = ERR_NULL;
	int64_t root;

	(void)state;
	open_store();
	for (unsigned int i = 0; i < 100; i++) {
		struct store_sandbox sandbox = a_sandbox(i);

		assert_int_equal(store_put_sandbox(dir.store, &sandbox, NULL,
						   NULL, NULL),
				 0);
	}
	close_store();
	root = ask("SELECT rootpage FROM sqlite_schema"
		   " WHERE name = 'sandboxes'");
	memset(noise, 0xa5, sizeof(noise));
	write_file(noise, sizeof(noise), (root - 1) * 4096);
	refuse_store(&err);
	assert_non_null(strstr(err.msg, "osbd.db is damaged"));
	assert_non_null(strstr(err.msg, "it is left as it is"));
}

static void a_link_in_its_place_is_refused(void **state)
{
	struct err err = ERR_NULL;

	(void)state;
	assert_int_equal(symlinkat("/etc/passwd", dir.fd, "osbd.db"), 0);
	refuse_store(&err);
	assert_string_equal(err.msg, "open osbd.db: Too many levels of "
				     "symbolic links");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_database_of_version_1_is_migrated),
		TEST(a_migration_that_fails_changes_nothing),
		TEST(a_newer_version_is_refused),
		TEST(somebody_elses_database_is_refused),
		TEST(what_is_no_database_is_refused_and_left),
		TEST(a_damaged_database_is_refused),
		TEST(a_link_in_its_place_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
