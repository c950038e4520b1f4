/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * json - small helpers around jansson, for this folder only
 *
 * What comes from the server is hostile: a missing or wrong value reads as
 * "nothing" (NULL, 0, false), never as a crash.
 */

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cleanup.h"

#define auto_json auto_clean(json_decrefp) /* the cleanup is jansson's */

/** client_copy() - a string into a fixed field, cut if need be; NULL is "" */
static inline void client_copy(char *to, size_t size, const char *from)
{
	(void)snprintf(to, size, "%s", from ? from : "");
}

/** client_json_u64() - a non-negative integer member, or 0 */
static inline uint64_t client_json_u64(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 ? (uint64_t)value : 0;
}

/** client_json_str() - a string member, or NULL */
static inline const char *client_json_str(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}
