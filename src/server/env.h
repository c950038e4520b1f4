/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * env - what a program in a sandbox is given beside its arguments
 */

#include <stddef.h>
#include <stdint.h>

struct err;
struct spec;
struct strv;

#define ENV_NUM_MAX 2048
#define ENV_BYTES_MAX (128u * 1024)
#define ENV_WORKDIR "/workspace"
#define ENV_SANDBOX_UID 1000u

/**
 * env_init() - the environment every program starts with
 *
 * PATH, HOME, USER, LANG, then the sandbox's own. @ret_env is initialised in
 * any case and must be given up with strv_deinit().
 */
int env_init(struct strv *ret_env, const struct spec *spec, uint32_t uid,
	     struct err *err);

/**
 * env_user() - "sandbox", "root", "UID" or "UID:GID"
 *
 * Without a group it is the user's own, which has the same number.
 */
int env_user(const char *in_user, uint32_t *ret_uid, uint32_t *ret_gid,
	     struct err *err);

/** env_default_uid() - whom programs run as; its group has the same number */
uint32_t env_default_uid(const struct spec *spec);

/**
 * env_check_user() - may a program run as that user and group?
 *
 * Return: 0, or -EINVAL with @err: not as root where the sandbox is strict.
 */
int env_check_user(const struct spec *spec, uint32_t uid, uint32_t gid,
		   struct err *err);

/**
 * env_path() - expand a leading "~" and $NAME or ${NAME}; make it absolute
 * @ret_path: @size bytes
 *
 * Relative paths are below ENV_WORKDIR. A name that isn't set is an error.
 */
int env_path(const struct strv *env, const char *in_path, char *ret_path,
	     size_t size, struct err *err);
