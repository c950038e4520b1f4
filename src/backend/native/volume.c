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
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "backend/native/native.h"
#include "base/cleanup.h"
#include "base/mnt.h"

#define ALLOWED_PRIVATE                                                       \
	"allowed is what neither lies in nor holds /boot, /dev, /etc, /home," \
	" /proc, /run, /sys, /var/lib or a secret store, nor, unless ro,"     \
	" /usr, /bin, /lib, /sbin"
#define ALLOWED_ROOTS "allowed is what volume_root in broker.conf lists"

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

static int open_allowed(const struct native_config *config, const char *source,
			bool read_only, int *ret_fd, struct err *err)
{
	char path[PATH_MAX];
	int fd auto_fd = open(source, O_PATH | O_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0)
		return err_set(err, ERR_INVALID, errno, "volume '%.150s'",
			       source);
	r = real_name(fd, path, sizeof(path));
	if (r < 0)
		return err_set(err, ERR_INVALID, -r, "volume '%.150s'", source);
	if (!volume_policy_check(config, fd, path, read_only))
		return err_set(err, ERR_INVALID, 0,
			       "volume '%.50s' is not allowed; %s", source,
			       config->private ? ALLOWED_PRIVATE
					       : ALLOWED_ROOTS);
	if (fstat(fd, &st) < 0)
		return err_set(err, ERR_INVALID, errno, "volume '%.150s'",
			       source);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, 0,
			       "volume '%.150s': neither a directory nor a"
			       " regular file",
			       source);
	*ret_fd = take_fd(&fd);
	return 0;
}

int volume_open(const struct native_config *config, const char *source,
		bool read_only, uint32_t base, int *ret_mnt_fd, struct err *err)
{
	uint64_t attrs = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			 (read_only ? MOUNT_ATTR_RDONLY : 0);
	int fd auto_fd = -1;
	int mnt_fd auto_fd = -1;
	int userns_fd auto_fd = -1;
	struct stat st;
	int r;

	r = open_allowed(config, source, read_only, &fd, err);
	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return err_set(err, ERR_INVALID, errno, "volume '%.150s'",
			       source);
	r = idmap_open(base, st.st_uid, &userns_fd, err);
	if (r < 0)
		return r;
	r = mnt_clone(fd, "", &mnt_fd);
	if (r == 0)
		r = mnt_set(mnt_fd, attrs, userns_fd);
	if (r < 0)
		return err_set(err, ERR_UNSUPPORTED, -r,
			       "volume '%.100s': its file system can't be"
			       " id-mapped",
			       source);
	*ret_mnt_fd = take_fd(&mnt_fd);
	return 0;
}
