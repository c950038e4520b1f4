/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What somebody does to the audit log who has the files, but not osbd: it
 * shows, and goes on to show after osbd has written more.
 */

#include "test.h"

#include <errno.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "state-dir.h"
#include "store/audit.h"

#define NO_TRIGGERS                          \
	"DROP TRIGGER audit_is_not_changed;" \
	"DROP TRIGGER audit_is_not_shortened;"

static void append(unsigned int num)
{
	for (unsigned int i = 0; i < num; i++) {
		const struct store_audit audit = {
			.time_us = 1700000000000000 + (int64_t)i,
			.domain = "alice",
			.request_id = "r-1",
			.action = "sandbox.create",
			.object = "0123",
			.outcome = "ok",
			.detail = NULL,
		};

		assert_int_equal(store_audit(dir.store, &audit, on_done, NULL,
					     NULL),
				 0);
	}
}

/* A log of ten records, and nobody who has it open. */
static void write_ten(void)
{
	open_store();
	append(10);
	close_store();
	assert_int_equal(dir.last_r, 0);
}

static int check(struct store_check *ret_check)
{
	struct err err = ERR_NULL;
	int r = store_check_audit(dir.fd, ret_check, &err);

	if (r < 0)
		fail_msg("store_check_audit: %s", err.msg);
	return r;
}

static void must_be_intact(uint64_t num)
{
	struct store_check result;

	if (check(&result) != 0)
		fail_msg("record %llu: %s", (unsigned long long)result.bad_seq,
			 result.what);
	assert_int_equal(result.num, num);
}

static void must_show(uint64_t seq, const char *what)
{
	struct store_check result;

	assert_int_equal(check(&result), 1);
	if (result.bad_seq != seq || !strstr(result.what, what))
		fail_msg("record %llu: %s", (unsigned long long)result.bad_seq,
			 result.what);
}

/* Now, and after osbd has come, written and gone. */
static void must_show_for_ever(uint64_t seq, const char *what,
			       const char *later)
{
	must_show(seq, what);
	for (int i = 0; i < 2; i++) {
		open_store();
		append(3);
		close_store();
		must_show(seq, later);
	}
}

static void an_untouched_log_is_intact(void **state)
{
	(void)state;
	open_store();
	must_be_intact(0); /* while osbd runs, too */
	append(10);
	wait_done(10);
	must_be_intact(10);
	reopen_store();
	append(1);
	close_store();
	must_be_intact(11);
	assert_int_equal(ask("SELECT max(time_us) FROM audit"),
			 1700000000000009);
}

static void texts_are_cut_between_characters(void **state)
{
	char text[STORE_AUDIT_MAX + 10];
	const struct store_audit audit = { .action = "x", .detail = text };

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text + STORE_AUDIT_MAX - 1, "\xe2\x82\xac", 4);
	open_store();
	assert_int_equal(store_audit(dir.store, &audit, on_done, NULL, NULL),
			 0);
	close_store();
	must_be_intact(1);
	assert_int_equal(ask("SELECT length(detail) FROM audit"),
			 STORE_AUDIT_MAX - 1);
}

static void sql_can_not_change_it(void **state)
{
	static const char *const texts[] = {
		"UPDATE audit SET outcome = 'x'",
		"DELETE FROM audit WHERE seq = 3",
	};
	char path[128];
	sqlite3 *sql;

	(void)state;
	write_ten();
	(void)snprintf(path, sizeof(path), "%s/osbd.db", dir.path);
	assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(sqlite3_exec(sql, texts[i], NULL, NULL, NULL),
				 SQLITE_CONSTRAINT);
	assert_int_equal(sqlite3_close(sql), SQLITE_OK);
	must_be_intact(10);
}

static void a_changed_record_shows(void **state)
{
	static const char *const columns[] = {
		"time_us", "domain",  "object", "request_id",
		"action",  "outcome", "detail",
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		(void)snprintf(text, sizeof(text),
			       "%s UPDATE audit SET %s = 7 WHERE seq = 4",
			       NO_TRIGGERS, columns[i]);
		write_ten();
		must_be_intact(10);
		tamper(text);
		must_show_for_ever(4, "changed", "changed");
		assert_int_equal(teardown(NULL), 0);
		assert_int_equal(setup(NULL), 0);
	}
}

/* The lengths of texts are part of what is hashed. */
static void a_letter_moved_to_the_next_column_shows(void **state)
{
	(void)state;
	write_ten();
	tamper(NO_TRIGGERS "UPDATE audit SET object = '012', outcome = '3ok'"
			   " WHERE seq = 4");
	must_show(4, "changed");
}

static void a_changed_last_record_shows(void **state)
{
	(void)state;
	write_ten();
	tamper(NO_TRIGGERS "UPDATE audit SET object = 'x' WHERE seq = 10");
	must_show_for_ever(10, "changed", "changed");
}

static void a_removed_record_shows(void **state)
{
	(void)state;
	write_ten();
	tamper(NO_TRIGGERS "DELETE FROM audit WHERE seq = 5");
	must_show_for_ever(5, "missing", "missing");
}

static void a_cut_tail_shows(void **state)
{
	(void)state;
	write_ten();
	tamper(NO_TRIGGERS "DELETE FROM audit WHERE seq > 7");
	must_show_for_ever(8, "cut off, it and all up to 10; the time",
			   "missing");
}

static void a_log_cut_to_nothing_shows(void **state)
{
	(void)state;
	write_ten();
	tamper(NO_TRIGGERS "DELETE FROM audit");
	must_show_for_ever(1, "cut off", "missing");
}

/* The head is made to fit, but nobody could sign it. */
static void a_cut_tail_with_its_head_shows(void **state)
{
	(void)state;
	write_ten();
	tamper(NO_TRIGGERS "DELETE FROM audit WHERE seq > 7;"
			   "UPDATE audit_head SET seq = 7, hash ="
			   " (SELECT hash FROM audit WHERE seq = 7)");
	must_show(7, "head not signed by this key");
	open_store();
	append(3);
	close_store();
	must_show(8, "the head of the log wasn't signed by this key");
}

static void a_head_of_another_key_shows(void **state)
{
	(void)state;
	write_ten();
	tamper("UPDATE audit_head SET mac = zeroblob(32)");
	must_show(10, "head not signed by this key");
	open_store();
	close_store();
	must_show(11, "the head of the log wasn't signed by this key");
}

static void a_head_that_makes_no_sense_shows(void **state)
{
	(void)state;
	write_ten();
	tamper("UPDATE audit_head SET mac = x'00', seq = 9223372036854775807");
	must_show(10, "head not signed by this key");
	open_store();
	append(1);
	close_store();
	must_show(11, "the head of the log is gone");
}

static void a_missing_head_shows(void **state)
{
	(void)state;
	write_ten();
	tamper("DELETE FROM audit_head");
	must_show(10, "there is no head");
	open_store();
	close_store();
	must_show(11, "there is a key, but no log");
}

static void a_missing_key_shows(void **state)
{
	(void)state;
	write_ten();
	assert_int_equal(unlinkat(dir.fd, "audit.key", 0), 0);
	must_show(10, "audit.key is gone");
	open_store();
	append(1);
	close_store();
	must_show(11, "the key of the log is gone");
}

static void a_record_behind_the_head_shows(void **state)
{
	(void)state;
	write_ten();
	tamper("INSERT INTO audit SELECT 11, time_us, domain, request_id,"
	       " action, object, outcome, detail, hash FROM audit"
	       " WHERE seq = 10");
	must_show(11, "changed");
	open_store();
	append(1);
	close_store();
	must_show(11, "changed");
}

/* All hashes are made to fit: that needs no key. */
static void a_chain_computed_anew_shows(void **state)
{
	struct audit audit = { .sha256 = NULL };
	struct audit_head head = { .seq = 0 };

	(void)state;
	write_ten();
	tamper(NO_TRIGGERS "UPDATE audit SET object = 'forged'");
	assert_int_equal(audit_init(&audit), 0);
	for (int seq = 1; seq <= 10; seq++) {
		const struct store_audit record = {
			.time_us = 1700000000000000 + seq - 1,
			.domain = "alice",
			.request_id = "r-1",
			.action = "sandbox.create",
			.object = "forged",
			.outcome = "ok",
			.detail = "",
		};
		char text[256];

		assert_int_equal(audit_hash(&audit, &head, seq, &record), 0);
		(void)snprintf(text, sizeof(text),
			       "UPDATE audit SET hash = x'");
		for (unsigned int i = 0; i < sizeof(head.hash); i++)
			(void)snprintf(text + strlen(text), 3, "%02x",
				       head.hash[i]);
		(void)snprintf(text + strlen(text), 32, "' WHERE seq = %d",
			       seq);
		tamper(text);
	}
	audit_close(&audit);
	must_show(10, "not what the head was signed for");
	open_store();
	append(1);
	close_store();
	must_show(11, "changed, or the one before it");
}

static void a_removed_database_shows(void **state)
{
	(void)state;
	write_ten();
	assert_int_equal(unlinkat(dir.fd, "osbd.db", 0), 0);
	(void)unlinkat(dir.fd, "osbd.db-wal", 0);
	(void)unlinkat(dir.fd, "osbd.db-shm", 0);
	open_store();
	append(1);
	close_store();
	must_show(1, "there is a key, but no log");
}

static void a_key_of_another_size_is_refused(void **state)
{
	struct err err = ERR_NULL;
	int fd;

	(void)state;
	write_ten();
	fd = openat(dir.fd, "audit.key", O_WRONLY | O_TRUNC);
	assert_int_equal(write(fd, "short", 5), 5);
	(void)close(fd);
	refuse_store(&err);
	assert_non_null(strstr(err.msg, "audit.key isn't 32 random bytes"));
}

static void numbers_that_are_used_up_are_refused(void **state)
{
	struct err err = ERR_NULL;

	(void)state;
	write_ten();
	tamper("INSERT INTO audit SELECT 9223372036854775807, time_us, domain,"
	       " request_id, action, object, outcome, detail, hash FROM audit"
	       " WHERE seq = 10");
	refuse_store(&err);
	assert_non_null(strstr(err.msg, "the audit log"));
	must_show(11, "missing");
}

static void no_log_is_an_error(void **state)
{
	struct store_check result;
	struct err err = ERR_NULL;

	(void)state;
	assert_true(store_check_audit(dir.fd, &result, &err) < 0);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_int_equal(file_size("osbd.db"), 0);
	assert_int_equal(faccessat(dir.fd, "osbd.db", F_OK, 0), -1);
}

/* A check in the middle of writes sees one state, and stops nobody. */
static void a_check_while_osbd_writes(void **state)
{
	int go[2], status;
	char byte = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(go), 0);
	pid = fork(); /* while there is no thread that could hold a lock */
	assert_true(pid >= 0);
	if (pid == 0) {
		struct store_check result;
		int bad = read(go[0], &byte, 1) != 1;

		for (int i = 0; i < 5; i++)
			bad |= store_check_audit(dir.fd, &result, NULL);
		_exit(bad != 0);
	}
	open_store();
	append(5000);
	assert_int_equal(write(go[1], &byte, 1), 1);
	wait_done(5000);
	append(1000);
	wait_done(6000);
	(void)close(go[0]);
	(void)close(go[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(dir.num_failed, 0);
	close_store();
	must_be_intact(6000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_untouched_log_is_intact),
		TEST(texts_are_cut_between_characters),
		TEST(sql_can_not_change_it),
		TEST(a_changed_record_shows),
		TEST(a_letter_moved_to_the_next_column_shows),
		TEST(a_changed_last_record_shows),
		TEST(a_removed_record_shows),
		TEST(a_cut_tail_shows),
		TEST(a_log_cut_to_nothing_shows),
		TEST(a_cut_tail_with_its_head_shows),
		TEST(a_head_of_another_key_shows),
		TEST(a_head_that_makes_no_sense_shows),
		TEST(a_missing_head_shows),
		TEST(a_missing_key_shows),
		TEST(a_record_behind_the_head_shows),
		TEST(a_chain_computed_anew_shows),
		TEST(a_removed_database_shows),
		TEST(a_key_of_another_size_is_refused),
		TEST(numbers_that_are_used_up_are_refused),
		TEST(no_log_is_an_error),
		TEST(a_check_while_osbd_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
