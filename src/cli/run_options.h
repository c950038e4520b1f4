/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * run_options - what the command line of `osb run` asks for, and the part of
 * it that others share
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"
#include "osb/osb.h"

struct run_copy {
	char *source;
	char *target; /* absolute, or relative to the work directory */
};

struct run_options {
	size_t max_items; /* room in each of the arrays below */
	struct osb_limits limits;
	struct osb_volume *volumes; /* both strings owned */
	size_t num_volumes;
	struct run_copy *copies; /* both strings owned */
	size_t num_copies;
	char **env; /* "KEY=VALUE" …, NULL; owned */
	size_t num_env;
	const char *image;   /* in argv; NULL: the default */
	const char *profile; /* in argv; NULL: the default */
	const char *workdir; /* in argv; NULL: the image's */
	const char *user;    /* in argv; "sandbox" */
	uint64_t timeout_ms; /* 0: none */
	struct osb_exec_limits exec;
	bool json;
	char **argv;    /* our own: "run", then the options */
	char **program; /* argv of the program, ending with NULL */
};

/* About the program, not its sandbox, for a target that begins with a struct
   run_options: --timeout, --cpu-time, --output-max, --output-policy,
   --env, --workdir, --user, --json. */
extern const struct option run_program_options[];

/** run_options_init() - no option given; @argv stays the caller's */
void run_options_init(struct run_options *options, int argc, char **argv);

/**
 * run_options_parse() - from the arguments behind `osb run`
 *
 * Return: 0, OPTIONS_E_HELP, or -errno (said on stderr). Call deinit always.
 */
int run_options_parse(int argc, char **argv, struct run_options *ret_options);

/** run_options_add_copy() - as --copy SOURCE:TARGET does: 0 or -ENOMEM */
int run_options_add_copy(struct run_options *options, const char *source,
			 const char *target);

void run_options_deinit(struct run_options *options);

/**
 * run_options_value() - what was given to @option ("--memory"), as written
 *
 * Return: the last one, which is the one that counts; NULL: none.
 */
const char *run_options_value(const struct run_options *options,
			      const char *option);

/** run_options_print() - the help text's list of options, to stdout */
void run_options_print(void);
