/* SPDX-License-Identifier: Apache-2.0 */

/*
 * idmap - a user namespace that nobody lives in, for id-mapped mounts
 *
 * A child makes the namespace and waits; we write its maps as the host's
 * root, keep the namespace by descriptor, and let the child go.
 * See mount_setattr(2), user_namespaces(7).
 *
 * #syscalls  unshare clone fork wait4 kill socketpair shutdown read openat
 *            exit_group
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/native.h"
#include "base/cleanup.h"
#include "base/file.h"

/*
 * Says by an end of file that it is done, and waits for one: it must not
 * outlive us, since it holds copies of all our descriptors, and osbd and the
 * launchers know by the end of theirs that we are gone. (A parent's death
 * signal would be lost if we died before it was asked for.)
 */
__attribute__((noreturn)) static void hold_namespace(int sock_fd)
{
	char byte;

	if (unshare(CLONE_NEWUSER) < 0)
		_exit(1);
	(void)shutdown(sock_fd, SHUT_WR);
	(void)!read(sock_fd, &byte, 1);
	_exit(0);
}

/*
 * The shift of a slot: on disk N is N inside. With an owner, that id and the
 * default user's are swapped: whose files they are on the host, those of
 * `sandbox` they are inside. Ids beyond the slot have no name inside, but for
 * the owner's.
 */
static void format_map(uint32_t base, uint32_t owner, char *buf, size_t size)
{
	uint32_t low = owner < USER_ID ? owner : USER_ID;
	uint32_t high = owner < USER_ID ? USER_ID : owner;
	char *at = buf;
	char *end = buf + size;

	if (owner == IDMAP_SHIFT || owner == USER_ID) {
		(void)snprintf(buf, size, "0 %u %u", base, SLOT_IDS);
		return;
	}
	if (low > 0)
		at += snprintf(at, (size_t)(end - at), "0 %u %u\n", base, low);
	at += snprintf(at, (size_t)(end - at), "%u %u 1\n", owner,
		       base + USER_ID);
	if (owner >= SLOT_IDS) {
		(void)snprintf(at, (size_t)(end - at), "%u %u %u\n",
			       USER_ID + 1, base + USER_ID + 1,
			       SLOT_IDS - USER_ID - 1);
		return;
	}
	at += snprintf(at, (size_t)(end - at), "%u %u 1\n", USER_ID,
		       base + owner);
	if (high - low > 1)
		at += snprintf(at, (size_t)(end - at), "%u %u %u\n", low + 1,
			       base + low + 1, high - low - 1);
	if (high + 1 < SLOT_IDS)
		(void)snprintf(at, (size_t)(end - at), "%u %u %u\n", high + 1,
			       base + high + 1, SLOT_IDS - high - 1);
}

static int write_maps(pid_t pid, uint32_t base, uint32_t owner)
{
	static const char *const files[] = { "uid_map", "gid_map" };
	char path[48], map[256];

	format_map(base, owner, map, sizeof(map));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		int r;

		(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid,
			       files[i]);
		r = file_write_at(AT_FDCWD, path, map);
		if (r < 0)
			return r;
	}
	return 0;
}

static int open_namespace(pid_t pid, uint32_t base, uint32_t owner)
{
	char path[48];
	int r;

	r = write_maps(pid, base, owner);
	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	r = open(path, O_RDONLY | O_CLOEXEC);
	return r < 0 ? -errno : r;
}

int idmap_open(uint32_t base, uint32_t owner, int *ret_userns_fd,
	       struct err *err)
{
	int socks[2];
	pid_t pid;
	char byte;
	int r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0)
		return err_set(err, ERR_INTERNAL, errno, "socketpair");
	pid = fork();
	if (pid == 0) {
		(void)close(socks[0]);
		hold_namespace(socks[1]);
	}
	(void)close(socks[1]);
	if (pid < 0) {
		r = -errno;
		(void)close(socks[0]);
		return err_set(err, ERR_INTERNAL, -r, "fork");
	}
	(void)!read(socks[0], &byte, 1); /* end of file: unshared, or dead */
	r = open_namespace(pid, base, owner);
	(void)close(socks[0]);
	(void)kill(pid, SIGKILL); /* pid > 0, our own unreaped child */
	(void)waitpid(pid, NULL, 0);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r,
			       "make a user namespace for id maps");
	*ret_userns_fd = r;
	return 0;
}
