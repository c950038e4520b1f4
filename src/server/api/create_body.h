/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * create_body - the JSON body of POST /sandboxes, to a spec; and of PATCH
 */

#include <jansson.h>
#include <stdbool.h>

struct err;
struct spec;
struct strv;

/**
 * create_body_profile() - the name of the profile that it asks for
 *
 * To be read, and used, first: all else comes on top of it.
 * Return: 0, or -errno with @err.
 */
int create_body_profile(const json_t *body, const char **ret_name,
			struct err *err);

/**
 * create_body_read() - fill an initialised spec
 * @ret_bound: the sandbox is to live no longer than the connection
 * @ret_code: with a failure: the API's error code
 *
 * Unknown fields are ignored, as clients may be newer than we are; known
 * fields that we can't do (yet) are refused, for ignoring them would be a
 * wrong promise.
 */
int create_body_read(const json_t *body, struct spec *spec, bool *ret_bound,
		     const char **ret_code, struct err *err);

/**
 * metadata_patch() - what @have becomes by a JSON merge patch (RFC 7396)
 * @have:   key, value, key, value ... as in struct spec
 * @ret_metadata: a new list, to be given up with strv_deinit()
 *
 * A string adds or replaces, null removes; all is checked as for a new
 * sandbox, also the sum.
 * Return: 0, or -errno with @err.
 */
int metadata_patch(const json_t *patch, const struct strv *have,
		   struct strv *ret_metadata, struct err *err);
