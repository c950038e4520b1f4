/* SPDX-License-Identifier: Apache-2.0 */

/*
 * loop - loop devices of our own, which leave no node behind
 *
 * The kernel clears a loop device when its last user goes, a crashed broker
 * included, but its node stays in /dev. So we never take a free device that
 * somebody else made, but add our own, in numbers that nobody else counts up
 * to, and note each in LOOP_DIR until it is removed: what a crashed broker
 * left, the next one finds there. A note is named NUMBER.BYTES, so that
 * brokers know what the others promised (layer.c); BYTES is 0 for a free one.
 *
 * To add or remove a device takes tens of milliseconds, so cleared ones are
 * used again, until nobody has asked for a while.
 *
 * Any number of brokers may do this at once: LOOP_CTL_ADD lets one of them
 * have a number, and LOOP_CTL_REMOVE refuses a device in use. A free one may
 * be taken or removed by others at any time; then we take the next.
 *
 * See loop(4).
 *
 * #syscalls  openat mkdir renameat unlinkat ioctl flock close
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/dir.h"
#include "disk/disk.h"

#define LOOP_DIR "/run/opensandbox/loops"
#define LOOP_FIRST 4096
#define LOOP_LAST (LOOP_FIRST + 2 * LAYERS_MAX)
#define LOOP_BLOCK 4096

static void note_name(int number, uint64_t bytes, char buf[static 48])
{
	(void)snprintf(buf, 48, "%d.%llu", number, (unsigned long long)bytes);
}

/*
 * A note and its device come and go together: whoever saw the one without the
 * other would remove it.
 */
static void lock(const struct loops *loops, int how)
{
	(void)flock(loops->dir_fd, how); /* of a directory: can't fail */
}

/* Return: 0 when it is gone, note and all, or -EBUSY. */
static int remove_noted(const struct loops *loops, const char *note)
{
	int number = (int)strtol(note, NULL, 10);
	int r = 0;

	if (number < LOOP_FIRST || number > LOOP_LAST)
		return 0; /* none of ours */
	lock(loops, LOCK_EX);
	if (ioctl(loops->control_fd, LOOP_CTL_REMOVE, number) < 0 &&
	    errno == EBUSY)
		r = -EBUSY;
	else
		(void)unlinkat(loops->dir_fd, note, 0);
	lock(loops, LOCK_UN);
	return r;
}

static void sweep(const struct loops *loops)
{
	struct dir dir;
	const char *note;

	dir_init(&dir, loops->dir_fd);
	while ((note = dir_next(&dir, NULL)))
		(void)remove_noted(loops, note);
}

int loop_open(struct loops *loops, struct err *err)
{
	loops->dir_fd = loops->control_fd = -1;
	if ((mkdir("/run/opensandbox", 0755) < 0 && errno != EEXIST) ||
	    (mkdir(LOOP_DIR, 0700) < 0 && errno != EEXIST))
		return err_set(err, ERR_INTERNAL, errno, "make " LOOP_DIR);
	loops->dir_fd = open(LOOP_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (loops->dir_fd < 0)
		return err_set(err, ERR_INTERNAL, errno, "open " LOOP_DIR);
	loops->control_fd = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	if (loops->control_fd < 0)
		return err_set(err, ERR_UNSUPPORTED, errno,
			       "a disk larger than half of memory needs loop"
			       " devices: /dev/loop-control (modprobe loop)");
	loops->next = LOOP_FIRST;
	loops->num_free = 0;
	sweep(loops);
	return 0;
}

void loop_close(struct loops *loops)
{
	sweep(loops);
	close_fd(&loops->dir_fd);
	close_fd(&loops->control_fd);
}

uint64_t loop_promised(const struct loops *loops)
{
	uint64_t total = 0;
	struct dir dir;
	const char *note;

	dir_init(&dir, loops->dir_fd);
	while ((note = dir_next(&dir, NULL))) {
		const char *dot = strchr(note, '.');

		total += dot ? strtoull(dot + 1, NULL, 10) : 0;
	}
	return total;
}

/* A note that is missing was swept by another broker, with its device. */
static int rename_note(const struct loops *loops, int number, uint64_t from,
		       uint64_t to)
{
	char old_note[48], new_note[48];

	note_name(number, from, old_note);
	note_name(number, to, new_note);
	return renameat(loops->dir_fd, old_note, loops->dir_fd, new_note) < 0
		       ? -errno
		       : 0;
}

void loop_release(struct loops *loops, int number, uint64_t file_bytes)
{
	if (rename_note(loops, number, file_bytes, 0) < 0)
		return;
	if (loops->num_free < LOOPS_FREE_MAX)
		loops->free[loops->num_free++] = number;
	/* Else loop_close() sweeps it. */
}

/* Return: 0 when the number is now ours, noted; -EEXIST: another's. */
static int add_number(const struct loops *loops, int number, uint64_t bytes)
{
	char note[48];
	int fd, r = 0;

	note_name(number, bytes, note);
	fd = openat(loops->dir_fd, note,
		    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	(void)close(fd);
	if (ioctl(loops->control_fd, LOOP_CTL_ADD, number) < 0) {
		r = -errno;
		(void)unlinkat(loops->dir_fd, note, 0);
	}
	return r;
}

static int add(struct loops *loops, uint64_t bytes)
{
	int number, r = -EEXIST;

	for (int i = LOOP_FIRST; r == -EEXIST && i <= LOOP_LAST; i++) {
		number = loops->next;
		loops->next = number == LOOP_LAST ? LOOP_FIRST : number + 1;
		lock(loops, LOCK_EX);
		r = add_number(loops, number, bytes);
		lock(loops, LOCK_UN);
	}
	return r < 0 ? r : number;
}

/* @ret_fd keeps the device set up until somebody else does. */
static int set_up(int number, int file_fd, int *ret_fd)
{
	const struct loop_config config = {
		.fd = (uint32_t)file_fd,
		.block_size = LOOP_BLOCK,
		/* Direct: or the host caches every page a second time. */
		.info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO,
	};
	int fd auto_fd = -1;
	char path[32];

	loop_path(number, path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, LOOP_CONFIGURE, &config) < 0)
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

void loop_path(int number, char buf[static 32])
{
	(void)snprintf(buf, 32, "/dev/loop%d", number);
}

static int take(struct loops *loops, uint64_t file_bytes)
{
	while (loops->num_free > 0) {
		int number = loops->free[--loops->num_free];

		if (rename_note(loops, number, 0, file_bytes) == 0)
			return number;
	}
	return add(loops, file_bytes);
}

int loop_attach(struct loops *loops, int file_fd, uint64_t file_bytes,
		int *ret_number, int *ret_fd)
{
	char note[48];
	int number, r;

	/* Whoever takes the first free device may have taken ours. */
	do {
		number = take(loops, file_bytes);
		if (number < 0)
			return number;
		r = set_up(number, file_fd, ret_fd);
		note_name(number, file_bytes, note);
		/* In use by another: it promises nothing any more. */
		if (r < 0 && remove_noted(loops, note) < 0)
			(void)rename_note(loops, number, file_bytes, 0);
	} while (r == -EBUSY || r == -ENXIO || r == -ENOENT);
	*ret_number = number;
	return r;
}
