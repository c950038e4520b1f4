/* SPDX-License-Identifier: Apache-2.0 */

/*
 * layer - a sandbox's writable layer, and the root that is made of it
 *
 * The layer is a file system of the sandbox's own, in memory (here) or on
 * disk (disk.c): its size and its inodes are the limits. An overlay joins it
 * with the image and keeps it alive; nobody else has a way to it.
 *
 * Layers go by path: kernels before 6.13 take none by descriptor. So the
 * layer is attached in our own mount namespace while the overlay makes its
 * private copy of the mount. To detach it waits for an RCU grace period, so
 * that is done when the answer is out.
 *
 * #syscalls  mkdirat fchownat openat fchown fallocate
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/native.h"
#include "base/cleanup.h"
#include "base/mnt.h"

/* In <run>/m: where the layer of the sandbox being made is attached. */
#define LAYER_DIR "layer"

/* What the layer and the overlay need for themselves. */
#define OWN_INODES (9u + 1 + TRUTH_NUM_FILES)

int layer_open(struct native *native)
{
	native->layer_fd = -1;
	return mkdirat(native->mounts_fd, LAYER_DIR, 0700) < 0 ? -errno : 0;
}

/* The room that layer_make_truth() needs of a file, in whole pages. */
static uint64_t truth_room(const struct native *native, unsigned int file)
{
	const uint64_t page = 4096;
	const uint64_t len =
		file == TRUTH_STAT ? TRUTH_BYTES(native->num_cpus) : 1;

	return (len + page - 1) / page * page;
}

/* Its pages are charged to whoever writes them: the payload. */
int layer_in_memory(const struct native *native, uint64_t bytes,
		    uint32_t inodes, int *ret_mnt_fd)
{
	char size_text[24], inodes_text[16];
	const struct mnt_option options[] = {
		MNT_TEXT("size", size_text),
		MNT_TEXT("nr_inodes", inodes_text),
	};

	for (unsigned int i = 0; i < TRUTH_NUM_FILES; i++)
		bytes += truth_room(native, i);
	(void)snprintf(size_text, sizeof(size_text), "%llu",
		       (unsigned long long)bytes);
	(void)snprintf(inodes_text, sizeof(inodes_text), "%u",
		       inodes + OWN_INODES);
	return mnt_new("tmpfs", options, ARRAY_SIZE(options),
		       MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID, ret_mnt_fd);
}

/* The sandbox's root owns what is written to; the rest is the overlay's. */
static int prepare(int layer_fd, uint32_t base)
{
	/* A layer on disk has them from osb-disk. */
	if ((mkdirat(layer_fd, "u", 0755) < 0 && errno != EEXIST) ||
	    (mkdirat(layer_fd, "w", 0755) < 0 && errno != EEXIST) ||
	    fchownat(layer_fd, "u", base, base, 0) < 0)
		return -errno;
	return 0;
}

static int mount_overlay(const struct native *native, const char *image,
			 int *ret_mnt_fd)
{
	char lower[96], upper[64], work[64];
	const int m = native->mounts_fd;
	const struct mnt_option options[] = {
		MNT_TEXT("lowerdir", lower),   MNT_TEXT("upperdir", upper),
		MNT_TEXT("workdir", work),     MNT_FLAG("volatile"),
		MNT_TEXT("source", "sandbox"),
	};

	(void)snprintf(lower, sizeof(lower), "/proc/self/fd/%d/%s", m, image);
	(void)snprintf(upper, sizeof(upper), "/proc/self/fd/%d/" LAYER_DIR "/u",
		       m);
	(void)snprintf(work, sizeof(work), "/proc/self/fd/%d/" LAYER_DIR "/w",
		       m);
	return mnt_new("overlay", options, ARRAY_SIZE(options),
		       MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID, ret_mnt_fd);
}

/*
 * What init writes and shows in /proc lies beside what the overlay shows: so
 * it costs no file system, and a bad init can grow it only as far as programs
 * can fill the layer. Room is made here, and charged to us: no program can
 * have taken it, nor does it keep a group of the sandbox's alive.
 */
int layer_make_truth(const struct native *native, uint32_t base,
		     int *ret_mnt_fd)
{
	static const char *const names[] = TRUTH_FILES;
	char path[32];

	if (mkdirat(native->layer_fd, "t", 0755) < 0)
		return -errno;
	for (unsigned int i = 0; i < TRUTH_NUM_FILES; i++) {
		int fd auto_fd = -1;

		(void)snprintf(path, sizeof(path), "t/%s", names[i]);
		fd = openat(native->layer_fd, path,
			    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
		if (fd < 0 || fchown(fd, base, base) < 0 ||
		    fallocate(fd, FALLOC_FL_KEEP_SIZE, 0,
			      (off_t)truth_room(native, i)) < 0)
			return -errno;
	}
	return mnt_clone(native->mounts_fd, LAYER_DIR "/t", ret_mnt_fd);
}

void layer_detach(struct native *native)
{
	if (native->layer_fd < 0)
		return;
	(void)mnt_detach(native->layer_fd); /* or with our namespace */
	close_fd(&native->layer_fd);
}

int layer_mount_root(struct native *native, int *layer_fd, uint32_t base,
		     const char *image, int *ret_mnt_fd)
{
	int r;

	layer_detach(native); /* if nothing was idle since the last one */
	r = prepare(*layer_fd, base);
	if (r == 0)
		r = mnt_attach(*layer_fd, native->mounts_fd, LAYER_DIR);
	if (r < 0)
		return r;
	native->layer_fd = take_fd(layer_fd);
	return mount_overlay(native, image, ret_mnt_fd);
}
