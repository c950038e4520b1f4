/* SPDX-License-Identifier: Apache-2.0 */

/*
 * sandbox - create, look at, list and end sandboxes
 *
 * Builds and reads the API's JSON (osbd's answers: hostile). A value that is
 * missing or unreadable in an answer becomes "unknown" (0, ""), except for
 * the new sandbox's id, without which there is nothing to go on with.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rfc3339.h"
#include "base/units.h"
#include "client/fail.h"
#include "client/request.h"
#include "osb/osb.h"

#define TARGET_MAX 256
#define PAGE_SIZE 200 /* the API's largest */
#define PAGES_MAX 1000

/* resourceLimits are strings; sizes are sent in bytes. */
static int put_limit(json_t *limits, const char *key, uint64_t value,
		     const char *unit)
{
	char text[32];

	if (value == 0) /* the server's default */
		return 0;
	(void)snprintf(text, sizeof(text), "%" PRIu64 "%s", value, unit);
	return json_object_set_new(limits, key, json_string(text));
}

static json_t *limits_to_json(const struct osb_limits *limits)
{
	json_t *object = json_object();

	if (put_limit(object, "memory", limits->memory_bytes, "") < 0 ||
	    put_limit(object, "disk", limits->disk_bytes, "") < 0 ||
	    put_limit(object, "shm", limits->shm_bytes, "") < 0 ||
	    put_limit(object, "inodes", limits->inodes, "") < 0 ||
	    put_limit(object, "pids", limits->pids, "") < 0 ||
	    put_limit(object, "nofile", limits->nofile, "") < 0 ||
	    put_limit(object, "cpu", limits->cpu_milli, "m") < 0) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *volumes_to_json(const struct osb_sandbox_spec *spec)
{
	json_t *array = json_array();
	char name[32];

	for (size_t i = 0; i < spec->num_volumes; i++) {
		const struct osb_volume *volume = &spec->volumes[i];

		(void)snprintf(name, sizeof(name), "volume-%zu", i);
		if (json_array_append_new(array,
					  json_pack("{s:s, s:s, s:b, s:{s:s}}",
						    "name", name, "mountPath",
						    volume->target, "readOnly",
						    volume->read_only, "host",
						    "path", volume->source)) <
		    0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *spec_to_json(const struct osb_sandbox_spec *spec)
{
	json_t *body auto_json = NULL;
	int r = 0;

	body = json_pack("{s:{s:s}, s:[s,s,s], s:o}", "image", "uri",
			 spec->image ? spec->image : "host", "entrypoint",
			 "tail", "-f", "/dev/null", "resourceLimits",
			 limits_to_json(&spec->limits));
	if (body && spec->num_volumes > 0)
		r = json_object_set_new(body, "volumes", volumes_to_json(spec));
	if (body)
		r |= json_object_set_new(body, "extensions",
					 json_pack("{s:s*, s:s*}", "osb.bind",
						   spec->bind ? "connection"
							      : NULL,
						   "osb.profile",
						   spec->profile));
	return r == 0 ? take_ptr(body) : NULL;
}

int osb_sandbox_create(struct osb_client *client,
		       const struct osb_sandbox_spec *spec,
		       char ret_id[OSB_ID_MAX + 1], struct osb_error *err)
{
	static const struct osb_sandbox_spec defaults;
	json_t *body auto_json = NULL;
	json_t *answer auto_json = NULL;
	const char *id;
	int r;

	body = spec_to_json(spec ? spec : &defaults);
	if (!body)
		return client_fail_text(err, EINVAL,
					"an image or volume isn't UTF-8 text");
	r = request_json(client, "POST", "/v1/sandboxes", body, 202, &answer,
			 err);
	if (r < 0)
		return r;
	id = client_json_str(answer, "id");
	if (!id || request_id_ok(id, NULL) < 0)
		return client_fail_text(err, EBADMSG,
					"the answer of osbd has no valid id");
	client_copy(ret_id, OSB_ID_MAX + 1, id);
	return 0;
}

/* A limit that the server shows; unreadable ones stay 0, "unknown". */
static void limits_from_json(const json_t *object, struct osb_limits *ret)
{
	struct {
		const char *key;
		uint64_t *bytes;
	} sizes[] = {
		{ "memory", &ret->memory_bytes },
		{ "disk", &ret->disk_bytes },
		{ "shm", &ret->shm_bytes },
	}, counts[] = {
		{ "inodes", &ret->inodes },
		{ "pids", &ret->pids },
		{ "nofile", &ret->nofile },
	};
	const char *text;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		text = client_json_str(object, sizes[i].key);
		(void)units_parse_size(text, sizes[i].bytes);
	}
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		text = client_json_str(object, counts[i].key);
		if (text)
			(void)units_parse_count(text, UINT32_MAX,
						counts[i].bytes);
	}
	(void)units_parse_cpus(client_json_str(object, "cpu"), &ret->cpu_milli);
}

/* Unix time; 0: unknown. */
static int64_t parse_time(const char *text)
{
	int64_t us = 0;

	if (text)
		(void)rfc3339_parse(text, &us);
	return us / 1000000;
}

static void info_from_json(const json_t *item, struct osb_sandbox_info *ret)
{
	memset(ret, 0, sizeof(*ret));
	client_copy(ret->id, sizeof(ret->id), client_json_str(item, "id"));
	client_copy(ret->state, sizeof(ret->state),
		    client_json_str(json_object_get(item, "status"), "state"));
	client_copy(ret->image, sizeof(ret->image),
		    client_json_str(json_object_get(item, "image"), "uri"));
	ret->created_s = parse_time(client_json_str(item, "createdAt"));
	ret->expires_s = parse_time(client_json_str(item, "expiresAt"));
	limits_from_json(json_object_get(item, "resourceLimits"), &ret->limits);
}

static int target_of(const char *id, char ret_target[TARGET_MAX],
		     struct osb_error *err)
{
	int r = request_id_ok(id, err);

	if (r < 0)
		return r;
	(void)snprintf(ret_target, TARGET_MAX, "/v1/sandboxes/%s", id);
	return 0;
}

int osb_sandbox_get(struct osb_client *client, const char *id,
		    struct osb_sandbox_info *ret_info, struct osb_error *err)
{
	json_t *answer auto_json = NULL;
	char target[TARGET_MAX];
	int r;

	r = target_of(id, target, err);
	if (r < 0)
		return r;
	r = request_json(client, "GET", target, NULL, 200, &answer, err);
	if (r < 0)
		return r;
	info_from_json(answer, ret_info);
	return 0;
}

/* Appends one page to the array; says whether another one follows. */
static int add_page(const json_t *answer, struct osb_sandbox_info **infos,
		    size_t *num, bool *ret_more)
{
	const json_t *items = json_object_get(answer, "items");
	size_t add = json_array_size(items);
	struct osb_sandbox_info *grown;

	*ret_more = add > 0 &&
		    json_is_true(json_object_get(json_object_get(answer,
								 "pagination"),
						 "hasNextPage"));
	if (add == 0)
		return 0;
	grown = reallocarray(*infos, *num + add, sizeof(**infos));
	if (!grown)
		return -ENOMEM;
	*infos = grown;
	for (size_t i = 0; i < add; i++)
		info_from_json(json_array_get(items, i), &grown[*num + i]);
	*num += add;
	return 0;
}

int osb_sandbox_list(struct osb_client *client,
		     struct osb_sandbox_info **ret_infos, size_t *ret_num,
		     struct osb_error *err)
{
	struct osb_sandbox_info *infos auto_free = NULL;
	char target[TARGET_MAX];
	size_t num = 0;
	bool more = true;
	int r;

	for (int page = 1; more && page <= PAGES_MAX; page++) {
		json_t *answer auto_json = NULL;

		(void)snprintf(target, sizeof(target),
			       "/v1/sandboxes?page=%d&pageSize=%d", page,
			       PAGE_SIZE);
		r = request_json(client, "GET", target, NULL, 200, &answer,
				 err);
		if (r < 0)
			return r;
		r = add_page(answer, &infos, &num, &more);
		if (r < 0)
			return client_fail(err, -r, "list sandboxes");
	}
	*ret_infos = take_ptr(infos);
	*ret_num = num;
	return 0;
}

int osb_sandbox_renew(struct osb_client *client, const char *id,
		      int64_t expires_ms, struct osb_error *err)
{
	time_t seconds = expires_ms / 1000;
	char target[TARGET_MAX], text[64];
	json_t *body auto_json = NULL;
	struct tm tm;
	size_t len;
	int r;

	r = target_of(id, target, err);
	if (r < 0)
		return r;
	if (expires_ms < 0 || !gmtime_r(&seconds, &tm))
		return client_fail_text(err, ERANGE, "no such time");
	len = strlen(target);
	(void)snprintf(target + len, sizeof(target) - len, "/renew-expiration");
	len = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(text + len, sizeof(text) - len, ".%03dZ",
		       (int)(expires_ms % 1000));
	body = json_pack("{s:s}", "expiresAt", text);
	if (!body)
		return client_fail(err, ENOMEM, "renew a sandbox");
	return request_json(client, "POST", target, body, 200, NULL, err);
}

int osb_sandbox_delete(struct osb_client *client, const char *id,
		       struct osb_error *err)
{
	char target[TARGET_MAX];
	int r;

	r = target_of(id, target, err);
	if (r < 0)
		return r;
	return request_json(client, "DELETE", target, NULL, 204, NULL, err);
}
