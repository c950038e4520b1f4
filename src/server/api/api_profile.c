/* SPDX-License-Identifier: Apache-2.0 */

/*
 * GET /v1/profiles - what there is to ask for, and what it really means
 *
 * Values are those of a sandbox that names nothing else, in the form in which
 * they are written.
 */

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "sandbox/profile.h"
#include "sandbox/spec.h"
#include "server/api/api.h"
#include "server/conn.h"
#include "server/json.h"
#include "server/reply.h"
#include "server/server.h"

/* JSON writes one byte as six at most. */
#define BODY_MAX (PROFILES_MAX * (6 * PROFILE_TEXT_MAX + 2048u))

static void put_size(struct json_out *json, const char *key, uint64_t bytes)
{
	char text[UNITS_TEXT_MAX];

	units_format_size(bytes, text);
	json_put_text(json, key, text);
}

static void put_count(struct json_out *json, const char *key, uint32_t count)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%u", count);
	json_put_text(json, key, text);
}

static void put_time(struct json_out *json, const char *key, uint64_t ms)
{
	char text[UNITS_TEXT_MAX];

	if (ms == 0)
		return;
	units_format_time(ms, text);
	json_put_text(json, key, text);
}

static void put_limits(struct json_out *json, const struct spec *spec)
{
	const struct limits *limits = &spec->limits;
	char cpus[UNITS_TEXT_MAX];

	units_format_cpus(limits->cpu_milli, cpus);
	json_put_text(json, "cpu", cpus);
	put_size(json, "memory", limits->memory_bytes);
	put_size(json, "guarantee", spec->guarantee_bytes);
	put_size(json, "disk", limits->disk_bytes);
	put_size(json, "shm", limits->shm_bytes);
	put_count(json, "inodes", limits->inodes);
	put_count(json, "pids", limits->pids);
	put_count(json, "nofile", limits->nofile);
}

static void put_exec_limits(struct json_out *json,
			    const struct exec_limits *limits)
{
	put_time(json, "wall", limits->wall_ms);
	put_time(json, "cpuTime", limits->cpu_ms);
	if (limits->output_max)
		put_size(json, "output", limits->output_max);
	json_put_text(json, "outputPolicy",
		      output_policy_name(limits->output_policy));
}

static void put_env(struct json_out *json, const struct strv *env)
{
	char key[PROFILE_TEXT_MAX];

	strv_for_each(entry, env)
	{
		size_t len = strcspn(entry, "=");

		(void)snprintf(key, sizeof(key), "env.%.*s", (int)len, entry);
		json_put_text(json, key, entry + len + 1);
	}
}

static int put_profile(struct json_out *json, const struct profile *profile,
		       const struct settings *settings, struct err *err)
{
	struct spec spec auto_clean(spec_deinit);
	const char *description = profile_get(profile, "description");
	int r;

	spec_init(&spec);
	settings_exec_limits(settings, &spec.exec);
	r = profile_apply(profile, &spec, err);
	if (r == 0)
		r = spec_set_image(&spec, "host", err);
	if (r == 0)
		r = spec_finish(&spec, err);
	if (r < 0)
		return r;
	json_open(json, NULL, '{');
	json_put_text(json, "name", profile->name);
	json_put_text(json, "description", description ? description : "");
	json_open(json, "values", '{');
	put_limits(json, &spec);
	put_exec_limits(json, &spec.exec);
	put_time(json, "timeout", spec.timeout_s * 1000);
	json_put_text(json, "strict", spec.strict ? "yes" : "no");
	json_put_text(json, "contest", spec.contest ? "yes" : "no");
	put_env(json, &spec.env);
	json_close(json, '}');
	json_close(json, '}');
	return 0;
}

void api_profile_list(struct request *req)
{
	const struct settings *settings = &req->server->settings;
	struct buf body auto_clean(buf_deinit) = BUF_NULL;
	struct json_out json = { .buf = &body };
	struct err err = ERR_NULL;
	int r = 0;

	buf_init(&body, BODY_MAX);
	json_open(&json, NULL, '{');
	json_open(&json, "items", '[');
	for (uint32_t i = 0; r == 0 && i < settings->profiles.num; i++)
		r = put_profile(&json, &settings->profiles.profile[i], settings,
				&err);
	json_close(&json, ']');
	json_close(&json, '}');
	if (r < 0)
		reply_err(req, "INTERNAL_ERROR", &err);
	else
		reply_json(req, 200, &body);
}
