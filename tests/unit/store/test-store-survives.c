/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Kills, full disks, and a directory that can't be reached by its path.
 */

#include "test.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "state-dir.h"

#define PUTS 10000
#define PUTS_BEFORE_KILL 3000

/* Shared with a child: whose callback was called. */
struct progress {
	unsigned int num_done;
	bool done[PUTS];
};

static struct progress *progress;

static void note_progress(void *ctx, int r)
{
	on_done(NULL, r);
	if (r < 0)
		return;
	progress->done[(uintptr_t)ctx] = true;
	__atomic_add_fetch(&progress->num_done, 1, __ATOMIC_RELEASE);
}

static void put_many(void)
{
	for (unsigned int i = 0; i < PUTS; i++) {
		struct store_sandbox sandbox = a_sandbox(i);

		assert_int_equal(store_put_sandbox(dir.store, &sandbox,
						   note_progress,
						   (void *)(uintptr_t)i, NULL),
				 0);
		if (i % 10 == 0)
			wait_done(i > 50 ? i - 50 : 0);
	}
	wait_done(PUTS);
}

static int see(void *ctx, const struct store_sandbox *sandbox)
{
	bool *found = ctx;
	unsigned long number = strtoul(sandbox->id, NULL, 16);

	assert_true(number < PUTS);
	found[number] = true;
	return 0;
}

static void what_was_called_back_outlives_a_kill(void **state)
{
	static bool found[PUTS];
	pid_t pid;

	(void)state;
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(progress, MAP_FAILED);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		open_store();
		put_many();
		_exit(0);
	}
	while (__atomic_load_n(&progress->num_done, __ATOMIC_ACQUIRE) <
	       PUTS_BEFORE_KILL)
		;
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(progress->num_done < PUTS);
	open_store();
	assert_int_equal(store_each_sandbox(dir.store, see, found, NULL), 0);
	for (unsigned int i = 0; i < PUTS; i++)
		if (progress->done[i])
			assert_true(found[i]);
	assert_int_equal(ask("SELECT count(*) FROM pragma_integrity_check"
			     " WHERE integrity_check = 'ok'"),
			 1);
	assert_int_equal(munmap(progress, sizeof(*progress)), 0);
}

static void set_file_size_limit(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void put_with_big_env(unsigned int number)
{
	static char env[64 * 1024];
	struct store_sandbox sandbox = a_sandbox(number);

	sandbox.env = (struct store_bytes){ env, sizeof(env) };
	assert_int_equal(store_put_sandbox(dir.store, &sandbox, on_done, NULL,
					   NULL),
			 0);
}

static void a_full_disk_is_reported_and_forgotten(void **state)
{
	const struct store_audit audit = { .action = "x" };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct store_check check;

	(void)state;
	assert_int_equal(sigaction(SIGXFSZ, &ignore, NULL), 0);
	open_store();
	put_with_big_env(1);
	wait_done(1);
	assert_int_equal(dir.last_r, 0);
	set_file_size_limit((rlim_t)file_size("osbd.db-wal") + 8192);
	assert_int_equal(store_audit(dir.store, &audit, NULL, NULL, NULL), 0);
	for (unsigned int i = 2; i < 20; i++)
		put_with_big_env(i);
	wait_done(19);
	assert_int_equal(dir.num_failed, 18);
	assert_int_equal(dir.last_r, -EIO);
	set_file_size_limit(RLIM_INFINITY);
	assert_int_equal(store_audit(dir.store, &audit, NULL, NULL, NULL), 0);
	put_with_big_env(20);
	wait_done(20);
	assert_int_equal(dir.last_r, 0);
	reopen_store();
	assert_int_equal(ask("SELECT count(*) FROM sandboxes"), 2);
	assert_int_equal(store_check_audit(dir.fd, &check, NULL), 0);
}

/* In a child: by descriptor only, as somebody whom the parents keep out. */
static void serve_as_nobody(const char *path, int dir_fd)
{
	struct store *store = NULL;
	struct store_sandbox sandbox = a_sandbox(1);
	struct store_check check;
	struct err err = ERR_NULL;

	if (setresgid(65520, 65520, 65520) < 0 ||
	    setresuid(65520, 65520, 65520) < 0 || access(path, F_OK) == 0)
		_exit(1);
	if (store_open(dir_fd, &fake_poller, &store, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.msg);
		_exit(2);
	}
	if (store_put_sandbox(store, &sandbox, on_done, NULL, NULL) < 0)
		_exit(3);
	wait_done(1);
	if (dir.last_r < 0 || store_check_audit(dir_fd, &check, NULL) != 0)
		_exit(4);
	store_close(store);
	_exit(0);
}

static void a_directory_needs_no_path(void **state)
{
	char path[128];
	pid_t pid;
	int status, fd;

	(void)state;
	if (geteuid() != 0)
		skip(); /* needs root to become somebody else */
	(void)snprintf(path, sizeof(path), "%s/inner", dir.path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chown(path, 65520, 65520), 0);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		serve_as_nobody(path, fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	/* So that it is found empty. */
	(void)close(dir.fd);
	dir.fd = fd;
	assert_int_equal(fchdir(fd), 0);
	(void)snprintf(path, sizeof(path), "%s", dir.path);
	(void)snprintf(dir.path, sizeof(dir.path), "%s/inner", path);
	assert_int_equal(teardown(NULL), 0);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(setup(NULL), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_was_called_back_outlives_a_kill),
		TEST(a_full_disk_is_reported_and_forgotten),
		TEST(a_directory_needs_no_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
