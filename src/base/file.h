/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * file - the small files of /proc, /sys and cgroups, whole and in one call
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * file_write_at() - write @text with a single write(2)
 *
 * Return: 0 or -errno (-EIO when it was cut short).
 */
int file_write_at(int dir_fd, const char *path, const char *text);

/** file_write_u64_at() - the same for a decimal number */
int file_write_u64_at(int dir_fd, const char *path, uint64_t value);

/**
 * file_read_at() - up to @size - 1 bytes, with a NUL behind them
 *
 * Return: 0, or -errno with @buf empty.
 */
int file_read_at(int dir_fd, const char *path, char *buf, size_t size);

/**
 * file_read_whole() - all of an open file, from its start wherever it stands
 *
 * So that a descriptor that several processes use in turn needs no rewinding.
 * Return: 0, or -errno; -EFBIG when @size bytes don't hold it and a NUL.
 */
int file_read_whole(int fd, char *buf, size_t size, size_t *ret_len);

/** file_number() - the decimal digits that @text starts with; 0 for none */
uint64_t file_number(const char *text);

/** file_keyed() - the number after "KEY " at the start of a line, else 0 */
uint64_t file_keyed(const char *text, const char *key);

/*
 * The decimal numbers of a file of any length: cgroup.procs and the like.
 *
 *	struct numbers pids auto_clean(numbers_close) = NUMBERS_NULL;
 *
 *	numbers_open(&pids, dir_fd, "cgroup.procs");
 *	while (numbers_next(&pids, &pid))
 *		...
 */
struct numbers {
	int fd;
	long len, at;
	char buf[1024];
};

#define NUMBERS_NULL     \
	{                \
		.fd = -1 \
	}

/** numbers_open() - a file that can't be opened has no numbers */
void numbers_open(struct numbers *numbers, int dir_fd, const char *path);

/** numbers_next() - false at the end */
bool numbers_next(struct numbers *numbers, uint64_t *ret_value);

/** numbers_close() - for auto_clean too */
void numbers_close(struct numbers *numbers);
