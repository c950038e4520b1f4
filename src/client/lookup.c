/* SPDX-License-Identifier: Apache-2.0 */

/*
 * lookup - find the socket that osbd listens on, and connect
 *
 * No file is looked at before connecting: whether somebody answers is the
 * only question, and connect(2) answers it without a race.
 */

#include "client/lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "client/fail.h"

#define DEFAULT_PORT 80 /* of http */
#define CONNECT_WAIT_S 30

int lookup_given(const char *path, struct lookup *ret_lookup,
		 struct osb_error *err)
{
	memset(ret_lookup, 0, sizeof(*ret_lookup));
	/* 2: the ".d" of its run directory */
	if (path[0] != '/' || strlen(path) + 2 >= LOOKUP_PATH_MAX)
		return client_fail_text(
			err, EINVAL,
			"OSB_SOCKET '%s': expected an absolute path", path);
	(void)snprintf(ret_lookup->socket_path, sizeof(ret_lookup->socket_path),
		       "%s", path);
	(void)snprintf(ret_lookup->run_dir, sizeof(ret_lookup->run_dir), "%s.d",
		       path);
	return 0;
}

int lookup_private(struct lookup *ret_lookup, struct osb_error *err)
{
	const char *base = secure_getenv("XDG_RUNTIME_DIR");
	char by_uid[32];

	memset(ret_lookup, 0, sizeof(*ret_lookup));
	if (!base || !*base) {
		(void)snprintf(by_uid, sizeof(by_uid), "/run/user/%u",
			       (unsigned int)geteuid());
		base = by_uid;
	}
	if (base[0] != '/' || strlen(base) + 64 >= LOOKUP_PATH_MAX)
		return client_fail_text(
			err, EINVAL,
			"XDG_RUNTIME_DIR '%s': expected an absolute path",
			base);
	(void)snprintf(ret_lookup->run_dir, sizeof(ret_lookup->run_dir),
		       "%s/opensandbox", base);
	(void)snprintf(ret_lookup->socket_path, sizeof(ret_lookup->socket_path),
		       "%s/opensandbox/osbd.sock", base);
	ret_lookup->is_default = true;
	return 0;
}

/* A path too long for sun_path goes by way of its directory's fd. */
static int fill_address(const char *path, struct sockaddr_un *address,
			int *ret_dir_fd)
{
	const char *name = strrchr(path, '/');
	char dir[LOOKUP_PATH_MAX];
	int n;

	if (strlen(path) < sizeof(address->sun_path)) {
		memcpy(address->sun_path, path, strlen(path) + 1);
		return 0;
	}
	if (!name || (size_t)(name - path) >= sizeof(dir))
		return -ENAMETOOLONG;
	memcpy(dir, path, (size_t)(name - path));
	dir[name - path] = '\0';
	*ret_dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*ret_dir_fd < 0)
		return -errno;
	n = snprintf(address->sun_path, sizeof(address->sun_path),
		     "/proc/self/fd/%d%s", *ret_dir_fd, name);
	if (n < 0 || (size_t)n >= sizeof(address->sun_path))
		return -ENAMETOOLONG;
	return 0;
}

int lookup_connect(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int dir_fd auto_fd = -1;
	int sock_fd auto_fd = -1;
	int r;

	r = fill_address(path, &address, &dir_fd);
	if (r < 0)
		return r;
	sock_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock_fd < 0)
		return -errno;
	while (connect(sock_fd, (const struct sockaddr *)&address,
		       sizeof(address)) < 0)
		if (errno != EINTR)
			return -errno;
	return take_fd(&sock_fd);
}

static int refuse_domain(const char *domain, const char *why,
			 struct osb_error *err)
{
	return client_fail_text(err, EINVAL, "OPEN_SANDBOX_DOMAIN '%.100s': %s",
				domain, why);
}

/* Behind "http://", if that is there; NULL for another scheme. */
static const char *skip_scheme(const char *domain)
{
	const char *end = strstr(domain, "://");

	if (!end)
		return domain;
	return strncasecmp(domain, "http:", strlen("http:")) == 0 ? end + 3
								  : NULL;
}

/* For who listens it means any port; nobody can be reached at it. */
static bool is_port_0(const struct address *address)
{
	/* Both families have the port at the same place. */
	const struct sockaddr_in *addr = (const void *)&address->addr;

	return addr->sin_port == 0;
}

int lookup_domain(const char *domain, const char *protocol,
		  struct lookup *ret_lookup, struct osb_error *err)
{
	const char *text = skip_scheme(domain);
	struct lookup lookup;
	const char *path;
	size_t len;

	if (protocol && *protocol && strcasecmp(protocol, "http") != 0)
		return client_fail_text(
			err, EINVAL,
			"OPEN_SANDBOX_PROTOCOL '%.100s': expected http; osb speaks no https",
			protocol);
	if (!text)
		return refuse_domain(
			domain,
			"expected http or no scheme; osb speaks no https", err);
	len = strcspn(text, "/");
	path = text + len;
	if (*path && strcmp(path, "/") != 0 && strcmp(path, "/v1") != 0 &&
	    strcmp(path, "/v1/") != 0)
		return refuse_domain(domain, "expected no path behind the port",
				     err);
	memset(&lookup, 0, sizeof(lookup));
	if (len < sizeof(lookup.host)) {
		memcpy(lookup.host, text, len);
		if (address_parse(lookup.host, DEFAULT_PORT, &lookup.address) ==
			    0 &&
		    address_is_tcp(&lookup.address) &&
		    !is_port_0(&lookup.address)) {
			*ret_lookup = lookup;
			return 0;
		}
	}
	return refuse_domain(
		domain,
		"expected IPV4, [IPV6] or localhost with :PORT, such as localhost:8080",
		err);
}

/* A peer that doesn't answer is given up; the socket is for small frames. */
int lookup_connect_tcp(const struct address *address)
{
	const struct timeval wait = { .tv_sec = CONNECT_WAIT_S };
	const struct timeval none = { 0 };
	const int on = 1;
	int sock_fd auto_fd = socket(address->addr.any.sa_family,
				     SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (sock_fd < 0)
		return -errno;
	/* None of them decides whether it works. */
	(void)setsockopt(sock_fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	(void)setsockopt(sock_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(sock_fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	if (connect(sock_fd, &address->addr.any, address->len) < 0)
		return errno == EINPROGRESS ? -ETIMEDOUT : -errno;
	(void)setsockopt(sock_fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
	return take_fd(&sock_fd);
}
