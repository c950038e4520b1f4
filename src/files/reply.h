/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * reply - the one struct files_reply that every run writes to stdout
 */

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/** files_err_kind() - what a failed file system call means to the caller */
enum err_kind files_err_kind(int sys);

/**
 * files_fail() - record that @verb failed with errno @sys on @path
 *
 * Return: -@sys.
 */
int files_fail(struct err *err, const char *verb, const char *path, int sys);

/**
 * files_reply() - write the reply
 * @r:      0, or the negative result that @err explains
 * @mode:   of the file; @size: whole; @length: what follows
 *
 * Return: 0, or -errno when stdout is gone.
 */
int files_reply(int r, const struct err *err, mode_t mode, uint64_t size,
		uint64_t length);
