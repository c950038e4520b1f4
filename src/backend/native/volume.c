/* SPDX-License-Identifier: Apache-2.0 */

/*
 * volume - which host paths may be shown inside, and opening them
 *
 * A path is resolved once, to a descriptor; the policy judges the name that
 * the kernel gives that descriptor, and the mount is cloned from it. So a
 * link swapped in meanwhile changes nothing: either the object that was
 * judged is mounted, or none.
 *
 * A service shows only what lies below the roots of its configuration. A
 * private broker shows what its user may open, but for the places where
 * hosts keep secrets.
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

/* Neither below these, nor a directory that holds one of them. */
static const char *const denied_trees[] = {
	"/boot", "/dev", "/etc",     "/home",    "/proc",
	"/run",  "/sys", "/var/lib", "/var/run",
};

/* Not to be written to: what the host itself runs. */
static const char *const system_trees[] = {
	"/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/usr",
};

/* Anywhere in a path, or right below it. */
static const char *const denied_names[] = {
	".ssh", ".gnupg", ".aws", ".kube", ".docker", ".azure", ".config",
};

/* Is @path the tree @root or below it? */
static bool is_below(const char *path, const char *root)
{
	size_t len = strlen(root);

	while (len > 0 && root[len - 1] == '/')
		len--;
	return strncmp(path, root, len) == 0 &&
	       (path[len] == '/' || path[len] == '\0');
}

static bool has_denied_name(const char *path)
{
	for (const char *p = path; p; p = strchr(p + 1, '/')) {
		size_t len = strcspn(p + 1, "/");

		for (size_t i = 0; i < ARRAY_SIZE(denied_names); i++) {
			if (strlen(denied_names[i]) == len &&
			    strncmp(p + 1, denied_names[i], len) == 0)
				return true;
		}
	}
	return false;
}

static bool holds_denied_name(int dir_fd)
{
	for (size_t i = 0; i < ARRAY_SIZE(denied_names); i++) {
		if (faccessat(dir_fd, denied_names[i], F_OK,
			      AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	}
	return false;
}

static bool overlaps(const char *path, const char *tree)
{
	return is_below(path, tree) || is_below(tree, path);
}

static bool overlaps_any(const char *path, const char *const *trees,
			 size_t num_trees)
{
	for (size_t i = 0; i < num_trees; i++) {
		if (overlaps(path, trees[i]))
			return true;
	}
	return false;
}

static bool is_allowed(const struct native_config *config, int fd,
		       const char *path, bool read_only)
{
	for (unsigned int i = 0; i < config->num_roots; i++) {
		if (is_below(path, config->roots[i]))
			return true;
	}
	if (!config->private || overlaps(path, config->run_dir) ||
	    has_denied_name(path) || holds_denied_name(fd) ||
	    overlaps_any(path, denied_trees, ARRAY_SIZE(denied_trees)))
		return false;
	return read_only ||
	       !overlaps_any(path, system_trees, ARRAY_SIZE(system_trees));
}

/* The name of what was really opened, links resolved. */
static int real_name(int fd, char *buf, size_t size)
{
	char link[32];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, buf, size - 1);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return buf[0] == '/' ? 0 : -EINVAL;
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
	if (!is_allowed(config, fd, path, read_only))
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
