/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * limits_body - `limits` in the body of what runs a program
 */

#include <jansson.h>

struct err;
struct exec_limits;
struct spec;

/**
 * limits_body_read() - what an exec may use
 * @body: its member `limits` is an object of strings; or there is none
 * @spec: of the sandbox, whose defaults hold for what isn't named
 *
 * An unknown limit is refused: ignored, it would be none.
 * Return: 0, or -errno with @err.
 */
int limits_body_read(const json_t *body, const struct spec *spec,
		     struct exec_limits *ret_limits, struct err *err);
