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
#include "base/rfc3339.h"
#include "http/url.h"
#include "sandbox/sandbox.h"
#include "server/api/api.h"
#include "server/api/create_body.h"
#include "server/api/list_query.h"
#include "server/conn.h"
#include "server/json.h"
#include "server/reply.h"
#include "server/server.h"

void api_health(struct request *req)
{
	struct buf body auto_clean(buf_deinit) = BUF_NULL;

	buf_init(&body, 64);
	buf_adds(&body, "{\"status\":\"healthy\"}");
	reply_json(req, 200, &body);
}

static void put_exec_limits(struct json_out *json,
			    const struct exec_limits *limits)
{
	char text[32];

	if (limits->cpu_ms) {
		(void)snprintf(text, sizeof(text), "%llums",
			       (unsigned long long)limits->cpu_ms);
		json_put_text(json, "cpuTime", text);
	}
	if (limits->output_max == 0)
		return;
	(void)snprintf(text, sizeof(text), "%llu",
		       (unsigned long long)limits->output_max);
	json_put_text(json, "output", text);
	json_put_text(json, "outputPolicy",
		      output_policy_name(limits->output_policy));
}

static void put_limits(struct json_out *json, const struct spec *spec)
{
	const struct limits *limits = &spec->limits;
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
		{ "guarantee", spec->guarantee_bytes, "" },
	};
	char text[32];

	json_open(json, "resourceLimits", '{');
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		(void)snprintf(text, sizeof(text), "%llu%s",
			       (unsigned long long)rows[i].value, rows[i].unit);
		json_put_text(json, rows[i].key, text);
	}
	put_exec_limits(json, &spec->exec);
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
		put_limits(json, spec);
	json_close(json, '}');
}

void api_sandbox_reply(struct request *req, unsigned int status,
		       const struct sandbox *sandbox)
{
	struct buf body auto_clean(buf_deinit) = BUF_NULL;
	struct json_out json = { .buf = &body };

	buf_init(&body, CONN_OUT_MAX);
	put_sandbox(&json, sandbox, status == 200);
	reply_json(req, status, &body);
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
		const char *have = spec_label_get(&sandbox->spec.metadata, key);

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
		api_sandbox_reply(req, 200, sandbox);
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

static int read_moment(const json_t *body, const char *key, int64_t *ret_us,
		       struct err *err)
{
	const char *text;
	int r = json_get_text(body, key, &text, err);

	if (r < 0)
		return r;
	if (r > 0)
		return err_set(err, ERR_INVALID, 0,
			       "%s is missing; must be " RFC3339_ALLOWED, key);
	r = rfc3339_parse(text, ret_us);
	if (r < 0)
		return err_set(err, ERR_INVALID, 0,
			       "%s '%.60s': must be " RFC3339_ALLOWED
			       " or ...+01:00, since 1970",
			       key, text);
	return 0;
}

/* A change whose answer waits until it is written down. */
struct change {
	struct request *req;
	struct sandbox *sandbox;
	int64_t expires_us;
	void (*reply)(const struct change *change);
};

static void on_change_kept(void *ctx, const struct err *err)
{
	struct change *change auto_free = ctx;

	if (err)
		reply_err(change->req, "SANDBOX::UNKNOWN_ERROR", err);
	else
		change->reply(change);
	request_unref(change->req);
	sandbox_unref(change->sandbox);
}

static void reply_expiry(const struct change *change)
{
	struct buf answer auto_clean(buf_deinit) = BUF_NULL;
	struct json_out json = { .buf = &answer };

	buf_init(&answer, 256);
	json_open(&json, NULL, '{');
	json_put_time(&json, "expiresAt", change->expires_us);
	json_close(&json, '}');
	reply_json(change->req, 200, &answer);
}

static void reply_changed(const struct change *change)
{
	api_sandbox_reply(change->req, 200, change->sandbox);
}

static void keep_change(struct request *req, struct sandbox *sandbox,
			void (*reply)(const struct change *change))
{
	struct change *change = calloc(1, sizeof(*change));

	if (!change) {
		request_abort(req);
		return;
	}
	*change = (struct change){
		.req = request_ref(req),
		.sandbox = sandbox_ref(sandbox),
		.expires_us = sandbox->expires_us,
		.reply = reply,
	};
	sandbox_keep(sandbox, on_change_kept, change);
}

void api_sandbox_renew(struct request *req)
{
	struct sandbox *sandbox = reply_sandbox(req);
	json_t *body auto_json = NULL;
	struct err err = ERR_NULL;
	int64_t expires_us = 0;

	if (!sandbox)
		return;
	body = json_read(buf_data(&req->body), buf_len(&req->body), &err);
	if (!body || read_moment(body, "expiresAt", &expires_us, &err) < 0) {
		reply_err(req, "SANDBOX::INVALID_PARAMETER", &err);
		return;
	}
	if (sandbox_set_expiry(sandbox, expires_us, &err) < 0) {
		reply_err(req,
			  err.kind == ERR_NOT_FOUND
				  ? "SANDBOX::NOT_FOUND"
				  : "SANDBOX::INVALID_EXPIRATION",
			  &err);
		return;
	}
	keep_change(req, sandbox, reply_expiry);
}

void api_sandbox_patch(struct request *req)
{
	struct sandbox *sandbox = reply_sandbox(req);
	json_t *patch auto_json = NULL;
	struct err err = ERR_NULL;
	struct strv metadata;

	if (!sandbox)
		return;
	patch = json_read(buf_data(&req->body), buf_len(&req->body), &err);
	if (!patch) {
		reply_err(req, "SANDBOX::INVALID_PARAMETER", &err);
		return;
	}
	if (metadata_patch(patch, &sandbox->spec.metadata, &metadata, &err) <
	    0) {
		reply_err(req, "INVALID_METADATA_LABEL", &err);
		return;
	}
	sandbox_set_metadata(sandbox, &metadata);
	keep_change(req, sandbox, reply_changed);
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
