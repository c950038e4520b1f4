/* SPDX-License-Identifier: Apache-2.0 */

/*
 * root - a root directory with nothing in it, or with less to do in it
 *
 * See pivot_root(2), mount_setattr(2).
 *
 * #syscalls  mount pivot_root umount2 mkdirat fchdir chdir
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mnt.h"
#include "confine/confine.h"

#define HARMLESS (MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)

/* An empty tmpfs over "/", with a fresh /proc, and the old root gone. */
int confine_empty_root(const char *extra_dir)
{
	static const struct mnt_option options[] = {
		MNT_TEXT("mode", "0755"),
		MNT_TEXT("size", "16k"),
	};
	int root_fd auto_fd = -1;
	int proc_fd auto_fd = -1;
	int r;

	r = mnt_new("tmpfs", options, ARRAY_SIZE(options), HARMLESS, &root_fd);
	if (r == 0)
		r = mnt_new("proc", NULL, 0, HARMLESS, &proc_fd);
	if (r < 0)
		return r;
	if (mkdirat(root_fd, extra_dir, 0755) < 0 ||
	    mkdirat(root_fd, "proc", 0555) < 0)
		return -errno;
	r = mnt_attach(root_fd, AT_FDCWD, "/");
	if (r == 0)
		r = mnt_attach(proc_fd, root_fd, "proc");
	if (r == 0)
		r = mnt_set(root_fd, MOUNT_ATTR_RDONLY, -1);
	if (r < 0)
		return r;
	if (fchdir(root_fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return -errno;
	return 0;
}

int confine_writable(void)
{
	/* Where landlock.c lets an ordinary user write. */
	static const char *const places[] = {
		"/workspace", "/tmp", "/var/tmp", "/home", "/dev/shm",
	};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		int mount_fd auto_fd = -1;
		int r = mnt_clone(AT_FDCWD, places[i], &mount_fd);

		if (r == -ENOENT)
			continue; /* nor can it be made in a read-only root */
		if (r == 0)
			r = mnt_set(mount_fd, MOUNT_ATTR_NOEXEC, -1);
		if (r == 0)
			r = mnt_attach(mount_fd, AT_FDCWD, places[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

int confine_root_read_only(void)
{
	int root_fd auto_fd = open("/", O_PATH | O_CLOEXEC);

	return root_fd < 0 ? -errno : mnt_set(root_fd, MOUNT_ATTR_RDONLY, -1);
}
