/* SPDX-License-Identifier: Apache-2.0 */

#include "base/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/address.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"

#define BACKLOG 1024

int listener_tcp(const struct address *address, int *ret_fd, struct err *err)
{
	int fd auto_fd = socket(address->addr.any.sa_family,
				SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char text[ADDRESS_TEXT_MAX];
	const int on = 1;

	address_format(address, text);
	/* Not also the other family's port: who wants both asks for both. */
	if (fd >= 0 && address->addr.any.sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on,
				 sizeof(on));
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, &address->addr.any, address->len) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return err_set(err, ERR_INVALID, errno, "listen on %s", text);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Only a socket that nobody serves any more may be replaced. */
static int check_path(const char *path, struct err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd auto_fd = -1;
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0
				       : err_set(err, ERR_INVALID, errno,
						 "socket path '%.150s'", path);
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, ERR_CONFLICT, 0,
			       "socket path '%.150s' is taken by something that"
			       " is no socket",
			       path);
	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return 0;
	return err_set(err, ERR_CONFLICT, 0,
		       "socket path '%.150s' is served already", path);
}

int listener_unix(const char *path, mode_t mode, int *ret_fd, struct err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd auto_fd = -1;
	int r;

	if (strlen(path) >= sizeof(addr.sun_path))
		return err_set(err, ERR_INVALID, 0,
			       "socket path '%.150s' is longer than 107", path);
	r = check_path(path, err);
	if (r < 0)
		return r;
	(void)unlink(path); /* a dead one, if any */
	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* Before bind(): the name is born with this mode. */
	if (fd < 0 || fchmod(fd, mode) < 0 ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return err_set(err, ERR_INTERNAL, errno, "listen at '%.150s'",
			       path);
	*ret_fd = take_fd(&fd);
	return 0;
}

static bool is_listening(int fd)
{
	int type = 0, accepts = 0;
	socklen_t type_len = sizeof(type), accepts_len = sizeof(accepts);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) == 0 &&
	       getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts,
			  &accepts_len) == 0 &&
	       type == SOCK_STREAM && accepts;
}

static int take_inherited(uint64_t num, struct err *err)
{
	for (int i = 0; i < (int)num; i++) {
		int fd = LISTENERS_FIRST_FD + i;
		struct address address;

		if (!is_listening(fd) || address_of(fd, &address) < 0)
			return err_set(err, ERR_INVALID, 0,
				       "LISTEN_FDS=%" PRIu64 ": descriptor %d "
				       "isn't a listening TCP or unix socket",
				       num, fd);
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
			return err_set(err, ERR_INTERNAL, errno,
				       "take descriptor %d", fd);
	}
	return 0;
}

int listener_inherit(unsigned int *ret_num, struct err *err)
{
	const char *pid_text = getenv("LISTEN_PID");
	const char *num_text = getenv("LISTEN_FDS");
	uint64_t pid, num = 0;
	int r = 0;

	*ret_num = 0;
	if (!pid_text || !num_text ||
	    units_parse_count(pid_text, INT32_MAX, &pid) < 0 ||
	    pid != (uint64_t)getpid())
		return 0; /* meant for somebody else */
	if (units_parse_count(num_text, LISTENERS_MAX, &num) < 0)
		r = err_set(err, ERR_INVALID, 0,
			    "LISTEN_FDS=%.20s: expected 0 to %d", num_text,
			    LISTENERS_MAX);
	else
		r = take_inherited(num, err);
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	if (r == 0)
		*ret_num = (unsigned int)num;
	return r;
}

void listener_notify(const char *line)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd auto_fd = -1;

	if (len < 2 || len > sizeof(addr.sun_path))
		return;
	memcpy(addr.sun_path, path, len);
	if (addr.sun_path[0] == '@') /* a name without a file */
		addr.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	(void)sendto(fd, line, strlen(line), MSG_NOSIGNAL,
		     (struct sockaddr *)&addr,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
}
