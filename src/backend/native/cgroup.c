/* SPDX-License-Identifier: Apache-2.0 */

/*
 * cgroup - control groups of a hybrid host
 *
 * v1 hierarchies hold the limits (memory, pids, cpu); the empty v2 one holds
 * each exec's processes together, for kill and accounting:
 *
 *   memory: <parent>/b<block>/<id>/p
 *   pids:   <parent>/b<block>/<id>/e<exec>
 *   cpu:    <parent>/b<block>/<id>
 *   v2:     <parent>/b<block>/<id>/e<exec>, and b<block>/launcher
 *
 * A block's directories belong to whoever holds its lease: leftovers of a
 * crashed broker are killed and removed before use. See cgroups(7).
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

#define DEPTH_MAX 4

/* What the host keeps for itself: a sixteenth, at least this. */
#define RESERVE_MIN_BYTES (512ull << 20)

static const char *const controllers[] = {
	[PLAN_MEMORY] = "memory",
	[PLAN_PIDS] = "pids",
	[PLAN_CPU] = "cpu",
};
_Static_assert(ARRAY_SIZE(controllers) == PLAN_NUM_CONTROLLERS,
	       "a hierarchy per controller");

/* Is @word one of the comma-separated @list? */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (strncmp(list, word, len) == 0 &&
		    (list[len] == ',' || list[len] == '\0' ||
		     list[len] == '\n'))
			return true;
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
	    !has_word(options + 1, controller))
		return NULL;
	return fields[4];
}

static int find_mount(const char *controller, char *buf, size_t size)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[PATH_MAX + 1024];
	const char *at = NULL;

	if (!file)
		return -errno;
	while (!at && fgets(line, sizeof(line), file))
		at = match_mount(line, controller);
	if (at)
		(void)snprintf(buf, size, "%s", at);
	(void)fclose(file); /* only read from */
	return at ? 0 : -ENOENT;
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

static int open_hierarchy(const char *controller, const char *parent,
			  int *ret_fd, struct err *err)
{
	const char *what = controller ? controller : "v2";
	char path[PATH_MAX];
	int root_fd auto_fd = -1;
	int r;

	r = find_mount(controller, path, sizeof(path));
	if (r < 0)
		return err_set(err, ERR_UNSUPPORTED, 0,
			       "this host mounts no cgroup %s hierarchy; needed"
			       " are v1 memory, pids and cpu beside a v2 one",
			       what);
	root_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return err_set(err, ERR_INTERNAL, errno, "open '%s'", path);
	r = open_dir(root_fd, parent, ret_fd);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r,
			       "make cgroup '%s' in '%s'", parent, path);
	return 0;
}

/* All sandboxes together leave the host its share. */
static int reserve_memory(int parent_fd, struct err *err)
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
	r = file_write_u64_at(parent_fd, "memory.limit_in_bytes",
			      total - reserve);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r,
			       "limit the memory of all sandboxes");
	return 0;
}

int cgroup_open(struct cgroup_host *host, const char *parent, struct err *err)
{
	int r;

	r = open_hierarchy(NULL, parent, &host->v2_fd, err);
	for (unsigned int i = 0; r == 0 && i < PLAN_NUM_CONTROLLERS; i++)
		r = open_hierarchy(controllers[i], parent, &host->fd[i], err);
	if (r == 0)
		r = reserve_memory(host->fd[PLAN_MEMORY], err);
	return r;
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
	static const char *const usual[] = { "e0", "p" };
	char path[SANDBOX_ID_LEN + 8];

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", name, usual[i]);
		(void)unlinkat(parent_fd, path, AT_REMOVEDIR);
	}
	if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	return remove_tree(parent_fd, name, DEPTH_MAX);
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
	int v2_fd auto_fd =
		openat(host->v2_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (v2_fd >= 0)
		kill_leftovers(v2_fd);
	r = remove_tree(host->v2_fd, name, DEPTH_MAX);
	for (unsigned int i = 0; r == 0 && i < PLAN_NUM_CONTROLLERS; i++)
		r = remove_tree(host->fd[i], name, DEPTH_MAX);
	return r;
}

static int make_block(const struct cgroup_host *host, const char *name,
		      uid_t block_base, struct cgroup_block *block)
{
	int launcher_fd auto_fd = -1;
	int r;

	r = open_dir(host->v2_fd, name, &block->v2_fd);
	for (unsigned int i = 0; r == 0 && i < PLAN_NUM_CONTROLLERS; i++)
		r = open_dir(host->fd[i], name, &block->fd[i]);
	if (r < 0)
		return r;
	/*
	 * Cloning from b/launcher into b/<id> asks for write access here; the
	 * launcher may override modes only where both ids are its own.
	 */
	if (fchownat(block->v2_fd, "cgroup.procs", block_base, block_base, 0) <
	    0)
		return -errno;
	return open_dir(block->v2_fd, "launcher", &launcher_fd);
}

int cgroup_block_open(const struct cgroup_host *host, uint32_t block,
		      uid_t block_base, struct cgroup_block *ret_block,
		      struct err *err)
{
	struct cgroup_block made = { .v2_fd = -1, .fd = { -1, -1, -1 } };
	char name[16];
	int r;

	(void)snprintf(name, sizeof(name), "b%u", block);
	r = clean_block(host, name);
	if (r == 0)
		r = make_block(host, name, block_base, &made);
	if (r < 0) {
		cgroup_block_close(host, block, &made);
		return err_set(err, ERR_INTERNAL, -r,
			       "prepare the cgroups of id block %u", block);
	}
	*ret_block = made;
	return 0;
}

void cgroup_block_close(const struct cgroup_host *host, uint32_t block,
			struct cgroup_block *cgroup)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "b%u", block);
	close_fd(&cgroup->v2_fd);
	for (unsigned int i = 0; i < PLAN_NUM_CONTROLLERS; i++)
		close_fd(&cgroup->fd[i]);
	(void)clean_block(host, name); /* or the next holder of the lease */
}
