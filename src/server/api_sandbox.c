/* SPDX-License-Identifier: Apache-2.0 */

/*
 * api_sandbox - /health and /sandboxes
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "http/url.h"
#include "sandbox/sandbox.h"
#include "server/api.h"
#include "server/conn.h"
#include "server/create_body.h"
#include "server/entrypoint.h"
#include "server/json.h"
#include "server/list_query.h"
#include "server/reply.h"
#include "server/server.h"

void api_health(struct request *req)
{
	struct buf body auto_clean(buf_deinit) = BUF_NULL;

	buf_init(&body, 64);
	buf_adds(&body, "{\"status\":\"healthy\"}");
	reply_json(req, 200, &body);
}

static void put_limits(struct json_out *json, const struct limits *limits)
{
	const struct {
		const char *key;
		uint64_t value;
		const char *unit;
	} rows[] = {
		{ "memory", limits->memory_bytes, "" },
		{ "cpu", limits->cpu_milli, "m" },
		{ "pids", limits->pids, "" },
		{ "disk", limits->disk_bytes, "" },
		{ "inodes", limits->inodes, "" },
		{ "nofile", limits->nofile, "" },
		{ "shm", limits->shm_bytes, "" },
	};
	char text[32];

	json_open(json, "resourceLimits", '{');
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		(void)snprintf(text, sizeof(text), "%llu%s",
			       (unsigned long long)rows[i].value, rows[i].unit);
		json_put_text(json, rows[i].key, text);
	}
	json_close(json, '}');
}

static void put_status(struct json_out *json, const struct sandbox *sandbox)
{
	json_open(json, "status", '{');
	json_put_text(json, "state", sandbox_state_name(sandbox->state));
	if (sandbox->state == SANDBOX_FAILED) {
		json_put_text(json, "reason", "SANDBOX_ENDED");
		json_put_text(json, "message", sandbox->message);
	}
	json_put_time(json, "lastTransitionAt", sandbox->changed_us);
	json_close(json, '}');
}

/* @full: with what the answer to a create leaves out. */
static void put_sandbox(struct json_out *json, const struct sandbox *sandbox,
			bool full)
{
	const struct spec *spec = &sandbox->spec;

	json_open(json, NULL, '{');
	json_put_text(json, "id", sandbox->id);
	if (full) {
		json_open(json, "image", '{');
		json_put_text(json, "uri", spec->image);
		json_close(json, '}');
	}
	put_status(json, sandbox);
	if (spec->metadata.num) {
		const char *value;

		json_open(json, "metadata", '{');
		for (const char *key = strv_first(&spec->metadata); key;
		     key = strv_next(&spec->metadata, value)) {
			value = strv_next(&spec->metadata, key);
			json_put_text(json, key, value);
		}
		json_close(json, '}');
	}
	json_open(json, "entrypoint", '[');
	strv_for_each(arg, &spec->entrypoint) json_put_text(json, NULL, arg);
	json_close(json, ']');
	if (sandbox->expires_us)
		json_put_time(json, "expiresAt", sandbox->expires_us);
	json_put_time(json, "createdAt", sandbox->created_us);
	if (full)
		put_limits(json, &spec->limits);
	json_close(json, '}');
}

static void reply_with_sandbox(struct request *req, unsigned int status,
			       const struct sandbox *sandbox)
{
	struct buf body auto_clean(buf_deinit) = BUF_NULL;
	struct json_out json = { .buf = &body };

	buf_init(&body, CONN_OUT_MAX);
	put_sandbox(&json, sandbox, status == 200);
	reply_json(req, status, &body);
}

/* A create on its way through the broker. */
struct creation {
	struct request *req;
	struct sandbox *sandbox;
};

static void creation_free(struct creation *creation)
{
	if (!creation)
		return;
	request_unref(creation->req);
	sandbox_unref(creation->sandbox);
	free(creation);
}
DEFINE_AUTO(struct creation *, creation_free);

/* What the broker refuses about a spec is mostly about its volumes. */
static void reply_refusal(struct request *req, const struct err *err)
{
	switch (err->kind) {
	case ERR_DENIED:
		reply_error(req, 400, "VOLUME::HOST_PATH_NOT_ALLOWED", "%s",
			    err->msg);
		return;
	case ERR_NOT_FOUND:
		reply_error(req, 400, "VOLUME::HOST_PATH_NOT_FOUND", "%s",
			    err->msg);
		return;
	case ERR_INVALID:
		reply_err(req, "SANDBOX::INVALID_PARAMETER", err);
		return;
	case ERR_QUOTA:
		reply_err(req, "SANDBOX::QUOTA_EXCEEDED", err);
		return;
	case ERR_UNSUPPORTED:
		reply_err(req, "SANDBOX::API_NOT_SUPPORTED", err);
		return;
	default:
		reply_err(req, "SANDBOX::START_FAILED", err);
		return;
	}
}

static void answer_created(void *ctx)
{
	struct creation *creation auto_clean(creation_freep) = ctx;
	struct request *req = creation->req;

	/* Nobody knows its id, and nobody ever will. */
	if (!req->conn)
		sandbox_destroy(creation->sandbox, NULL, NULL);
	else
		reply_with_sandbox(req, 202, creation->sandbox);
}

static void on_created(void *ctx, const struct err *err)
{
	struct creation *creation = ctx;
	struct sandbox *sandbox = creation->sandbox;
	struct conn *conn = creation->req->conn;

	if (err) {
		reply_refusal(creation->req, err);
		creation_free(creation);
		return;
	}
	/* First: who hears that the sandbox is there may rely on it. */
	if (conn && !spec_entrypoint_idles(&sandbox->spec)) {
		entrypoint_start(sandbox, answer_created, creation);
		return;
	}
	sandbox_ref(sandbox);
	answer_created(creation);
	if (conn && !conn->closed)
		conn_flush(conn);
	sandbox_warm(sandbox); /* while the client reads */
	sandbox_unref(sandbox);
}

/* What a list shows counts; what is being ended doesn't any more. */
static int check_quota(struct request *req, struct err *err)
{
	struct server *server = req->server;
	unsigned int have = sandboxes_count(&server->sandboxes, req->domain);

	if (have < server->settings.max_sandboxes)
		return 0;
	return err_set(err, ERR_QUOTA, 0,
		       "no more than %" PRIu64
		       " sandboxes at once for a caller",
		       server->settings.max_sandboxes);
}

void api_sandbox_create(struct request *req)
{
	struct creation *creation auto_clean(creation_freep) = NULL;
	json_t *body auto_json = NULL;
	struct err err = ERR_NULL;
	const char *code = "SANDBOX::INVALID_PARAMETER";
	struct spec spec;
	bool bound;

	body = json_read(buf_data(&req->body), buf_len(&req->body), &err);
	if (!body) {
		reply_err(req, code, &err);
		return;
	}
	spec_init(&spec);
	if (create_body_read(body, &spec, &bound, &code, &err) < 0) {
		spec_deinit(&spec);
		reply_err(req, code, &err);
		return;
	}
	if (check_quota(req, &err) < 0) {
		spec_deinit(&spec);
		reply_refusal(req, &err);
		return;
	}
	creation = calloc(1, sizeof(*creation));
	if (!creation) {
		spec_deinit(&spec);
		request_abort(req);
		return;
	}
	spec.ephemeral = bound;
	if (sandbox_create(&req->server->sandboxes, &spec, req->domain,
			   on_created, creation, &creation->sandbox,
			   &err) < 0) {
		creation->sandbox = NULL;
		reply_refusal(req, &err);
		return;
	}
	if (bound)
		creation->sandbox->bound_to = req->conn;
	sandbox_ref(creation->sandbox);
	creation->req = request_ref(req);
	(void)take_ptr(creation);
	server_wake(req->server);
}

/* The value of a metadata key, or NULL. */
static const char *metadata_get(const struct strv *metadata, const char *want)
{
	const char *value;

	for (const char *key = strv_first(metadata); key;
	     key = strv_next(metadata, value)) {
		value = strv_next(metadata, key);
		if (strcmp(key, want) == 0)
			return value;
	}
	return NULL;
}

static bool passes(const struct list_query *query,
		   const struct sandbox *sandbox)
{
	const char *name = sandbox_state_name(sandbox->state);
	bool ok = query->num_states == 0;
	const char *value;

	for (unsigned int i = 0; i < query->num_states; i++)
		ok = ok || strcasecmp(query->state[i], name) == 0;
	for (const char *key = strv_first(&query->metadata); key && ok;
	     key = strv_next(&query->metadata, value)) {
		const char *have = metadata_get(&sandbox->spec.metadata, key);

		value = strv_next(&query->metadata, key);
		ok = have && strcmp(have, value) == 0;
	}
	return ok;
}

static void put_list(struct json_out *json, const struct request *req,
		     const struct list_query *query)
{
	int64_t first = (query->page - 1) * query->page_size;
	int64_t total = 0;
	int64_t pages;

	json_open(json, NULL, '{');
	json_open(json, "items", '[');
	for (struct sandbox *s = req->server->sandboxes.newest; s;
	     s = s->older) {
		if (!sandbox_visible(s, req->domain) || !passes(query, s))
			continue;
		if (total >= first && total < first + query->page_size)
			put_sandbox(json, s, true);
		total++;
	}
	json_close(json, ']');
	pages = (total + query->page_size - 1) / query->page_size;
	json_open(json, "pagination", '{');
	json_put_int(json, "page", query->page);
	json_put_int(json, "pageSize", query->page_size);
	json_put_int(json, "totalItems", total);
	json_put_int(json, "totalPages", pages);
	json_put_bool(json, "hasNextPage", query->page < pages);
	json_close(json, '}');
	json_close(json, '}');
}

void api_sandbox_list(struct request *req)
{
	struct list_query query auto_clean(list_query_deinit);
	struct buf body auto_clean(buf_deinit) = BUF_NULL;
	struct json_out json = { .buf = &body };
	struct err err = ERR_NULL;
	const char *code;

	list_query_init(&query);
	if (list_query_read(&query, req->head->query, &code, &err) < 0) {
		reply_err(req, code, &err);
		return;
	}
	buf_init(&body, CONN_OUT_MAX - HTTP_HEAD_MAX);
	put_list(&json, req, &query);
	reply_json(req, 200, &body);
}

void api_sandbox_get(struct request *req)
{
	struct sandbox *sandbox = reply_sandbox(req);

	if (sandbox)
		reply_with_sandbox(req, 200, sandbox);
}

static void on_deleted(void *ctx, const struct err *err)
{
	struct request *req = ctx;

	if (err)
		reply_err(req, "SANDBOX::DELETE_FAILED", err);
	else
		reply_empty(req, 204);
	request_unref(req);
}

void api_sandbox_delete(struct request *req)
{
	struct sandbox *sandbox = reply_sandbox(req);

	if (sandbox)
		sandbox_destroy(sandbox, on_deleted, request_ref(req));
}

/* Always a path below this server: no scheme, and the port at its end. */
void api_sandbox_endpoint(struct request *req)
{
	struct buf body auto_clean(buf_deinit) = BUF_NULL;
	struct buf endpoint auto_clean(buf_deinit) = BUF_NULL;
	struct json_out json = { .buf = &body };
	const char *host = http_head_get(req->head, "Host");
	struct sandbox *sandbox = reply_sandbox(req);
	char expires[32];

	if (!sandbox)
		return;
	if (req->port == 0) {
		reply_error(req, 400, "SANDBOX::INVALID_PARAMETER",
			    "the port must be from 1 to 65535");
		return;
	}
	if (http_query_get(req->head->query, "expires", expires,
			   sizeof(expires)) != -ENOENT) {
		reply_error(req, 400, "SANDBOX::API_NOT_SUPPORTED",
			    "signed endpoints (expires) aren't served here");
		return;
	}
	buf_init(&endpoint, HTTP_HEAD_MAX + 128);
	buf_addf(&endpoint, "%s/sandboxes/%s/proxy/%u",
		 host && *host ? host : "localhost", sandbox->id, req->port);
	buf_init(&body, 8 * HTTP_HEAD_MAX);
	json_open(&json, NULL, '{');
	json_put_bytes(&json, "endpoint", buf_data(&endpoint),
		       buf_len(&endpoint));
	json_close(&json, '}');
	reply_json(req, 200, &body);
}
