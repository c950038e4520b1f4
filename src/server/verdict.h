/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * verdict - how a program ended, for people and for programs
 */

#include <stddef.h>

struct buf;
struct run_result;

#define VERDICT_TEXT_MAX 256

/**
 * verdict_put() - the verdict object
 * @program, @cwd: as asked for, for the message
 */
void verdict_put(struct buf *out, const struct run_result *result,
		 const char *program, const char *cwd);

/** verdict_text() - one line for people */
void verdict_text(const struct run_result *result, const char *program,
		  const char *cwd, char ret_text[VERDICT_TEXT_MAX]);

/** verdict_signal_number() - of "SIGTERM" or "TERM"; 0: unknown */
int verdict_signal_number(const char *in_name);
