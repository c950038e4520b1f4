/* SPDX-License-Identifier: Apache-2.0 */

/*
 * layer - make a layer, and see that there is room for it
 *
 * A layer is a sparse file without a name, a loop device over it, and the
 * file system that a template brought. One more than asked for is made ahead,
 * in quiet moments; the next sandbox of that size takes it.
 *
 * Sparse means promised, not written: a full host disk would be an I/O error
 * inside. So the sum of what all layers, of all brokers, may still write must
 * fit into what is free.
 *
 * The last close of a file system writes back what is dirty, a tenth of a
 * second for 100 MB. Shut down first, it drops the data instead; and a child
 * does it, so that the next request needn't wait.
 *
 * #syscalls  openat mkdirat ioctl fstat newfstatat fstatfs clone fork close_range exit_group
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mnt.h"
#include "disk/disk.h"

/* What the host's file system keeps in any case. */
#define HOST_RESERVE_BYTES ((uint64_t)256 << 20)

/* Linux has it in no header before 6.11; see ioctl_ext4(2). */
#define EXT4_IOC_SHUTDOWN _IOR('X', 125, uint32_t)
#define EXT4_GOING_FLAGS_NOLOGFLUSH 2u

/* Below this, writing back is quicker than a shutdown, and silent. */
#define SHUTDOWN_MIN_BYTES ((uint64_t)8 << 20)

/* What the file of a layer has really taken of the host's disk. */
static uint64_t written(const struct layer *layer)
{
	struct stat st;

	if (layer->state == LAYER_CLOSING) /* it can take no more */
		return layer->file_bytes;
	if (fstat(layer->file_fd, &st) < 0)
		return 0;
	return (uint64_t)st.st_blocks * 512;
}

/*
 * What may still be written by all layers of all brokers. The spare one
 * doesn't count: it is for whoever asks.
 */
static uint64_t count_promised(const struct disk *disk)
{
	uint64_t total = loop_promised(&disk->loops);
	uint64_t less = disk->spare ? disk->spare->file_bytes : 0;
	unsigned int left = disk->num_layers;

	for (const struct layer *layer = disk->layers; left > 0; layer++) {
		if (layer->state == LAYER_FREE)
			continue;
		left--;
		if (layer != disk->spare)
			less += written(layer);
	}
	return total > less ? total - less : 0;
}

static int admit(const struct disk *disk, uint64_t bytes, struct err *err)
{
	uint64_t promised = count_promised(disk) + HOST_RESERVE_BYTES;
	uint64_t available;
	struct statfs st;

	if (fstatfs(disk->dir_fd, &st) < 0)
		return err_set(err, ERR_INTERNAL, errno, "layer_dir");
	available = (uint64_t)st.f_bavail * (uint64_t)st.f_bsize;
	if (available >= promised && available - promised >= bytes)
		return 0;
	return err_set(err, ERR_QUOTA, 0,
		       "the host's disk has no room for a layer of %" PRIu64
		       " bytes: %" PRIu64 " are free, %" PRIu64
		       " of them promised",
		       bytes, available, promised);
}

static struct layer *layer_alloc(struct disk *disk)
{
	for (unsigned int i = 0; i < LAYERS_MAX; i++) {
		if (disk->layers[i].state == LAYER_FREE)
			return &disk->layers[i];
	}
	return NULL;
}

/* Mounts what is in @file_fd; on failure the loop device is free again. */
static int mount_file(struct disk *disk, int file_fd, struct layer *layer)
{
	char source[32];
	const struct mnt_option options[] = {
		MNT_TEXT("source", source),
		MNT_FLAG("noinit_itable"), /* a sparse file is zero already */
	};
	int loop_fd auto_fd = -1;
	int r;

	r = loop_attach(&disk->loops, file_fd, layer->file_bytes, &layer->loop,
			&loop_fd);
	if (r < 0)
		return r;
	loop_path(layer->loop, source);
	r = mnt_new("ext4", options, ARRAY_SIZE(options),
		    MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOATIME,
		    &layer->mnt_fd);
	if (r == 0) {
		layer->dir_fd = openat(layer->mnt_fd, ".",
				       O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		/* The overlay's; made here they cost no create its time. */
		if (layer->dir_fd < 0 ||
		    mkdirat(layer->dir_fd, "u", 0755) < 0 ||
		    mkdirat(layer->dir_fd, "w", 0755) < 0)
			r = -errno;
	}
	if (r < 0) {
		close_fd(&layer->mnt_fd);
		close_fd(&layer->dir_fd);
		close_fd(&loop_fd);
		loop_release(&disk->loops, layer->loop, layer->file_bytes);
	}
	return r;
}

/* Return: NULL with @err saying why. */
static struct layer *make(struct disk *disk, const struct template *from,
			  struct err *err)
{
	struct layer *layer = layer_alloc(disk);
	int file_fd auto_fd = -1;
	int r;

	if (!layer) {
		(void)err_set(err, ERR_QUOTA, 0, "all %d layers are in use",
			      LAYERS_MAX);
		return NULL;
	}
	layer->bytes = from->bytes;
	layer->inodes = from->inodes;
	layer->file_bytes = from->file_bytes;
	layer->mnt_fd = layer->dir_fd = -1;
	r = template_copy(disk, from, &file_fd);
	if (r == 0)
		r = mount_file(disk, file_fd, layer);
	layer->file_fd = take_fd(&file_fd);
	if (r < 0) {
		close_fd(&layer->file_fd);
		(void)err_set(err, ERR_INTERNAL, -r, "make a layer in '%.150s'",
			      disk->path);
		return NULL;
	}
	layer->state = LAYER_USED;
	disk->num_layers++;
	return layer;
}

static bool is_spare(const struct disk *disk, uint64_t bytes, uint32_t inodes)
{
	return disk->spare && disk->spare->bytes == bytes &&
	       disk->spare->inodes == inodes;
}

struct layer *layer_take(struct disk *disk, uint64_t bytes, uint32_t inodes,
			 int *ret_mnt_fd, struct err *err)
{
	const struct template *from;
	struct layer *layer;

	/* Before mke2fs too, which works long at a size that can't be. */
	if (admit(disk, bytes + template_overhead(inodes), err) < 0)
		return NULL;
	from = template_get(disk, bytes, inodes, err);
	if (!from || admit(disk, from->file_bytes, err) < 0)
		return NULL;
	if (is_spare(disk, bytes, inodes)) {
		layer = disk->spare;
		disk->spare = NULL;
	} else {
		layer = make(disk, from, err);
		if (!layer)
			return NULL;
	}
	disk->wanted = from;
	*ret_mnt_fd = take_fd(&layer->mnt_fd);
	return layer;
}

void layer_prepare(struct disk *disk)
{
	const struct template *from = disk->wanted;

	disk->wanted = NULL; /* once: a failure is met again, and told */
	if (!from || is_spare(disk, from->bytes, from->inodes))
		return;
	if (disk->spare)
		layer_close(disk, disk->spare);
	if (admit(disk, from->file_bytes, NULL) == 0)
		disk->spare = make(disk, from, NULL);
}

static void shut_down(const struct layer *layer)
{
	uint32_t how = EXT4_GOING_FLAGS_NOLOGFLUSH;
	struct statfs st;

	/* By what is used in it: what waits to be written is no block yet. */
	if (fstatfs(layer->dir_fd, &st) == 0 &&
	    (st.f_blocks - st.f_bfree) * DISK_BLOCK >= SHUTDOWN_MIN_BYTES)
		(void)ioctl(layer->dir_fd, EXT4_IOC_SHUTDOWN, &how);
}

void layer_close(struct disk *disk, struct layer *layer)
{
	if (layer == disk->spare)
		disk->spare = NULL;
	close_fd(&layer->mnt_fd);
	layer->pid = fork();
	if (layer->pid == 0) {
		/* Or the others' last close would be ours. */
		(void)close_range(0, (unsigned int)layer->dir_fd - 1, 0);
		(void)close_range((unsigned int)layer->dir_fd + 1, ~0u, 0);
		shut_down(layer);
		_exit(0);
	}
	close_fd(&layer->dir_fd);
	close_fd(&layer->file_fd);
	layer->state = LAYER_CLOSING;
	if (layer->pid < 0)
		layer_closed(disk, layer); /* slowly, by ourselves */
}

void layer_closed(struct disk *disk, struct layer *layer)
{
	loop_release(&disk->loops, layer->loop, layer->file_bytes);
	layer->state = LAYER_FREE;
	disk->num_layers--;
}
