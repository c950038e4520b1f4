/* SPDX-License-Identifier: Apache-2.0 */

/*
 * lease - which broker an id block belongs to
 *
 * A block is leased host-wide by a lock on LEASE_DIR/<first id>, which the
 * kernel drops when its holder dies. The file says who that is: its cgroup
 * parent and its run directory, a line each.
 *
 * Sandboxes may outlive their broker. So a block without a holder is left
 * alone while something runs in it and its run directory is there: the next
 * broker of that directory adopts them (adopt.c). Else whoever takes the lease
 * first kills and removes what is left.
 *
 * #syscalls  openat mkdir flock pread64 pwrite64 ftruncate access
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backend/native/native.h"
#include "base/cleanup.h"

/* For whom is a block kept? Time for the answer to change. */
#define KEPT_WAIT_MS 500

/* Whoever asks so has it locked for a moment. */
#define LOCK_WAIT_MS 200

struct holder {
	char parent[sizeof(((struct native_config *)0)->cgroup_parent)];
	char run_dir[PATH_MAX];
};

static int open_lease(uint32_t base)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), LEASE_DIR "/%u", base);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : fd;
}

static int try_lock(uint32_t base, int *ret_fd)
{
	int fd auto_fd = open_lease(base);

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Who held it last; empty strings for nobody. */
static void read_holder(int fd, struct holder *ret_holder)
{
	char text[sizeof(*ret_holder)];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	char *rest = text;

	text[n > 0 ? n : 0] = '\0';
	(void)snprintf(ret_holder->parent, sizeof(ret_holder->parent), "%s",
		       strsep(&rest, "\n"));
	(void)snprintf(ret_holder->run_dir, sizeof(ret_holder->run_dir), "%s",
		       rest ? rest : "");
}

static bool is_kept(const struct native *native, const struct holder *holder,
		    uint32_t block)
{
	return strcmp(holder->run_dir, native->config.run_dir) != 0 &&
	       holder->run_dir[0] == '/' &&
	       access(holder->run_dir, F_OK) == 0 &&
	       cgroup_block_populated(&native->cgroup, holder->parent, block);
}

/* Return: 0; -EWOULDBLOCK: all have a holder, -EBUSY: or wait for theirs. */
static int try_all(const struct native *native, struct domain *domain)
{
	const struct native_config *config = &native->config;
	int result = -EWOULDBLOCK;
	struct holder holder;

	for (uint32_t i = 0; i < config->num_blocks; i++) {
		uint32_t base = config->id_base + i * DOMAIN_IDS;
		int r = try_lock(base, &domain->lease_fd);

		if (r == -EWOULDBLOCK)
			continue;
		if (r < 0)
			return r;
		read_holder(domain->lease_fd, &holder);
		if (is_kept(native, &holder, base / DOMAIN_IDS)) {
			close_fd(&domain->lease_fd);
			result = -EBUSY;
			continue;
		}
		domain->base = base;
		domain->block = base / DOMAIN_IDS;
		return 0;
	}
	return result;
}

int lease_take(const struct native *native, struct domain *domain,
	       struct err *err)
{
	const struct timespec tick = { .tv_nsec = KEPT_WAIT_MS * 100 * 1000 };
	int r = -EBUSY;

	if ((mkdir("/run/opensandbox", 0755) < 0 && errno != EEXIST) ||
	    (mkdir(LEASE_DIR, 0700) < 0 && errno != EEXIST))
		return err_set(err, ERR_INTERNAL, errno, "make " LEASE_DIR);
	/* What a broker that has just died didn't keep is still dying, too. */
	for (unsigned int i = 0; r == -EBUSY && i < 10; i++) {
		if (i > 0)
			(void)nanosleep(&tick, NULL);
		r = try_all(native, domain);
	}
	if (r == 0)
		return 0;
	if (r != -EBUSY && r != -EWOULDBLOCK)
		return err_set(err, ERR_INTERNAL, -r,
			       "lease an id block in " LEASE_DIR);
	return err_set(err, ERR_QUOTA, 0,
		       "all %u id blocks are in use; raise id_blocks",
		       native->config.num_blocks);
}

int lease_take_back(const struct native *native, struct domain *domain,
		    uint32_t base)
{
	const struct timespec tick = { .tv_nsec = 1000 * 1000 };
	int fd auto_fd = open_lease(base);
	struct holder holder;
	bool locked = false;

	for (unsigned int i = 0; i < LOCK_WAIT_MS; i++) {
		read_holder(fd, &holder);
		if (strcmp(holder.run_dir, native->config.run_dir) != 0 ||
		    strcmp(holder.parent, native->config.cgroup_parent) != 0)
			return -ENOENT;
		if (locked) {
			domain->lease_fd = take_fd(&fd);
			domain->base = base;
			domain->block = base / DOMAIN_IDS;
			return 0;
		}
		locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
		if (!locked)
			(void)nanosleep(&tick, NULL);
	}
	return -EWOULDBLOCK;
}

/*
 * The former holder may have had another cgroup parent than we: what runs
 * there with these ids must end before they are anybody else's.
 */
int lease_take_over(const struct native *native, const struct domain *domain,
		    struct err *err)
{
	const struct native_config *config = &native->config;
	char text[sizeof(struct holder) + 1];
	struct holder former;
	int len, r = 0;

	read_holder(domain->lease_fd, &former);
	if (former.parent[0] &&
	    strcmp(former.parent, config->cgroup_parent) != 0)
		r = cgroup_block_clean(&native->cgroup, former.parent,
				       domain->block);
	len = snprintf(text, sizeof(text), "%s\n%s", config->cgroup_parent,
		       config->run_dir);
	if (r == 0 && (ftruncate(domain->lease_fd, 0) < 0 ||
		       pwrite(domain->lease_fd, text, (size_t)len, 0) < 0))
		r = -errno;
	return r < 0 ? err_set(err, ERR_INTERNAL, -r, "take a lease over") : 0;
}
