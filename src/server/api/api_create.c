/* SPDX-License-Identifier: Apache-2.0 */

/*
 * api_create - POST /sandboxes
 *
 * In this order: is the request right, was it answered before under its key,
 * has its domain room, isn't it too fast. So what is refused costs no token,
 * and a retry of what has succeeded succeeds, even where all is full by now.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sandbox/sandbox.h"
#include "server/api/api.h"
#include "server/api/create_body.h"
#include "server/api/entrypoint.h"
#include "server/conn.h"
#include "server/json.h"
#include "server/reply.h"
#include "server/server.h"

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

static struct creation *creation_new(struct request *req)
{
	struct creation *creation = calloc(1, sizeof(*creation));

	if (creation)
		creation->req = request_ref(req);
	return creation;
}

static void answer_created(void *ctx)
{
	struct creation *creation auto_clean(creation_freep) = ctx;
	struct sandbox *sandbox = creation->sandbox;
	struct request *req = creation->req;

	/* Nobody knows its id, and nobody ever will; unless by its key. */
	if (!req->conn && !sandbox->idem_key)
		sandbox_destroy(sandbox, NULL, NULL);
	else
		api_sandbox_reply(req, 202, sandbox);
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
	if (!spec_entrypoint_idles(&sandbox->spec)) {
		entrypoint_start(sandbox, answer_created, creation);
		return;
	}
	sandbox_ref(sandbox);
	answer_created(creation);
	if (conn)
		conn_flush(conn);
	sandbox_warm(sandbox); /* while the client reads */
	sandbox_unref(sandbox);
}

/* The same for whoever asked for it while it was being created. */
static void on_same_created(void *ctx, const struct err *err)
{
	struct creation *creation auto_clean(creation_freep) = ctx;

	if (err)
		reply_refusal(creation->req, err);
	else
		api_sandbox_reply(creation->req, 202, creation->sandbox);
}

/* The same request, whatever the order of its members and its blanks. */
static int digest_body(const json_t *body, uint8_t ret_digest[IDEM_DIGEST_LEN])
{
	char *text auto_free = json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS);

	return text ? idem_digest(text, strlen(text), ret_digest) : -ENOMEM;
}

static void reply_with_same(struct request *req, struct sandbox *sandbox)
{
	struct creation *creation auto_clean(creation_freep) = NULL;

	if (sandbox->state != SANDBOX_PENDING) {
		api_sandbox_reply(req, 202, sandbox);
		return;
	}
	creation = creation_new(req);
	if (!creation ||
	    sandbox_await(sandbox, on_same_created, creation) < 0) {
		request_abort(req);
		return;
	}
	creation->sandbox = sandbox_ref(sandbox);
	(void)take_ptr(creation);
}

/* Return: is the request answered, since its key was there before? */
static bool answer_by_key(struct request *req, const char *key,
			  const uint8_t digest[IDEM_DIGEST_LEN])
{
	static const char code[] = "SANDBOX::IDEMPOTENCY_CONFLICT";
	struct sandboxes *all = &req->server->sandboxes;
	const struct idem_entry *entry =
		idem_find(&all->idem, req->domain, key, expiry_now_us());
	struct sandbox *sandbox;

	if (!entry)
		return false;
	sandbox = sandboxes_find(all, entry->sandbox, req->domain);
	if (memcmp(entry->digest, digest, IDEM_DIGEST_LEN) != 0)
		reply_error(req, 409, code,
			    "Idempotency-Key: was used with another body");
	else if (!sandbox)
		reply_error(req, 409, code,
			    "the sandbox of this Idempotency-Key is gone");
	else
		reply_with_same(req, sandbox);
	return true;
}

/*
 * The header Idempotency-Key, if there is one.
 * Return: 0 with *ret_key (or NULL) and its digest; 1 after answering.
 */
static int read_key(struct request *req, const json_t *body, bool bound,
		    const char **ret_key, uint8_t ret_digest[IDEM_DIGEST_LEN])
{
	static const char code[] = "SANDBOX::INVALID_PARAMETER";
	const char *in_key = http_head_get(req->head, "Idempotency-Key");

	*ret_key = in_key;
	if (!in_key)
		return 0;
	if (!idem_key_ok(in_key)) {
		reply_error(req, 400, code,
			    "Idempotency-Key: must be " IDEM_KEY_ALLOWED);
		return 1;
	}
	/* The retry comes when the connection has gone, and the sandbox too. */
	if (bound) {
		reply_error(req, 400, code,
			    "Idempotency-Key: can't be used with osb.bind");
		return 1;
	}
	if (digest_body(body, ret_digest) < 0) {
		request_abort(req);
		return 1;
	}
	return answer_by_key(req, in_key, ret_digest);
}

/* Return: 0, or 1 after refusing. */
static int admit(struct request *req, const struct spec *spec)
{
	struct accounts *accounts = &req->server->sandboxes.accounts;
	struct err err = ERR_NULL;
	unsigned int wait_s;

	if (account_check_room(accounts, req->domain, spec->guarantee_bytes,
			       &err) < 0) {
		reply_refusal(req, &err);
		return 1;
	}
	if (!account_may_create(accounts, req->domain,
				server_now_ms(req->server), &wait_s)) {
		reply_too_fast(req, "creates", accounts->limits.create_rate,
			       wait_s);
		return 1;
	}
	return 0;
}

/* Takes @spec. @key may be NULL. */
static void create(struct request *req, struct spec *spec, bool bound,
		   const char *key, const uint8_t digest[IDEM_DIGEST_LEN])
{
	struct creation *creation auto_clean(creation_freep) =
		creation_new(req);
	struct err err = ERR_NULL;
	struct sandbox *sandbox;

	if (!creation) {
		spec_deinit(spec);
		request_abort(req);
		return;
	}
	spec->ephemeral = bound;
	if (sandbox_create(&req->server->sandboxes, spec, req->domain,
			   on_created, creation, &sandbox, &err) < 0) {
		reply_refusal(req, &err);
		return;
	}
	creation->sandbox = sandbox_ref(sandbox);
	(void)take_ptr(creation);
	memcpy(req->made_id, sandbox->id, sizeof(req->made_id));
	if (bound) {
		sandbox->bound_to = req->conn;
		req->conn->owns = true;
	}
	/* A key that was promised and isn't kept makes two out of one. */
	if (key && sandbox_set_key(sandbox, key, digest) < 0)
		sandbox_destroy(sandbox, NULL, NULL);
	server_wake(req->server);
}

static int use_profile(const struct profiles *profiles, const json_t *body,
		       struct spec *spec, struct err *err)
{
	const struct profile *profile;
	const char *name;
	int r = create_body_profile(body, &name, err);

	if (r < 0)
		return r;
	profile = profiles_find(profiles, name);
	if (!profile)
		return err_set(err, ERR_INVALID, 0,
			       "osb.profile '%.40s': there is none of that "
			       "name; GET /v1/profiles has all",
			       name);
	return profile_apply(profile, spec, err);
}

void api_sandbox_create(struct request *req)
{
	uint8_t digest[IDEM_DIGEST_LEN];
	json_t *body auto_json = NULL;
	struct err err = ERR_NULL;
	const char *code = "SANDBOX::INVALID_PARAMETER";
	const char *key = NULL;
	struct spec spec;
	bool bound;

	body = json_read(buf_data(&req->body), buf_len(&req->body), &err);
	if (!body) {
		reply_err(req, code, &err);
		return;
	}
	spec_init(&spec);
	settings_exec_limits(&req->server->settings, &spec.exec);
	if (use_profile(&req->server->settings.profiles, body, &spec, &err) <
		    0 ||
	    create_body_read(body, &spec, &bound, &code, &err) < 0) {
		spec_deinit(&spec);
		reply_err(req, code, &err);
		return;
	}
	if (read_key(req, body, bound, &key, digest) != 0 ||
	    admit(req, &spec) != 0) {
		spec_deinit(&spec);
		return;
	}
	create(req, &spec, bound, key, digest);
}
