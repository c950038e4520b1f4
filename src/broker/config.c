/* SPDX-License-Identifier: Apache-2.0 */

/*
 * config - /etc/opensandbox/broker.conf: root's settings, which osbd can't
 * write. INI; a key may stand several times where it makes a list.
 */

#include <errno.h>
#include <ini.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "broker/broker.h"

/*
 * Host ids that no distribution hands out: above systemd's container range,
 * below 2^31, outside /etc/subuid's usual block. 16 blocks fill it.
 */
#define DEFAULT_ID_BASE 1879048192u
#define DEFAULT_ID_BLOCKS 16u

/* For osbd where there is no such user: unassigned by any convention. */
#define DEFAULT_OSBD_UID 65520u
#define OSBD_USER "opensandbox"

struct loading {
	struct native_config *config;
	struct err *err;
	const char *path;
};

static int set_u32(const char *value, uint32_t max, uint32_t *ret)
{
	uint64_t number;

	if (units_parse_count(value, max, &number) < 0)
		return -EINVAL;
	*ret = (uint32_t)number;
	return 0;
}

static int set_id_base(struct native_config *config, const char *value)
{
	uint32_t base;

	/* Blocks must not overlap those of another broker. */
	if (set_u32(value, INT32_MAX, &base) < 0 || base % DOMAIN_IDS != 0)
		return -EINVAL;
	config->id_base = base;
	return 0;
}

static int set_id_blocks(struct native_config *config, const char *value)
{
	return set_u32(value, NATIVE_BLOCKS_MAX, &config->num_blocks);
}

static int set_osbd_uid(struct native_config *config, const char *value)
{
	uint32_t uid;

	if (set_u32(value, INT32_MAX, &uid) < 0)
		return -EINVAL;
	config->osbd_uid = uid;
	config->osbd_gid = uid;
	return 0;
}

static int set_cgroup_parent(struct native_config *config, const char *value)
{
	if (!*value || strchr(value, '/') || value[0] == '.' ||
	    strlen(value) >= sizeof(config->cgroup_parent))
		return -EINVAL;
	(void)snprintf(config->cgroup_parent, sizeof(config->cgroup_parent),
		       "%s", value);
	return 0;
}

static int add_path(char (*list)[PATH_MAX], unsigned int max, unsigned int *num,
		    const char *value)
{
	if (value[0] != '/' || strlen(value) >= PATH_MAX || *num == max)
		return -EINVAL;
	(void)snprintf(list[*num], PATH_MAX, "%s", value);
	(*num)++;
	return 0;
}

static int set_layer_dir(struct native_config *config, const char *value)
{
	unsigned int num = 0;

	return add_path(&config->layer_dir, 1, &num, value);
}

static int add_runtime(struct native_config *config, const char *value)
{
	return add_path(config->runtimes, NATIVE_RUNTIMES_MAX,
			&config->num_runtimes, value);
}

static int add_volume_root(struct native_config *config, const char *value)
{
	return add_path(config->roots, NATIVE_ROOTS_MAX, &config->num_roots,
			value);
}

static const struct {
	const char *name;
	int (*set)(struct native_config *config, const char *value);
	const char *allowed;
} keys[] = {
	{ "id_base", set_id_base, "a multiple of 16777216 below 2^31" },
	{ "id_blocks", set_id_blocks, "1 to 64" },
	{ "osbd_uid", set_osbd_uid, "a user id that nothing else uses" },
	{ "cgroup_parent", set_cgroup_parent, "a name without a slash" },
	{ "layer_dir", set_layer_dir, "an absolute path" },
	{ "runtime", add_runtime, "up to 8 absolute paths" },
	{ "volume_root", add_volume_root, "up to 16 absolute paths" },
};

/* inih's callback: 1 goes on, 0 is an error. */
static int on_key(void *user, const char *section, const char *name,
		  const char *value)
{
	struct loading *loading = user;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strcmp(section, "broker") != 0 ||
		    strcmp(name, keys[i].name) != 0)
			continue;
		if (keys[i].set(loading->config, value) == 0)
			return 1;
		(void)err_set(loading->err, ERR_INVALID, 0,
			      "%s: %s = %s: expected %s", loading->path, name,
			      value, keys[i].allowed);
		return 0;
	}
	(void)err_set(loading->err, ERR_INVALID, 0,
		      "%s: unknown key '%s' in section [%s]", loading->path,
		      name, section);
	return 0;
}

void config_defaults(struct native_config *config)
{
	const struct passwd *user = getpwnam(OSBD_USER);

	memset(config, 0, sizeof(*config));
	config->id_base = DEFAULT_ID_BASE;
	config->num_blocks = DEFAULT_ID_BLOCKS;
	config->osbd_uid = user ? user->pw_uid : DEFAULT_OSBD_UID;
	config->osbd_gid = user ? user->pw_gid : DEFAULT_OSBD_UID;
	(void)snprintf(config->cgroup_parent, sizeof(config->cgroup_parent),
		       "opensandbox");
	(void)snprintf(config->layer_dir, sizeof(config->layer_dir),
		       LAYER_DIR_DEFAULT);
}

int config_load(struct native_config *config, const char *path, bool optional,
		struct err *err)
{
	struct loading loading = { config, err, path };
	uint64_t end;
	int line;

	line = ini_parse(path, on_key, &loading);
	if (line == -1 && optional && errno == ENOENT)
		return 0;
	if (line == -1)
		return err_set(err, ERR_INVALID, errno, "read '%s'", path);
	if (line != 0)
		return err && err->kind
			       ? -EINVAL
			       : err_set(err, ERR_INVALID, 0,
					 "%s: line %d: expected KEY = VALUE",
					 path, line);
	end = config->id_base + (uint64_t)config->num_blocks * DOMAIN_IDS;
	if (end > 1ull << 31)
		return err_set(err, ERR_INVALID, 0,
			       "%s: id_base and id_blocks reach beyond 2^31",
			       path);
	return 0;
}
