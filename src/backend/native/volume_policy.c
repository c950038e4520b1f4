/* SPDX-License-Identifier: Apache-2.0 */

/*
 * volume_policy - which host paths may be shown inside
 *
 * A service shows only what lies below the roots of its configuration. A
 * private broker shows what its user may open, but for the places where
 * hosts keep secrets. Judged is the name that the kernel gives of what was
 * opened, never the one that was asked for.
 */

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "backend/native/native.h"
#include "base/cleanup.h"

/* Neither below these, nor a directory that holds one of them. */
static const char *const denied_trees[] = {
	"/boot", "/dev", "/etc",     "/home",    "/proc",
	"/run",  "/sys", "/var/lib", "/var/run",
};

/* Not to be written to: what the host itself runs, or keeps its jobs in. */
static const char *const system_trees[] = {
	"/bin", "/lib",  "/lib32", "/lib64", "/libx32",
	"/opt", "/sbin", "/usr",   "/var",
};
#define SCRATCH_TREE "/var/tmp"

/* Anywhere in a path, or right below it. */
static const char *const denied_names[] = {
	".ssh", ".gnupg", ".aws", ".kube", ".docker", ".azure", ".config",
};

/* Is @path the tree @root or below it? */
static bool is_below(const char *path, const char *root)
{
	size_t len = strlen(root);

	while (len > 0 && root[len - 1] == '/')
		len--;
	return strncmp(path, root, len) == 0 &&
	       (path[len] == '/' || path[len] == '\0');
}

static bool has_denied_name(const char *path)
{
	for (const char *p = path; p; p = strchr(p + 1, '/')) {
		size_t len = strcspn(p + 1, "/");

		for (size_t i = 0; i < ARRAY_SIZE(denied_names); i++) {
			if (strlen(denied_names[i]) == len &&
			    strncmp(p + 1, denied_names[i], len) == 0)
				return true;
		}
	}
	return false;
}

static bool holds_denied_name(int dir_fd)
{
	for (size_t i = 0; i < ARRAY_SIZE(denied_names); i++) {
		if (faccessat(dir_fd, denied_names[i], F_OK,
			      AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	}
	return false;
}

static bool overlaps(const char *path, const char *tree)
{
	return is_below(path, tree) || is_below(tree, path);
}

static bool overlaps_any(const char *path, const char *const *trees,
			 size_t num_trees)
{
	for (size_t i = 0; i < num_trees; i++) {
		if (overlaps(path, trees[i]))
			return true;
	}
	return false;
}

bool volume_policy_check(const struct native_config *config, int fd,
			 const char *path, bool read_only)
{
	for (unsigned int i = 0; i < config->num_roots; i++) {
		if (is_below(path, config->roots[i]))
			return true;
	}
	if (!config->private || overlaps(path, config->run_dir) ||
	    has_denied_name(path) || holds_denied_name(fd) ||
	    overlaps_any(path, denied_trees, ARRAY_SIZE(denied_trees)))
		return false;
	return read_only || is_below(path, SCRATCH_TREE) ||
	       !overlaps_any(path, system_trees, ARRAY_SIZE(system_trees));
}
