/* SPDX-License-Identifier: Apache-2.0 */

/*
 * #syscalls  accept4 fcntl ioctl
 *
 * Without what listen_open() needs, which is for before the filter is loaded.
 */

#include "server/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "server/conn.h"
#include "server/server.h"
#include "server/watch.h"
#include "wire/fdpass.h"

#define ACCEPTS_PER_CALL 32 /* then others get their turn */
#define KEEPALIVE_S 60      /* of silence, until the peer is asked */

/*
 * Out of descriptors, the queue would wake us without end. So a spare one is
 * given up to take the next connection, which is closed at once.
 */
static void refuse_one(struct listener *listener)
{
	struct listeners *all = &listener->server->listeners;
	int fd auto_fd = -1;

	close_fd(&all->spare_fd);
	fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	close_fd(&fd);
	all->spare_fd = fcntl(listener->fd, F_DUPFD_CLOEXEC, 0);
}

static void on_ready(void *ctx, unsigned int events)
{
	static const char busy[] = "HTTP/1.1 503 Service Unavailable\r\n"
				   "Connection: close\r\n"
				   "Content-Length: 0\r\n\r\n";
	struct listener *listener = ctx;
	struct server *server = listener->server;

	(void)events;
	for (unsigned int i = 0; i < ACCEPTS_PER_CALL; i++) {
		int fd = accept4(listener->fd, NULL, NULL,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
			refuse_one(listener);
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
		conn_new(server, fd, listener->is_tcp);
	}
}

/* Set here since connections inherit it: answers leave at once, and a peer
   that has vanished is noticed also while nothing is to be sent. */
static int set_options(const struct listener *listener)
{
	const int on = 1, idle = KEEPALIVE_S;
	int fd = listener->fd;

	if (!listener->is_tcp) {
		fdpass_refuse(fd);
		return 0;
	}
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle)) < 0)
		return -errno;
	return 0;
}

static int open_one(struct server *server, int fd, struct err *err)
{
	struct listeners *all = &server->listeners;
	struct listener *listener = &all->one[all->num];
	struct address address;
	char text[ADDRESS_TEXT_MAX];
	int flags = fcntl(fd, F_GETFL);
	int r = address_of(fd, &address);

	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "take descriptor %d", fd);
	listener->server = server;
	listener->fd = fd;
	listener->is_tcp = address_is_tcp(&address);
	all->num++;
	address_format(&address, text);
	if (server->keys.num == 0 && !address_is_loopback(&address))
		return err_set(err, ERR_INVALID, 0,
			       "listen on %s: others than this machine can "
			       "reach it, which needs --api-key-file",
			       text);
	r = set_options(listener);
	if (r == 0 && (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0))
		r = -errno;
	return r < 0 ? err_set(err, ERR_INTERNAL, -r, "listen on %s", text) : 0;
}

int listen_open(struct server *server, unsigned int num_more, struct err *err)
{
	int r = open_one(server, OSBD_FD_LISTEN, err);

	for (unsigned int i = 0; i < num_more && r == 0; i++)
		r = open_one(server, OSBD_FD_LISTENERS + (int)i, err);
	server->listeners.spare_fd = fcntl(OSBD_FD_LISTEN, F_DUPFD_CLOEXEC, 0);
	return r;
}

int listen_start(struct server *server)
{
	struct listeners *all = &server->listeners;

	for (unsigned int i = 0; i < all->num; i++) {
		struct listener *listener = &all->one[i];

		listener->watch = watch_new(server->loop, listener->fd,
					    POLLER_READ, on_ready, listener);
		if (!listener->watch)
			return -ENOMEM;
	}
	return 0;
}

void listen_stop(struct server *server)
{
	for (unsigned int i = 0; i < server->listeners.num; i++)
		watch_free(take_ptr(server->listeners.one[i].watch));
}

void listen_close(struct server *server)
{
	listen_stop(server);
	for (unsigned int i = 0; i < server->listeners.num; i++)
		close_fd(&server->listeners.one[i].fd);
	close_fd(&server->listeners.spare_fd);
}
