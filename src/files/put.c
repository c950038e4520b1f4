/* SPDX-License-Identifier: Apache-2.0 */

/*
 * put - write a file by way of a temporary one
 *
 *	open_parent()    walks to the directory, making what is missing
 *	look_at_target() what is there now: kind, mode, owner; follows links
 *	write_temp()     stdin to <dir>/.osb-put-<random>, then owner and mode
 *	rename           over the target
 *
 * Everything happens relative to the fd of the directory, so that somebody
 * who renames directories meanwhile can't make us write elsewhere than the
 * temporary file went. All paths are the sandbox's own: its root is ours.
 *
 * #syscalls  openat mkdirat fchownat fchown fchmod newfstatat readlinkat
 *            renameat unlinkat splice
 */

#include "files/put.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "files/reply.h"

#define PATH_LEN_MAX 4095
#define NAME_LEN_MAX 255
#define COPY_CHUNK (256u * 1024)
#define LINKS_MAX 40 /* as the kernel's own limit */

/* Where the file goes: a directory and a name in it. */
struct place {
	int dir_fd;
	char name[NAME_LEN_MAX + 1]; /* "" when the path ends with a slash */
};

static void place_close(struct place *place)
{
	close_fd(&place->dir_fd);
}

static int open_dir_at(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* One step down; makes the directory when it isn't there. */
static int enter_dir(int dir_fd, const char *name, const struct put_spec *spec)
{
	int fd = open_dir_at(dir_fd, name);

	if (fd != -ENOENT)
		return fd;
	if (mkdirat(dir_fd, name, 0755) < 0) {
		if (errno != EEXIST) /* EEXIST: somebody was faster */
			return -errno;
	} else if (fchownat(dir_fd, name, spec->uid, spec->gid,
			    AT_SYMLINK_NOFOLLOW) < 0) {
		return -errno;
	}
	return open_dir_at(dir_fd, name);
}

/* The next component of a path into @name; returns what is behind it. */
static const char *next_name(const char *path, char name[NAME_LEN_MAX + 1],
			     int *ret_r)
{
	size_t len;

	path += strspn(path, "/");
	len = strcspn(path, "/");
	*ret_r = len > NAME_LEN_MAX ? -ENAMETOOLONG : 0;
	if (*ret_r == 0) {
		memcpy(name, path, len);
		name[len] = '\0';
	}
	return path + len;
}

/* @path is absolute or relative to @from_fd, which stays the caller's. */
static int open_parent(int from_fd, const char *path,
		       const struct put_spec *spec, struct place *ret_place)
{
	int dir_fd auto_fd = open_dir_at(from_fd, path[0] == '/' ? "/" : ".");
	int fd, r;

	for (;;) {
		path = next_name(path, ret_place->name, &r);
		if (r < 0)
			return r;
		if (dir_fd < 0)
			return dir_fd;
		if (*path == '\0')
			break;
		fd = enter_dir(dir_fd, ret_place->name, spec);
		close_fd(&dir_fd);
		dir_fd = fd;
	}
	ret_place->dir_fd = take_fd(&dir_fd);
	return 0;
}

/*
 * A target that is a symbolic link is written through, as open(2) would:
 * follow it by hand, since rename(2) would replace the link itself.
 */
static int follow_links(struct place *place, const struct put_spec *spec)
{
	char text[PATH_LEN_MAX + 1];
	struct place next;
	ssize_t n;
	int r;

	for (int i = 0; i < LINKS_MAX; i++) {
		if (place->name[0] == '\0')
			return 0;
		n = readlinkat(place->dir_fd, place->name, text,
			       sizeof(text) - 1);
		if (n < 0) /* no link, or nothing at all: this is the place */
			return errno == EINVAL || errno == ENOENT ? 0 : -errno;
		text[n] = '\0';
		r = open_parent(place->dir_fd, text, spec, &next);
		if (r < 0)
			return r;
		close_fd(&place->dir_fd);
		*place = next;
	}
	return -ELOOP;
}

/* What the new file takes over from the one it replaces. */
static int look_at_target(const struct place *place,
			  const struct put_spec *spec, struct put_spec *ret_own,
			  struct err *err)
{
	struct stat st;

	*ret_own = *spec;
	if (!spec->has_mode)
		ret_own->mode = 0644;
	if (fstatat(place->dir_fd, place->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT)
			return 0;
		return files_fail(err, "stat", spec->path, errno);
	}
	if (S_ISDIR(st.st_mode))
		return files_fail(err, "write", spec->path, EISDIR);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, 0,
			       "write '%s': not a regular file", spec->path);
	if (!spec->has_mode)
		ret_own->mode = st.st_mode & 07777;
	if (spec->uid == (uid_t)-1)
		ret_own->uid = st.st_uid;
	if (spec->gid == (gid_t)-1)
		ret_own->gid = st.st_gid;
	return 0;
}

/* Stdin is a socket, or the file system can't splice. */
static int copy_by_read(int file_fd, uint64_t *size)
{
	static char chunk[COPY_CHUNK];

	for (;;) {
		ssize_t got = read(STDIN_FILENO, chunk, sizeof(chunk));
		ssize_t done = 0;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return 0;
		while (done < got) {
			ssize_t n = write(file_fd, chunk + done,
					  (size_t)(got - done));

			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0)
				return -errno;
			done += n;
		}
		*size += (uint64_t)got;
	}
}

static int copy_stdin(int file_fd, uint64_t *ret_size)
{
	uint64_t size = 0;
	ssize_t n;
	int r;

	for (;;) {
		n = splice(STDIN_FILENO, NULL, file_fd, NULL, COPY_CHUNK,
			   SPLICE_F_MOVE);
		if (n == 0)
			break;
		if (n > 0) {
			size += (uint64_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EINVAL)
			return -errno;
		r = copy_by_read(file_fd, &size);
		if (r < 0)
			return r;
		break;
	}
	*ret_size = size;
	return 0;
}

/*
 * The owner before the mode: chown(2) clears the set-id bits. An owner that
 * was only taken over from the file replaced is kept when we may.
 */
static int set_owner_and_mode(int file_fd, const struct put_spec *own,
			      bool owner_asked, mode_t *ret_mode)
{
	struct stat st;

	if (fstat(file_fd, &st) < 0)
		return -errno;
	/* Only when it changes: not everybody may call chown at all. */
	if ((own->uid != (uid_t)-1 && own->uid != st.st_uid) ||
	    (own->gid != (gid_t)-1 && own->gid != st.st_gid)) {
		if (fchown(file_fd, own->uid, own->gid) < 0 && owner_asked)
			return -errno;
	}
	if (fchmod(file_fd, own->mode) < 0)
		return -errno;
	*ret_mode = own->mode;
	return 0;
}

/* Makes the file under a name that nobody else has. */
static int make_temp(int dir_fd, char name[static 32])
{
	uint64_t number;
	int fd;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	(void)snprintf(name, 32, ".osb-put-%016llx",
		       (unsigned long long)number);
	fd = openat(dir_fd, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

static int replace_file(const struct place *place, const struct put_spec *own,
			bool owner_asked, mode_t *ret_mode, uint64_t *ret_size,
			struct err *err)
{
	int file_fd auto_fd = -1;
	char temp[32];
	uint64_t size = 0;
	int r;

	file_fd = make_temp(place->dir_fd, temp);
	if (file_fd < 0)
		return files_fail(err, "create", own->path, -file_fd);
	r = copy_stdin(file_fd, &size);
	if (r == 0)
		r = set_owner_and_mode(file_fd, own, owner_asked, ret_mode);
	if (r == 0 &&
	    renameat(place->dir_fd, temp, place->dir_fd, place->name) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlinkat(place->dir_fd, temp, 0); /* best effort */
		return files_fail(err, "write", own->path, -r);
	}
	*ret_size = size;
	return 0;
}

int files_put(const struct put_spec *spec, mode_t *ret_mode, uint64_t *ret_size,
	      struct err *err)
{
	struct place place auto_clean(place_close) = { .dir_fd = -1 };
	struct put_spec own;
	int r;

	if (spec->path[0] != '/' || strlen(spec->path) > PATH_LEN_MAX)
		return err_set(
			err, ERR_INVALID, 0,
			"path '%.200s': expected an absolute path of at most %d bytes",
			spec->path, PATH_LEN_MAX);
	r = open_parent(AT_FDCWD, spec->path, spec, &place);
	if (r < 0)
		return files_fail(err, "open the directory of", spec->path, -r);
	r = follow_links(&place, spec);
	if (r < 0)
		return files_fail(err, "open", spec->path, -r);

	if (place.name[0] == '\0') { /* "…/": the directory is there now */
		*ret_mode = 0755;
		*ret_size = 0;
		return 0;
	}
	if (strcmp(place.name, ".") == 0 || strcmp(place.name, "..") == 0)
		return files_fail(err, "write", spec->path, EISDIR);
	r = look_at_target(&place, spec, &own, err);
	if (r < 0)
		return r;
	return replace_file(&place, &own,
			    spec->uid != (uid_t)-1 || spec->gid != (gid_t)-1,
			    ret_mode, ret_size, err);
}
