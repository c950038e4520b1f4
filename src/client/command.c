/* SPDX-License-Identifier: Apache-2.0 */

/*
 * command - programs of a sandbox that go on without us
 *
 * Input from: osbd, and through it the sandbox: hostile. What is missing or
 *             wrong in an answer reads as "unknown", but for a verdict: an
 *             exit status is never made up.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/rfc3339.h"
#include "client/conn.h"
#include "client/fail.h"
#include "client/limits.h"
#include "client/request.h"
#include "client/verdict.h"
#include "osb/osb.h"

#define TARGET_MAX 320
#define SANDBOX_UID 1000 /* of "sandbox", in every sandbox */
#define COMMANDS_MAX 4096

/* "/v1/sandboxes/ID/proxy/44772/command", then @before, @command, @behind. */
static int target_of(const char *id, const char *before, const char *command,
		     const char *behind, char ret_target[TARGET_MAX],
		     struct osb_error *err)
{
	int r = request_id_ok(id, err);

	if (r == 0 && command)
		r = request_id_ok(command, err);
	if (r < 0)
		return r;
	(void)snprintf(ret_target, TARGET_MAX,
		       "/v1/sandboxes/%s/proxy/44772/command%s%s%s", id, before,
		       command ? command : "", behind);
	return 0;
}

/* "sandbox", "root", "UID" or "UID:GID"; without a group it is the user's. */
static int put_user(json_t *body, const char *user)
{
	unsigned long uid = SANDBOX_UID;
	unsigned long gid;
	char nothing[] = "";
	char *end = nothing;

	if (user && strcmp(user, "root") == 0)
		uid = 0;
	else if (user && strcmp(user, "sandbox") != 0)
		uid = strtoul(user, &end, 10);
	gid = *end == ':' ? strtoul(end + 1, &end, 10) : uid;
	if (*end || uid > INT32_MAX || gid > INT32_MAX)
		return -EINVAL;
	if (json_object_set_new(body, "uid", json_integer((json_int_t)uid)) <
		    0 ||
	    json_object_set_new(body, "gid", json_integer((json_int_t)gid)) < 0)
		return -ENOMEM;
	return 0;
}

static json_t *spec_to_json(const struct osb_command_spec *spec)
{
	json_t *body auto_json =
		json_pack("{s:s, s:s*, s:I, s:b, s:{}}", "command", spec->text,
			  "cwd", spec->cwd, "timeout",
			  (json_int_t)spec->timeout_ms, "background", 1,
			  "envs");
	json_t *envs = json_object_get(body, "envs");

	if (!body || put_user(body, spec->user) < 0 ||
	    json_object_set_new(body, "limits",
				exec_limits_to_json(&spec->limits)) < 0)
		return NULL;
	for (const char *const *env = spec->env; env && *env; env++) {
		const char *equals = strchr(*env, '=');

		if (!equals ||
		    json_object_setn_new(envs, *env, (size_t)(equals - *env),
					 json_string(equals + 1)) < 0)
			return NULL;
	}
	return take_ptr(body);
}

static int fail_start(const json_t *error, struct osb_error *err)
{
	const json_t *trace = json_object_get(error, "traceback");
	const char *text = json_string_value(json_array_get(trace, 0));

	return client_fail_text(err, ENOEXEC, "%.400s",
				text ? text : "it can't be executed");
}

/*
 * The events that a start is answered with: JSON objects, each with an empty
 * line behind it. "init" has the id; "error" says why it couldn't be run.
 */
static int read_start(const struct buf *body, char ret_command[OSB_ID_MAX + 1],
		      struct osb_error *err)
{
	const char *at = (const char *)buf_data(body);
	size_t left = buf_len(body);
	char id[OSB_ID_MAX + 1] = "";

	while (left > 0) {
		const char *end = memchr(at, '\n', left);
		size_t len = end ? (size_t)(end - at) : left;
		json_t *event auto_json = json_loadb(at, len, 0, NULL);
		const char *type = client_json_str(event, "type");

		if (type && strcmp(type, "init") == 0)
			client_copy(id, sizeof(id),
				    client_json_str(event, "text"));
		if (type && strcmp(type, "error") == 0)
			return fail_start(json_object_get(event, "error"), err);
		len += end ? 1 : 0;
		at += len;
		left -= len;
	}
	if (request_id_ok(id, NULL) < 0)
		return client_fail_text(err, EBADMSG,
					"the answer of osbd has no valid id");
	client_copy(ret_command, OSB_ID_MAX + 1, id);
	return 0;
}

int osb_command_start(struct osb_client *client, const char *id,
		      const struct osb_command_spec *spec,
		      char ret_command[OSB_ID_MAX + 1], struct osb_error *err)
{
	json_t *body auto_json = NULL;
	char *text auto_free = NULL;
	char target[TARGET_MAX];
	unsigned int status = 0;
	int r = target_of(id, "", NULL, "", target, err);

	if (r < 0)
		return r;
	body = spec_to_json(spec);
	text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	if (!text)
		return client_fail_text(
			err, EINVAL,
			"an argument or variable isn't UTF-8 text, which is all that the API can carry");
	/* Not sent again when no answer comes: it may have been started. */
	r = request_exchange(client, "POST", target, text, &status, err);
	if (r != 0)
		return r < 0 ? r : -EPIPE;
	if (status != 200)
		return client_fail_status(err, status, buf_data(&client->body),
					  buf_len(&client->body));
	return read_start(&client->body, ret_command, err);
}

/* Unix time; 0: unknown. */
static int64_t time_member(const json_t *object, const char *key)
{
	const char *text = client_json_str(object, key);
	int64_t us = 0;

	if (text)
		(void)rfc3339_parse(text, &us);
	return us / 1000000;
}

static int info_from_json(json_t *item, struct osb_command_info *ret_info,
			  struct osb_error *err)
{
	const char *error = client_json_str(item, "error");
	int r;

	memset(ret_info, 0, sizeof(*ret_info));
	client_copy(ret_info->id, sizeof(ret_info->id),
		    client_json_str(item, "id"));
	if (request_id_ok(ret_info->id, NULL) < 0)
		ret_info->id[0] = '\0';
	client_copy(ret_info->text, sizeof(ret_info->text),
		    client_json_str(item, "content"));
	ret_info->background =
		json_is_true(json_object_get(item, "background"));
	ret_info->running = json_is_true(json_object_get(item, "running"));
	ret_info->started_s = time_member(item, "started_at");
	if (ret_info->running)
		return 0;
	ret_info->finished_s = time_member(item, "finished_at");
	/* This API has -1 where an exec's verdict has null. */
	if (json_integer_value(json_object_get(item, "exit_code")) < 0)
		(void)json_object_del(item, "exit_code");
	r = verdict_from_json(item, &ret_info->verdict);
	if (r < 0)
		return client_fail_text(err, EBADMSG,
					"osbd sent a broken verdict");
	ret_info->verdict.started = true;
	client_copy(ret_info->verdict.message,
		    sizeof(ret_info->verdict.message), error);
	return 0;
}

int osb_command_get(struct osb_client *client, const char *id,
		    const char *command, struct osb_command_info *ret_info,
		    struct osb_error *err)
{
	json_t *answer auto_json = NULL;
	char target[TARGET_MAX];
	int r = target_of(id, "/status/", command, "", target, err);

	if (r == 0)
		r = request_json(client, "GET", target, NULL, 200, &answer,
				 err);
	return r < 0 ? r : info_from_json(answer, ret_info, err);
}

int osb_command_list(struct osb_client *client, const char *id,
		     struct osb_command_info **ret_infos, size_t *ret_num,
		     struct osb_error *err)
{
	struct osb_command_info *infos auto_free = NULL;
	json_t *answer auto_json = NULL;
	char target[TARGET_MAX];
	const json_t *items;
	size_t num;
	int r = target_of(id, "", NULL, "", target, err);

	if (r == 0)
		r = request_json(client, "GET", target, NULL, 200, &answer,
				 err);
	if (r < 0)
		return r;
	items = json_object_get(answer, "items");
	num = json_array_size(items);
	if (num > COMMANDS_MAX)
		num = COMMANDS_MAX;
	infos = num ? calloc(num, sizeof(*infos)) : NULL;
	if (num && !infos)
		return client_fail(err, ENOMEM, "list commands");
	for (size_t i = 0; i < num; i++) {
		r = info_from_json(json_array_get(items, i), &infos[i], err);
		if (r < 0)
			return r;
	}
	*ret_infos = take_ptr(infos);
	*ret_num = num;
	return 0;
}

/* What an osb_command_log() is about. */
struct log_read {
	uint64_t at;
	osb_bytes_fn fn;
	void *ctx;
};

static int take_log(void *ctx, const void *data, size_t len)
{
	struct log_read *log = ctx;
	int r = log->fn(log->ctx, data, len);

	if (r == 0)
		log->at += len;
	return r;
}

int osb_command_log(struct osb_client *client, const char *id,
		    const char *command, uint64_t *cursor, osb_bytes_fn fn,
		    void *ctx, struct osb_error *err)
{
	struct log_read log = { .at = *cursor, .fn = fn, .ctx = ctx };
	char target[TARGET_MAX], query[64];
	int r;

	(void)snprintf(query, sizeof(query), "/logs?cursor=%" PRIu64, *cursor);
	r = target_of(id, "/", command, query, target, err);
	if (r == 0)
		r = request_stream(client, target, take_log, &log, err);
	*cursor = log.at;
	return r;
}

int osb_command_interrupt(struct osb_client *client, const char *id,
			  const char *command, struct osb_error *err)
{
	char target[TARGET_MAX];
	int r = target_of(id, "?id=", command, "", target, err);

	if (r < 0)
		return r;
	return request_json(client, "DELETE", target, NULL, 200, NULL, err);
}

int osb_command_delete(struct osb_client *client, const char *id,
		       const char *command, struct osb_error *err)
{
	char target[TARGET_MAX];
	int r = target_of(id, "/", command, "", target, err);

	if (r < 0)
		return r;
	return request_json(client, "DELETE", target, NULL, 204, NULL, err);
}
