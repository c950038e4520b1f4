/* SPDX-License-Identifier: Apache-2.0 */

#include "server/service/origin.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "http/head.h"
#include "http/write.h"
#include "server/conn.h"
#include "server/reply.h"
#include "server/server.h"
#include "server/service/host.h"

#define PREFLIGHT_AGE_S 600

/* Without keys whoever reaches our port may use us: nobody by a page. */
static bool is_open(const struct request *req)
{
	return req->conn->is_tcp && req->server->keys.num == 0;
}

static bool is_listed(const struct settings *settings, const char *origin)
{
	for (size_t i = 0; i < settings->num_origins; i++) {
		if (strcmp(settings->origin[i], origin) == 0)
			return true;
	}
	return false;
}

/* The request's Origin, each if it has more than one. */
static const char *refused_origin(const struct request *req)
{
	const struct http_head *head = req->head;
	unsigned int num = 0;

	for (unsigned int i = 0; i < head->num_fields; i++) {
		const struct http_field *field = &head->field[i];

		if (strcasecmp(field->name, "Origin") != 0)
			continue;
		if (++num > 1 || is_open(req) ||
		    !is_listed(&req->server->settings, field->value))
			return field->value;
	}
	return NULL;
}

/* "May a page send this?" No body, no key: that comes with the request. */
static void answer_preflight(struct request *req)
{
	const char *in_fields =
		http_head_get(req->head, "Access-Control-Request-Headers");
	struct buf *out = reply_head(req, 204);

	if (!out)
		return;
	http_put_field(out, "Access-Control-Allow-Methods",
		       "GET, HEAD, POST, PUT, PATCH, DELETE");
	if (in_fields)
		http_put_field(out, "Access-Control-Allow-Headers", in_fields);
	http_put_number(out, "Access-Control-Max-Age", PREFLIGHT_AGE_S);
	reply_head_end(req, false);
	reply_end(req);
}

int origin_check(struct request *req)
{
	const char *host = http_head_get(req->head, "Host");
	const char *in_origin = refused_origin(req);

	if (in_origin) {
		reply_error(req, 403, "AUTH::ORIGIN_NOT_ALLOWED",
			    "web pages of '%.100s' may not use this server",
			    in_origin);
		return 1;
	}
	if (is_open(req) && !host_is_loopback(host ? host : "")) {
		reply_error(req, 403, "AUTH::HOST_NOT_ALLOWED",
			    "Host '%.100s': without API keys only localhost, "
			    "127.0.0.0/8 and [::1] are served",
			    host ? host : "");
		return 1;
	}
	req->from_page = http_head_get(req->head, "Origin") != NULL;
	if (req->from_page && strcmp(req->head->method, "OPTIONS") == 0 &&
	    http_head_get(req->head, "Access-Control-Request-Method")) {
		answer_preflight(req);
		return 1;
	}
	return 0;
}

void origin_put_fields(struct request *req, struct buf *out)
{
	/* Also to others: a cache may keep the answer for a page. */
	if (req->server->settings.num_origins)
		http_put_field(out, "Vary", "Origin");
	if (!req->from_page || !req->head)
		return;
	http_put_field(out, "Access-Control-Allow-Origin",
		       http_head_get(req->head, "Origin"));
	http_put_field(out, "Access-Control-Expose-Headers",
		       "X-Request-ID, Retry-After, Location, "
		       "Content-Disposition, Content-Range");
}
