/* SPDX-License-Identifier: Apache-2.0 */

/*
 * sink - see sink.h for what is done with which kind of descriptor
 */

#include "cli/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Two reads' worth of the exec: it may hand out one more after a pause. */
#define PENDING_MAX (256u * 1024)

void sink_init(struct sink *sink, int fd)
{
	sink->fd = fd;
	sink->own_fd = -1;
	sink->kind = SINK_UNKNOWN;
	buf_init(&sink->pending, PENDING_MAX);
}

void sink_deinit(struct sink *sink)
{
	close_fd(&sink->own_fd);
	buf_deinit(&sink->pending);
}

bool sink_blocked(const struct sink *sink)
{
	return buf_len(&sink->pending) > 0;
}

static enum sink_kind look(struct sink *sink)
{
	char path[64];
	struct stat st;

	if (fstat(sink->fd, &st) < 0)
		return SINK_PLAIN; /* write(2) will tell why */
	switch (st.st_mode & S_IFMT) {
	case S_IFIFO:
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d",
			       sink->fd);
		sink->own_fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		return sink->own_fd >= 0 ? SINK_NONBLOCK : SINK_CAUTIOUS;
	case S_IFSOCK:
		return SINK_SOCKET;
	case S_IFCHR:
		return isatty(sink->fd) ? SINK_CAUTIOUS : SINK_PLAIN;
	default:
		return SINK_PLAIN;
	}
}

/* How much was taken, 0 when it would block, or -errno. */
static ssize_t try_write(struct sink *sink, const void *data, size_t len)
{
	struct pollfd poll_fd = { .fd = sink->fd, .events = POLLOUT };
	ssize_t n;

	if (sink->kind == SINK_UNKNOWN)
		sink->kind = look(sink);
	switch (sink->kind) {
	case SINK_SOCKET:
		n = send(sink->fd, data, len, MSG_DONTWAIT);
		break;
	case SINK_NONBLOCK:
		n = write(sink->own_fd, data, len);
		break;
	case SINK_CAUTIOUS:
		if (poll(&poll_fd, 1, 0) != 1)
			return 0;
		n = write(sink->fd, data, len < PIPE_BUF ? len : PIPE_BUF);
		break;
	default:
		n = write(sink->fd, data, len);
		break;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return n < 0 ? -errno : n;
}

int sink_put(struct sink *sink, const void *data, size_t len)
{
	const char *p = data;
	ssize_t n;

	while (len > 0 && !sink_blocked(sink)) {
		n = try_write(sink, p, len);
		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		p += n;
		len -= (size_t)n;
	}
	if (len > 0)
		buf_add(&sink->pending, p, len);
	return sink->pending.failed ? -ENOBUFS : 0;
}

int sink_flush(struct sink *sink)
{
	ssize_t n;

	while (sink_blocked(sink)) {
		n = try_write(sink, buf_data(&sink->pending),
			      buf_len(&sink->pending));
		if (n < 0)
			return (int)n;
		if (n == 0)
			return 0;
		buf_consume(&sink->pending, (size_t)n);
	}
	return 0;
}
