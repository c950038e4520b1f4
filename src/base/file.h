/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * file - the small files of /proc, /sys and cgroups, whole and in one call
 */

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

/** file_number() - the decimal digits that @text starts with; 0 for none */
uint64_t file_number(const char *text);

/** file_keyed() - the number after "KEY " at the start of a line, else 0 */
uint64_t file_keyed(const char *text, const char *key);
