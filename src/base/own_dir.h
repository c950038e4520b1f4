/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * own_dir - a directory that one daemon has for itself while it runs
 */

#include <limits.h>

struct err;

/**
 * own_dir_open() - make it if need be, check and lock it
 * @path: afterwards without links, as the kernel names it
 *
 * It must be root's, and nobody else may write to it. One whose holder is just
 * leaving is waited for. The lock ends with the descriptor.
 */
int own_dir_open(char path[PATH_MAX], int *ret_fd, struct err *err);
