/* SPDX-License-Identifier: Apache-2.0 */

/*
 * proc - cover what a fresh /proc tells of the host, and make /proc/sys
 * read-only
 *
 * See proc(5).
 *
 * #syscalls  open_tree move_mount mount_setattr openat close
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mnt.h"
#include "confine/confine.h"

/*
 * What everybody may read and is the host's business. What only the host's
 * root may read (kcore, kmsg, sysrq-trigger, …) needs no cover: root inside
 * isn't the owner. Each cover costs every sandbox a few microseconds.
 */
static const char *const masked_files[] = {
	"/proc/cmdline",    "/proc/diskstats", "/proc/interrupts",
	"/proc/key-users",  "/proc/keys",      "/proc/modules",
	"/proc/partitions",
};
static const char *const masked_dirs[] = {
	"/proc/acpi", "/proc/bus",      "/proc/fs",
	"/proc/irq",  "/proc/pressure", "/proc/scsi",
};

/*
 * A path that this kernel doesn't have needs no mask. Asked first: dropping a
 * mount that found no place waits for an RCU grace period.
 */
static int mask(const char *cover, const char *path)
{
	int fd auto_fd = -1;
	int r;

	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	r = mnt_clone(AT_FDCWD, cover, &fd);
	return r < 0 ? r : mnt_attach(fd, AT_FDCWD, path);
}

int confine_proc(const char *empty_dir)
{
	int sys_fd auto_fd = -1;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(masked_files); i++)
		r = mask("/dev/null", masked_files[i]);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(masked_dirs); i++)
		r = mask(empty_dir, masked_dirs[i]);
	if (r == 0)
		r = mask(CONFINE_CPUINFO, "/proc/cpuinfo");
	if (r == 0)
		r = mnt_clone(AT_FDCWD, "/proc/sys", &sys_fd);
	if (r == 0)
		r = mnt_set(sys_fd, MOUNT_ATTR_RDONLY, -1);
	if (r == 0)
		r = mnt_attach(sys_fd, AT_FDCWD, "/proc/sys");
	return r;
}
