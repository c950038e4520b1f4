/* SPDX-License-Identifier: Apache-2.0 */

/*
 * #syscalls  fsopen fsconfig fsmount open_tree mount_setattr move_mount
 *            umount2 close
 */

#include "base/mnt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>

#include "base/cleanup.h"

static int set_option(int fs_fd, const struct mnt_option *option)
{
	int r;

	if (option->text)
		r = fsconfig(fs_fd, FSCONFIG_SET_STRING, option->key,
			     option->text, 0);
	else if (option->fd >= 0)
		r = fsconfig(fs_fd, FSCONFIG_SET_FD, option->key, NULL,
			     option->fd);
	else
		r = fsconfig(fs_fd, FSCONFIG_SET_FLAG, option->key, NULL, 0);
	return r < 0 ? -errno : 0;
}

int mnt_new(const char *type, const struct mnt_option *options,
	    size_t num_options, uint64_t attrs, int *ret_fd)
{
	int fs_fd auto_fd = fsopen(type, FSOPEN_CLOEXEC);
	int mnt_fd;

	if (fs_fd < 0)
		return -errno;
	for (size_t i = 0; i < num_options; i++) {
		int r = set_option(fs_fd, &options[i]);

		if (r < 0)
			return r;
	}
	if (fsconfig(fs_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	mnt_fd = fsmount(fs_fd, FSMOUNT_CLOEXEC, (unsigned int)attrs);
	if (mnt_fd < 0)
		return -errno;
	*ret_fd = mnt_fd;
	return 0;
}

int mnt_clone(int dir_fd, const char *path, int *ret_fd)
{
	int mnt_fd = open_tree(dir_fd, path,
			       OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
				       (*path ? 0u : AT_EMPTY_PATH));

	if (mnt_fd < 0)
		return -errno;
	*ret_fd = mnt_fd;
	return 0;
}

int mnt_set(int mnt_fd, uint64_t attrs, int userns_fd)
{
	struct mount_attr attr = { .attr_set = attrs };

	if (userns_fd >= 0) {
		attr.attr_set |= MOUNT_ATTR_IDMAP;
		attr.userns_fd = (uint64_t)(unsigned int)userns_fd;
	}
	if (mount_setattr(mnt_fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return -errno;
	return 0;
}

int mnt_attach(int mnt_fd, int dir_fd, const char *path)
{
	unsigned int flags = MOVE_MOUNT_F_EMPTY_PATH;

	if (!*path)
		flags |= MOVE_MOUNT_T_EMPTY_PATH;
	return move_mount(mnt_fd, "", dir_fd, path, flags) < 0 ? -errno : 0;
}

int mnt_detach(int mnt_fd)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", mnt_fd);
	return umount2(path, MNT_DETACH) < 0 ? -errno : 0;
}
