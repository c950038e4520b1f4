/* SPDX-License-Identifier: Apache-2.0 */

/*
 * cgroup - the control groups of the host, and of one id block
 *
 *   <parent>/b<block>/launcher    v2: the block's launcher; v1 memory: with
 *                                 the inits it makes
 *   <parent>/b<block>/<slot>      a sandbox's: see plan_cgroup.c
 *
 * Two kinds of hosts. Unified: the v2 hierarchy has all controllers. Hybrid:
 * v1 hierarchies have them, and the v2 one is empty of controllers; where it
 * isn't even mounted, we mount it for ourselves.
 *
 * The launcher's cgroup namespace has the block for its root, and sandboxes
 * inherit it: so they see no path of the host's, and a v2 hierarchy that keeps
 * processes in their namespace (nsdelegate) still lets init start an exec
 * beside itself.
 *
 * A block's directories belong to whoever holds its lease: leftovers of a
 * crashed broker are killed and removed before use. See cgroups(7).
 *
 * #syscalls  open openat mkdirat unlinkat fchownat read write nanosleep
 *            clock_nanosleep
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backend/native/native.h"
#include "base/cleanup.h"
#include "base/dir.h"
#include "base/file.h"
#include "base/mnt.h"

#define DEPTH_MAX 4

/* What the host keeps for itself: a sixteenth, at least this. */
#define RESERVE_MIN_BYTES (512ull << 20)

/* 2 MiB for each init that a block can hold; they need 0.3. */
#define INITS_MEMORY_BYTES ((DOMAIN_SLOTS * 2ull) << 20)

/* That an ended sandbox may leave to the next one. */
#define LEFTOVER_MAX_BYTES (1ull << 20)

#define ALL_CONTROLLERS "+memory +pids +cpu"

static const char *const controllers[] = {
	[PLAN_V2] = NULL,
	[PLAN_MEMORY] = "memory",
	[PLAN_PIDS] = "pids",
	[PLAN_CPU] = "cpu",
};
_Static_assert(ARRAY_SIZE(controllers) == PLAN_NUM_HIERARCHIES,
	       "a hierarchy per controller");

/* Is @word in @list, between any of @separators? */
static bool has_word(const char *list, const char *separators, const char *word)
{
	size_t len = strlen(word);

	while (*list) {
		size_t n = strcspn(list, separators);

		if (n == len && strncmp(list, word, len) == 0)
			return true;
		list += n;
		list += *list != '\0';
	}
	return false;
}

/*
 * One line of mountinfo: is it the hierarchy we look for? @controller NULL
 * means v2. Gives the mount point, in place.
 */
static const char *match_mount(char *line, const char *controller)
{
	char *fields[5];
	char *rest = line;
	char *type = strstr(line, " - ");
	const char *options;

	for (unsigned int i = 0; i < ARRAY_SIZE(fields); i++)
		fields[i] = strsep(&rest, " ");
	if (!type || !fields[4])
		return NULL;
	type += 3;
	if (!controller)
		return strncmp(type, "cgroup2 ", 8) == 0 ? fields[4] : NULL;
	options = strrchr(type, ' ');
	if (strncmp(type, "cgroup ", 7) != 0 || !options ||
	    !has_word(options + 1, ",\n", controller))
		return NULL;
	return fields[4];
}

int cgroup_find_mount(FILE *mountinfo, const char *controller, char *buf,
		      size_t size)
{
	char line[PATH_MAX + 1024];

	rewind(mountinfo);
	while (fgets(line, sizeof(line), mountinfo)) {
		const char *at = match_mount(line, controller);

		if (at) {
			(void)snprintf(buf, size, "%s", at);
			return 0;
		}
	}
	return -ENOENT;
}

bool cgroup_has_all(const char *list)
{
	for (unsigned int i = 0; i < PLAN_NUM_HIERARCHIES; i++) {
		if (controllers[i] && !has_word(list, " \n", controllers[i]))
			return false;
	}
	return true;
}

/* mkdir if needed, and open. */
static int open_dir(int dir_fd, const char *name, int *ret_fd)
{
	int fd;

	if (mkdirat(dir_fd, name, 0755) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(dir_fd, name,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

/* The root of a hierarchy; v2 is mounted, unseen by others, if nobody has. */
static int open_root(FILE *mountinfo, enum plan_hierarchy which, int *ret_fd,
		     struct err *err)
{
	char path[PATH_MAX];
	int r;

	r = cgroup_find_mount(mountinfo, controllers[which], path,
			      sizeof(path));
	if (r == 0)
		r = *ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	else if (which == PLAN_V2)
		r = mnt_new("cgroup2", NULL, 0, 0, ret_fd);
	if (r < 0)
		return err_set(
			err, ERR_UNSUPPORTED, 0,
			"this host has no cgroup %s hierarchy; needed are"
			" memory, pids and cpu, in the v2 hierarchy or in"
			" v1 ones",
			which == PLAN_V2 ? "v2" : controllers[which]);
	return 0;
}

static int open_hierarchy(FILE *mountinfo, enum plan_hierarchy which,
			  const char *parent, struct cgroup_host *host,
			  struct err *err)
{
	int root_fd auto_fd = -1;
	char list[256] = "";
	int r;

	r = open_root(mountinfo, which, &root_fd, err);
	if (r < 0)
		return r;
	r = open_dir(root_fd, parent, &host->fd[which]);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "make cgroup '%s'",
			       parent);
	if (which != PLAN_V2)
		return 0;
	(void)file_read_at(root_fd, "cgroup.controllers", list, sizeof(list));
	host->unified = cgroup_has_all(list);
	if (!host->unified)
		return 0;
	r = file_write_at(root_fd, "cgroup.subtree_control", ALL_CONTROLLERS);
	if (r == 0)
		r = file_write_at(host->fd[which], "cgroup.subtree_control",
				  ALL_CONTROLLERS);
	if (r < 0)
		return err_set(err, ERR_UNSUPPORTED, -r,
			       "enable memory, pids and cpu for cgroup '%s'",
			       parent);
	return 0;
}

/* All sandboxes together leave the host its share. */
static int reserve_memory(const struct cgroup_host *host, struct err *err)
{
	uint64_t total = (uint64_t)sysconf(_SC_PHYS_PAGES) *
			 (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t reserve = total / 16;
	int r;

	if (reserve < RESERVE_MIN_BYTES)
		reserve = RESERVE_MIN_BYTES;
	if (total < 2 * reserve)
		return err_set(err, ERR_UNSUPPORTED, 0,
			       "this host has too little memory: 1 GiB needed");
	r = host->unified ? file_write_u64_at(host->fd[PLAN_V2], "memory.max",
					      total - reserve)
			  : file_write_u64_at(host->fd[PLAN_MEMORY],
					      "memory.limit_in_bytes",
					      total - reserve);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r,
			       "limit the memory of all sandboxes");
	return 0;
}

int cgroup_open(struct cgroup_host *host, const char *parent, struct err *err)
{
	FILE *mountinfo = fopen("/proc/self/mountinfo", "re");
	int r = 0;

	for (unsigned int i = 0; i < PLAN_NUM_HIERARCHIES; i++)
		host->fd[i] = -1;
	if (!mountinfo)
		return err_set(err, ERR_INTERNAL, errno, "read mountinfo");
	/* V2 comes first, and may be all. */
	for (unsigned int i = 0;
	     r == 0 && i < PLAN_NUM_HIERARCHIES && !host->unified; i++)
		r = open_hierarchy(mountinfo, i, parent, host, err);
	(void)fclose(mountinfo); /* only read from */
	return r < 0 ? r : reserve_memory(host, err);
}

/* Removes a tree of empty cgroups, children first. */
static int remove_tree(int parent_fd, const char *name, unsigned int depth)
{
	int fd auto_fd =
		openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned char type;
	const char *child;
	struct dir dir;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	dir_init(&dir, fd);
	while (depth > 0 && (child = dir_next(&dir, &type))) {
		if (type == DT_DIR)
			(void)remove_tree(fd, child, depth - 1);
	}
	if (unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

int cgroup_remove(int parent_fd, const char *name)
{
	/* What nearly always is there: the next exec's, made ahead. */
	static const char *const usual[] = {
		"p/e0", "e0", "p", "i", "r0", "r1"
	};
	char path[32];

	if (parent_fd < 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", name, usual[i]);
		(void)unlinkat(parent_fd, path, AT_REMOVEDIR);
	}
	if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	return remove_tree(parent_fd, name, DEPTH_MAX);
}

/* Return: 0, 1 when it is more, or -errno. */
static int is_more(const struct cgroup_block *cgroup, const char *name,
		   const char *file, uint64_t bytes)
{
	char path[64], text[32];
	int r;

	(void)snprintf(path, sizeof(path), "%s/%s", name, file);
	r = file_read_at(cgroup->fd[PLAN_MEMORY], path, text, sizeof(text));
	return r < 0 ? r : file_number(text) > bytes;
}

/*
 * To remove one makes the kernel walk all file systems of the host while all
 * else about cgroups has to wait. But what it still holds of files that others
 * use, too, would be counted as the next one's; and below what it holds for
 * sockets it can't be limited.
 */
bool cgroup_can_stay(const struct cgroup_block *cgroup, const char *name)
{
	int r;

	if (cgroup->fd[PLAN_MEMORY] < 0 ||
	    is_more(cgroup, name, "memory.usage_in_bytes", LEFTOVER_MAX_BYTES))
		return false;
	r = is_more(cgroup, name, "memory.kmem.tcp.usage_in_bytes", 0);
	return r == 0 || r == -ENOENT; /* this kernel doesn't count them */
}

int cgroup_unlimit(const struct cgroup_block *cgroup, const char *name)
{
	static const char *const files[] = { "memory.memsw.limit_in_bytes",
					     "memory.limit_in_bytes" };
	char path[64];
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(files); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", name, files[i]);
		r = file_write_at(cgroup->fd[PLAN_MEMORY], path, "-1");
		if (r == -ENOENT)
			r = 0; /* this kernel doesn't count swap */
	}
	return r;
}

/* Kill what a crashed broker left in this block; up to a second. */
static void kill_leftovers(int v2_fd)
{
	const struct timespec tick = { .tv_nsec = 5 * 1000 * 1000 };
	char text[256];

	for (unsigned int i = 0; i < 200; i++) {
		(void)file_read_at(v2_fd, "cgroup.events", text, sizeof(text));
		if (file_keyed(text, "populated") == 0)
			return;
		(void)file_write_at(v2_fd, "cgroup.kill", "1");
		(void)nanosleep(&tick, NULL);
	}
}

static int clean_block(const struct cgroup_host *host, const char *name)
{
	int v2_fd auto_fd = openat(host->fd[PLAN_V2], name,
				   O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = 0;

	if (v2_fd >= 0)
		kill_leftovers(v2_fd);
	for (unsigned int i = 0; r == 0 && i < PLAN_NUM_HIERARCHIES; i++) {
		if (host->fd[i] >= 0)
			r = remove_tree(host->fd[i], name, DEPTH_MAX);
	}
	return r;
}

/* A parent that isn't ours, beside it. Return: false when it is no name. */
static bool block_path(const char *parent, uint32_t block, char *buf,
		       size_t size)
{
	(void)snprintf(buf, size, "../%s/b%u", parent, block);
	return parent[0] && parent[0] != '.' && !strchr(parent, '/');
}

bool cgroup_block_populated(const struct cgroup_host *host, const char *parent,
			    uint32_t block)
{
	char path[128], text[256];
	int fd auto_fd = -1;

	if (!block_path(parent, block, path, sizeof(path)))
		return false;
	fd = openat(host->fd[PLAN_V2], path,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 &&
	       file_read_at(fd, "cgroup.events", text, sizeof(text)) == 0 &&
	       file_keyed(text, "populated") > 0;
}

int cgroup_block_clean(const struct cgroup_host *host, const char *parent,
		       uint32_t block)
{
	struct cgroup_host other = { .unified = host->unified };
	char path[80], name[16];
	int r;

	if (strchr(parent, '/') || parent[0] == '.')
		return 0; /* no name of ours */
	(void)snprintf(path, sizeof(path), "../%s", parent);
	(void)snprintf(name, sizeof(name), "b%u", block);
	for (unsigned int i = 0; i < PLAN_NUM_HIERARCHIES; i++)
		other.fd[i] = openat(host->fd[i], path,
				     O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = clean_block(&other, name);
	for (unsigned int i = 0; i < PLAN_NUM_HIERARCHIES; i++)
		close_fd(&other.fd[i]);
	return r;
}

static int make_launcher(const struct cgroup_block *block,
			 enum plan_hierarchy which, const char *limit)
{
	int fd auto_fd = -1;
	int r = open_dir(block->fd[which], "launcher", &fd);

	return r < 0 || !limit
		       ? r
		       : file_write_u64_at(fd, limit, INITS_MEMORY_BYTES);
}

/* Or open those that are there. */
int cgroup_block_make(const struct cgroup_host *host, uint32_t block_number,
		      uid_t block_base, struct cgroup_block *block)
{
	char name[16];
	int r = 0;

	(void)snprintf(name, sizeof(name), "b%u", block_number);
	for (unsigned int i = 0; r == 0 && i < PLAN_NUM_HIERARCHIES; i++) {
		if (host->fd[i] >= 0)
			r = open_dir(host->fd[i], name, &block->fd[i]);
	}
	if (r < 0)
		return r;
	/*
	 * Cloning from b/launcher into b/<slot> asks for write access here; the
	 * launcher may override modes only where both ids are its own.
	 */
	if (fchownat(block->fd[PLAN_V2], "cgroup.procs", block_base, block_base,
		     0) < 0)
		return -errno;
	r = make_launcher(block, PLAN_V2, NULL);
	return r < 0 || host->unified ? r
				      : make_launcher(block, PLAN_MEMORY,
						      "memory.limit_in_bytes");
}

int cgroup_block_open(const struct cgroup_host *host, uint32_t block,
		      uid_t block_base, struct cgroup_block *ret_block,
		      struct err *err)
{
	char name[16];
	int r;

	(void)snprintf(name, sizeof(name), "b%u", block);
	r = clean_block(host, name);
	if (r == 0)
		r = cgroup_block_make(host, block, block_base, ret_block);
	if (r < 0) {
		cgroup_block_close(host, block, ret_block);
		return err_set(err, ERR_INTERNAL, -r,
			       "prepare the cgroups of id block %u", block);
	}
	return 0;
}

void cgroup_slot_clean(const struct cgroup_block *cgroup, unsigned int slot)
{
	char name[16];
	int fd auto_fd = -1;

	(void)snprintf(name, sizeof(name), "%u", slot);
	fd = openat(cgroup->fd[PLAN_V2], name,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		kill_leftovers(fd);
	for (unsigned int i = 0; i < PLAN_NUM_HIERARCHIES; i++)
		(void)cgroup_remove(cgroup->fd[i], name);
}

int cgroup_block_enter(const struct cgroup_block *cgroup, pid_t pid)
{
	int r = 0;

	for (unsigned int i = 0; r == 0 && i < PLAN_NUM_HIERARCHIES; i++) {
		if (cgroup->fd[i] >= 0)
			r = file_write_u64_at(cgroup->fd[i], "cgroup.procs",
					      (uint64_t)pid);
	}
	return r;
}

/* Its share of processors isn't one of its sandboxes'. */
static int settle_hybrid(const struct cgroup_host *host,
			 const struct cgroup_block *cgroup, pid_t pid)
{
	int r;

	r = file_write_u64_at(cgroup->fd[PLAN_MEMORY], "launcher/cgroup.procs",
			      (uint64_t)pid);
	return r < 0 ? r
		     : file_write_u64_at(host->fd[PLAN_CPU], "cgroup.procs",
					 (uint64_t)pid);
}

int cgroup_block_settle(const struct cgroup_host *host,
			const struct cgroup_block *cgroup, pid_t pid)
{
	int r;

	r = file_write_u64_at(cgroup->fd[PLAN_V2], "launcher/cgroup.procs",
			      (uint64_t)pid);
	if (r < 0)
		return r;
	if (!host->unified)
		return settle_hybrid(host, cgroup, pid);
	return file_write_at(cgroup->fd[PLAN_V2], "cgroup.subtree_control",
			     ALL_CONTROLLERS);
}

void cgroup_block_close(const struct cgroup_host *host, uint32_t block,
			struct cgroup_block *cgroup)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "b%u", block);
	for (unsigned int i = 0; i < PLAN_NUM_HIERARCHIES; i++)
		close_fd(&cgroup->fd[i]);
	(void)clean_block(host, name); /* or the next holder of the lease */
}
