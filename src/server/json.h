/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * json - write JSON into a buffer; read what clients send
 *
 * Strings are written with the rules that the protocol's clients rely on:
 * bytes that aren't UTF-8 become U+FFFD one by one, and everything that some
 * line splitter takes for a line end is escaped. Nesting is the caller's;
 * commas are ours.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct buf;
struct err;

/* jansson brings json_decrefp() itself. */
#define auto_json auto_clean(json_decrefp)

struct json_out {
	struct buf *buf;
	bool comma; /* a value was written before at this level */
};

/* @key is NULL in arrays and at the top. Keys of ours need no escaping. */
void json_open(struct json_out *out, const char *key, char bracket);
void json_close(struct json_out *out, char bracket);
void json_put_text(struct json_out *out, const char *key, const char *text);
void json_put_bytes(struct json_out *out, const char *key, const void *data,
		    size_t len);
void json_put_int(struct json_out *out, const char *key, int64_t value);
void json_put_bool(struct json_out *out, const char *key, bool value);
void json_put_null(struct json_out *out, const char *key);

/** json_put_time() - microseconds since 1970 as "2026-01-31T12:00:00.123456Z" */
void json_put_time(struct json_out *out, const char *key, int64_t us);

/**
 * json_read() - one JSON object from a client's bytes
 *
 * Return: the object, to be given up with json_decref(); NULL with @err.
 */
json_t *json_read(const void *data, size_t len, struct err *err);

/**
 * json_get_text() - a string member
 *
 * Return: 0; 1 when absent or null (@ret_text untouched); -errno with @err
 * when it is something else.
 */
int json_get_text(const json_t *object, const char *key, const char **ret_text,
		  struct err *err);

/** json_get_int() - the same for an integer from @min to @max */
int json_get_int(const json_t *object, const char *key, int64_t min,
		 int64_t max, int64_t *ret_value, struct err *err);

/** json_get_bool() - the same for true or false */
int json_get_bool(const json_t *object, const char *key, bool *ret_value,
		  struct err *err);

/** json_get_object() - the same for an object, borrowed */
int json_get_object(const json_t *object, const char *key,
		    const json_t **ret_object, struct err *err);

/** json_get_array() - the same for an array, borrowed */
int json_get_array(const json_t *object, const char *key,
		   const json_t **ret_array, struct err *err);
