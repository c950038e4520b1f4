/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * program - run one in a sandbox, and turn how it ended into our exit status
 */

#include <stdbool.h>

struct osb_client;
struct osb_verdict;
struct run_options;

struct program_how {
	bool has_stdin; /* ours; else it reads /dev/null */
	bool bind;      /* the sandbox ends with it */
};

/**
 * program_run() - options->program, to its end, with streams and signals
 *
 * The client's connection is used up.
 * Return: the exit status; what a person should know was said on stderr.
 */
int program_run(struct osb_client *client, const char *id,
		const struct run_options *options,
		const struct program_how *how);

/**
 * program_status() - the exit status of an ended program
 *
 * Says on stderr what can't be seen from it.
 */
int program_status(const struct osb_verdict *verdict);
