/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>

#include "state-dir.h"

static struct store_sandbox seen;
static struct store_exec seen_exec;
static struct store_request seen_request;
static struct store_usage seen_usage;
static char seen_env[64], seen_command[64];
static unsigned int num_seen;

static int see_sandbox(void *ctx, const struct store_sandbox *sandbox)
{
	(void)ctx;
	num_seen++;
	seen = *sandbox;
	assert_true(sandbox->env.len <= sizeof(seen_env));
	if (sandbox->env.len)
		memcpy(seen_env, sandbox->env.data, sandbox->env.len);
	return 0;
}

static int see_exec(void *ctx, const struct store_exec *exec)
{
	(void)ctx;
	num_seen++;
	seen_exec = *exec;
	(void)snprintf(seen_command, sizeof(seen_command), "%s", exec->command);
	return 0;
}

static int see_request(void *ctx, const struct store_request *request)
{
	(void)ctx;
	num_seen++;
	seen_request = *request;
	return 0;
}

static int see_usage(void *ctx, const struct store_usage *usage)
{
	(void)ctx;
	num_seen++;
	seen_usage = *usage;
	return 0;
}

static unsigned int count_sandboxes(void)
{
	num_seen = 0;
	assert_int_equal(store_each_sandbox(dir.store, see_sandbox, NULL, NULL),
			 0);
	return num_seen;
}

static unsigned int count_execs(void)
{
	num_seen = 0;
	assert_int_equal(store_each_exec(dir.store, see_exec, NULL, NULL), 0);
	return num_seen;
}

static unsigned int count_requests(void)
{
	num_seen = 0;
	assert_int_equal(store_each_request(dir.store, see_request, NULL, NULL),
			 0);
	return num_seen;
}

static void put_sandbox(const struct store_sandbox *sandbox)
{
	assert_int_equal(store_put_sandbox(dir.store, sandbox, on_done, NULL,
					   NULL),
			 0);
}

static void put_exec(const struct store_exec *exec)
{
	assert_int_equal(store_put_exec(dir.store, exec, on_done, NULL, NULL),
			 0);
}

static struct store_exec an_exec(unsigned int sandbox)
{
	struct store_exec exec = {
		.command = "echo \xe2\x82\xac\n'x'",
		.number = UINT32_MAX,
		.uid = 1000,
		.background = true,
		.truncated = true,
		.started_us = 5,
		.finished_us = INT64_MAX,
		.verdict = 6,
		.exit_code = -1,
		.signal = 9,
		.limits_hit = 3,
		.log_bytes = 1ull << 40,
		.wall_us = UINT64_MAX,
		.cpu_us = 7,
		.peak_memory_bytes = 8,
		.peak_pids = 9,
		.num_left = 20,
		.left = { "pid\0name", sizeof("pid\0name") },
	};

	(void)snprintf(exec.id, sizeof(exec.id), "e%031x", sandbox);
	(void)snprintf(exec.sandbox_id, sizeof(exec.sandbox_id), "%032x",
		       sandbox);
	return exec;
}

static void a_new_store_is_empty_and_private(void **state)
{
	struct stat st;

	(void)state;
	open_store();
	assert_int_equal(count_sandboxes(), 0);
	assert_int_equal(count_execs(), 0);
	assert_int_equal(count_requests(), 0);
	assert_int_equal(fstatat(dir.fd, "osbd.db", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(fstatat(dir.fd, "osbd.db-wal", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(fstatat(dir.fd, "audit.key", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void a_sandbox_comes_back_as_it_was(void **state)
{
	struct store_sandbox sandbox = a_sandbox(1);

	(void)state;
	sandbox.ephemeral = true;
	sandbox.expires_us = 77;
	sandbox.guarantee_bytes = 1 << 30;
	sandbox.limits.memory_bytes = 1ull << 40;
	(void)snprintf(sandbox.message, sizeof(sandbox.message), "why \"not\"");
	memset(sandbox.image, 'i', IMAGE_NAME_MAX);
	open_store();
	put_sandbox(&sandbox);
	wait_done(1);
	assert_int_equal(dir.last_r, 0);
	reopen_store();
	assert_int_equal(count_sandboxes(), 1);
	assert_string_equal(seen.id, sandbox.id);
	assert_string_equal(seen.domain, "alice");
	assert_string_equal(seen.image, sandbox.image);
	assert_string_equal(seen.message, "why \"not\"");
	assert_int_equal(seen.state, 1);
	assert_true(seen.ephemeral);
	assert_int_equal(seen.created_us, 1001);
	assert_int_equal(seen.changed_us, 2000);
	assert_int_equal(seen.expires_us, 77);
	assert_int_equal(seen.guarantee_bytes, 1 << 30);
	assert_memory_equal(&seen.limits, &sandbox.limits, sizeof(seen.limits));
	assert_int_equal(seen.exec_cpu_ms, 1500);
	assert_int_equal(seen.exec_output_max, 1 << 20);
	assert_int_equal(seen.exec_output_policy, 2);
	assert_int_equal(seen.env.len, sizeof("A=1\0B=2"));
	assert_memory_equal(seen_env, "A=1\0B=2", sizeof("A=1\0B=2"));
	assert_int_equal(seen.metadata.len, sizeof("key\0value"));
	assert_int_equal(seen.entrypoint.len, 0);
}

static void a_put_replaces_a_sandbox_and_keeps_its_execs(void **state)
{
	struct store_sandbox sandbox = a_sandbox(1);
	struct store_exec exec = an_exec(1);

	(void)state;
	open_store();
	put_sandbox(&sandbox);
	put_exec(&exec);
	sandbox.state = 3;
	put_sandbox(&sandbox);
	wait_done(3);
	reopen_store();
	assert_int_equal(count_sandboxes(), 1);
	assert_int_equal(seen.state, 3);
	assert_int_equal(count_execs(), 1);
}

static void an_exec_comes_back_as_it_was(void **state)
{
	struct store_sandbox sandbox = a_sandbox(1);
	struct store_exec exec = an_exec(1);

	(void)state;
	open_store();
	put_sandbox(&sandbox);
	put_exec(&exec);
	put_exec(&exec);
	wait_done(3);
	reopen_store();
	assert_int_equal(count_execs(), 1);
	assert_string_equal(seen_exec.id, exec.id);
	assert_string_equal(seen_exec.sandbox_id, sandbox.id);
	assert_string_equal(seen_command, exec.command);
	assert_int_equal(seen_exec.number, UINT32_MAX);
	assert_int_equal(seen_exec.uid, 1000);
	assert_true(seen_exec.background);
	assert_false(seen_exec.merged);
	assert_true(seen_exec.truncated);
	assert_int_equal(seen_exec.started_us, 5);
	assert_int_equal(seen_exec.finished_us, INT64_MAX);
	assert_int_equal(seen_exec.verdict, 6);
	assert_int_equal(seen_exec.exit_code, -1);
	assert_int_equal(seen_exec.signal, 9);
	assert_int_equal(seen_exec.limits_hit, 3);
	assert_int_equal(seen_exec.log_bytes, 1ull << 40);
	assert_int_equal(seen_exec.wall_us, INT64_MAX); /* saturates */
	assert_int_equal(seen_exec.cpu_us, 7);
	assert_int_equal(seen_exec.peak_memory_bytes, 8);
	assert_int_equal(seen_exec.peak_pids, 9);
	assert_int_equal(seen_exec.num_left, 20);
	assert_int_equal(seen_exec.left.len, sizeof("pid\0name"));
}

static void execs_go_with_their_sandbox(void **state)
{
	struct store_sandbox one = a_sandbox(1), two = a_sandbox(2);
	struct store_exec exec = an_exec(1), other = an_exec(2);

	(void)state;
	open_store();
	put_sandbox(&one);
	put_sandbox(&two);
	put_exec(&exec);
	put_exec(&other);
	assert_int_equal(store_delete_sandbox(dir.store, one.id, on_done, NULL,
					      NULL),
			 0);
	assert_int_equal(store_delete_sandbox(dir.store, one.id, on_done, NULL,
					      NULL),
			 0);
	wait_done(6);
	assert_int_equal(dir.last_r, 0);
	reopen_store();
	assert_int_equal(count_sandboxes(), 1);
	assert_string_equal(seen.id, two.id);
	assert_int_equal(count_execs(), 1);
	assert_string_equal(seen_exec.id, other.id);
	assert_int_equal(store_delete_exec(dir.store, other.id, NULL, NULL,
					   NULL),
			 0);
	reopen_store();
	assert_int_equal(count_execs(), 0);
}

static void an_exec_without_its_sandbox_fails_alone(void **state)
{
	struct store_sandbox sandbox = a_sandbox(1);
	struct store_exec exec = an_exec(2);

	(void)state;
	open_store();
	put_sandbox(&sandbox);
	put_exec(&exec);
	wait_done(2);
	assert_int_equal(dir.last_r, -ENOENT);
	reopen_store();
	assert_int_equal(count_sandboxes(), 1);
	assert_int_equal(count_execs(), 0);
}

static void a_request_outlives_its_sandbox_until_pruned(void **state)
{
	struct store_sandbox sandbox = a_sandbox(1);
	struct store_request request = {
		.domain = "alice",
		.key = "k1",
		.hash = { 1, 0, 2 },
		.created_us = 50,
	};

	(void)state;
	memcpy(request.sandbox_id, sandbox.id, sizeof(sandbox.id));
	open_store();
	put_sandbox(&sandbox);
	for (int i = 0; i < 2; i++)
		assert_int_equal(store_put_request(dir.store, &request, on_done,
						   NULL, NULL),
				 0);
	(void)snprintf(request.domain, sizeof(request.domain), "bob");
	request.created_us = 60;
	assert_int_equal(store_put_request(dir.store, &request, on_done, NULL,
					   NULL),
			 0);
	assert_int_equal(store_delete_sandbox(dir.store, sandbox.id, on_done,
					      NULL, NULL),
			 0);
	wait_done(5);
	reopen_store();
	assert_int_equal(count_requests(), 2);
	assert_string_equal(seen_request.domain, "bob");
	assert_string_equal(seen_request.key, "k1");
	assert_string_equal(seen_request.sandbox_id, sandbox.id);
	assert_memory_equal(seen_request.hash, request.hash, STORE_HASH_LEN);
	assert_int_equal(store_prune_requests(dir.store, 60, NULL, NULL, NULL),
			 0);
	reopen_store();
	assert_int_equal(count_requests(), 1);
	assert_int_equal(seen_request.created_us, 60);
}

static void usage_adds_up_and_saturates(void **state)
{
	struct store_usage delta = {
		.domain = "alice",
		.requests = 3,
		.sandboxes_created = 1,
		.execs_started = 2,
		.cpu_us = UINT64_MAX, /* whatever an init claims */
		.output_bytes = 10,
		.last_used_us = 100,
	};

	(void)state;
	open_store();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(store_add_usage(dir.store, &delta, on_done,
						 NULL, NULL),
				 0);
		delta.last_used_us = 90;
	}
	wait_done(3);
	assert_int_equal(dir.last_r, 0);
	reopen_store();
	num_seen = 0;
	assert_int_equal(store_each_usage(dir.store, see_usage, NULL, NULL), 0);
	assert_int_equal(num_seen, 1);
	assert_int_equal(seen_usage.requests, 9);
	assert_int_equal(seen_usage.sandboxes_created, 3);
	assert_int_equal(seen_usage.execs_started, 6);
	assert_int_equal(seen_usage.cpu_us, INT64_MAX);
	assert_int_equal(seen_usage.output_bytes, 30);
	assert_int_equal(seen_usage.last_used_us, 100);
}

static int stop_early(void *ctx, const struct store_sandbox *sandbox)
{
	(void)ctx;
	(void)sandbox;
	num_seen++;
	return -ECANCELED;
}

static void loading_ends_when_told(void **state)
{
	(void)state;
	open_store();
	for (unsigned int i = 0; i < 3; i++) {
		struct store_sandbox sandbox = a_sandbox(i);

		put_sandbox(&sandbox);
	}
	reopen_store();
	num_seen = 0;
	assert_int_equal(store_each_sandbox(dir.store, stop_early, NULL, NULL),
			 -ECANCELED);
	assert_int_equal(num_seen, 1);
}

static void a_row_that_makes_no_sense_is_refused(void **state)
{
	static const char *const changes[] = {
		"UPDATE sandboxes SET image = hex(zeroblob(64))",
		"UPDATE sandboxes SET pids = -1",
		"UPDATE sandboxes SET memory_bytes = -1",
		"UPDATE sandboxes SET env = x'41'",
		"UPDATE sandboxes SET domain = 'a' || char(0) || 'b'",
	};
	struct store_sandbox sandbox = a_sandbox(1);

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct err err = ERR_NULL;

		open_store();
		put_sandbox(&sandbox);
		close_store();
		tamper(changes[i]);
		open_store();
		assert_int_equal(store_each_sandbox(dir.store, see_sandbox,
						    NULL, &err),
				 -EUCLEAN);
		assert_non_null(strstr(err.msg, sandbox.id));
		close_store();
	}
}

static void closing_commits_and_calls_back(void **state)
{
	(void)state;
	open_store();
	for (unsigned int i = 0; i < 3000; i++) {
		struct store_sandbox sandbox = a_sandbox(i);

		put_sandbox(&sandbox);
	}
	close_store();
	assert_int_equal(dir.num_done, 3000);
	open_store();
	assert_int_equal(count_sandboxes(), 3000);
	assert_int_equal(seen.created_us, 1000 + 2999);
}

static unsigned int order[100], num_order;

static void note_order(void *ctx, int r)
{
	assert_int_equal(r, 0);
	order[num_order++] = (unsigned int)(uintptr_t)ctx;
	on_done(NULL, r);
}

static void callbacks_come_in_order(void **state)
{
	struct store_sandbox sandbox = a_sandbox(1);

	(void)state;
	num_order = 0;
	open_store();
	for (unsigned int i = 0; i < 100; i++)
		assert_int_equal(store_put_sandbox(dir.store, &sandbox,
						   note_order,
						   (void *)(uintptr_t)i, NULL),
				 0);
	wait_done(100);
	for (unsigned int i = 0; i < 100; i++)
		assert_int_equal(order[i], i);
}

static void put_next(void *ctx, int r)
{
	struct store_sandbox sandbox = a_sandbox(7);

	(void)ctx;
	on_done(NULL, r);
	put_sandbox(&sandbox);
}

static void a_callback_may_write_more(void **state)
{
	struct store_sandbox sandbox = a_sandbox(1);

	(void)state;
	open_store();
	assert_int_equal(store_put_sandbox(dir.store, &sandbox, put_next, NULL,
					   NULL),
			 0);
	wait_done(2);
	reopen_store();
	assert_int_equal(count_sandboxes(), 2);
}

static void many_share_a_commit(void **state)
{
	struct store_usage delta = { .domain = "alice", .requests = 1 };

	(void)state;
	open_store();
	store_group_begin(dir.store);
	for (unsigned int i = 0; i < 5000; i++)
		assert_int_equal(store_add_usage(dir.store, &delta, on_done,
						 NULL, NULL),
				 0);
	store_group_end(dir.store);
	wait_done(5000);
	/* A commit each would have written 5,000 pages. */
	assert_true(file_size("osbd.db-wal") < 300 * 1024);
	assert_int_equal(ask("SELECT requests FROM usage"), 5000);
}

static void a_group_is_all_or_nothing(void **state)
{
	struct store_sandbox one = a_sandbox(1), two = a_sandbox(2);
	struct store_exec exec = an_exec(3); /* of no sandbox */
	struct store_audit audit = { .action = "sandbox.create" };

	(void)state;
	open_store();
	put_sandbox(&one);
	store_group_begin(dir.store);
	put_sandbox(&two);
	assert_int_equal(store_audit(dir.store, &audit, on_done, NULL, NULL),
			 0);
	put_exec(&exec);
	store_group_end(dir.store);
	assert_int_equal(store_audit(dir.store, &audit, on_done, NULL, NULL),
			 0);
	wait_done(5);
	assert_int_equal(dir.num_failed, 3);
	assert_int_equal(dir.last_r, 0);
	reopen_store();
	assert_int_equal(count_sandboxes(), 1);
	assert_string_equal(seen.id, one.id);
	assert_int_equal(ask("SELECT count(*) FROM audit"), 1);
	assert_int_equal(ask("SELECT seq FROM audit"), 1);
}

static void an_empty_group_is_nothing(void **state)
{
	(void)state;
	open_store();
	store_group_begin(dir.store);
	store_group_end(dir.store);
	close_store();
}

static void a_full_queue_refuses_at_once(void **state)
{
	struct err err = ERR_NULL;

	(void)state;
	open_store();
	/* A group stays in the queue until it is whole. */
	store_group_begin(dir.store);
	for (unsigned int i = 0; i < STORE_OPS_MAX; i++)
		assert_int_equal(store_delete_exec(dir.store, "x", on_done,
						   NULL, &err),
				 0);
	assert_int_equal(store_delete_exec(dir.store, "x", on_done, NULL, &err),
			 -EBUSY);
	assert_int_equal(err.kind, ERR_UNAVAILABLE);
	store_group_end(dir.store);
	wait_done(STORE_OPS_MAX);
	assert_int_equal(dir.num_done, STORE_OPS_MAX);
	assert_int_equal(store_delete_exec(dir.store, "x", on_done, NULL, &err),
			 0);
	wait_done(STORE_OPS_MAX + 1);
}

static void the_bytes_in_the_queue_are_bounded(void **state)
{
	static char text[STORE_ITEM_MAX + 2];
	struct err err = ERR_NULL;
	unsigned int num = 0;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	open_store();
	assert_int_equal(store_delete_exec(dir.store, text, on_done, NULL,
					   &err),
			 -EMSGSIZE);
	assert_int_equal(err.kind, ERR_TOO_LARGE);
	text[STORE_ITEM_MAX] = '\0';
	store_group_begin(dir.store);
	while (store_delete_exec(dir.store, text, on_done, NULL, &err) == 0)
		num++;
	assert_int_equal(err.kind, ERR_UNAVAILABLE);
	assert_int_equal(num, STORE_BYTES_MAX / STORE_ITEM_MAX - 1);
	store_group_end(dir.store);
	wait_done(num);
	assert_int_equal(dir.last_r, 0);
}

static void a_second_osbd_is_refused(void **state)
{
	struct store *other = NULL;
	struct err err = ERR_NULL;

	(void)state;
	open_store();
	assert_true(store_open(dir.fd, &fake_poller, &other, &err) < 0);
	assert_null(other);
	assert_int_equal(err.kind, ERR_CONFLICT);
	assert_string_equal(err.msg, "another osbd uses this state directory");
	reopen_store();
}

static void without_a_loop_closing_calls_back(void **state)
{
	struct store_sandbox sandbox = a_sandbox(1);

	(void)state;
	assert_int_equal(store_open(dir.fd, NULL, &dir.store, NULL), 0);
	put_sandbox(&sandbox);
	close_store();
	assert_int_equal(dir.num_done, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_store_is_empty_and_private),
		TEST(a_sandbox_comes_back_as_it_was),
		TEST(a_put_replaces_a_sandbox_and_keeps_its_execs),
		TEST(an_exec_comes_back_as_it_was),
		TEST(execs_go_with_their_sandbox),
		TEST(an_exec_without_its_sandbox_fails_alone),
		TEST(a_request_outlives_its_sandbox_until_pruned),
		TEST(usage_adds_up_and_saturates),
		TEST(loading_ends_when_told),
		TEST(a_row_that_makes_no_sense_is_refused),
		TEST(closing_commits_and_calls_back),
		TEST(callbacks_come_in_order),
		TEST(a_callback_may_write_more),
		TEST(many_share_a_commit),
		TEST(a_group_is_all_or_nothing),
		TEST(an_empty_group_is_nothing),
		TEST(a_full_queue_refuses_at_once),
		TEST(the_bytes_in_the_queue_are_bounded),
		TEST(a_second_osbd_is_refused),
		TEST(without_a_loop_closing_calls_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
