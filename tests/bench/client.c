/* SPDX-License-Identifier: Apache-2.0 */

#include "bench/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "bench/stats.h"

#define REQUEST_MAX 16384

static void fail(const char *what, int error)
{
	(void)fprintf(stderr, "client: %s: %s\n", what, strerror(error));
	exit(1);
}

static void set_inet(struct clients *all, const char *address)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	const char *colon = strrchr(address, ':');
	char host[64];

	if (!colon)
		fail(address, EINVAL);
	(void)snprintf(host, sizeof(host), "%.*s", (int)(colon - address),
		       address);
	in.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	if (inet_pton(AF_INET, host, &in.sin_addr) != 1)
		fail(address, EINVAL);
	memcpy(&all->addr, &in, sizeof(in));
	all->addr_len = sizeof(in);
}

void clients_init(struct clients *all, const char *address)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	memset(all, 0, sizeof(*all));
	if (address[0] == '/') {
		(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", address);
		memcpy(&all->addr, &un, sizeof(un));
		all->addr_len = sizeof(un);
	} else {
		set_inet(all, address);
	}
	all->key = getenv("OSB_BENCH_KEY");
	all->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (all->epoll_fd < 0)
		fail("epoll", errno);
}

void client_open(struct clients *all, struct client *client)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = client };
	const int on = 1;

	client->all = all;
	client->fd = socket(all->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client->fd < 0 || connect(client->fd, (struct sockaddr *)&all->addr,
				      all->addr_len) < 0)
		fail("connect", errno);
	if (all->addr.ss_family == AF_INET &&
	    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) <
		    0)
		fail("TCP_NODELAY", errno);
	http_reader_init(&client->reader, HTTP_READ_RESPONSES);
	if (epoll_ctl(all->epoll_fd, EPOLL_CTL_ADD, client->fd, &event) < 0)
		fail("epoll", errno);
}

void client_send(struct client *client, const char *method, const char *path,
		 const char *body)
{
	const char *key = client->all->key;
	char text[REQUEST_MAX];
	int len = snprintf(text, sizeof(text),
			   "%s %s HTTP/1.1\r\nHost: localhost\r\n"
			   "Accept: */*\r\n%s%s%s",
			   method, path, key ? "OPEN-SANDBOX-API-KEY: " : "",
			   key ? key : "", key ? "\r\n" : "");

	len += body ? snprintf(text + len, sizeof(text) - (size_t)len,
			       "Content-Type: application/json\r\n"
			       "Content-Length: %zu\r\n\r\n%s",
			       strlen(body), body)
		    : snprintf(text + len, sizeof(text) - (size_t)len, "\r\n");
	if (len >= (int)sizeof(text))
		fail("send", E2BIG);
	client->sent_us = stats_now_us();
	if (send(client->fd, text, (size_t)len, MSG_NOSIGNAL) != len)
		fail("send", errno ? errno : EPIPE);
}

static void take_event(struct client *client, const struct http_event *event)
{
	struct clients *all = client->all;

	if (event->type == HTTP_EVENT_HEAD)
		client->status = client->reader.head.status;
	else if (event->type == HTTP_EVENT_BODY && all->body)
		all->body(client, event->data, event->len);
	else if (event->type == HTTP_EVENT_END && all->end)
		all->end(client);
}

static void take_bytes(struct client *client, const uint8_t *data, size_t len)
{
	struct http_event event;
	struct err err = ERR_NULL;
	size_t used;

	do {
		if (http_reader_next(&client->reader, data, len, &used, &event,
				     &err) < 0) {
			(void)fprintf(stderr, "client: %s\n", err.msg);
			exit(1);
		}
		data += used;
		len -= used;
		take_event(client, &event);
	} while (event.type != HTTP_EVENT_MORE);
}

void clients_wait(struct clients *all, int timeout_ms)
{
	static uint8_t data[65536];
	struct epoll_event events[256];
	int num = epoll_wait(all->epoll_fd, events, ARRAY_SIZE(events),
			     timeout_ms);

	for (int i = 0; i < num; i++) {
		struct client *client = events[i].data.ptr;
		ssize_t n = recv(client->fd, data, sizeof(data), MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			continue;
		if (n <= 0)
			fail("the server has closed", n < 0 ? errno : EPIPE);
		take_bytes(client, data, (size_t)n);
	}
}

void client_close(struct client *client, bool reset)
{
	const struct linger linger = { .l_onoff = 1, .l_linger = 0 };

	if (reset && client->all->addr.ss_family == AF_INET)
		(void)setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &linger,
				 sizeof(linger));
	(void)close(client->fd);
	http_reader_deinit(&client->reader);
}
