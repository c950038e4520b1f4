/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>

#include "base/cleanup.h"
#include "state-dir.h"
#include "store/db.h"
#include "wire/init_msg.h"

/* A database as the first version left it, with a sandbox and an exec. */
static void make_version_1(void)
{
	const struct db_schema schema = { db_schema.migrations, 1 };
	sqlite3 *sql = NULL;

	assert_int_equal(chdir(dir.path), 0);
	assert_int_equal(db_open(&schema, &sql, NULL), 0);
	db_close(sql);
	tamper("INSERT INTO sandboxes VALUES ('00000000000000000000000000000001'"
	       ", 'alice', 'host', '', 1, 0, 1, 2, 0, 3, 4, 5, 6, 7, 8, 9, 10,"
	       " x'', x'', x'')");
	tamper("INSERT INTO execs VALUES ('e0000000000000000000000000000001',"
	       " '00000000000000000000000000000001', 'true', 1, 0, 0, 0, 0, 5,"
	       " 6, 6, 0, 0, 0, 0, 1, 2, 3, 4)");
}

static int check_sandbox(void *ctx, const struct store_sandbox *sandbox)
{
	(void)ctx;
	assert_int_equal(sandbox->guarantee_bytes, 10);
	assert_int_equal(sandbox->exec_cpu_ms, 0);
	assert_int_equal(sandbox->exec_output_max, 0);
	assert_int_equal(sandbox->exec_output_policy, 0);
	return 0;
}

static int check_exec(void *ctx, const struct store_exec *exec)
{
	(void)ctx;
	assert_int_equal(exec->verdict, VERDICT_EXITED);
	assert_int_equal(exec->peak_pids, 4);
	assert_int_equal(exec->num_left, 0);
	assert_int_equal(exec->left.len, 0);
	return 0;
}

static void a_database_of_version_1_is_migrated(void **state)
{
	(void)state;
	make_version_1();
	assert_int_equal(ask("PRAGMA user_version"), 1);
	open_store();
	assert_int_equal(store_each_sandbox(dir.store, check_sandbox, NULL,
					    NULL),
			 0);
	assert_int_equal(store_each_exec(dir.store, check_exec, NULL, NULL), 0);
	close_store();
	assert_int_equal(ask("PRAGMA user_version"), db_schema.num);
	assert_int_equal(ask("SELECT count(*) FROM execs"), 1);
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
	make_version_1();
	assert_true(db_open(&schema, &sql, &err) < 0);
	assert_null(sql);
	assert_string_equal(err.msg, "osbd.db: migrate to version 2: "
				     "no such table: absent");
	assert_int_equal(ask("PRAGMA user_version"), 1);
	assert_int_equal(ask("SELECT count(*) FROM execs"), 1);
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
				     "to 2");
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
