/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * options - read a command's options by its table
 *
 * "--name VALUE" and "--name=VALUE"; "--" ends them, and so does the first
 * word that doesn't start with '-', so that a program's own options need no
 * quoting. The same table makes the help text.
 */

#include <stddef.h>
#include <stdint.h>

enum option_kind {
	OPTION_FLAG,   /* bool */
	OPTION_SIZE,   /* uint64_t, bytes */
	OPTION_CPUS,   /* uint32_t, thousandths */
	OPTION_TIME,   /* uint64_t, ms */
	OPTION_COUNT,  /* uint64_t */
	OPTION_CUSTOM, /* whatever set() does */
	OPTION_NUM_KINDS
};

struct option {
	const char *name; /* "--memory" */
	enum option_kind kind;
	size_t offset;       /* of its field in the target; not for CUSTOM */
	const char *value;   /* how help names it; NULL for a flag */
	const char *help;    /* one line */
	const char *allowed; /* CUSTOM: what it expects */
	/* CUSTOM: 0, or -errno; -ECANCELED: why was said on stderr already.
	   @value lives as long as argv. */
	int (*set)(void *target, const char *value);
	uint64_t min, max; /* in the field's unit; max 0: all that parse */
};

struct option_table {
	const struct option *options; /* ends with name NULL */
	const struct option *also;    /* the same; NULL: there are no more */
	const char *command;          /* "run" */
};

#define OPTIONS_E_HELP 1

/**
 * options_parse() - fill @target from @argv
 * @ret_next: index of the first argument that isn't an option's
 *
 * Return: 0; OPTIONS_E_HELP when help was asked for; -EINVAL when a value is
 * wrong, which was said on stderr.
 */
int options_parse(const struct option_table *table, int argc, char **argv,
		  void *target, int *ret_next);

/** options_print() - the table as help text, to stdout */
void options_print(const struct option_table *table);
