/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The store behind osbd's own filter, on both threads: it writes, works its
 * log into the database and ends, and needs no call for it that osbd doesn't.
 */

#include "test.h"

#include <errno.h>
#include <linux/filter.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "confine/confine.h"
#include "state-dir.h"

static struct sock_filter osbd_filter[] = {
#include "osbd_filter.h"
};

static void put(unsigned int number)
{
	static char env[16 * 1024];
	struct store_sandbox sandbox = a_sandbox(number % 1000);

	sandbox.env = (struct store_bytes){ env, sizeof(env) };
	if (store_put_sandbox(dir.store, &sandbox, on_done, NULL, NULL) < 0)
		_exit(2);
}

static void work_behind_the_filter(void)
{
	const struct store_audit audit = { .action = "x" };

	open_store();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    seccomp_load_all_threads(osbd_filter, ARRAY_SIZE(osbd_filter)) < 0)
		_exit(1);
	/* The control: the filter is there. */
	if (kill(getpid(), 0) == 0 || errno != EPERM)
		_exit(3);
	for (unsigned int i = 0; i < 1500; i++)
		put(i);
	wait_done(1500);
	if (store_audit(dir.store, &audit, on_done, NULL, NULL) < 0)
		_exit(4);
	wait_done(1501);
	if (dir.num_failed > 0)
		_exit(5);
	close_store();
	_exit(file_size("osbd.db-wal") == 0 ? 0 : 6);
}

static void it_works_behind_osbds_filter(void **state)
{
	struct store_check check;
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		work_behind_the_filter();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	open_store();
	close_store();
	assert_int_equal(ask("SELECT count(*) FROM sandboxes"), 1000);
	assert_int_equal(store_check_audit(dir.fd, &check, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_works_behind_osbds_filter,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
