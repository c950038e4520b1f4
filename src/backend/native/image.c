/* SPDX-License-Identifier: Apache-2.0 */

/*
 * image - the `host` image, and the templates every sandbox copies mounts of
 *
 * The host image is a small tree of our own (directories, /etc) that serves
 * as the lower layer, and the host's /usr, /opt and configured runtimes,
 * read-only. Nothing of the host's homes, /root, /srv, /var, /run,
 * /mnt or /media is in it; of /etc only what etc_copies names, and of that
 * only what everybody may read.
 *
 * Built once at start below <run>/m:
 *
 *   image          the lower layer
 *   dev            six devices, a few links
 *   sys/<n>        a /sys that shows n processors; made when first asked
 *   s/<block>-<slot>/<i>   mount i of one slot: 0 the image, id-mapped, then
 *                  the binds; kept, since a slot is used again and again
 *
 * #syscalls  mkdirat fchownat fchmodat openat symlinkat mknodat readlinkat
 *            sendfile getdents64 newfstatat lstat access faccessat
 *            faccessat2 dup write pread64
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "backend/native/native.h"
#include "base/cleanup.h"
#include "base/dir.h"
#include "base/file.h"
#include "base/mnt.h"
#include "confine/confine.h"
#include "truth/truth.h"

#define COPY_DEPTH_MAX 6
#define IMAGE_BYTES (64u << 20)
#define IMAGE_BYTES_TEXT "64m"
#define IMAGE_INODES 16384u
#define COPY_FILE_MAX (8u << 20)

#define BIND_ATTRS (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

struct image_dir {
	const char *path;
	mode_t mode;
	uid_t id;
};

static const struct image_dir image_dirs[] = {
	{ "dev", 0755, 0 },       { "etc", 0755, 0 },
	{ "home", 0755, 0 },      { "home/sandbox", 0755, USER_ID },
	{ "media", 0755, 0 },     { "mnt", 0755, 0 },
	{ "opt", 0755, 0 },       { "proc", 0555, 0 },
	{ "root", 0700, 0 },      { "run", 0755, 0 },
	{ "run/lock", 01777, 0 }, { "srv", 0755, 0 },
	{ "sys", 0555, 0 },       { "tmp", 01777, 0 },
	{ "usr", 0755, 0 },       { "var", 0755, 0 },
	{ "var/cache", 0755, 0 }, { "var/lib", 0755, 0 },
	{ "var/log", 0755, 0 },   { "var/spool", 0755, 0 },
	{ "var/tmp", 01777, 0 },  { "workspace", 0755, USER_ID },
};

/*
 * What programs need from /etc to run; nothing that may hold a secret, and of
 * these only what everybody may read. A * stands for a version.
 */
static const char etc_copies[] =
	"alternatives bash.bashrc ca-certificates.conf debian_version fonts"
	" inputrc java* ld.so.cache ld.so.conf ld.so.conf.d locale.alias"
	" localtime login.defs lsb-release magic magic.mime mime.types"
	" os-release perl php* pki profile profile.d protocols python3"
	" python3.* rpc services shells skel ssl terminfo timezone";

static const struct {
	const char *path;
	const char *text;
} etc_files[] = {
	{ "etc/passwd", "root:x:0:0:root:/root:/bin/bash\n"
			"daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
			"bin:x:2:2:bin:/bin:/usr/sbin/nologin\n"
			"sys:x:3:3:sys:/dev:/usr/sbin/nologin\n"
			"man:x:6:12:man:/var/cache/man:/usr/sbin/nologin\n"
			"www-data:x:33:33:www-data:/var/www:"
			"/usr/sbin/nologin\n"
			"_apt:x:100:65534::/nonexistent:/usr/sbin/nologin\n"
			"sandbox:x:1000:1000:sandbox:/home/sandbox:/bin/bash\n"
			"nobody:x:65534:65534:nobody:/nonexistent:"
			"/usr/sbin/nologin\n" },
	{ "etc/group", "root:x:0:\ndaemon:x:1:\nbin:x:2:\nsys:x:3:\nadm:x:4:\n"
		       "tty:x:5:\ndisk:x:6:\nman:x:12:\nwww-data:x:33:\n"
		       "shadow:x:42:\nutmp:x:43:\nstaff:x:50:\nusers:x:100:\n"
		       "sandbox:x:1000:\nnogroup:x:65534:\n" },
	{ "etc/hostname", "sandbox\n" },
	{ "etc/hosts", "127.0.0.1\tlocalhost sandbox\n"
		       "::1\tlocalhost ip6-localhost ip6-loopback\n" },
	{ "etc/host.conf", "multi on\n" },
	{ "etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\n"
			       "hosts: files dns\nnetworks: files\n"
			       "protocols: files\nservices: files\n" },
	{ "etc/resolv.conf", "# no network\n" },
	{ "etc/fstab", "# none\n" },
	{ "etc/machine-id", "" },
};

static int write_new(int dir_fd, const char *path, const char *text)
{
	int fd auto_fd = openat(dir_fd, path,
				O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	size_t len = strlen(text);

	if (fd < 0)
		return -errno;
	return write(fd, text, len) == (ssize_t)len ? 0 : -errno;
}

static int make_dir(int dir_fd, const struct image_dir *dir)
{
	if (mkdirat(dir_fd, dir->path, 0700) < 0 && errno != EEXIST)
		return -errno;
	if (fchownat(dir_fd, dir->path, dir->id, dir->id, 0) < 0 ||
	    fchmodat(dir_fd, dir->path, dir->mode, 0) < 0)
		return -errno;
	return 0;
}

/* mkdir -p, root's. */
static int make_path(int dir_fd, const char *path)
{
	char part[PATH_MAX];

	for (size_t i = 1; path[i - 1]; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		(void)snprintf(part, sizeof(part), "%.*s", (int)i, path);
		if (mkdirat(dir_fd, part, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

static int copy_file(int src_fd, const struct stat *st, int dir_fd,
		     const char *name)
{
	int dst_fd auto_fd = -1;
	off_t offset = 0;

	dst_fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			0644 | (st->st_mode & 0111));
	if (dst_fd < 0)
		return -errno;
	while (offset < st->st_size) {
		ssize_t n = sendfile(dst_fd, src_fd, &offset,
				     (size_t)(st->st_size - offset));

		if (n < 0)
			return -errno;
		if (n == 0)
			break; /* it shrank meanwhile */
	}
	return 0;
}

static int copy_link(int from_fd, const char *name, int dir_fd)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(from_fd, name, text, sizeof(text) - 1);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	return symlinkat(text, dir_fd, name) < 0 ? -errno : 0;
}

static int copy_entry(int from_fd, const char *name, int dir_fd, int depth);

static int copy_dir(int src_fd, const char *name, int dir_fd, int depth)
{
	int dst_fd auto_fd = -1;
	const char *entry;
	struct dir dir;
	int r = 0;

	if (mkdirat(dir_fd, name, 0755) < 0)
		return -errno;
	dst_fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dst_fd < 0)
		return -errno;
	dir_init(&dir, src_fd);
	while (r == 0 && (entry = dir_next(&dir, NULL))) {
		if (entry[0] != '.')
			r = copy_entry(src_fd, entry, dst_fd, depth - 1);
	}
	return r;
}

/* Copies what everybody may read; passes over the rest. */
static int copy_entry(int from_fd, const char *name, int dir_fd, int depth)
{
	int src_fd auto_fd = -1;
	struct stat st;

	if (fstatat(from_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISLNK(st.st_mode))
		return copy_link(from_fd, name, dir_fd);
	if (!(st.st_mode & S_IROTH) ||
	    !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) || depth == 0 ||
	    (S_ISREG(st.st_mode) && st.st_size > COPY_FILE_MAX))
		return 0;
	src_fd = openat(from_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (src_fd < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return copy_dir(src_fd, name, dir_fd, depth);
	return copy_file(src_fd, &st, dir_fd, name);
}

static bool is_wanted(const char *name)
{
	for (const char *p = etc_copies; *p; p += strspn(p, " ")) {
		size_t len = strcspn(p, " *");

		if (strncmp(name, p, len) == 0 &&
		    (p[len] == '*' || name[len] == '\0'))
			return true;
		p += strcspn(p, " ");
	}
	return false;
}

static int fill_etc(int image_fd)
{
	int from_fd auto_fd = open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int etc_fd auto_fd =
		openat(image_fd, "etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *name;
	struct dir dir;
	int r = 0;

	if (from_fd < 0 || etc_fd < 0)
		return -errno;
	dir_init(&dir, from_fd);
	while (r == 0 && (name = dir_next(&dir, NULL))) {
		if (is_wanted(name))
			r = copy_entry(from_fd, name, etc_fd, COPY_DEPTH_MAX);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(etc_files); i++)
		r = write_new(image_fd, etc_files[i].path, etc_files[i].text);
	if (r == 0 && symlinkat("/proc/self/mounts", etc_fd, "mtab") < 0)
		r = -errno;
	return r;
}

static int add_bind(struct native *native, int image_fd, const char *path)
{
	struct image_bind *bind = &native->binds[native->num_binds];
	int r;

	if (native->num_binds == IMAGE_BINDS_MAX)
		return -E2BIG;
	r = make_path(image_fd, path + 1);
	if (r < 0)
		return r;
	(void)snprintf(bind->source, sizeof(bind->source), "%s", path);
	(void)snprintf(bind->target, sizeof(bind->target), "%s", path);
	native->num_binds++;
	return 0;
}

/* /bin, /lib and the like: a link into /usr on a merged host, else a bind. */
static int add_system_dir(struct native *native, int image_fd, const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISLNK(st.st_mode)) {
		int root_fd auto_fd =
			open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

		return root_fd < 0 ? -errno
				   : copy_link(root_fd, path + 1, image_fd);
	}
	return add_bind(native, image_fd, path);
}

static int fill_image(struct native *native, int image_fd)
{
	static const char *const system_dirs[] = {
		"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"
	};
	const struct native_config *config = &native->config;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(image_dirs); i++)
		r = make_dir(image_fd, &image_dirs[i]);
	if (r == 0 && symlinkat("/run", image_fd, "var/run") < 0)
		r = -errno;
	if (r == 0)
		r = fill_etc(image_fd);
	if (r == 0)
		r = add_bind(native, image_fd, "/usr");
	if (r == 0 && access("/opt", F_OK) == 0)
		r = add_bind(native, image_fd, "/opt");
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(system_dirs); i++)
		r = add_system_dir(native, image_fd, system_dirs[i]);
	for (unsigned int i = 0; r == 0 && i < config->num_runtimes; i++)
		r = add_bind(native, image_fd, config->runtimes[i]);
	return r;
}

static int fill_dev(int dev_fd)
{
	static const struct {
		const char *name;
		unsigned int minor;
	} nodes[] = { { "null", 3 },
		      { "zero", 5 },
		      { "full", 7 },
		      { "random", 8 },
		      { "urandom", 9 } };
	static const char *const links[][2] = {
		{ "/proc/self/fd", "fd" },
		{ "/proc/self/fd/0", "stdin" },
		{ "/proc/self/fd/1", "stdout" },
		{ "/proc/self/fd/2", "stderr" },
		{ "pts/ptmx", "ptmx" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		if (mknodat(dev_fd, nodes[i].name, S_IFCHR | 0666,
			    makedev(1, nodes[i].minor)) < 0)
			return -errno;
	}
	if (mknodat(dev_fd, "tty", S_IFCHR | 0666, makedev(5, 0)) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		if (symlinkat(links[i][0], dev_fd, links[i][1]) < 0)
			return -errno;
	}
	if (mkdirat(dev_fd, "shm", 01777) < 0 ||
	    mkdirat(dev_fd, "pts", 0755) < 0)
		return -errno;
	return 0;
}

static int write_cpuinfo(int sys_fd, const char *path, unsigned int cpus)
{
	static char text[256 << 10]; /* touched only where used */
	int fd auto_fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	size_t len;
	int r;

	if (fd < 0)
		return -errno;
	r = file_read_whole(fd, text, sizeof(text), &len);
	if (r == -EFBIG) /* hundreds of them: more than are shown */
		text[sizeof(text) - 1] = '\0';
	else if (r < 0)
		return r;
	truth_cpuinfo(text, cpus);
	return write_new(sys_fd, path, text);
}

/* The processors of this size of sandbox, and nothing else of the machine. */
static int fill_sys(int sys_fd, unsigned int cpus)
{
	static const char *const files[] = {
		"devices/system/cpu/online",
		"devices/system/cpu/possible",
		"devices/system/cpu/present",
	};
	char text[32];
	int r;

	(void)snprintf(text, sizeof(text), cpus > 1 ? "0-%u\n" : "%u\n",
		       cpus - 1);
	r = make_path(sys_fd, "devices/system/cpu");
	if (r == 0)
		r = make_path(sys_fd, "kernel"); /* empty: covers others */
	if (r == 0)
		r = make_path(sys_fd, "fs/cgroup");
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(files); i++)
		r = write_new(sys_fd, files[i], text);
	if (r == 0)
		r = write_cpuinfo(sys_fd, &CONFINE_CPUINFO[strlen("/sys/")],
				  cpus);
	return r;
}

/* A tmpfs at <run>/m/NAME; attached, so that any kernel lets us clone it. */
static int mount_template(const struct native *native, const char *name,
			  const char *size, int *ret_fd)
{
	const struct mnt_option options[] = {
		MNT_TEXT("mode", "0755"),
		MNT_TEXT("size", size),
	};
	int r;

	r = make_path(native->mounts_fd, name);
	if (r == 0)
		r = mnt_new("tmpfs", options, ARRAY_SIZE(options),
			    MOUNT_ATTR_NOSUID, ret_fd);
	if (r == 0)
		r = mnt_attach(*ret_fd, native->mounts_fd, name);
	return r;
}

static bool is_mappable(const struct native *native)
{
	int userns_fd auto_fd = -1;
	int mnt_fd auto_fd = -1;

	return idmap_open(native->config.id_base, IDMAP_SHIFT, &userns_fd,
			  NULL) == 0 &&
	       mnt_clone(native->mounts_fd, "image", &mnt_fd) == 0 &&
	       mnt_set(mnt_fd, BIND_ATTRS, userns_fd) == 0;
}

/* In memory; before Linux 6.3, which can't id-map that, on disk. */
static int mount_image(struct native *native, int *ret_fd, struct err *err)
{
	uint32_t layer;
	int r;

	r = mount_template(native, "image", IMAGE_BYTES_TEXT, ret_fd);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "mount the host image");
	if (is_mappable(native))
		return 0;
	(void)mnt_detach(*ret_fd);
	close_fd(ret_fd);
	r = disk_take(native, IMAGE_BYTES, IMAGE_INODES, &layer, ret_fd, err);
	if (r < 0)
		return err_context(err, r, "the host image");
	r = mnt_attach(*ret_fd, native->mounts_fd, "image");
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "attach the host image");
	return 0;
}

int image_open(struct native *native, struct err *err)
{
	int image_fd auto_fd = -1;
	int dev_fd auto_fd = -1;
	int r;

	r = mount_image(native, &image_fd, err);
	if (r < 0)
		return r;
	r = fill_image(native, image_fd);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "build the host image");
	r = mount_template(native, "dev", "64k", &dev_fd);
	if (r == 0)
		r = fill_dev(dev_fd);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "build /dev");
	return 0;
}

int image_sys_open(struct native *native, unsigned int cpus, int *ret_mnt_fd,
		   struct err *err)
{
	int sys_fd auto_fd = -1;
	char name[16];
	int r = 0;

	if (cpus >= ARRAY_SIZE(native->sys_made))
		cpus = ARRAY_SIZE(native->sys_made) - 1;
	(void)snprintf(name, sizeof(name), "sys/%u", cpus);
	if (!native->sys_made[cpus]) {
		r = mount_template(native, name, "512k", &sys_fd);
		if (r == 0)
			r = fill_sys(sys_fd, cpus);
		native->sys_made[cpus] = r == 0;
	}
	if (r == 0)
		r = mnt_clone(native->mounts_fd, name, ret_mnt_fd);
	if (r == 0)
		r = mnt_set(*ret_mnt_fd, BIND_ATTRS, -1);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "mount /sys");
	return 0;
}

void image_slot_path(const struct domain *domain, uint8_t slot,
		     unsigned int mount, char *buf, size_t size)
{
	(void)snprintf(buf, size, "s/%u-%u/%u", domain->block, slot, mount);
}

/* The image itself, whose ids are ours to shift. */
static int map_image(const struct native *native, const char *target,
		     int userns_fd)
{
	int mnt_fd auto_fd = -1;
	int r;

	r = mnt_clone(native->mounts_fd, "image", &mnt_fd);
	if (r == 0)
		r = mnt_set(mnt_fd, BIND_ATTRS, userns_fd);
	if (r == 0)
		r = make_path(native->mounts_fd, target);
	return r < 0 ? r : mnt_attach(mnt_fd, native->mounts_fd, target);
}

/*
 * A tree of the host's: through a read-only overlay of the slot's own, or
 * watches, locks and leases of a sandbox would fall on the host's files; and
 * without an id map, or root inside would be the owner of the host root's
 * files and read those that not everybody may read. An overlay without upper
 * layer wants two lower ones: the other is an empty directory.
 */
static int map_bind(const struct native *native, const struct image_bind *bind,
		    const char *target)
{
	int source_fd auto_fd =
		open(bind->source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char lower[96];
	const struct mnt_option options[] = {
		MNT_TEXT("lowerdir", lower),
		MNT_TEXT("source", "image"),
	};
	int mnt_fd auto_fd = -1;
	int r;

	if (source_fd < 0)
		return -errno;
	(void)snprintf(lower, sizeof(lower),
		       "/proc/self/fd/%d:/proc/self/fd/%d/dev/pts", source_fd,
		       native->mounts_fd);
	r = make_path(native->mounts_fd, target);
	if (r == 0)
		r = mnt_new("overlay", options, ARRAY_SIZE(options), BIND_ATTRS,
			    &mnt_fd);
	return r < 0 ? r : mnt_attach(mnt_fd, native->mounts_fd, target);
}

int image_map_slot(struct native *native, const struct domain *domain,
		   uint8_t slot, struct err *err)
{
	int userns_fd auto_fd = -1;
	char target[48];
	int r;

	r = idmap_open(domain->base + slot * SLOT_IDS, IDMAP_SHIFT, &userns_fd,
		       err);
	if (r < 0)
		return r;
	image_slot_path(domain, slot, 0, target, sizeof(target));
	r = map_image(native, target, userns_fd);
	for (unsigned int i = 0; r == 0 && i < native->num_binds; i++) {
		image_slot_path(domain, slot, i + 1, target, sizeof(target));
		r = map_bind(native, &native->binds[i], target);
	}
	if (r < 0)
		return err_set(err, ERR_UNSUPPORTED, -r,
			       "mount the host image: overlays of id-mapped"
			       " layers need Linux 5.19");
	return 0;
}
