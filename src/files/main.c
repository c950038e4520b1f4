/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osb-files - one file request, inside the sandbox
 *
 * Purpose:    read or write one file with the sandbox's own view of paths,
 *             owners and limits, so that osbd needs neither.
 * Process:    osb-files; started by osb-init as the user asked, confined
 *             before exec like any program of the sandbox.
 * Input from: osbd (argv, stdin) and the sandbox's file system: both hostile.
 * Ownership:  static memory only; every fd ends with the process.
 * Limits:     a path of PATH_MAX; one request, then it exits.
 * See:        wire/files_msg.h
 *
 * Exit status: 0 when the reply says done and all content was sent, else 1.
 *
 * #syscalls  brk mmap munmap read write close newfstatat fstat getrandom
 *            readlink rt_sigreturn restart_syscall exit_group umask
 */

#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "confine/confine.h"
#include "files/get.h"
#include "files/put.h"
#include "files/reply.h"

static struct sock_filter files_filter[] = {
#include "files_filter.h"
};

/* A whole number up to @max in @base; no sign, blank or prefix. */
static int parse_number(const char *text, int base, uint64_t max,
			uint64_t *ret_value)
{
	unsigned long long value;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, base);
	if (*end != '\0' || errno != 0 || value > max)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

/* The same, with "-" for none, which leaves *ret_value alone. */
static int parse_optional(const char *text, int base, uint64_t max,
			  uint64_t *ret_value)
{
	if (strcmp(text, "-") == 0)
		return 0;
	return parse_number(text, base, max, ret_value);
}

/* argv: put PATH MODE|- UID|- GID|- */
static int run_put(char **argv, struct err *err)
{
	uint64_t mode = UINT64_MAX;
	uint64_t uid = (uid_t)-1;
	uint64_t gid = (gid_t)-1;
	struct put_spec spec = { .path = argv[2] };
	uint64_t size;
	mode_t new_mode;
	int r;

	if (parse_optional(argv[3], 8, 07777, &mode) < 0 ||
	    parse_optional(argv[4], 10, INT_MAX, &uid) < 0 ||
	    parse_optional(argv[5], 10, INT_MAX, &gid) < 0)
		return err_set(err, ERR_INVALID, 0,
			       "expected: put PATH MODE|- UID|- GID|-");
	spec.has_mode = mode != UINT64_MAX;
	spec.mode = (mode_t)(mode & 07777);
	spec.uid = (uid_t)uid;
	spec.gid = (gid_t)gid;
	r = files_put(&spec, &new_mode, &size, err);
	if (r < 0)
		return r;
	return files_reply(0, NULL, new_mode, size, 0) < 0 ? 1 : 0;
}

/* argv: get PATH OFFSET LENGTH|- */
static int run_get(char **argv, struct err *err)
{
	uint64_t offset;
	uint64_t length = UINT64_MAX;

	if (parse_number(argv[3], 10, INT64_MAX, &offset) < 0 ||
	    parse_optional(argv[4], 10, INT64_MAX, &length) < 0)
		return err_set(err, ERR_INVALID, 0,
			       "expected: get PATH OFFSET LENGTH|-");
	return files_get(argv[2], offset, length, err);
}

int main(int argc, char **argv)
{
	struct err err = ERR_NULL;
	int r;

	(void)umask(0); /* the modes asked for are exact */
	r = seccomp_load(files_filter, ARRAY_SIZE(files_filter));
	if (r < 0)
		r = err_set(&err, ERR_INTERNAL, -r, "load the filter");
	else if (argc == 6 && strcmp(argv[1], "put") == 0)
		r = run_put(argv, &err);
	else if (argc == 5 && strcmp(argv[1], "get") == 0)
		r = run_get(argv, &err);
	else
		r = err_set(&err, ERR_INVALID, 0, "expected: put … or get …");

	if (r < 0)
		(void)files_reply(r, &err, 0, 0, 0); /* exit 1 says it too */
	return r == 0 ? 0 : 1;
}
