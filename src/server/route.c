/* SPDX-License-Identifier: Apache-2.0 */

#include "server/route.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "http/head.h"
#include "server/api/api.h"
#include "server/conn.h"
#include "server/reply.h"

#define EXECD "/sandboxes/{id}/proxy/44772"

static const struct route routes[] = {
	{ "GET", "/health", ROUTE_OPEN, api_health, NULL },
	{ "GET", "/metrics", 0, api_metrics, NULL },
	{ "GET", "/profiles", 0, api_profile_list, NULL },
	{ "POST", "/sandboxes", 0, api_sandbox_create, "sandbox.create" },
	{ "GET", "/sandboxes", 0, api_sandbox_list, NULL },
	{ "GET", "/sandboxes/{id}", 0, api_sandbox_get, NULL },
	{ "DELETE", "/sandboxes/{id}", 0, api_sandbox_delete,
	  "sandbox.delete" },
	{ "PATCH", "/sandboxes/{id}/metadata", 0, api_sandbox_patch,
	  "sandbox.patch" },
	{ "POST", "/sandboxes/{id}/renew-expiration", 0, api_sandbox_renew,
	  "sandbox.renew" },
	{ "GET", "/sandboxes/{id}/endpoints/{port}", 0, api_sandbox_endpoint,
	  NULL },
	{ "GET", "/sandboxes/{id}/exec", ROUTE_STREAM, api_exec, "exec.run" },
	{ "GET", EXECD "/ping", ROUTE_BY_ID, api_ping, NULL },
	{ "POST", EXECD "/command", ROUTE_BY_ID, api_command_run,
	  "command.run" },
	{ "GET", EXECD "/command", ROUTE_BY_ID, api_command_list, NULL },
	{ "DELETE", EXECD "/command", ROUTE_BY_ID, api_command_interrupt,
	  "command.interrupt" },
	{ "GET", EXECD "/command/status/{exec}", ROUTE_BY_ID,
	  api_command_status, NULL },
	{ "GET", EXECD "/command/{exec}/logs", ROUTE_BY_ID, api_command_logs,
	  NULL },
	{ "GET", EXECD "/command/{exec}/events", ROUTE_BY_ID,
	  api_command_events, NULL },
	{ "DELETE", EXECD "/command/{exec}", ROUTE_BY_ID, api_command_delete,
	  "command.delete" },
	{ "POST", EXECD "/files/upload", ROUTE_BY_ID | ROUTE_STREAM,
	  api_file_upload, "file.upload" },
	{ "GET", EXECD "/files/download", ROUTE_BY_ID, api_file_download,
	  NULL },
};

/* What the placeholders stood for. */
struct match {
	const char *id, *exec;
	size_t id_len, exec_len;
	unsigned int port;
};

/* 1-65535 in decimal, or 0. */
static unsigned int parse_port(const char *text, size_t len)
{
	unsigned int port = 0;

	if (len == 0 || len > 5)
		return 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return 0;
		port = port * 10 + (unsigned int)(text[i] - '0');
	}
	return port <= 65535 ? port : 0;
}

/* Segment by segment; an empty one matches nothing. */
static bool matches(const char *pattern, const char *path, struct match *match)
{
	while (*pattern == '/' && *path == '/') {
		size_t want = strcspn(++pattern, "/");
		size_t have = strcspn(++path, "/");

		if (have == 0)
			return false;
		if (want == 4 && strncmp(pattern, "{id}", 4) == 0) {
			match->id = path;
			match->id_len = have;
		} else if (want == 6 && strncmp(pattern, "{exec}", 6) == 0) {
			match->exec = path;
			match->exec_len = have;
		} else if (want == 6 && strncmp(pattern, "{port}", 6) == 0) {
			match->port = parse_port(path, have);
		} else if (want != have || strncmp(pattern, path, want) != 0) {
			return false;
		}
		pattern += want;
		path += have;
	}
	return *pattern == '\0' && *path == '\0';
}

static void reply_wrong_method(struct request *req, const char *path)
{
	char allow[64] = "";
	struct match match;

	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		size_t len = strlen(allow);

		if (!matches(routes[i].pattern, path, &match) ||
		    len + strlen(routes[i].method) + 3 > sizeof(allow))
			continue;
		if (len) {
			memcpy(allow + len, ", ", 3);
			len += 2;
		}
		memcpy(allow + len, routes[i].method,
		       strlen(routes[i].method) + 1);
	}
	reply_error(req, 405, "GENERAL::METHOD_NOT_ALLOWED",
		    "%s isn't allowed here; allowed: %s", req->head->method,
		    allow);
}

int route_find(struct request *req)
{
	const char *path = req->head->path;
	struct match match = { 0 };
	bool path_known = false;

	if (strncmp(path, "/v1/", 4) == 0)
		path += 3;
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		if (!matches(routes[i].pattern, path, &match))
			continue;
		path_known = true;
		if (strcmp(routes[i].method, req->head->method) != 0)
			continue;
		req->route = &routes[i];
		req->port = match.port;
		if (match.id && match.id_len < sizeof(req->in_id))
			memcpy(req->in_id, match.id, match.id_len);
		if (match.exec && match.exec_len < sizeof(req->in_exec))
			memcpy(req->in_exec, match.exec, match.exec_len);
		return 0;
	}
	if (path_known)
		reply_wrong_method(req, path);
	else
		reply_error(req, 404, "GENERAL::NOT_FOUND",
			    "nothing is served at this path");
	return 1;
}
