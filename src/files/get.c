/* SPDX-License-Identifier: Apache-2.0 */

/*
 * #syscalls  openat newfstatat fstat lseek sendfile
 */

#include "files/get.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "files/reply.h"

/* sendfile(2) moves no more than this in one call. */
#define SENDFILE_MAX 0x7ffff000u

/* A file that shrinks under us ends early: no bytes are made up. */
static int send_content(int file_fd, uint64_t offset, uint64_t length)
{
	off_t at = (off_t)offset;

	while (length > 0) {
		size_t want =
			length < SENDFILE_MAX ? (size_t)length : SENDFILE_MAX;
		ssize_t n = sendfile(STDOUT_FILENO, file_fd, &at, want);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 1;
		length -= (uint64_t)n;
	}
	return 0;
}

int files_get(const char *path, uint64_t offset, uint64_t length,
	      struct err *err)
{
	int file_fd auto_fd = -1;
	struct stat st;
	uint64_t size;
	int r;

	/* NONBLOCK: opening a FIFO must not wait for a writer that never
	   comes; it has no meaning for the regular files that we go on with. */
	file_fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (file_fd < 0)
		return files_fail(err, "open", path, errno);
	if (fstat(file_fd, &st) < 0)
		return files_fail(err, "stat", path, errno);
	if (S_ISDIR(st.st_mode))
		return files_fail(err, "read", path, EISDIR);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, 0,
			       "read '%s': not a regular file", path);

	size = (uint64_t)st.st_size;
	if (offset > size)
		offset = size;
	if (length > size - offset)
		length = size - offset;
	r = files_reply(0, NULL, st.st_mode, size, length);
	if (r < 0)
		return 1;
	return send_content(file_fd, offset, length);
}
