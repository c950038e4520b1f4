/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * dir - the entries of a directory, without heap
 *
 *	struct dir dir;
 *
 *	dir_init(&dir, fd);
 *	while ((name = dir_next(&dir, &type)))
 *		...
 *
 * Entries removed meanwhile do no harm. See getdents64(2).
 */

#include <stddef.h>

struct dir {
	int fd;
	long len, at;
	char buf[4096] __attribute__((aligned(8)));
};

/** dir_init() - begin at the start of @fd, which stays the caller's */
void dir_init(struct dir *dir, int fd);

/**
 * dir_next() - the next name but "." and ".."
 * @ret_type: DT_*, as in readdir(3); may be NULL
 *
 * Return: a string valid until the next call, or NULL at the end.
 */
const char *dir_next(struct dir *dir, unsigned char *ret_type);
