/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * follow - a client that reads a command's output as a stream of events
 *
 * From wherever it likes, any number of clients at once, at their own speed:
 * what they haven't taken yet lies in the log, not in our memory.
 */

#include <stddef.h>
#include <stdint.h>

struct command;
struct request;
struct run_result;

#define FOLLOW_TEXT_MAX 256

/**
 * follow_begin() - answer @req with the command's events, to its end
 * @from: bytes of stdout, of stderr that it has already
 */
void follow_begin(struct request *req, struct command *command,
		  const uint64_t from[static 2]);

/**
 * follow_error_text() - how it failed, as its clients know it
 * @ret_value: an exit code in decimal, or "-1"
 * @ret_trace: for people
 *
 * Return: 0, or 1 when it didn't fail.
 */
int follow_error_text(const struct command *command, char ret_value[16],
		      char ret_trace[FOLLOW_TEXT_MAX]);

/** follow_result() - how @command ended, in the words of an exec's end */
void follow_result(const struct command *command, struct run_result *ret);
