/* SPDX-License-Identifier: Apache-2.0 */

/*
 * #syscalls  getdents64 lseek
 */

#include "base/dir.h"

#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

struct entry {
	ino64_t ino;
	off64_t off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

void dir_init(struct dir *dir, int fd)
{
	(void)lseek(fd, 0, SEEK_SET); /* a directory: can't fail */
	dir->fd = fd;
	dir->len = dir->at = 0;
}

const char *dir_next(struct dir *dir, unsigned char *ret_type)
{
	for (;;) {
		const struct entry *entry;

		if (dir->at >= dir->len) {
			dir->at = 0;
			dir->len = syscall(SYS_getdents64, dir->fd, dir->buf,
					   sizeof(dir->buf));
			if (dir->len <= 0)
				return NULL;
		}
		entry = (const void *)(dir->buf + dir->at);
		dir->at += entry->reclen;
		if (strcmp(entry->name, ".") == 0 ||
		    strcmp(entry->name, "..") == 0)
			continue;
		if (ret_type)
			*ret_type = entry->type;
		return entry->name;
	}
}
