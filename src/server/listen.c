/* SPDX-License-Identifier: Apache-2.0 */

/*
 * #syscalls  accept4 fcntl ioctl
 */

#include "server/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "server/conn.h"
#include "server/server.h"
#include "server/watch.h"

#define ACCEPTS_PER_CALL 32 /* then others get their turn */

/*
 * Out of descriptors, the queue would wake us without end. So a spare one is
 * given up to take the next connection, which is closed at once.
 */
static void refuse_one(struct server *server)
{
	int fd auto_fd = -1;

	close_fd(&server->spare_fd);
	fd = accept4(server->listen_fd, NULL, NULL,
		     SOCK_CLOEXEC | SOCK_NONBLOCK);
	close_fd(&fd);
	server->spare_fd = fcntl(server->listen_fd, F_DUPFD_CLOEXEC, 0);
}

static void on_ready(void *ctx, unsigned int events)
{
	static const char busy[] = "HTTP/1.1 503 Service Unavailable\r\n"
				   "Connection: close\r\n"
				   "Content-Length: 0\r\n\r\n";
	struct server *server = ctx;

	(void)events;
	for (unsigned int i = 0; i < ACCEPTS_PER_CALL; i++) {
		int fd = accept4(server->listen_fd, NULL, NULL,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
			refuse_one(server);
			return;
		}
		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			return;
		if (server->num_conns >= server->settings.max_connections) {
			(void)send(fd, busy, sizeof(busy) - 1,
				   MSG_NOSIGNAL | MSG_DONTWAIT);
			close_fd(&fd);
			continue;
		}
		conn_new(server, fd);
	}
}

int listen_start(struct server *server)
{
	int flags = fcntl(server->listen_fd, F_GETFL);

	if (flags < 0 ||
	    fcntl(server->listen_fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	server->listen_watch = watch_new(server->loop, server->listen_fd,
					 POLLER_READ, on_ready, server);
	return server->listen_watch ? 0 : -ENOMEM;
}

void listen_stop(struct server *server)
{
	watch_free(take_ptr(server->listen_watch));
}
