/* SPDX-License-Identifier: Apache-2.0 */

/*
 * template - file systems to copy, one per size
 *
 * mke2fs makes one in a sparse file; a layer is a copy of its few written
 * blocks, which takes a tenth of mke2fs's time. An ext4 without a journal,
 * and with nothing held back for root: the overlay above it writes as root.
 *
 * See ext4(5), mke2fs(8).
 *
 * #syscalls  openat ftruncate pread64 lseek sendfile clone fork vfork wait4
 *            dup2 close_range execve
 *
 * and of mke2fs, which is under our filter:
 *
 * #syscalls  access arch_prctl brk close exit_group fallocate fstat fsync
 *            fdatasync getegid geteuid getgid getpid getppid getrandom
 *            gettid getuid futex ioctl lstat mmap mprotect munmap
 *            newfstatat openat open stat readv writev prctl pread64
 *            prlimit64 pwrite64 read readlink rseq set_robust_list
 *            set_tid_address uname write clock_gettime time gettimeofday
 *            sysinfo
 */

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "disk/disk.h"

#define INODE_BYTES 256u

/* What is left over of a size may be so much; see make_template(). */
#define SLACK_BLOCKS 16u

/* ext4 holds a fiftieth back from everybody, at most this many blocks. */
#define HELD_MAX 4096u

#define TRIES_MAX 8

/* ext4's own, the directories of an overlay, and what init shows in /proc. */
#define OWN_INODES 25u

/* For the last two. */
#define OVERLAY_BLOCKS 13u

#define MKE2FS "/sbin/mke2fs"

static int new_file(const struct disk *disk, uint64_t bytes)
{
	int fd =
		openat(disk->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) < 0) {
		int r = -errno;

		(void)close(fd);
		return r;
	}
	return fd;
}

__attribute__((noreturn)) static void exec_mke2fs(int file_fd, uint32_t inodes)
{
	char count[16];
	/* Everything that its configuration could change is said here. */
	const char *const argv[] = {
		"mke2fs",
		"-q",
		"-F",
		"-t",
		"ext4",
		"-b",
		"4096",
		"-I",
		"256",
		"-m",
		"0",
		"-N",
		count,
		"-O",
		"none,ext_attr,dir_index,filetype,extent,64bit,flex_bg,"
		"sparse_super,large_file,huge_file,uninit_bg,dir_nlink,"
		"extra_isize",
		"-E",
		"lazy_itable_init=1,nodiscard",
		"/proc/self/fd/3",
		NULL
	};
	/* None: the defaults that are built in. */
	char *const envp[] = { (char[]){ "MKE2FS_CONFIG=/nonexistent" }, NULL };

	(void)snprintf(count, sizeof(count), "%u", inodes + OWN_INODES);
	if (dup2(file_fd, 3) < 0 || close_range(4, ~0u, 0) < 0)
		_exit(127);
	(void)execve(MKE2FS, (char *const *)(uintptr_t)argv, envp);
	_exit(127);
}

static int run_mke2fs(int file_fd, uint32_t inodes)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		exec_mke2fs(file_fd, inodes);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -errno;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return -ENOENT;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

/* Free blocks, from the superblock: low and high half. */
static int count_free(int file_fd, uint64_t *ret_blocks)
{
	uint32_t low, high;

	if (pread(file_fd, &low, 4, 1024 + 0x0c) != 4 ||
	    pread(file_fd, &high, 4, 1024 + 0x158) != 4)
		return -EIO;
	*ret_blocks = (uint64_t)le32toh(high) << 32 | le32toh(low);
	return 0;
}

uint64_t template_overhead(uint32_t inodes)
{
	return ((uint64_t)inodes + OWN_INODES) * INODE_BYTES +
	       64ull * DISK_BLOCK;
}

/*
 * A file system with room for just so many bytes. What ext4 needs for itself
 * is known once it is made, so the second try mostly fits. Where one block
 * more begins another group it never does: then a little more is left free,
 * but never less than was asked for.
 */
static int make_template(const struct disk *disk, struct template *made)
{
	uint64_t blocks =
		(made->bytes + template_overhead(made->inodes)) / DISK_BLOCK;

	for (unsigned int i = 0; i < TRIES_MAX; i++) {
		uint64_t held = blocks / 50 < HELD_MAX ? blocks / 50 : HELD_MAX;
		uint64_t wanted =
			made->bytes / DISK_BLOCK + held + OVERLAY_BLOCKS;
		uint64_t free_blocks = 0;
		int fd auto_fd = new_file(disk, blocks * DISK_BLOCK);
		int r = fd < 0 ? fd : run_mke2fs(fd, made->inodes);

		if (r == 0)
			r = count_free(fd, &free_blocks);
		if (r < 0)
			return r;
		if (free_blocks >= wanted &&
		    (free_blocks - wanted <= SLACK_BLOCKS || i >= 2)) {
			made->file_bytes = blocks * DISK_BLOCK;
			made->fd = take_fd(&fd);
			return 0;
		}
		blocks += wanted - free_blocks; /* may well be negative */
		if (i >= 2)
			blocks += SLACK_BLOCKS << i;
	}
	return -EIO;
}

static struct template *find(struct disk *disk, uint64_t bytes, uint32_t inodes)
{
	for (unsigned int i = 0; i < TEMPLATES_MAX; i++) {
		struct template *template = &disk->templates[i];

		if (template->fd >= 0 && template->bytes == bytes &&
		    template->inodes == inodes)
			return template;
	}
	return NULL;
}

const struct template *template_get(struct disk *disk, uint64_t bytes,
				    uint32_t inodes, struct err *err)
{
	struct template *template = find(disk, bytes, inodes);
	int r;

	if (template)
		return template;
	template = &disk->templates[disk->next_template++ % TEMPLATES_MAX];
	close_fd(&template->fd);
	template->bytes = bytes;
	template->inodes = inodes;
	r = make_template(disk, template);
	if (r == 0)
		return template;
	if (r == -ENOENT)
		(void)err_set(err, ERR_UNSUPPORTED, 0,
			      "a disk larger than half of memory needs " MKE2FS
			      " (package e2fsprogs)");
	else
		(void)err_set(err, ERR_INTERNAL, -r,
			      "make a file system of %" PRIu64 " bytes", bytes);
	return NULL;
}

/* The few blocks that mke2fs wrote. */
static int copy_data(int from_fd, int to_fd)
{
	off_t start = 0, end;

	while ((start = lseek(from_fd, start, SEEK_DATA)) >= 0) {
		end = lseek(from_fd, start, SEEK_HOLE);
		if (end < 0 || lseek(to_fd, start, SEEK_SET) < 0)
			return -errno;
		while (start < end) {
			ssize_t n = sendfile(to_fd, from_fd, &start,
					     (size_t)(end - start));

			if (n <= 0)
				return n < 0 ? -errno : -EIO;
		}
	}
	return errno == ENXIO ? 0 : -errno;
}

int template_copy(const struct disk *disk, const struct template *from,
		  int *ret_fd)
{
	int fd auto_fd = new_file(disk, from->file_bytes);
	int r = fd < 0 ? fd : copy_data(from->fd, fd);

	if (r == 0)
		*ret_fd = take_fd(&fd);
	return r;
}
