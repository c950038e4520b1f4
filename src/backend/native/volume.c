/* SPDX-License-Identifier: Apache-2.0 */

/*
 * volume - opening host paths that may be shown inside
 *
 * A path is resolved once, to a descriptor; the policy judges the name that
 * the kernel gives that descriptor, and the mount is cloned from it. So a
 * link swapped in meanwhile changes nothing: either the object that was
 * judged is mounted, or none.
 *
 * The policy is in volume_policy.c.
 *
 * Inside, the owner of what is shown is the user `sandbox` (see idmap.c), so
 * a directory of the caller's can be worked in. Its files stay the caller's
 * on the host, which is why no set-user-ID bit may be set from inside (see
 * confine/volume.syscalls).
 *
 * #syscalls  open openat readlink fstat newfstatat faccessat faccessat2
 *            fstatfs statx dup2 close_range kill wait4
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/native.h"
#include "base/cleanup.h"
#include "base/mnt.h"
#include "wire/fdpass.h"
#include "wire/spawn.h"

#define ALLOWED_PRIVATE                                                       \
	"allowed is what neither lies in nor holds /boot, /dev, /etc, /home," \
	" /proc, /run, /sys, /var/lib or a secret store, nor, unless ro,"     \
	" /bin, /lib, /opt, /sbin, /usr or, but for /var/tmp, /var"
#define ALLOWED_ROOTS "allowed is what volume_root in broker.conf lists"

#define SEARCH_TIMEOUT_MS 2000

/* Does the name lead to what was opened? */
static bool leads_to(const char *path, int fd)
{
	const unsigned int mask = STATX_INO | STATX_MNT_ID;
	int again_fd auto_fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct statx a, b;

	return again_fd >= 0 && statx(fd, "", AT_EMPTY_PATH, mask, &a) == 0 &&
	       statx(again_fd, "", AT_EMPTY_PATH, mask, &b) == 0 &&
	       a.stx_ino == b.stx_ino && a.stx_mnt_id == b.stx_mnt_id;
}

/*
 * The name of what was really opened, links resolved. /proc leads also to
 * where no name of ours leads: into other mount namespaces, and detached
 * mounts that we hold by descriptor. What is called /workspace there isn't
 * what the policy would judge.
 */
static int real_name(int fd, char *buf, size_t size)
{
	char link[32];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, buf, size - 1);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return buf[0] == '/' && leads_to(buf, fd) ? 0 : -EXDEV;
}

/* Local ones: any other may let whoever looks at it wait for ever. */
static bool is_local(int fd)
{
	static const long types[] = {
		EXT4_SUPER_MAGIC,  XFS_SUPER_MAGIC,       BTRFS_SUPER_MAGIC,
		F2FS_SUPER_MAGIC,  TMPFS_MAGIC,           EROFS_SUPER_MAGIC_V1,
		MSDOS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC,
	};
	struct statfs st;

	if (fstatfs(fd, &st) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (st.f_type == types[i])
			return true;
	}
	return false;
}

static int open_allowed(const struct native_config *config,
			const struct plan_op *op, int *ret_fd,
			uint32_t *ret_owner, struct err *err)
{
	char path[PATH_MAX];
	int fd auto_fd = open(op->source, O_PATH | O_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0)
		return err_set(err,
			       errno == ENOENT ? ERR_NOT_FOUND : ERR_INVALID,
			       errno, "volume '%.150s'", op->source);
	r = real_name(fd, path, sizeof(path));
	if (r < 0 || fstat(fd, &st) < 0)
		return err_set(err, ERR_INVALID, r < 0 ? -r : errno,
			       "volume '%.150s'", op->source);
	if (!volume_policy_check(config, fd, path, op->read_only))
		return err_set(err, ERR_DENIED, 0,
			       "volume '%.50s' is not allowed; %s", op->source,
			       config->private ? ALLOWED_PRIVATE
					       : ALLOWED_ROOTS);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, 0,
			       "volume '%.150s': neither a directory nor a"
			       " regular file",
			       op->source);
	if (!is_local(fd))
		return err_set(err, ERR_UNSUPPORTED, 0,
			       "volume '%.100s': allowed are local file"
			       " systems: ext4, xfs, btrfs, f2fs, tmpfs",
			       op->source);
	*ret_owner = st.st_uid;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* What the child found, with a descriptor when it is allowed. */
struct found {
	uint32_t owner;
	struct err err;
};

struct search {
	const struct native_config *config;
	const struct plan_op *op;
};

static void search(void *arg, int sock_fd)
{
	const struct search *search = arg;
	struct found found = { 0 };
	int fd = -1;

	/* If it hangs it must not keep anything of ours open. */
	if (dup2(sock_fd, 3) < 0 || close_range(4, ~0u, 0) < 0)
		return;
	(void)open_allowed(search->config, search->op, &fd, &found.owner,
			   &found.err);
	(void)fdpass_send(3, &found, sizeof(found), &fd, fd >= 0);
}

/*
 * In a child: a path may lead through a file system that never answers, a
 * user's FUSE for one, and who waits for it can't even be killed.
 */
static int find(struct native *native, const struct plan_op *op, int *ret_fd,
		uint32_t *ret_owner, struct err *err)
{
	struct search arg = { &native->config, op };
	struct fdset fds auto_clean(fdset_close) = FDSET_NULL;
	struct found found = { 0 };
	int sock_fd auto_fd = -1;
	pid_t pid = spawn(SPAWN_TRUSTED, search, &arg, &sock_fd);
	size_t len = 0;
	int r;

	if (pid < 0)
		return err_set(err, ERR_INTERNAL, -pid, "look for a volume");
	r = domain_wait(sock_fd, SEARCH_TIMEOUT_MS);
	if (r == 0)
		r = fdpass_recv(sock_fd, &found, sizeof(found), 0, &len, &fds);
	(void)kill(pid, SIGKILL); /* our own unreaped child */
	if (r == 0)
		(void)waitpid(pid, NULL, 0);
	else
		native->num_looks = NATIVE_LOOKS; /* it may not even die */
	if (r < 0 || len != sizeof(found))
		return err_set(
			err, ERR_INVALID, r < 0 ? -r : EIO,
			"volume '%.150s': its file system doesn't answer",
			op->source);
	if (found.err.kind)
		return err_set(err, found.err.kind, 0, "%s", found.err.msg);
	*ret_owner = found.owner;
	*ret_fd = fdset_take(&fds, 0);
	return 0;
}

int volume_open(struct native *native, const struct plan_op *op, uint32_t base,
		int *ret_mnt_fd, struct err *err)
{
	uint64_t attrs = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			 (op->read_only ? MOUNT_ATTR_RDONLY : 0);
	int fd auto_fd = -1;
	int mnt_fd auto_fd = -1;
	int userns_fd auto_fd = -1;
	uint32_t owner = 0;
	int r;

	r = find(native, op, &fd, &owner, err);
	if (r == 0)
		r = idmap_open(base, owner, &userns_fd, err);
	if (r < 0)
		return r;
	r = mnt_clone(fd, "", &mnt_fd);
	if (r == 0)
		r = mnt_set(mnt_fd, attrs, userns_fd);
	if (r < 0)
		return err_set(err, ERR_UNSUPPORTED, -r,
			       "volume '%.100s': its file system can't be"
			       " id-mapped",
			       op->source);
	*ret_mnt_fd = take_fd(&mnt_fd);
	return 0;
}
