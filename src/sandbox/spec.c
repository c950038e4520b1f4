/* SPDX-License-Identifier: Apache-2.0 */

#include "sandbox/spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "sandbox/limit.h"
#include "wire/walls.h"

#define LABEL_NAME_MAX 63
#define LABEL_PREFIX_MAX 253

void spec_init(struct spec *spec)
{
	static const struct limits defaults = LIMITS_DEFAULTS;

	memset(spec, 0, sizeof(*spec));
	spec->limits = defaults;
	spec->guarantee_bytes = LIMITS_DEFAULT_GUARANTEE;
	strv_init(&spec->env, SPEC_ENV_MAX, SPEC_STRINGS_BYTES);
	strv_init(&spec->metadata, 2 * SPEC_METADATA_MAX, SPEC_METADATA_BYTES);
	strv_init(&spec->entrypoint, SPEC_ARGS_MAX, SPEC_STRINGS_BYTES);
}

void spec_deinit(struct spec *spec)
{
	strv_deinit(&spec->env);
	strv_deinit(&spec->metadata);
	strv_deinit(&spec->entrypoint);
	free(spec->volumes);
	spec->volumes = NULL;
}

int spec_set_image(struct spec *spec, const char *in_image, struct err *err)
{
	if (strcmp(in_image, "host") != 0)
		return err_set(err, ERR_INVALID, 0,
			       "image '%.100s' isn't here; allowed: host",
			       in_image);
	memcpy(spec->image, "host", sizeof("host"));
	return 0;
}

static const struct limit_rule limit_rules[] = {
	{ "memory", LIMIT_SIZE, LIMITS_MIN_MEMORY, LIMITS_MAX_BYTES,
	  offsetof(struct spec, limits.memory_bytes) },
	{ "disk", LIMIT_SIZE, LIMITS_MIN_DISK, LIMITS_MAX_BYTES,
	  offsetof(struct spec, limits.disk_bytes) },
	{ "shm", LIMIT_SIZE, LIMITS_MIN_SHM, LIMITS_MAX_BYTES,
	  offsetof(struct spec, limits.shm_bytes) },
	{ "guarantee", LIMIT_SIZE, LIMITS_MIN_GUARANTEE, LIMITS_MAX_BYTES,
	  offsetof(struct spec, guarantee_bytes) },
	{ "cpu", LIMIT_CPUS, LIMITS_MIN_CPU_MILLI, LIMITS_MAX_CPU_MILLI,
	  offsetof(struct spec, limits.cpu_milli) },
	{ "pids", LIMIT_COUNT, LIMITS_MIN_PIDS, LIMITS_MAX_PIDS,
	  offsetof(struct spec, limits.pids) },
	{ "inodes", LIMIT_COUNT, LIMITS_MIN_INODES, LIMITS_MAX_INODES,
	  offsetof(struct spec, limits.inodes) },
	{ "nofile", LIMIT_COUNT, LIMITS_MIN_NOFILE, LIMITS_MAX_NOFILE,
	  offsetof(struct spec, limits.nofile) },
};

static int set_limit(struct spec *spec, const struct limit_rule *rule,
		     const char *in_value, struct err *err)
{
	int r = limit_set(rule, spec, in_value, err);

	if (r < 0)
		return r;
	if (strcmp(rule->key, "disk") == 0)
		spec->has_disk = true;
	if (strcmp(rule->key, "shm") == 0)
		spec->has_shm = true;
	if (strcmp(rule->key, "guarantee") == 0)
		spec->has_guarantee = true;
	return 0;
}

int spec_set_limit(struct spec *spec, const char *in_key, const char *in_value,
		   struct err *err)
{
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(limit_rules); i++)
		if (strcmp(limit_rules[i].key, in_key) == 0)
			return set_limit(spec, &limit_rules[i], in_value, err);
	r = exec_limits_set(&spec->exec, in_key, in_value, err);
	if (r <= 0)
		return r;
	/* Ignoring it would be the same as having no such limit. */
	return err_set(err, ERR_INVALID, 0,
		       "limit '%.60s' isn't known; allowed: memory cpu pids "
		       "disk inodes nofile shm guarantee wall cpuTime "
		       "output outputPolicy",
		       in_key);
}

int spec_set_timeout(struct spec *spec, int64_t in_seconds, struct err *err)
{
	const int64_t ten_years = 10ll * 365 * 24 * 3600;

	if (in_seconds < SPEC_TIMEOUT_MIN_S || in_seconds > ten_years)
		return err_set(err, ERR_INVALID, 0,
			       "timeout %lld: must be from %d seconds to ten "
			       "years, or absent for none",
			       (long long)in_seconds, SPEC_TIMEOUT_MIN_S);
	spec->timeout_s = (uint64_t)in_seconds;
	return 0;
}

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* Letters and digits at both ends; @inside allowed between them. */
static bool word_ok(const char *text, size_t len, const char *inside)
{
	if (len == 0 || !is_alnum(text[0]) || !is_alnum(text[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_alnum(text[i]) && !strchr(inside, text[i]))
			return false;
	return true;
}

/* DNS labels joined by dots, lower case. */
static bool prefix_ok(const char *text, size_t len)
{
	size_t start = 0;

	if (len == 0 || len > LABEL_PREFIX_MAX)
		return false;
	for (size_t i = 0; i <= len; i++) {
		if (i < len && text[i] >= 'A' && text[i] <= 'Z')
			return false;
		if (i < len && text[i] != '.')
			continue;
		if (!word_ok(text + start, i - start, "-"))
			return false;
		start = i + 1;
	}
	return true;
}

bool spec_label_ok(const char *key, const char *value)
{
	const char *slash = strchr(key, '/');
	const char *name = slash ? slash + 1 : key;
	size_t value_len = value ? strlen(value) : 0;

	if (slash && !prefix_ok(key, (size_t)(slash - key)))
		return false;
	if (strlen(name) > LABEL_NAME_MAX ||
	    !word_ok(name, strlen(name), "-_."))
		return false;
	return value_len == 0 || (value_len <= LABEL_NAME_MAX &&
				  word_ok(value, value_len, "-_."));
}

bool spec_label_reserved(const char *key)
{
	return strncmp(key, SPEC_RESERVED_PREFIX,
		       strlen(SPEC_RESERVED_PREFIX)) == 0;
}

const char *spec_label_get(const struct strv *metadata, const char *want)
{
	const char *value;

	for (const char *key = strv_first(metadata); key;
	     key = strv_next(metadata, value)) {
		value = strv_next(metadata, key);
		if (strcmp(key, want) == 0)
			return value;
	}
	return NULL;
}

int spec_add_metadata(struct spec *spec, const char *in_key,
		      const char *in_value, struct err *err)
{
	int r;

	if (spec_label_reserved(in_key))
		return err_set(
			err, ERR_INVALID, 0,
			"metadata '%.100s': keys under " SPEC_RESERVED_PREFIX
			" are reserved",
			in_key);
	if (!spec_label_ok(in_key, in_value))
		return err_set(err, ERR_INVALID, 0,
			       "metadata '%.80s': keys and values must be at "
			       "most 63 of [A-Za-z0-9._-], with a letter or "
			       "digit at both ends",
			       in_key);
	r = strv_add(&spec->metadata, in_key);
	if (r == 0)
		r = strv_add(&spec->metadata, in_value);
	if (r < 0)
		return err_set(err, ERR_INVALID, -r,
			       "metadata: more than %d entries",
			       SPEC_METADATA_MAX);
	return 0;
}

int spec_add_env(struct spec *spec, const char *in_key, const char *in_value,
		 struct err *err)
{
	int r = strv_set_env(&spec->env, in_key, in_value);

	if (r == -EINVAL)
		return err_set(err, ERR_INVALID, 0,
			       "env '%.100s': a name is needed, without '='",
			       in_key);
	if (r < 0)
		return err_set(err, ERR_INVALID, -r,
			       "env: at most %d entries and %u bytes",
			       SPEC_ENV_MAX, SPEC_STRINGS_BYTES);
	return 0;
}

int spec_add_entrypoint(struct spec *spec, const char *in_arg, struct err *err)
{
	int r = strv_add(&spec->entrypoint, in_arg);

	if (r < 0)
		return err_set(err, ERR_INVALID, -r,
			       "entrypoint: at most %d arguments and %u bytes",
			       SPEC_ARGS_MAX, SPEC_STRINGS_BYTES);
	return 0;
}

/* Absolute, and without "." or ".." or empty parts that could surprise. */
static bool path_ok(const char *path)
{
	size_t len = strlen(path);
	const char *p = path;

	if (*path != '/' || len > VOLUME_PATH_MAX)
		return false;
	while (*p) {
		size_t part;

		p++;
		part = strcspn(p, "/");
		if (part == 0 && *p)
			return false;
		if ((part == 1 && p[0] == '.') ||
		    (part == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		p += part;
	}
	return true;
}

static int check_target(const char *in_target, struct err *err)
{
	if (!path_ok(in_target) || in_target[1] == '\0')
		return err_set(err, ERR_INVALID, 0,
			       "volume target '%.100s': must be an absolute "
			       "path below / without '.' and '..'",
			       in_target);
	if (walls_hold(in_target))
		return err_set(err, ERR_INVALID, 0,
			       "volume target '%.100s': must be outside the "
			       "image's own directories: " WALLS_TEXT,
			       in_target);
	return 0;
}

/* A checked path, without the slash that may end it. */
static void copy_path(char to[VOLUME_PATH_MAX + 1], const char *path)
{
	size_t len = strlen(path);

	if (len > 1 && path[len - 1] == '/')
		len--;
	memcpy(to, path, len);
}

int spec_add_volume(struct spec *spec, const char *in_source,
		    const char *in_target, bool read_only, struct err *err)
{
	char target[VOLUME_PATH_MAX + 1] = ""; /* nothing behind the NUL */
	struct broker_volume *volume;
	int r;

	if (!path_ok(in_source))
		return err_set(err, ERR_INVALID, 0,
			       "volume source '%.100s': must be an absolute "
			       "path without '.' and '..'",
			       in_source);
	r = check_target(in_target, err);
	if (r < 0)
		return r;
	copy_path(target, in_target);
	for (unsigned int i = 0; i < spec->num_volumes; i++) {
		if (strcmp(spec->volumes[i].target, target) == 0)
			return err_set(err, ERR_INVALID, 0,
				       "volume target '%s': is given twice",
				       in_target);
	}
	if (spec->num_volumes == VOLUMES_MAX)
		return err_set(err, ERR_INVALID, 0,
			       "volumes: must be at most %d", VOLUMES_MAX);
	volume = reallocarray(spec->volumes, spec->num_volumes + 1,
			      sizeof(*volume));
	if (!volume)
		return err_set(err, ERR_INTERNAL, ENOMEM, "add a volume");
	spec->volumes = volume;
	volume += spec->num_volumes++;
	memset(volume, 0, sizeof(*volume));
	copy_path(volume->source, in_source);
	memcpy(volume->target, target, sizeof(target));
	if (read_only)
		volume->flags |= VOLUME_READ_ONLY;
	return 0;
}

/* Beyond the memory: the client's own value is refused, a default is cut. */
static int fit_memory(const struct spec *spec, const char *key, bool is_named,
		      uint64_t *bytes, struct err *err)
{
	char text[UNITS_TEXT_MAX], memory[UNITS_TEXT_MAX];

	if (*bytes <= spec->limits.memory_bytes)
		return 0;
	if (!is_named) {
		*bytes = spec->limits.memory_bytes;
		return 0;
	}
	units_format_size(*bytes, text);
	units_format_size(spec->limits.memory_bytes, memory);
	return err_set(err, ERR_INVALID, 0,
		       "%s '%s': must be at most memory (%s)", key, text,
		       memory);
}

int spec_finish(struct spec *spec, struct err *err)
{
	struct limits *limits = &spec->limits;
	int r;

	if (spec->image[0] == '\0')
		return err_set(err, ERR_INVALID, 0,
			       "image is missing; allowed: host");
	/* A default must never be what makes a small sandbox impossible, and
	   what was asked for must never be less without a word. A layer of up
	   to half of the memory lies in memory, a larger one on disk. */
	if (!spec->has_disk && limits->disk_bytes > limits->memory_bytes / 2)
		limits->disk_bytes = limits->memory_bytes / 2;
	r = fit_memory(spec, "shm", spec->has_shm, &limits->shm_bytes, err);
	if (r < 0)
		return r;
	return fit_memory(spec, "guarantee", spec->has_guarantee,
			  &spec->guarantee_bytes, err);
}

bool spec_entrypoint_idles(const struct spec *spec)
{
	const char *name = strv_first(&spec->entrypoint);
	const char *second, *third, *slash;

	if (!name)
		return true;
	second = strv_next(&spec->entrypoint, name);
	third = second ? strv_next(&spec->entrypoint, second) : NULL;
	slash = strrchr(name, '/');
	if (slash)
		name = slash + 1;
	if (strcmp(name, "sleep") == 0)
		return spec->entrypoint.num == 2;
	return third && spec->entrypoint.num == 3 &&
	       strcmp(name, "tail") == 0 && strcmp(second, "-f") == 0 &&
	       strcmp(third, "/dev/null") == 0;
}
