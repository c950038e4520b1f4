/* SPDX-License-Identifier: Apache-2.0 */

/*
 * #syscalls  openat mkdirat unlinkat fstat newfstatat fstatfs pread64
 *            getdents64 close lseek
 */

#include "sandbox/exec_log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/dir.h"
#include "wire/init_msg.h"

#define RESERVE_BYTES ((uint64_t)256 << 20)

/* 8 MiB: no honest init writes more. Else a long index would hold us up. */
#define MARKS_MAX (1u << 20)

#define NAME_LEN (2 * SANDBOX_ID_LEN + 4)

static void name_of(const char *sandbox_id, const char *id, const char *suffix,
		    char ret_name[static NAME_LEN])
{
	(void)snprintf(ret_name, NAME_LEN, "%.32s/%.32s%s", sandbox_id, id,
		       suffix);
}

static int make_file(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name,
			O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW |
				O_CLOEXEC,
			0600);

	return fd < 0 ? -errno : fd;
}

/* What is written down of sandboxes must still fit, whatever they print. */
static bool has_room(int dir_fd)
{
	struct statfs st;

	return fstatfs(dir_fd, &st) < 0 ||
	       (uint64_t)st.f_bavail * (uint64_t)st.f_bsize > RESERVE_BYTES;
}

int exec_log_make(int dir_fd, const char *sandbox_id, const char *id,
		  bool has_index, int ret_fds[static 2])
{
	char name[NAME_LEN], index[NAME_LEN];
	int fd auto_fd = -1;

	ret_fds[0] = ret_fds[1] = -1;
	if (!has_room(dir_fd))
		return -ENOSPC;
	name_of(sandbox_id, id, "", name);
	name_of(sandbox_id, id, ".i", index);
	fd = make_file(dir_fd, name);
	if (fd == -ENOENT) { /* the sandbox's first */
		if (mkdirat(dir_fd, sandbox_id, 0700) < 0 && errno != EEXIST)
			return -errno;
		fd = make_file(dir_fd, name);
	}
	if (fd < 0)
		return fd;
	if (has_index)
		ret_fds[1] = make_file(dir_fd, index);
	if (has_index && ret_fds[1] < 0) {
		(void)unlinkat(dir_fd, name, 0);
		return ret_fds[1];
	}
	ret_fds[0] = take_fd(&fd);
	return 0;
}

void exec_log_remove(int dir_fd, const char *sandbox_id, const char *id)
{
	char name[NAME_LEN];

	name_of(sandbox_id, id, "", name);
	(void)unlinkat(dir_fd, name, 0);
	name_of(sandbox_id, id, ".i", name);
	(void)unlinkat(dir_fd, name, 0);
}

void exec_log_remove_all(int dir_fd, const char *sandbox_id)
{
	int fd auto_fd =
		openat(dir_fd, sandbox_id,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const char *name;
	struct dir dir;

	if (fd < 0)
		return; /* it never had any */
	dir_init(&dir, fd);
	while ((name = dir_next(&dir, NULL)))
		(void)unlinkat(fd, name, 0);
	(void)unlinkat(dir_fd, sandbox_id, AT_REMOVEDIR);
}

void exec_log_sweep(int dir_fd, bool (*is_there)(void *ctx, const char *name),
		    void *ctx)
{
	const char *name;
	struct dir dir;

	dir_init(&dir, dir_fd);
	while ((name = dir_next(&dir, NULL))) {
		if (!is_there(ctx, name))
			exec_log_remove_all(dir_fd, name);
	}
}

uint64_t exec_log_length(int dir_fd, const char *sandbox_id, const char *id)
{
	char name[NAME_LEN];
	struct stat st;

	name_of(sandbox_id, id, "", name);
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    st.st_size < 0)
		return 0;
	return (uint64_t)st.st_size;
}

int exec_log_open(int dir_fd, const char *sandbox_id, const char *id,
		  struct exec_log *ret_log)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC;
	char name[NAME_LEN];

	*ret_log = (struct exec_log){ .index_fd = -1 };
	name_of(sandbox_id, id, "", name);
	ret_log->fd = openat(dir_fd, name, flags);
	if (ret_log->fd < 0)
		return -errno;
	name_of(sandbox_id, id, ".i", name);
	ret_log->index_fd = openat(dir_fd, name, flags);
	return 0;
}

void exec_log_close(struct exec_log *log)
{
	close_fd(&log->fd);
	close_fd(&log->index_fd);
}

uint64_t exec_log_size(const struct exec_log *log)
{
	struct stat st;

	return fstat(log->fd, &st) < 0 || st.st_size < 0 ? 0
							 : (uint64_t)st.st_size;
}

void exec_log_skip(struct exec_log *log, const uint64_t num[static 2])
{
	for (unsigned int i = 0; i < EXEC_LOG_STREAMS; i++)
		log->skip[i] = num[i];
}

/* Return: false at the end of the index, as it is now. */
static bool peek_mark(struct exec_log *log, uint64_t *ret_mark)
{
	ssize_t n;

	if (log->mark_at < log->num_marks) {
		*ret_mark = log->marks[log->mark_at];
		return true;
	}
	if (log->index_fd < 0 || log->mark_num >= MARKS_MAX)
		return false;
	n = pread(log->index_fd, log->marks, sizeof(log->marks),
		  (off_t)(log->mark_num * sizeof(uint64_t)));
	log->num_marks =
		n > 0 ? (unsigned int)((size_t)n / sizeof(uint64_t)) : 0;
	log->mark_at = 0;
	if (log->num_marks == 0)
		return false;
	*ret_mark = log->marks[0];
	return true;
}

/*
 * How many bytes from here are of one stream, up to @end. A mark that lies
 * behind us says what we are in; one that makes no sense says it, too.
 */
static uint64_t piece(struct exec_log *log, uint64_t end)
{
	uint64_t mark;

	while (peek_mark(log, &mark)) {
		uint64_t offset = mark & ~INIT_INDEX_STDERR;

		if (offset > log->at)
			return (offset < end ? offset : end) - log->at;
		log->stream = mark & INIT_INDEX_STDERR ? 1 : 0;
		log->mark_at++;
		log->mark_num++;
	}
	return end - log->at;
}

/* Return: what is left of the piece after skipping. */
static uint64_t skip_some(struct exec_log *log, uint64_t len)
{
	uint64_t *skip = &log->skip[log->stream];
	uint64_t num = *skip < len ? *skip : len;

	if (num == 0)
		return len;
	log->at += num;
	*skip -= num;
	if (*skip == 0 && pread(log->fd, &log->skipped[log->stream], 1,
				(off_t)log->at - 1) != 1)
		log->skipped[log->stream] = 0;
	return len - num;
}

size_t exec_log_next(struct exec_log *log, void *buf, size_t size,
		     unsigned int *ret_stream)
{
	/* First: the marks of what is within were written before it. */
	uint64_t end = exec_log_size(log);

	while (log->at < end) {
		uint64_t len = skip_some(log, piece(log, end));
		ssize_t n;

		if (len == 0)
			continue;
		if (len > size)
			len = size;
		n = pread(log->fd, buf, len, (off_t)log->at);
		if (n <= 0)
			return 0;
		log->at += (uint64_t)n;
		*ret_stream = log->stream;
		return (size_t)n;
	}
	return 0;
}
