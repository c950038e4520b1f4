/* SPDX-License-Identifier: Apache-2.0 */

/*
 * #syscalls  openat read write close
 *
 * Without the pread64 of file_read_whole(), which is for before a filter is
 * loaded: init has no use for it.
 */

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

int file_write_at(int dir_fd, const char *path, const char *text)
{
	int fd auto_fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, len);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

int file_write_u64_at(int dir_fd, const char *path, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	return file_write_at(dir_fd, path, text);
}

int file_read_at(int dir_fd, const char *path, char *buf, size_t size)
{
	int fd auto_fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	buf[0] = '\0';
	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return 0;
}

int file_read_whole(int fd, char *buf, size_t size, size_t *ret_len)
{
	size_t len = 0;

	for (;;) {
		ssize_t n = pread(fd, buf + len, size - len, (off_t)len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
		if (len == size)
			return -EFBIG;
	}
	buf[len] = '\0';
	*ret_len = len;
	return 0;
}

uint64_t file_number(const char *text)
{
	uint64_t value = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		value = value * 10 + (uint64_t)(*text - '0');
	return value;
}

uint64_t file_keyed(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (; text; text = strchr(text, '\n')) {
		if (*text == '\n')
			text++;
		if (strncmp(text, key, len) == 0 && text[len] == ' ')
			return file_number(text + len + 1);
	}
	return 0;
}

void numbers_open(struct numbers *numbers, int dir_fd, const char *path)
{
	numbers->fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	numbers->len = numbers->at = 0;
}

/* The next character, or -1 at the end. */
static int next_char(struct numbers *numbers)
{
	if (numbers->at == numbers->len) {
		numbers->at = 0;
		numbers->len =
			read(numbers->fd, numbers->buf, sizeof(numbers->buf));
		if (numbers->len <= 0) {
			numbers->len = 0;
			return -1;
		}
	}
	return (unsigned char)numbers->buf[numbers->at++];
}

bool numbers_next(struct numbers *numbers, uint64_t *ret_value)
{
	uint64_t value = 0;
	int c = next_char(numbers);

	while (c >= 0 && (c < '0' || c > '9'))
		c = next_char(numbers);
	if (c < 0)
		return false;
	for (; c >= '0' && c <= '9'; c = next_char(numbers))
		value = value * 10 + (uint64_t)(c - '0');
	*ret_value = value;
	return true;
}

void numbers_close(struct numbers *numbers)
{
	close_fd(&numbers->fd);
}
