/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * put - stdin to a file, so that nobody ever sees half of it
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

struct put_spec {
	const char *path; /* absolute; with a slash at its end: a directory */
	bool has_mode;    /* else that of the file replaced, or 0644 */
	mode_t mode;
	uid_t uid; /* (uid_t)-1: of the file replaced, or our own */
	gid_t gid;
};

/**
 * files_put() - make missing parents, write, rename into place
 *
 * Directories that it makes get mode 0755 and the owner asked for, so that
 * who owns an uploaded tree can also work in it.
 * Return: 0, or -errno with @err; nothing is left behind then but parents.
 */
int files_put(const struct put_spec *spec, mode_t *ret_mode, uint64_t *ret_size,
	      struct err *err);
