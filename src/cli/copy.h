/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * copy - put files and trees of the caller into a sandbox
 */

struct osb_client;
struct run_options;

/* How a message names what was asked for. */
enum copy_as {
	COPY_AS_OPTION,  /* --copy 'SRC:DST' */
	COPY_AS_COMMAND, /* cp 'SRC' */
};

/**
 * copy_check() - can every source be read, before anything is started?
 *
 * Return: 0, or -errno (said on stderr).
 */
int copy_check(const struct run_options *options, enum copy_as as);

/**
 * copy_all() - upload every --copy, owned by the user who will run
 *
 * Return: 0, or -errno (said on stderr).
 */
int copy_all(struct osb_client *client, const char *id,
	     const struct run_options *options, enum copy_as as);
