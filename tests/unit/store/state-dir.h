/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * state-dir - a state directory of a test's own, and a store in it
 */

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "sandbox/fake.h"
#include "store/store.h"

static struct {
	char path[64];
	int fd;
	struct store *store;
	/* what callbacks saw */
	unsigned int num_done, num_failed;
	int last_r;
} dir;

static int setup(void **state)
{
	(void)state;
	memset(&dir, 0, sizeof(dir));
	(void)snprintf(dir.path, sizeof(dir.path), "/tmp/osb-unit-XXXXXX");
	assert_non_null(mkdtemp(dir.path));
	dir.fd = open(dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir.fd >= 0);
	return 0;
}

static int teardown(void **state)
{
	DIR *entries;
	struct dirent *entry;

	(void)state;
	store_close(dir.store);
	assert_int_equal(chdir("/"), 0);
	entries = fdopendir(dir.fd);
	assert_non_null(entries);
	while ((entry = readdir(entries)))
		if (entry->d_name[0] != '.')
			(void)unlinkat(dir.fd, entry->d_name, 0);
	(void)closedir(entries);
	assert_int_equal(rmdir(dir.path), 0);
	return 0;
}

static inline void open_store(void)
{
	struct err err = ERR_NULL;

	if (store_open(dir.fd, &fake_poller, &dir.store, &err) < 0)
		fail_msg("store_open: %s", err.msg);
}

static inline void close_store(void)
{
	store_close(dir.store);
	dir.store = NULL;
}

static inline void reopen_store(void)
{
	close_store();
	open_store();
}

/* Open must fail; says why in @ret_err. */
static inline void refuse_store(struct err *ret_err)
{
	assert_true(store_open(dir.fd, &fake_poller, &dir.store, ret_err) < 0);
	assert_null(dir.store);
}

static inline void on_done(void *ctx, int r)
{
	(void)ctx;
	dir.num_done++;
	dir.num_failed += r < 0;
	dir.last_r = r;
}

/* Until that many callbacks were called, since the test began. */
static inline void wait_done(unsigned int num)
{
	while (dir.num_done < num) {
		struct pollfd pfd = { .fd = fake_watches[0]->fd,
				      .events = POLLIN };

		assert_int_equal(poll(&pfd, 1, 10000), 1);
		fake_turn();
	}
}

/* What somebody does to it who isn't osbd. */
static inline void tamper(const char *text)
{
	sqlite3 *sql;
	char path[128];
	char *message = NULL;

	(void)snprintf(path, sizeof(path), "%s/osbd.db", dir.path);
	assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
	if (sqlite3_exec(sql, text, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", text, message);
	assert_int_equal(sqlite3_close(sql), SQLITE_OK);
}

/* The one number that @text yields. */
static inline int64_t ask(const char *text)
{
	sqlite3 *sql;
	sqlite3_stmt *stmt;
	char path[128];
	int64_t value;

	(void)snprintf(path, sizeof(path), "%s/osbd.db", dir.path);
	assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(sql, text, -1, &stmt, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	value = sqlite3_column_int64(stmt, 0);
	(void)sqlite3_finalize(stmt);
	assert_int_equal(sqlite3_close(sql), SQLITE_OK);
	return value;
}

static inline off_t file_size(const char *name)
{
	struct stat st;

	return fstatat(dir.fd, name, &st, 0) < 0 ? 0 : st.st_size;
}

static inline struct store_sandbox a_sandbox(unsigned int number)
{
	struct store_sandbox sandbox = {
		.domain = "alice",
		.image = "host",
		.state = 1,
		.created_us = 1000 + number,
		.changed_us = 2000,
		.limits = LIMITS_DEFAULTS,
		.exec_cpu_ms = 1500,
		.exec_output_max = 1 << 20,
		.exec_output_policy = 2,
		.env = { "A=1\0B=2", sizeof("A=1\0B=2") },
		.metadata = { "key\0value", sizeof("key\0value") },
	};

	(void)snprintf(sandbox.id, sizeof(sandbox.id), "%032x", number);
	return sandbox;
}
