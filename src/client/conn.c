/* SPDX-License-Identifier: Apache-2.0 */

/*
 * conn - one connection to osbd, for as long as a struct osb_client lives
 *
 * Purpose:    find the daemon (or have one started), connect, own the buffers.
 * Input from: the environment (the caller's); nothing is read from the peer
 *             here.
 * Ownership:  struct osb_client owns its socket, its buffers and its copies of
 *             the options; an exec borrows it.
 * Limits:     REQUEST_MAX, ANSWER_MAX.
 */

#include "client/conn.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "client/fail.h"
#include "client/start.h"
#include "osb/osb.h"

#define REQUEST_MAX (8u << 20) /* argv, environment: bounded by the server */
#define ANSWER_MAX (8u << 20)

DEFINE_AUTO(struct osb_client *, osb_client_close);

static bool nobody_listens(int r)
{
	return r == -ENOENT || r == -ECONNREFUSED || r == -ENOTDIR;
}

/* The daemon of this client: connect, or start it if it is a private one. */
static int connect_or_start(struct osb_client *client, struct osb_error *err)
{
	const struct lookup *lookup = &client->lookup;
	int sock_fd;

	if (lookup->host[0]) {
		sock_fd = lookup_connect_tcp(&lookup->address);
		return sock_fd >= 0
			       ? sock_fd
			       : client_fail(err, -sock_fd, "connect to '%s'",
					     lookup->host);
	}
	sock_fd = lookup_connect(lookup->socket_path);
	if (sock_fd >= 0)
		return sock_fd;
	if (!nobody_listens(sock_fd) || !client->broker_path ||
	    !lookup->run_dir[0])
		return client_fail(err, -sock_fd, "connect to '%s'",
				   lookup->socket_path);
	return start_broker(lookup, client->broker_path, err);
}

int conn_reopen(struct osb_client *client, struct osb_error *err)
{
	int sock_fd;

	close_fd(&client->sock_fd);
	http_reader_deinit(&client->reader);
	http_reader_init(&client->reader, HTTP_READ_RESPONSES);
	client->in_start = 0;
	client->in_end = 0;
	sock_fd = connect_or_start(client, err);
	if (sock_fd < 0)
		return sock_fd;
	client->sock_fd = sock_fd;
	return 0;
}

/* Fills client->lookup, and connects if the service answers. */
static int find_daemon(struct osb_client *client, const char *path,
		       struct osb_error *err)
{
	const char *domain = secure_getenv("OPEN_SANDBOX_DOMAIN");
	int sock_fd;

	if (!path)
		path = secure_getenv("OSB_SOCKET");
	if (path && *path)
		return lookup_given(path, &client->lookup, err);
	if (domain && *domain)
		return lookup_domain(domain,
				     secure_getenv("OPEN_SANDBOX_PROTOCOL"),
				     &client->lookup, err);
	sock_fd = lookup_connect(LOOKUP_SERVICE_SOCKET);
	if (sock_fd < 0)
		return lookup_private(&client->lookup, err);
	client->sock_fd = sock_fd;
	/* No run directory: the service is started by nobody but its host. */
	memcpy(client->lookup.socket_path, LOOKUP_SERVICE_SOCKET,
	       sizeof(LOOKUP_SERVICE_SOCKET));
	return 0;
}

static int copy_options(struct osb_client *client,
			const struct osb_client_options *options)
{
	if (options->broker_path &&
	    !(client->broker_path = strdup(options->broker_path)))
		return -ENOMEM;
	if (options->api_key && !(client->api_key = strdup(options->api_key)))
		return -ENOMEM;
	if (options->build_id &&
	    !(client->build_id = strdup(options->build_id)))
		return -ENOMEM;
	return 0;
}

int osb_client_open(const struct osb_client_options *options,
		    struct osb_client **ret_client, struct osb_error *err)
{
	static const struct osb_client_options none;
	struct osb_client *client auto_clean(osb_client_closep) = NULL;
	int r;

	if (!options)
		options = &none;
	client = malloc(sizeof(*client));
	if (!client)
		return client_fail(err, ENOMEM, "open a client");
	/* in[] stays untouched until it is needed. */
	memset(client, 0, offsetof(struct osb_client, in));
	client->sock_fd = -1;
	client->in_start = 0;
	client->in_end = 0;
	buf_init(&client->out, REQUEST_MAX);
	buf_init(&client->body, ANSWER_MAX);
	http_reader_init(&client->reader, HTTP_READ_RESPONSES);

	if (copy_options(client, options) < 0)
		return client_fail(err, ENOMEM, "open a client");
	r = find_daemon(client, options->socket_path, err);
	if (r == 0 && client->sock_fd < 0)
		r = conn_reopen(client, err);
	if (r < 0)
		return r;
	*ret_client = take_ptr(client);
	return 0;
}

void osb_client_close(struct osb_client *client)
{
	if (!client)
		return;
	close_fd(&client->sock_fd);
	buf_deinit(&client->out);
	buf_deinit(&client->body);
	http_reader_deinit(&client->reader);
	free(client->broker_path);
	if (client->api_key)
		explicit_bzero(client->api_key, strlen(client->api_key));
	free(client->api_key);
	free(client->build_id);
	free(client);
}
