/* SPDX-License-Identifier: Apache-2.0 */

/*
 * adopt - sandboxes that have outlived their broker
 *
 * What a broker must know of a sandbox is noted on the sandbox's own v2
 * cgroup, as an extended attribute that only host root can set: it comes last
 * in a create and goes with the group, so that there is no file that could
 * tell of a sandbox that isn't, and what has no note is half made.
 *
 * A broker that starts looks through the blocks that were leased from its run
 * directory. It takes over what has a note, a first process and a socket, and
 * ends the rest. It isn't these processes' parent: their pidfds tell of their
 * end, and somebody else reaps them.
 *
 * #syscalls  fsetxattr fgetxattr openat newfstatat pidfd_open epoll_ctl
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "backend/native/native.h"
#include "base/cleanup.h"
#include "base/dir.h"
#include "base/file.h"

#define NOTE_NAME "trusted.opensandbox"
#define NOTE_VERSION 1u

struct note {
	uint32_t version;
	uint32_t on_disk; /* its layer */
	char id[SANDBOX_ID_LEN + 1];
	char domain[DOMAIN_NAME_MAX + 1];
};

int adopt_note(const struct native *native, const struct sandbox *sandbox,
	       int cgroup_fd)
{
	const struct domain *domain = &native->domains[sandbox->domain];
	struct note note = {
		.version = NOTE_VERSION,
		.on_disk = sandbox->on_disk,
	};

	memcpy(note.id, sandbox->id, sizeof(note.id));
	memcpy(note.domain, domain->name, sizeof(note.domain));
	return fsetxattr(cgroup_fd, NOTE_NAME, &note, sizeof(note), 0) < 0
		       ? -errno
		       : 0;
}

static bool read_note(int cgroup_fd, struct note *ret_note)
{
	ssize_t n =
		fgetxattr(cgroup_fd, NOTE_NAME, ret_note, sizeof(*ret_note));

	return n == (ssize_t)sizeof(*ret_note) &&
	       ret_note->version == NOTE_VERSION &&
	       strnlen(ret_note->id, sizeof(ret_note->id)) == SANDBOX_ID_LEN &&
	       memchr(ret_note->domain, '\0', sizeof(ret_note->domain));
}

/* The only process of a group; 0 when there is none, or more than one. */
static pid_t only_process(int cgroup_fd)
{
	struct numbers pids auto_clean(numbers_close) = NUMBERS_NULL;
	uint64_t first = 0, second;

	numbers_open(&pids, cgroup_fd, "cgroup.procs");
	if (!numbers_next(&pids, &first) || numbers_next(&pids, &second) ||
	    first <= 1)
		return 0;
	return (pid_t)first;
}

/* Its first process, by a pidfd that can't have become another's. */
static int open_init(int cgroup_fd, pid_t *ret_pid, int *ret_pidfd)
{
	pid_t pid = only_process(cgroup_fd);
	int fd auto_fd = pid ? pidfd_open(pid, 0) : -1;

	if (fd < 0 || only_process(cgroup_fd) != pid)
		return -ESRCH;
	*ret_pid = pid;
	*ret_pidfd = take_fd(&fd);
	return 0;
}

static bool has_socket(const struct native *native, const char *id)
{
	char name[SANDBOX_ID_LEN + 8];
	struct stat st;

	(void)snprintf(name, sizeof(name), "%s.sock", id);
	return fstatat(native->sandboxes_fd, name, &st, AT_SYMLINK_NOFOLLOW) ==
		       0 &&
	       S_ISSOCK(st.st_mode);
}

static int adopt_slot(struct native *native, struct domain *domain,
		      uint8_t slot)
{
	struct sandbox *sandbox = native_alloc(native);
	char path[16];
	int fd auto_fd = -1;
	struct note note;
	int r;

	(void)snprintf(path, sizeof(path),
		       native->cgroup.unified ? "%u/i" : "%u", slot);
	fd = openat(domain->cgroup.fd[PLAN_V2], path,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || !sandbox || !read_note(fd, &note) ||
	    !has_socket(native, note.id))
		return -ENOENT;
	r = open_init(fd, &sandbox->pid, &sandbox->pidfd);
	if (r < 0)
		return r;
	memcpy(domain->name, note.domain, sizeof(domain->name));
	memcpy(sandbox->id, note.id, sizeof(sandbox->id));
	sandbox->domain = (uint8_t)(domain - native->domains);
	sandbox->slot = slot;
	sandbox->on_disk = note.on_disk;
	r = native_watch(native, sandbox, NULL);
	if (r < 0) {
		close_fd(&sandbox->pidfd);
		memset(sandbox, 0, sizeof(*sandbox));
		return r;
	}
	sandbox->state = SANDBOX_RUNNING;
	native->num_live++;
	domain->used[slot] = true;
	domain->num_used++;
	return 0;
}

static void adopt_block(struct native *native, uint32_t base)
{
	struct domain *domain = domain_adopt(native, base);

	if (!domain)
		return;
	for (unsigned int slot = 1; slot < DOMAIN_SLOTS; slot++) {
		if (adopt_slot(native, domain, (uint8_t)slot) < 0)
			cgroup_slot_clean(&domain->cgroup, slot);
	}
	if (domain->num_used == 0)
		domain_close(native, domain);
}

void adopt_all(struct native *native)
{
	int fd auto_fd = open(LEASE_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dir dir;
	const char *name;

	if (fd < 0)
		return; /* nobody has ever leased anything here */
	dir_init(&dir, fd);
	while ((name = dir_next(&dir, NULL))) {
		uint64_t base = file_number(name);

		if (base > 0 && base <= INT32_MAX && base % DOMAIN_IDS == 0)
			adopt_block(native, (uint32_t)base);
	}
}
