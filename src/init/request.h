/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * request - one INIT_EXEC of osbd, taken apart in place
 *
 * Init trusts osbd no more than the programs it runs: what passes here can't
 * make a program anything but a confined user of this sandbox.
 */

#include <stddef.h>
#include <stdint.h>

#include "wire/init_msg.h"

/* All of it points into the message. */
struct request {
	const struct init_exec *head;
	const char *cwd;
	char *argv[INIT_ARGS_MAX + 1];
	char *envp[INIT_ARGS_MAX + 1];
};

/**
 * request_parse() - check a message and find its strings
 * @in_msg: @len bytes, aligned as a struct init_exec
 *
 * Return: 0; -EPROTO: malformed; -EINVAL: an id or time out of its range.
 */
int request_parse(void *in_msg, size_t len, struct request *ret_request);

/**
 * request_streams() - which descriptor is which: stdin, stdout, stderr, the
 * log, its index
 * @ret_fds: -1 where there is none
 *
 * Return: 0, or -EPROTO when there are more or fewer than the flags say.
 */
int request_streams(const struct init_exec *head, const int *fds,
		    unsigned int num_fds, int ret_fds[static INIT_EXEC_FDS]);
