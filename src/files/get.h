/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * get - a regular file, or a part of it, to stdout
 */

#include <stdint.h>

struct err;

/**
 * files_get() - write the reply, then the content
 * @offset: first byte; behind the end yields no bytes
 * @length: at most that many; UINT64_MAX for all
 *
 * Return: 0; -errno with @err when nothing was written yet, so that the
 * caller can reply; 1 when the content broke off after the reply.
 */
int files_get(const char *path, uint64_t offset, uint64_t length,
	      struct err *err);
