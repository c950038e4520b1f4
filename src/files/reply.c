/* SPDX-License-Identifier: Apache-2.0 */

#include "files/reply.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/files_msg.h"

enum err_kind files_err_kind(int sys)
{
	switch (sys) {
	case ENOENT:
		return ERR_NOT_FOUND;
	case EACCES:
	case EPERM:
	case EROFS:
		return ERR_DENIED;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		/* The sandbox's disk limit, not the caller's quota: waiting
		   doesn't help, a smaller file does. */
		return ERR_TOO_LARGE;
	case EINVAL:
	case EISDIR:
	case ENOTDIR:
	case ELOOP:
	case ENAMETOOLONG:
	case ENXIO:
		return ERR_INVALID;
	default:
		return ERR_INTERNAL;
	}
}

int files_fail(struct err *err, const char *verb, const char *path, int sys)
{
	return err_set(err, files_err_kind(sys), sys, "%s '%s'", verb, path);
}

int files_reply(int r, const struct err *err, mode_t mode, uint64_t size,
		uint64_t length)
{
	struct files_reply reply = {
		.magic = FILES_REPLY_MAGIC,
		.mode = mode & 07777,
		.size = size,
		.length = length,
	};
	const char *p = (const char *)&reply;
	size_t left = sizeof(reply);

	_Static_assert(sizeof(reply.msg) == sizeof(err->msg),
		       "a message of ours fits the reply");
	if (r < 0) {
		reply.kind = err->kind;
		reply.sys = err->sys;
		memcpy(reply.msg, err->msg, sizeof(reply.msg));
	}
	while (left > 0) {
		ssize_t n = write(STDOUT_FILENO, p, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		left -= (size_t)n;
	}
	return 0;
}
