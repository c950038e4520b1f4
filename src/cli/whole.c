/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/whole.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

int whole_write(void *ctx, const void *data, size_t len)
{
	const int *fd = ctx;
	struct pollfd poll_fd = { .fd = *fd, .events = POLLOUT };
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(*fd, p, len);

		if (n >= 0) {
			p += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) { /* whoever shares it wants so */
			(void)poll(&poll_fd, 1, -1);
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}
