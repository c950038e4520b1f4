/* SPDX-License-Identifier: Apache-2.0 */

#include "base/own_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

#define LOCK_TIMEOUT_MS 5000
#define LOCK_TICK_MS 20

static int lock(int dir_fd)
{
	const struct timespec tick = { .tv_nsec = LOCK_TICK_MS * 1000 * 1000 };

	for (unsigned int i = 0; i < LOCK_TIMEOUT_MS / LOCK_TICK_MS; i++) {
		if (flock(dir_fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		(void)nanosleep(&tick, NULL);
	}
	return -EBUSY;
}

static int resolve(int dir_fd, char path[PATH_MAX], struct err *err)
{
	char link[32];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", dir_fd);
	n = readlink(link, path, PATH_MAX - 1);
	if (n < 0)
		return err_set(err, ERR_INTERNAL, errno, "resolve '%.150s'",
			       path);
	path[n] = '\0';
	return 0;
}

int own_dir_open(char path[PATH_MAX], int *ret_fd, struct err *err)
{
	int fd auto_fd = -1;
	struct stat st;
	int r;

	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return err_set(err, ERR_INTERNAL, errno, "make '%.150s'", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, ERR_INTERNAL, errno, "open '%.150s'", path);
	if (st.st_uid != 0 || (st.st_mode & 0022))
		return err_set(err, ERR_DENIED, 0,
			       "'%.150s' must be root's directory that nobody"
			       " else may write to",
			       path);
	if (lock(fd) < 0)
		return err_set(err, ERR_CONFLICT, 0,
			       "another broker runs in '%.150s'", path);
	r = resolve(fd, path, err);
	if (r == 0)
		*ret_fd = take_fd(&fd);
	return r;
}
