/* SPDX-License-Identifier: Apache-2.0 */

/*
 * landlock - a second wall behind file modes and read-only mounts
 *
 * Rights grow with the kernel's ABI; older kernels get what they know. Rights
 * are allow-lists along a path, so nothing can be taken away below "/": the
 * root ruleset therefore only keeps device ioctls to /dev, and the user one
 * names where an ordinary program writes. From ABI 6 both also close abstract
 * sockets and signals to processes outside. See landlock(7).
 *
 * #syscalls  landlock_create_ruleset landlock_add_rule
 *            landlock_restrict_self openat close
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "confine/confine.h"
#include "confine/sanitized.h"

/* Newer than the headers of the oldest distribution we build on. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ull << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ull << 15)
#endif
#define SCOPE_ABSTRACT_UNIX_SOCKET (1ull << 0)
#define SCOPE_SIGNAL (1ull << 1)

/* struct landlock_ruleset_attr as of ABI 6; the kernel takes a shorter one. */
struct ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

#define ACCESS_READ                                                  \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | \
	 LANDLOCK_ACCESS_FS_READ_DIR)
#define ACCESS_WRITE_FILE \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE)
/* A volume may be a single file; other rights would be refused for it. */
#define ACCESS_OF_A_FILE                                             \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | \
	 ACCESS_WRITE_FILE)
/* Every right of ABI 1, then REFER and TRUNCATE. */
#define ACCESS_ALL_FILES                                 \
	(((1ull << 13) - 1) | LANDLOCK_ACCESS_FS_REFER | \
	 LANDLOCK_ACCESS_FS_TRUNCATE)

struct rule {
	const char *path;
	uint64_t access;
};

static const struct rule root_rules[] = {
	{ "/", ACCESS_ALL_FILES },
	{ "/dev", ACCESS_ALL_FILES | LANDLOCK_ACCESS_FS_IOCTL_DEV },
};

static const struct rule user_rules[] = {
	{ "/", ACCESS_READ },
	{ "/workspace", ACCESS_ALL_FILES },
	{ "/tmp", ACCESS_ALL_FILES },
	{ "/var/tmp", ACCESS_ALL_FILES },
	{ "/home", ACCESS_ALL_FILES },
	{ "/dev",
	  ACCESS_READ | ACCESS_WRITE_FILE | LANDLOCK_ACCESS_FS_IOCTL_DEV },
	{ "/dev/shm", ACCESS_ALL_FILES },
	{ "/proc", ACCESS_READ | ACCESS_WRITE_FILE },
};

/* Per ABI: which of the rights above it knows. */
static uint64_t known_rights(long abi)
{
	uint64_t rights = (1ull << 13) - 1;

	if (abi >= 2)
		rights |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= 3)
		rights |= LANDLOCK_ACCESS_FS_TRUNCATE;
	if (abi >= 5)
		rights |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
	return rights;
}

static int add_fd(int ruleset_fd, int path_fd, uint64_t access)
{
	struct landlock_path_beneath_attr beneath = {
		.allowed_access = access,
		.parent_fd = path_fd,
	};
	struct stat st;

	if (fstat(path_fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		beneath.allowed_access &= ACCESS_OF_A_FILE;
	if (syscall(SYS_landlock_add_rule, ruleset_fd,
		    LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) < 0)
		return -errno;
	return 0;
}

static int add_rule(int ruleset_fd, const struct rule *rule, uint64_t known)
{
	int path_fd auto_fd = open(rule->path, O_PATH | O_CLOEXEC);

	if (path_fd < 0)
		return errno == ENOENT ? 0 : -errno;
	return add_fd(ruleset_fd, path_fd, rule->access & known);
}

static int add_rules(int ruleset_fd, const struct rule *rules, size_t num,
		     uint64_t known)
{
	for (size_t i = 0; i < num; i++) {
		int r = add_rule(ruleset_fd, &rules[i], known);

		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * An empty ruleset: nothing is allowed yet.
 * Return: 0 with *@ret_fd -1 where the kernel has no Landlock.
 */
static int new_ruleset(uint64_t *ret_known, int *ret_fd)
{
	struct ruleset_attr attr = { 0 };
	long abi;
	int fd;

	*ret_fd = -1;
	abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
		      LANDLOCK_CREATE_RULESET_VERSION);
	if (abi < 0)
		return errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -errno;
	attr.handled_access_fs = known_rights(abi);
	if (abi >= 6)
		attr.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
	fd = (int)syscall(SYS_landlock_create_ruleset, &attr,
			  abi >= 6 ? sizeof(attr)
				   : sizeof(attr.handled_access_fs),
			  0);
	if (fd < 0)
		return -errno;
	*ret_known = attr.handled_access_fs;
	*ret_fd = fd;
	return 0;
}

int confine_ruleset_open(enum confine_ruleset which,
			 const char *const *writable, size_t num_writable,
			 int *ret_fd)
{
	const struct rule *rules =
		which == CONFINE_ROOT ? root_rules : user_rules;
	size_t num = which == CONFINE_ROOT ? ARRAY_SIZE(root_rules)
					   : ARRAY_SIZE(user_rules);
	int ruleset_fd auto_fd = -1;
	uint64_t known;
	int r;

	*ret_fd = -1;
	r = new_ruleset(&known, &ruleset_fd);
	if (r < 0 || ruleset_fd < 0)
		return r;
	r = add_rules(ruleset_fd, rules, num, known);
	for (size_t i = 0; r == 0 && i < num_writable; i++) {
		const struct rule rule = { writable[i], ACCESS_ALL_FILES };

		r = add_rule(ruleset_fd, &rule, known);
	}
	if (r < 0)
		return r;
	*ret_fd = take_fd(&ruleset_fd);
	return 0;
}

int confine_files(int dir_fd)
{
	static const struct rule random = { "/dev/urandom", ACCESS_READ };
	int ruleset_fd auto_fd = -1;
	uint64_t known;
	int r;

	if (IS_SANITIZED)
		return 0;
	r = new_ruleset(&known, &ruleset_fd);
	if (r < 0 || ruleset_fd < 0)
		return r;
	r = add_fd(ruleset_fd, dir_fd, ACCESS_ALL_FILES & known);
	if (r == 0)
		r = add_rule(ruleset_fd, &random, known);
	if (r == 0 && syscall(SYS_landlock_restrict_self, ruleset_fd, 0) < 0)
		r = -errno;
	return r;
}
