/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * strv - a bounded list of strings, packed end to end with their NULs
 *
 * That is the form in which they travel to init. Used for arguments,
 * environments ("KEY=VALUE") and metadata (key, value, key, value ...).
 */

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct strv {
	struct buf bytes;
	uint32_t num;
	uint32_t max_num;
};

#define strv_for_each(text, strv)                       \
	for (const char *text = strv_first(strv); text; \
	     text = strv_next(strv, text))

/** strv_init() - an empty list; allocates nothing */
void strv_init(struct strv *strv, uint32_t max_num, size_t max_bytes);

void strv_deinit(struct strv *strv);

/**
 * strv_add() - append a copy of @text
 *
 * Return: 0, -E2BIG when full in number or bytes, -ENOMEM.
 */
int strv_add(struct strv *strv, const char *text);

/** strv_first() - or NULL when empty */
const char *strv_first(const struct strv *strv);

/** strv_next() - the one behind @text, which must be from the list; or NULL */
const char *strv_next(const struct strv *strv, const char *text);

/**
 * strv_set_env() - add "KEY=VALUE", in place of an older one of that key
 *
 * Return: as strv_add(); -EINVAL when @key is empty or holds a '='.
 */
int strv_set_env(struct strv *strv, const char *key, const char *value);

/** strv_set_env_text() - the same from a whole "KEY=VALUE" */
int strv_set_env_text(struct strv *strv, const char *text);

/** strv_get_env() - value of @key (@len bytes of it count), or NULL */
const char *strv_get_env(const struct strv *strv, const char *key, size_t len);
