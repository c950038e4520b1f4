/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * profile - a name for what a sandbox is to be like
 *
 * A list of KEY=VALUE, each of which says something about a spec that its
 * client may still say otherwise, but for what only makes walls thicker. Who
 * inherits begins with a copy, so nothing is looked up later, and no circle
 * can be made. osbd.conf(5) has the keys and the profiles that are always
 * there.
 */

#include <stddef.h>
#include <stdint.h>

struct err;
struct spec;

#define PROFILE_NAME_MAX 31
#define PROFILE_TEXT_MAX 2048 /* all of its values */
#define PROFILES_MAX 16
#define PROFILE_DEFAULT "code"

struct profile {
	char name[PROFILE_NAME_MAX + 1];
	uint32_t len;
	char text[PROFILE_TEXT_MAX]; /* "KEY=VALUE", each with its NUL */
};

/* Copied, and compared, as a whole: without holes. */
struct profiles {
	uint64_t num;
	struct profile profile[PROFILES_MAX];
};

#define profile_for_each(entry, profile)                             \
	for (const char *entry = profile_next(profile, NULL); entry; \
	     entry = profile_next(profile, entry))

/** profiles_init() - those that are always there */
void profiles_init(struct profiles *profiles);

/**
 * profiles_set() - one line of a profile, which is made by its first
 *
 * Return: 0 or -EINVAL with @err, and then nothing has changed.
 */
int profiles_set(struct profiles *profiles, const char *in_name,
		 const char *in_key, const char *in_value, struct err *err);

/** profiles_find() - or NULL */
const struct profile *profiles_find(const struct profiles *profiles,
				    const char *in_name);

/** profile_next() - the entry behind @entry, the first one behind NULL */
const char *profile_next(const struct profile *profile, const char *entry);

/** profile_get() - the value of @key, or NULL */
const char *profile_get(const struct profile *profile, const char *key);

/**
 * profile_apply() - make a fresh @spec what it says
 *
 * Return: 0 or -ENOMEM with @err; all else was checked before.
 */
int profile_apply(const struct profile *profile, struct spec *spec,
		  struct err *err);
