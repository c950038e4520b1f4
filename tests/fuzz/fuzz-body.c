/* SPDX-License-Identifier: Apache-2.0 */

/*
 * body - the JSON that clients send, and what osbd makes of it
 *
 * Input: a letter, then the text. c: the body of a create. w: the first
 * message of an exec. r: a patch of metadata. m: an upload's metadata. u, p: a
 * user, a path. j: bytes of a program, to be written as JSON.
 *
 * What osbd accepts, the process below it must accept too: otherwise one of
 * the two is wrong about what is allowed.
 */

#include <limits.h>

#include "backend/plan.h"
#include "base/buf.h"
#include "fuzz.h"
#include "init/request.h"
#include "sandbox/spec.h"
#include "server/api/create_body.h"
#include "server/api/file_spec.h"
#include "server/api/wish.h"
#include "server/env.h"
#include "server/json.h"

static struct broker_create message;
static struct request request;

/* As broker_link makes it. */
static void check_with_broker(const struct spec *spec)
{
	struct err err = ERR_NULL;

	memset(&message, 0, sizeof(message));
	memset(message.id, 'a', SANDBOX_ID_LEN);
	memcpy(message.domain, "uid:0", 5);
	memcpy(message.image, spec->image, sizeof(message.image));
	message.limits = spec->limits;
	message.num_volumes = spec->num_volumes;
	CHECK(spec->num_volumes <= VOLUMES_MAX);
	if (spec->num_volumes)
		memcpy(message.volumes, spec->volumes,
		       spec->num_volumes * sizeof(message.volumes[0]));
	if (plan_check_spec(&message, &err) < 0) {
		(void)fprintf(stderr, "the broker: %s\n", err.msg);
		CHECK(false);
	}
}

static void read_create(json_t *json)
{
	struct spec spec auto_clean(spec_deinit);
	struct err err = ERR_NULL;
	const char *code = NULL;
	bool bound;
	int r;

	spec_init(&spec);
	r = create_body_read(json, &spec, &bound, &code, &err);
	CHECK(code);
	if (r < 0) {
		CHECK(err.kind != ERR_NONE && err.msg[0]);
		return;
	}
	CHECK(spec.entrypoint.num > 0);
	CHECK(spec.metadata.num % 2 == 0);
	CHECK(spec.guarantee_bytes >= LIMITS_MIN_GUARANTEE);
	CHECK(spec.guarantee_bytes <= spec.limits.memory_bytes);
	CHECK(spec.timeout_s == 0 || spec.timeout_s >= SPEC_TIMEOUT_MIN_S);
	strv_for_each(text, &spec.env) CHECK(strchr(text, '='));
	(void)spec_entrypoint_idles(&spec);
	check_with_broker(&spec);
}

/* What it leaves is what a create would have taken. */
static void read_patch(const json_t *json)
{
	struct strv have, metadata;
	struct err err = ERR_NULL;
	const char *value;

	strv_init(&have, 2, 16);
	CHECK(strv_add(&have, "k") == 0 && strv_add(&have, "v") == 0);
	if (metadata_patch(json, &have, &metadata, &err) == 0) {
		CHECK(metadata.num % 2 == 0);
		CHECK(metadata.num <= 2 * SPEC_METADATA_MAX);
		for (const char *key = strv_first(&metadata); key;
		     key = strv_next(&metadata, value)) {
			value = strv_next(&metadata, key);
			CHECK(spec_label_ok(key, value));
			CHECK(!spec_label_reserved(key));
		}
		strv_deinit(&metadata);
	} else {
		CHECK(err.kind == ERR_INVALID && err.msg[0]);
	}
	strv_deinit(&have);
}

/* As init_link makes it. */
static void check_with_init(const struct wish *wish)
{
	struct buf msg auto_clean(buf_deinit) = BUF_NULL;
	const struct init_exec head = {
		.op = INIT_EXEC,
		.uid = wish->uid,
		.gid = wish->gid,
		.argc = wish->argv.num,
		.envc = wish->env.num,
		.wall_ms = (uint64_t)wish->timeout_ms,
	};

	buf_init(&msg, INIT_MSG_MAX);
	buf_add(&msg, &head, sizeof(head));
	buf_add(&msg, wish->cwd, strlen(wish->cwd) + 1);
	buf_add(&msg, buf_data(&wish->argv.bytes), buf_len(&wish->argv.bytes));
	buf_add(&msg, buf_data(&wish->env.bytes), buf_len(&wish->env.bytes));
	if (msg.failed)
		return; /* refused as too long */
	CHECK(request_parse(buf_data(&msg), buf_len(&msg), &request) == 0);
}

static void read_wish(json_t *json)
{
	struct spec spec auto_clean(spec_deinit);
	struct wish wish auto_clean(wish_deinit) = { .timeout_ms = 0 };
	struct err err = ERR_NULL;

	spec_init(&spec);
	if (wish_read(json, &spec, &wish, &err) < 0) {
		CHECK(err.kind != ERR_NONE && err.msg[0]);
		return;
	}
	CHECK(wish.argv.num > 0 && wish.cwd[0] == '/' && wish.timeout_ms >= 0);
	check_with_init(&wish);
}

static bool is_number(const char *text, const char *digits)
{
	return strcmp(text, "-") == 0 ||
	       (*text && strspn(text, digits) == strlen(text));
}

static void read_metadata(const char *text)
{
	struct spec spec auto_clean(spec_deinit);
	struct file_spec file;
	struct err err = ERR_NULL;

	spec_init(&spec);
	if (file_spec_read(text, strlen(text), &spec, &file, &err) < 0) {
		CHECK(err.kind != ERR_NONE && err.msg[0]);
		return;
	}
	CHECK(file.path[0] == '/' && strlen(file.path) < sizeof(file.path));
	CHECK(is_number(file.mode, "01234567") && strlen(file.mode) <= 4);
	CHECK(is_number(file.uid, "0123456789"));
	CHECK(is_number(file.gid, "0123456789"));
}

static void read_user(const char *text)
{
	uint32_t uid, gid;

	if (env_user(text, &uid, &gid, NULL) == 0)
		CHECK(uid <= 65535 && gid <= 65535);
}

/* Into a place that may be far too small. */
static void read_path(struct fuzz *in)
{
	size_t size = (size_t)fuzz_byte(in) * 16 + 2;
	char *path auto_free = malloc(size);
	char *text auto_free = fuzz_text(in);
	struct strv env auto_clean(strv_deinit) = { 0 };
	struct spec spec auto_clean(spec_deinit);

	CHECK(path);
	spec_init(&spec);
	CHECK(env_init(&env, &spec, 0, NULL) == 0);
	if (env_path(&env, text, path, size, NULL) == 0)
		CHECK(path[0] == '/' && strlen(path) < size);
}

/* Any bytes become a JSON string, and that string written again the same. */
static void write_json(struct fuzz *in)
{
	struct buf out auto_clean(buf_deinit) = BUF_NULL;
	struct buf again auto_clean(buf_deinit) = BUF_NULL;
	struct json_out json = { .buf = &out };
	struct json_out json_again = { .buf = &again };
	json_t *read auto_json = NULL;
	const json_t *value;

	buf_init(&out, 64 + 6 * in->len);
	buf_init(&again, 64 + 6 * in->len);
	json_open(&json, NULL, '{');
	json_put_bytes(&json, "v", in->p, in->len);
	json_close(&json, '}');
	CHECK(!out.failed);
	read = json_loadb((const char *)buf_data(&out), buf_len(&out),
			  JSON_ALLOW_NUL, NULL);
	value = json_object_get(read, "v");
	CHECK(json_is_string(value));
	json_open(&json_again, NULL, '{');
	json_put_bytes(&json_again, "v", json_string_value(value),
		       json_string_length(value));
	json_close(&json_again, '}');
	check_equal(buf_data(&out), buf_len(&out), buf_data(&again),
		    buf_len(&again));
}

static void read_json(uint8_t letter, const char *text)
{
	struct err err = ERR_NULL;
	json_t *json auto_json = json_read(text, strlen(text), &err);

	if (!json)
		CHECK(err.kind == ERR_INVALID);
	else if (letter == 'c')
		read_create(json);
	else if (letter == 'r')
		read_patch(json);
	else
		read_wish(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = { data, size };
	uint8_t letter = fuzz_byte(&in);
	char *text auto_free = NULL;

	if (letter == 'j') {
		write_json(&in);
		return 0;
	}
	if (letter == 'p') {
		read_path(&in);
		return 0;
	}
	text = fuzz_text(&in);
	if (letter == 'm')
		read_metadata(text);
	else if (letter == 'u')
		read_user(text);
	else
		read_json(letter, text);
	return 0;
}
