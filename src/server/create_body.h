/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * create_body - the JSON body of POST /sandboxes, to a spec
 */

#include <jansson.h>
#include <stdbool.h>

struct err;
struct spec;

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
