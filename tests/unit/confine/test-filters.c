/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each process's system call filter: what isn't on its list fails as
 * documented, here and without its arguments being looked at; what is, works.
 * The control is the same call without a filter.
 */

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "confine/confine.h"

static struct sock_filter broker_filter[] = {
#include "broker_filter.h"
};
static struct sock_filter disk_filter[] = {
#include "disk_filter.h"
};
static struct sock_filter exec_filter[] = {
#include "exec_filter.h"
};
static struct sock_filter files_filter[] = {
#include "files_filter.h"
};
static struct sock_filter launcher_filter[] = {
#include "init_filter.h"
};
static struct sock_filter osbd_filter[] = {
#include "osbd_filter.h"
};

struct filter {
	const char *name;
	struct sock_filter *program;
	size_t len;
};

#define FILTER(n)                                      \
	{                                              \
#n, n##_filter, ARRAY_SIZE(n##_filter) \
	}
enum {
	BROKER,
	DISK,
	EXEC,
	FILES,
	LAUNCHER,
	OSBD,
	NUM_FILTERS
};
static const struct filter filters[] = {
	[BROKER] = FILTER(broker),     [DISK] = FILTER(disk),
	[EXEC] = FILTER(exec),         [FILES] = FILTER(files),
	[LAUNCHER] = FILTER(launcher), [OSBD] = FILTER(osbd),
};
_Static_assert(ARRAY_SIZE(filters) == NUM_FILTERS, "one per process");

/* Harmless with these arguments, whoever makes it. */
struct call {
	const char *name;
	long number;
	long arg[3];
};

#define CALL(n, ...)                \
	{                           \
#n, SYS_##n,        \
		{                   \
			__VA_ARGS__ \
		}                   \
	}

/* For nobody of ours: the kernel's own inside, other machines, other times. */
static const struct call nobodys[] = {
	CALL(bpf, -1),
	CALL(perf_event_open, 0),
	CALL(userfaultfd, -1),
	CALL(swapon, 0),
	CALL(keyctl, -1),
	CALL(add_key, 0),
	CALL(io_uring_setup, 0),
	CALL(open_by_handle_at, -1, 0),
	CALL(init_module, 0, 0, 0),
	CALL(fanotify_init, -1, -1),
};

/* What only those do who make sandboxes. */
static const struct call makers[] = {
	CALL(fsopen, 0, -1),
	CALL(mount_setattr, -1, 0, -1),
	CALL(move_mount, -1, 0, -1),
	CALL(umount2, 0, -1),
};

/* What neither a server of requests nor a writer of files needs. */
static const struct call starters[] = {
	CALL(execve, 0, 0, 0), CALL(ptrace, -1, 0, 0), CALL(setns, -1, 0),
	CALL(unshare, 1),      CALL(chroot, 0),        CALL(mknodat, -1, 0, -1),
};

enum {
	SUCCESS = 0,
	BROKEN = 255
};

/* The errno of a call in a child, behind a filter if there is one. */
static int try_call(const struct filter *filter, const struct call *call)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    (filter && seccomp_load(filter->program, filter->len) < 0))
			_exit(BROKEN);
		errno = 0;
		(void)syscall(call->number, call->arg[0], call->arg[1],
			      call->arg[2], 0, 0, 0);
		_exit(errno);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status)); /* never killed */
	assert_int_not_equal(WEXITSTATUS(status), BROKEN);
	return WEXITSTATUS(status);
}

/* As documented: EPERM, or for numbers beyond the filter's last, ENOSYS. */
static bool is_refusal(int error)
{
	return error == EPERM || error == ENOSYS;
}

/* How many of them are refused behind it, and only there. */
static unsigned int count_refused(const struct filter *filter,
				  const struct call *calls, size_t num)
{
	unsigned int refused = 0;

	for (size_t i = 0; i < num; i++) {
		/* Unless this host refuses it to everybody. */
		if (is_refusal(try_call(NULL, &calls[i])))
			continue;
		if (!is_refusal(try_call(filter, &calls[i])))
			fail_msg("%s: %s is let through", filter->name,
				 calls[i].name);
		refused++;
	}
	return refused;
}

static void nobody_may_reach_into_the_kernel(void **state)
{
	(void)state;
	for (size_t f = 0; f < NUM_FILTERS; f++)
		assert_true(count_refused(&filters[f], nobodys,
					  ARRAY_SIZE(nobodys)) >= 5);
}

static void only_makers_mount(void **state)
{
	static const int others[] = { EXEC, FILES, OSBD };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_true(count_refused(&filters[others[i]], makers,
					  ARRAY_SIZE(makers)) >= 3);
	for (size_t i = 0; i < ARRAY_SIZE(makers); i++) {
		assert_int_equal(try_call(&filters[BROKER], &makers[i]),
				 try_call(NULL, &makers[i]));
		assert_int_equal(try_call(&filters[LAUNCHER], &makers[i]),
				 try_call(NULL, &makers[i]));
	}
}

static void servers_start_nothing_and_trace_nobody(void **state)
{
	static const int servers[] = { FILES, OSBD };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(servers); i++)
		assert_true(count_refused(&filters[servers[i]], starters,
					  ARRAY_SIZE(starters)) >= 4);
}

static void osbd_opens_files_one_way_and_no_other_socket(void **state)
{
	static const struct call opens[] = {
		CALL(openat2, AT_FDCWD, 0, 0),
		CALL(open, 0, 0),
		CALL(kill, 0x7fffffff, 0),
	};
	static const struct call sockets[] = {
		CALL(socket, AF_UNIX, SOCK_STREAM, 0),
		CALL(socket, AF_INET, SOCK_STREAM, 0),
		CALL(socket, AF_NETLINK, SOCK_RAW, 0),
	};

	(void)state;
	assert_int_equal(count_refused(&filters[OSBD], opens,
				       ARRAY_SIZE(opens)),
			 ARRAY_SIZE(opens));
	assert_int_equal(try_call(&filters[OSBD], &sockets[0]), SUCCESS);
	for (size_t i = 0; i < ARRAY_SIZE(sockets); i++)
		assert_int_equal(try_call(NULL, &sockets[i]), SUCCESS);
	for (size_t i = 1; i < ARRAY_SIZE(sockets); i++)
		assert_int_equal(try_call(&filters[OSBD], &sockets[i]),
				 EAFNOSUPPORT);
}

/* A library that knows a newer call falls back to an older one. */
static void calls_from_the_future_do_not_exist(void **state)
{
	static const struct call future = { "future", 4000, { 0 } };

	(void)state;
	for (size_t f = 0; f < NUM_FILTERS; f++)
		assert_int_equal(try_call(&filters[f], &future), ENOSYS);
}

static void what_all_need_works(void **state)
{
	static const struct call usual[] = {
		CALL(close, -1),
		CALL(read, -1, 0, 0),
		CALL(write, -1, 0, 0),
		CALL(munmap, 4096, 4096),
	};

	(void)state;
	for (size_t f = 0; f < NUM_FILTERS; f++) {
		for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
			assert_int_equal(try_call(&filters[f], &usual[i]),
					 try_call(NULL, &usual[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_may_reach_into_the_kernel),
		cmocka_unit_test(only_makers_mount),
		cmocka_unit_test(servers_start_nothing_and_trace_nobody),
		cmocka_unit_test(osbd_opens_files_one_way_and_no_other_socket),
		cmocka_unit_test(calls_from_the_future_do_not_exist),
		cmocka_unit_test(what_all_need_works),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
