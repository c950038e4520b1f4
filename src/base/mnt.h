/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * mnt - mounts by descriptor, so that no name is ever used twice
 *
 * Thin over the mount API of Linux 5.2 (fsopen, open_tree, move_mount) and
 * 5.12 (mount_setattr). A mount is detached until mnt_attach(); closing the
 * descriptor of a detached one drops it.
 */

#include <stddef.h>
#include <stdint.h>

struct mnt_option {
	const char *key;
	const char *text; /* NULL with fd -1: a flag */
	int fd;           /* the value, when text is NULL and fd is not -1 */
};

#define MNT_TEXT(k, v)                            \
	{                                         \
		.key = (k), .text = (v), .fd = -1 \
	}
#define MNT_FD(k, v)                                \
	{                                           \
		.key = (k), .text = NULL, .fd = (v) \
	}
#define MNT_FLAG(k)                                \
	{                                          \
		.key = (k), .text = NULL, .fd = -1 \
	}

/**
 * mnt_new() - a new file system, detached
 * @attrs: MOUNT_ATTR_* of the mount
 *
 * Return: 0 or -errno.
 */
int mnt_new(const char *type, const struct mnt_option *options,
	    size_t num_options, uint64_t attrs, int *ret_fd);

/**
 * mnt_clone() - a detached copy of the mount at @path, without what is
 * mounted below it; "" means @dir_fd itself
 */
int mnt_clone(int dir_fd, const char *path, int *ret_fd);

/**
 * mnt_set() - add attributes to a mount that nobody else sees yet
 * @userns_fd: id-map it through this user namespace, or -1
 */
int mnt_set(int mnt_fd, uint64_t attrs, int userns_fd);

/** mnt_attach() - put a detached mount at @path; "" means @dir_fd itself */
int mnt_attach(int mnt_fd, int dir_fd, const char *path);

/** mnt_detach() - take the mount that @mnt_fd is the root of away again */
int mnt_detach(int mnt_fd);
