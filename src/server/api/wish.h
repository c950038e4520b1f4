/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * wish - what the first message of an exec's WebSocket asks for
 */

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/exec_limits.h"
#include "sandbox/strv.h"
#include "server/json.h"

#define WISH_CWD_MAX 4096

struct err;
struct spec;

struct wish {
	struct strv argv;
	struct strv env;
	char cwd[WISH_CWD_MAX]; /* absolute */
	uint32_t uid, gid;
	int64_t timeout_ms; /* 0: none */
	struct exec_limits limits;
	bool has_stdin;
	bool bind;
};

/**
 * wish_read() - take the message apart
 * @spec: of the sandbox, for its environment and its limits
 *
 * @wish must be given up with wish_deinit() whatever this returns; on failure
 * only its bind may be looked at.
 * Return: 0, or -errno with @err.
 */
int wish_read(const json_t *object, const struct spec *spec, struct wish *wish,
	      struct err *err);

void wish_deinit(struct wish *wish);
