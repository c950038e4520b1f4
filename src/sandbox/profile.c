/* SPDX-License-Identifier: Apache-2.0 */

#include "sandbox/profile.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "sandbox/spec.h"

#define DESCRIPTION_MAX 127
#define ENV_PREFIX "env."

/* What nobody has to write down. osbd.conf(5) shows the same. */
static const struct {
	const char *name, *key, *value;
} standard[] = {
	{ "code", "description", "programs that an agent has written" },
	{ "strict", "inherit", "code" },
	{ "strict", "description", "as code, with less that could be misused" },
	{ "strict", "strict", "yes" },
	{ "judge", "inherit", "strict" },
	{ "judge", "description", "one program, measured alike each time" },
	{ "judge", "cpu", "1" },
	{ "judge", "memory", "256Mi" },
	{ "judge", "disk", "64Mi" },
	{ "judge", "pids", "64" },
	{ "judge", "wall", "10s" },
	{ "judge", "cpuTime", "5s" },
	{ "judge", "output", "16Mi" },
	{ "judge", "outputPolicy", "kill" },
	{ "judge", "contest", "yes" },
	{ "judge", "env.LANG", "C.UTF-8" },
	{ "judge", "env.LC_ALL", "C.UTF-8" },
	{ "judge", "env.TZ", "UTC" },
	{ "judge", "env.PYTHONHASHSEED", "0" },
};

static int parse_yes(const char *in_key, const char *in_value, bool *ret_yes,
		     struct err *err)
{
	*ret_yes = strcmp(in_value, "yes") == 0;
	if (!*ret_yes && strcmp(in_value, "no") != 0)
		return err_set(err, ERR_INVALID, 0,
			       "%s '%.40s': must be yes or no", in_key,
			       in_value);
	return 0;
}

static int set_timeout(struct spec *spec, const char *in_value, struct err *err)
{
	uint64_t ms;

	if (units_parse_time(in_value, &ms) < 0)
		return err_set(err, ERR_INVALID, 0,
			       "timeout '%.40s': must be %s", in_value,
			       UNITS_TIME_ALLOWED);
	return spec_set_timeout(spec, (int64_t)(ms / 1000), err);
}

/* The rest are limits, which say themselves which ones there are. */
static int apply_one(struct spec *spec, const char *in_key,
		     const char *in_value, struct err *err)
{
	if (strncmp(in_key, ENV_PREFIX, strlen(ENV_PREFIX)) == 0)
		return spec_add_env(spec, in_key + strlen(ENV_PREFIX), in_value,
				    err);
	if (strcmp(in_key, "timeout") == 0)
		return set_timeout(spec, in_value, err);
	if (strcmp(in_key, "strict") == 0)
		return parse_yes(in_key, in_value, &spec->strict, err);
	if (strcmp(in_key, "contest") == 0)
		return parse_yes(in_key, in_value, &spec->contest, err);
	if (strcmp(in_key, "description") != 0)
		return spec_set_limit(spec, in_key, in_value, err);
	if (strlen(in_value) > DESCRIPTION_MAX)
		return err_set(err, ERR_INVALID, 0,
			       "description: must be at most %d bytes",
			       DESCRIPTION_MAX);
	return 0;
}

static int check_one(const char *in_key, const char *in_value, struct err *err)
{
	struct spec spec auto_clean(spec_deinit);

	spec_init(&spec);
	return apply_one(&spec, in_key, in_value, err);
}

static bool name_ok(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= PROFILE_NAME_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == len;
}

const char *profile_next(const struct profile *profile, const char *entry)
{
	entry = entry ? entry + strlen(entry) + 1 : profile->text;
	return entry < profile->text + profile->len ? entry : NULL;
}

const char *profile_get(const struct profile *profile, const char *key)
{
	size_t len = strlen(key);

	profile_for_each(entry, profile)
	{
		if (strncmp(entry, key, len) == 0 && entry[len] == '=')
			return entry + len + 1;
	}
	return NULL;
}

static void remove_key(struct profile *profile, const char *key)
{
	const char *value = profile_get(profile, key);
	char *from, *rest;

	if (!value)
		return;
	from = profile->text + (value - profile->text) - strlen(key) - 1;
	rest = from + strlen(from) + 1;
	memmove(from, rest, (size_t)(profile->text + profile->len - rest));
	profile->len -= (uint32_t)(rest - from);
}

/* @profile is a copy, which is dropped when this fails. */
static int put(struct profile *profile, const char *key, const char *value,
	       struct err *err)
{
	size_t key_len = strlen(key);
	size_t len = key_len + 1 + strlen(value) + 1;

	remove_key(profile, key);
	if (len > sizeof(profile->text) - profile->len)
		return err_set(err, ERR_INVALID, 0,
			       "profile '%s': more than %d bytes",
			       profile->name, PROFILE_TEXT_MAX);
	memcpy(profile->text + profile->len, key, key_len);
	profile->text[profile->len + key_len] = '=';
	memcpy(profile->text + profile->len + key_len + 1, value,
	       len - key_len - 1);
	profile->len += (uint32_t)len;
	return 0;
}

static int inherit(const struct profiles *profiles, struct profile *profile,
		   const char *in_parent, struct err *err)
{
	const struct profile *parent = profiles_find(profiles, in_parent);

	if (profile->len)
		return err_set(err, ERR_INVALID, 0,
			       "inherit: must be the first key of a profile");
	if (!parent)
		return err_set(err, ERR_INVALID, 0,
			       "inherit '%.40s': must be a profile that is "
			       "further up, or always there",
			       in_parent);
	memcpy(profile->text, parent->text, parent->len);
	profile->len = parent->len;
	return 0;
}

const struct profile *profiles_find(const struct profiles *profiles,
				    const char *in_name)
{
	for (uint32_t i = 0; i < profiles->num; i++) {
		if (strcmp(profiles->profile[i].name, in_name) == 0)
			return &profiles->profile[i];
	}
	return NULL;
}

int profiles_set(struct profiles *profiles, const char *in_name,
		 const char *in_key, const char *in_value, struct err *err)
{
	const struct profile *old = profiles_find(profiles, in_name);
	struct profile profile = { .len = 0 };
	int r;

	if (old)
		profile = *old;
	else if (!name_ok(in_name))
		return err_set(err, ERR_INVALID, 0,
			       "profile '%.40s': must be up to %d of "
			       "[a-z0-9_-]",
			       in_name, PROFILE_NAME_MAX);
	else if (profiles->num == PROFILES_MAX)
		return err_set(err, ERR_INVALID, 0,
			       "profiles: must be at most %d", PROFILES_MAX);
	else
		memcpy(profile.name, in_name, strlen(in_name));
	if (strcmp(in_key, "inherit") == 0) {
		r = inherit(profiles, &profile, in_value, err);
	} else {
		r = check_one(in_key, in_value, err);
		if (r == 0)
			r = put(&profile, in_key, in_value, err);
	}
	if (r < 0)
		return r;
	profiles->profile[old ? (size_t)(old - profiles->profile)
			      : profiles->num++] = profile;
	return 0;
}

void profiles_init(struct profiles *profiles)
{
	struct err err = ERR_NULL;

	profiles->num = 0;
	for (size_t i = 0; i < ARRAY_SIZE(standard); i++)
		/* Can't fail but for memory; a test has seen to that. */
		(void)profiles_set(profiles, standard[i].name, standard[i].key,
				   standard[i].value, &err);
}

int profile_apply(const struct profile *profile, struct spec *spec,
		  struct err *err)
{
	char key[PROFILE_TEXT_MAX];

	profile_for_each(entry, profile)
	{
		size_t len = strcspn(entry, "=");
		int r;

		memcpy(key, entry, len);
		key[len] = '\0';
		r = apply_one(spec, key, entry + len + 1, err);
		if (r < 0)
			return r;
	}
	/* What it says is a default: cut to the memory that a client names. */
	spec->has_disk = spec->has_shm = spec->has_guarantee = false;
	memcpy(spec->profile, profile->name, sizeof(spec->profile));
	return 0;
}
