/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * verdict - how a program ended, for people and for programs
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/init_msg.h"

struct buf;
struct json_out;
struct run_result;

#define VERDICT_TEXT_MAX 256
#define VERDICT_SIGNAL_MAX 32

/**
 * verdict_put() - the verdict object
 * @program, @cwd: as asked for, for the message
 */
void verdict_put(struct buf *out, const struct run_result *result,
		 const char *program, const char *cwd);

/** verdict_put_members() - its members alone, without a type */
void verdict_put_members(struct json_out *json, const struct run_result *result,
			 const char *program, const char *cwd);

/** verdict_put_usage() - of them what it used, and which limits it met */
void verdict_put_usage(struct json_out *json, const struct init_exited *exited,
		       uint64_t output_bytes);

/** verdict_by_itself() - did it exit, so that its exit code is its own? */
bool verdict_by_itself(uint32_t verdict);

/** verdict_text() - one line for people */
void verdict_text(const struct run_result *result, const char *program,
		  const char *cwd, char ret_text[VERDICT_TEXT_MAX]);

/** verdict_failed_text() - the same for a program that never ran */
void verdict_failed_text(enum init_stage stage, int sys, const char *program,
			 const char *cwd, char ret_text[VERDICT_TEXT_MAX]);

/** verdict_name() - of an enum verdict */
const char *verdict_name(uint32_t verdict);

/** verdict_signal_name() - "SIGTERM"; written into @text, which it returns */
const char *verdict_signal_name(int number,
				char text[static VERDICT_SIGNAL_MAX]);

/** verdict_signal_number() - of "SIGTERM" or "TERM"; 0: unknown */
int verdict_signal_number(const char *in_name);
