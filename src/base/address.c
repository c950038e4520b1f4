/* SPDX-License-Identifier: Apache-2.0 */

#include "base/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define UNIX_PREFIX "unix:"

static int parse_unix(const char *path, struct address *ret_address)
{
	size_t len = strlen(path);
	struct sockaddr_un *addr = &ret_address->addr.local;

	if (len == 0 || len >= sizeof(addr->sun_path))
		return -EINVAL;
	addr->sun_family = AF_UNIX;
	memcpy(addr->sun_path, path, len + 1);
	ret_address->len =
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
	return 0;
}

static int set_host4(struct address *address, const char *host, uint16_t port)
{
	struct sockaddr_in *addr = (void *)&address->addr;

	addr->sin_family = AF_INET;
	addr->sin_port = htons(port);
	address->len = sizeof(*addr);
	return inet_pton(AF_INET, host, &addr->sin_addr) == 1 ? 0 : -EINVAL;
}

static int set_host6(struct address *address, const char *host, uint16_t port)
{
	struct sockaddr_in6 *addr = (void *)&address->addr;

	addr->sin6_family = AF_INET6;
	addr->sin6_port = htons(port);
	address->len = sizeof(*addr);
	return inet_pton(AF_INET6, host, &addr->sin6_addr) == 1 ? 0 : -EINVAL;
}

/* 0 too: the kernel chooses. */
static int parse_port(const char *text, uint16_t *ret_port)
{
	unsigned int port = 0;

	if (*text == '\0' || strlen(text) > 5)
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		port = port * 10 + (unsigned int)(*text - '0');
	}
	if (port > UINT16_MAX)
		return -EINVAL;
	*ret_port = (uint16_t)port;
	return 0;
}

static int parse_tcp(const char *text, uint16_t port, struct address *address)
{
	bool is_6 = *text == '[';
	const char *start = text + (is_6 ? 1 : 0);
	size_t len = strcspn(start, is_6 ? "]" : ":");
	const char *rest = start + len;
	char host[INET6_ADDRSTRLEN];

	if (len >= sizeof(host) || (is_6 && *rest++ != ']'))
		return -EINVAL;
	memcpy(host, start, len);
	host[len] = '\0';
	if (*rest && (*rest != ':' || parse_port(rest + 1, &port) < 0))
		return -EINVAL;
	if (is_6)
		return set_host6(address, host, port);
	return set_host4(address,
			 strcmp(host, "localhost") == 0 ? "127.0.0.1" : host,
			 port);
}

int address_parse(const char *text, uint16_t port, struct address *ret_address)
{
	struct address address;
	int r;

	memset(&address, 0, sizeof(address));
	if (strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0)
		r = parse_unix(text + strlen(UNIX_PREFIX), &address);
	else
		r = parse_tcp(text, port, &address);
	if (r == 0)
		*ret_address = address;
	return r;
}

int address_of(int sock_fd, struct address *ret_address)
{
	struct address address;
	sa_family_t family;

	memset(&address, 0, sizeof(address));
	/* One byte stays, so that a path always ends. */
	address.len = sizeof(address.addr) - 1;
	if (getsockname(sock_fd, &address.addr.any, &address.len) < 0)
		return -errno;
	family = address.addr.any.sa_family;
	if (family != AF_INET && family != AF_INET6 && family != AF_UNIX)
		return -EAFNOSUPPORT;
	*ret_address = address;
	return 0;
}

bool address_is_tcp(const struct address *address)
{
	return address->addr.any.sa_family != AF_UNIX;
}

bool address_is_loopback(const struct address *address)
{
	const struct sockaddr_in *addr = (const void *)&address->addr;
	const struct sockaddr_in6 *addr6 = (const void *)&address->addr;

	switch (address->addr.any.sa_family) {
	case AF_INET:
		return ntohl(addr->sin_addr.s_addr) >> 24 == 127;
	case AF_INET6:
		return IN6_IS_ADDR_LOOPBACK(&addr6->sin6_addr) ||
		       (IN6_IS_ADDR_V4MAPPED(&addr6->sin6_addr) &&
			addr6->sin6_addr.s6_addr[12] == 127);
	default:
		return true;
	}
}

void address_format(const struct address *address,
		    char ret_text[ADDRESS_TEXT_MAX])
{
	const struct sockaddr_in *addr = (const void *)&address->addr;
	const struct sockaddr_in6 *addr6 = (const void *)&address->addr;
	char host[INET6_ADDRSTRLEN] = "?";

	switch (address->addr.any.sa_family) {
	case AF_INET:
		(void)inet_ntop(AF_INET, &addr->sin_addr, host, sizeof(host));
		(void)snprintf(ret_text, ADDRESS_TEXT_MAX, "%s:%u", host,
			       ntohs(addr->sin_port));
		break;
	case AF_INET6:
		(void)inet_ntop(AF_INET6, &addr6->sin6_addr, host,
				sizeof(host));
		(void)snprintf(ret_text, ADDRESS_TEXT_MAX, "[%s]:%u", host,
			       ntohs(addr6->sin6_port));
		break;
	default:
		(void)snprintf(ret_text, ADDRESS_TEXT_MAX, UNIX_PREFIX "%s",
			       address->addr.local.sun_path);
	}
}
