/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * file_spec - where an uploaded file goes and whose it is
 */

#include <stddef.h>

#define FILE_PATH_MAX 4096

struct err;
struct spec;

/* In the words of osb-files; "-" for what isn't said. */
struct file_spec {
	char path[FILE_PATH_MAX]; /* absolute */
	char mode[8];             /* octal */
	char uid[16];
	char gid[16];
};

/**
 * file_spec_read() - from an upload's metadata part
 * @sandbox: whose environment the path may name
 *
 * Return: 0, or -errno with @err.
 */
int file_spec_read(const void *data, size_t len, const struct spec *sandbox,
		   struct file_spec *ret_spec, struct err *err);

/**
 * file_spec_path() - a path as it is, which must be absolute
 * @ret_path: @size bytes
 *
 * Return: 0, or -errno with @err.
 */
int file_spec_path(const char *path, char *ret_path, size_t size,
		   struct err *err);
