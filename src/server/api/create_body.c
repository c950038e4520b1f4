/* SPDX-License-Identifier: Apache-2.0 */

#include "server/api/create_body.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "sandbox/spec.h"
#include "server/json.h"

#define VOLUME_NAME_MAX 63
#define EXTENSION_PREFIX "osb."
#define PROFILE_EXTENSION EXTENSION_PREFIX "profile"

/* A handler per top-level field; called in this order, present or not. */
struct field {
	const char *key;
	const char *code; /* of a failure */
	int (*read)(const json_t *body, const char *key, struct spec *spec,
		    struct err *err);
};

/* {"uri":"host"} */
static const char *image_uri(const json_t *body, const char *key)
{
	return json_string_value(
		json_object_get(json_object_get(body, key), "uri"));
}

/* Apart from reading it: not to name one is another error than a wrong one. */
static int need_image(const json_t *body, const char *key, struct spec *spec,
		      struct err *err)
{
	const json_t *image = json_object_get(body, key);

	(void)spec;
	if (image_uri(body, key))
		return 0;
	return err_set(err, ERR_INVALID, 0,
		       "image%s: must be {\"uri\": NAME}; allowed: host",
		       image && !json_is_null(image) ? "" : " is missing");
}

static int read_image(const json_t *body, const char *key, struct spec *spec,
		      struct err *err)
{
	return spec_set_image(spec, image_uri(body, key), err);
}

static int read_timeout(const json_t *body, const char *key, struct spec *spec,
			struct err *err)
{
	int64_t seconds;
	int r = json_get_int(body, key, INT64_MIN, INT64_MAX, &seconds, err);

	if (r != 0)
		return r < 0 ? r : 0;
	return spec_set_timeout(spec, seconds, err);
}

/* An object of strings, given one by one; null values are skipped. */
static int read_strings(const json_t *body, const char *key, struct spec *spec,
			int (*add)(struct spec *spec, const char *in_key,
				   const char *in_value, struct err *err),
			struct err *err)
{
	const json_t *object;
	const json_t *value;
	const char *name;
	int r = json_get_object(body, key, &object, err);

	if (r != 0)
		return r < 0 ? r : 0;
	json_object_foreach((json_t *)(uintptr_t)object, name, value)
	{
		if (json_is_null(value))
			continue;
		if (!json_is_string(value))
			return err_set(err, ERR_INVALID, 0,
				       "%s '%.100s': must be a string", key,
				       name);
		r = add(spec, name, json_string_value(value), err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_limits(const json_t *body, const char *key, struct spec *spec,
		       struct err *err)
{
	const json_t *limits = json_object_get(body, key);

	if (!limits || json_is_null(limits))
		return err_set(err, ERR_INVALID, 0,
			       "%s is missing; {} means all defaults", key);
	return read_strings(body, key, spec, spec_set_limit, err);
}

static int read_env(const json_t *body, const char *key, struct spec *spec,
		    struct err *err)
{
	return read_strings(body, key, spec, spec_add_env, err);
}

static int read_metadata(const json_t *body, const char *key, struct spec *spec,
			 struct err *err)
{
	return read_strings(body, key, spec, spec_add_metadata, err);
}

static int read_entrypoint(const json_t *body, const char *key,
			   struct spec *spec, struct err *err)
{
	const json_t *array;
	const json_t *arg;
	size_t i;
	int r = json_get_array(body, key, &array, err);

	if (r < 0)
		return r;
	if (r == 1 || json_array_size(array) == 0)
		return err_set(err, ERR_INVALID, 0,
			       "entrypoint is missing or empty");
	json_array_foreach(array, i, arg)
	{
		if (!json_is_string(arg))
			return err_set(err, ERR_INVALID, 0,
				       "entrypoint: must be strings");
		r = spec_add_entrypoint(spec, json_string_value(arg), err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A DNS label, as clients' own checks have it. */
static bool volume_name_ok(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > VOLUME_NAME_MAX || name[0] == '-' ||
	    name[len - 1] == '-')
		return false;
	return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

static bool name_used_before(const json_t *volumes, size_t index,
			     const char *name)
{
	for (size_t i = 0; i < index; i++) {
		const char *other = json_string_value(
			json_object_get(json_array_get(volumes, i), "name"));

		if (other && strcmp(other, name) == 0)
			return true;
	}
	return false;
}

static int read_volume(const json_t *volumes, size_t index, struct spec *spec,
		       struct err *err)
{
	const json_t *volume = json_array_get(volumes, index);
	const json_t *host;
	const char *name = "";
	const char *source = NULL;
	const char *target = NULL;
	bool read_only = false;

	if (json_get_text(volume, "name", &name, err) < 0 ||
	    json_get_text(volume, "mountPath", &target, err) < 0 ||
	    json_get_bool(volume, "readOnly", &read_only, err) < 0)
		return -EINVAL;
	if (!volume_name_ok(name) || name_used_before(volumes, index, name))
		return err_set(err, ERR_INVALID, 0,
			       "volume '%.80s': the name must be a unique DNS "
			       "label of at most %d characters",
			       name, VOLUME_NAME_MAX);
	if (!target)
		return err_set(err, ERR_INVALID, 0,
			       "volume '%s': mountPath is missing", name);
	if (json_get_object(volume, "host", &host, err) != 0 ||
	    json_get_text(host, "path", &source, err) != 0)
		return err_set(err, ERR_INVALID, 0,
			       "volume '%s': only host{path} is served here",
			       name);
	if (json_object_get(volume, "subPath"))
		return err_set(err, ERR_INVALID, 0,
			       "volume '%s': subPath isn't served here", name);
	return spec_add_volume(spec, source, target, read_only, err);
}

static int read_volumes(const json_t *body, const char *key, struct spec *spec,
			struct err *err)
{
	const json_t *array;
	int r = json_get_array(body, key, &array, err);

	if (r != 0)
		return r < 0 ? r : 0;
	for (size_t i = 0; i < json_array_size(array); i++) {
		if (!json_is_object(json_array_get(array, i)))
			return err_set(err, ERR_INVALID, 0,
				       "volumes: must be objects");
		r = read_volume(array, i, spec, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* What we can't do yet must not look as if we did it. */
static int refuse_if_present(const json_t *body, const char *key,
			     struct spec *spec, struct err *err)
{
	const json_t *value = json_object_get(body, key);

	(void)spec;
	if (!value || json_is_null(value) || json_is_false(value))
		return 0;
	return err_set(err, ERR_INVALID, 0, "%s isn't served here", key);
}

static int read_platform(const json_t *body, const char *key, struct spec *spec,
			 struct err *err)
{
	const json_t *platform;
	const char *os = "linux";
	int r = json_get_object(body, key, &platform, err);

	(void)spec;
	if (r != 0)
		return r < 0 ? r : 0;
	r = json_get_text(platform, "os", &os, err);
	if (r < 0)
		return r;
	if (strcmp(os, "linux") != 0)
		return err_set(err, ERR_INVALID, 0,
			       "platform.os '%.20s': allowed: linux", os);
	return 0;
}

static const struct field fields[] = {
	{ "snapshotId", "SNAPSHOT::NOT_IMPLEMENTED", refuse_if_present },
	{ "image", "SANDBOX::INVALID_PARAMETER", need_image },
	{ "image", "IMAGE::NOT_FOUND", read_image },
	{ "entrypoint", "SANDBOX::INVALID_PARAMETER", read_entrypoint },
	{ "timeout", "SANDBOX::INVALID_PARAMETER", read_timeout },
	{ "resourceLimits", "SANDBOX::INVALID_PARAMETER", read_limits },
	{ "env", "SANDBOX::INVALID_PARAMETER", read_env },
	{ "metadata", "SANDBOX::INVALID_METADATA_LABEL", read_metadata },
	{ "platform", "SANDBOX::INVALID_PARAMETER", read_platform },
	{ "networkPolicy", "SANDBOX::INVALID_PARAMETER", refuse_if_present },
	{ "credentialProxy", "SANDBOX::INVALID_PARAMETER", refuse_if_present },
	{ "secureAccess", "SANDBOX::INVALID_PARAMETER", refuse_if_present },
	{ "volumes", "VOLUME::INVALID_VOLUME", read_volumes },
};

static int read_bind(const char *in_value, bool *ret_bound, struct err *err)
{
	if (*in_value && strcmp(in_value, "connection") != 0)
		return err_set(err, ERR_INVALID, 0,
			       "osb.bind '%.40s': allowed: connection",
			       in_value);
	*ret_bound = *in_value != '\0';
	return 0;
}

int create_body_profile(const json_t *body, const char **ret_name,
			struct err *err)
{
	const json_t *extensions;
	int r = json_get_object(body, "extensions", &extensions, err);

	*ret_name = PROFILE_DEFAULT;
	if (r == 0)
		r = json_get_text(extensions, PROFILE_EXTENSION, ret_name, err);
	return r < 0 ? r : 0;
}

/*
 * Clients' extensions are opaque, but for ours: osb.bind, the limits, and
 * osb.profile, which was read before all others.
 */
static int read_extensions(const json_t *body, struct spec *spec,
			   bool *ret_bound, struct err *err)
{
	const size_t prefix = strlen(EXTENSION_PREFIX);
	const json_t *object;
	const json_t *value;
	const char *name;
	int r = json_get_object(body, "extensions", &object, err);

	if (r != 0)
		return r < 0 ? r : 0;
	json_object_foreach((json_t *)(uintptr_t)object, name, value)
	{
		if (strncmp(name, EXTENSION_PREFIX, prefix) != 0 ||
		    strcmp(name, PROFILE_EXTENSION) == 0 || json_is_null(value))
			continue;
		if (!json_is_string(value))
			return err_set(err, ERR_INVALID, 0,
				       "%.100s: must be a string", name);
		if (strcmp(name, EXTENSION_PREFIX "bind") == 0)
			r = read_bind(json_string_value(value), ret_bound, err);
		else
			r = spec_set_limit(spec, name + prefix,
					   json_string_value(value), err);
		if (r < 0)
			return r;
	}
	return 0;
}

int create_body_read(const json_t *body, struct spec *spec, bool *ret_bound,
		     const char **ret_code, struct err *err)
{
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		r = fields[i].read(body, fields[i].key, spec, err);
		if (r < 0) {
			*ret_code = fields[i].code;
			return r;
		}
	}
	*ret_code = "SANDBOX::INVALID_PARAMETER";
	*ret_bound = false;
	r = read_extensions(body, spec, ret_bound, err);
	return r < 0 ? r : spec_finish(spec, err);
}

/* Also of what only takes away: so that a mistake shows. */
static int check_patch(const json_t *patch, struct err *err)
{
	const json_t *value;
	const char *key;

	json_object_foreach((json_t *)(uintptr_t)patch, key, value)
	{
		if (!json_is_string(value) && !json_is_null(value))
			return err_set(err, ERR_INVALID, 0,
				       "metadata '%.100s': must be a string, "
				       "or null to remove it",
				       key);
		if (spec_label_reserved(key))
			return err_set(
				err, ERR_INVALID, 0,
				"metadata '%.100s': keys under " SPEC_RESERVED_PREFIX
				" are reserved",
				key);
	}
	return 0;
}

/* What stays, with new values where it has some. */
static int keep_old(const json_t *patch, const struct strv *have,
		    struct spec *spec, struct err *err)
{
	const char *value;

	for (const char *key = strv_first(have); key;
	     key = strv_next(have, value)) {
		const json_t *change = json_object_get(patch, key);
		int r = 0;

		value = strv_next(have, key);
		if (!change)
			r = spec_add_metadata(spec, key, value, err);
		else if (json_is_string(change))
			r = spec_add_metadata(spec, key,
					      json_string_value(change), err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_new(const json_t *patch, const struct strv *have,
		   struct spec *spec, struct err *err)
{
	const json_t *value;
	const char *key;
	int r;

	json_object_foreach((json_t *)(uintptr_t)patch, key, value)
	{
		if (json_is_null(value) || spec_label_get(have, key))
			continue;
		r = spec_add_metadata(spec, key, json_string_value(value), err);
		if (r < 0)
			return r;
	}
	return 0;
}

int metadata_patch(const json_t *patch, const struct strv *have,
		   struct strv *ret_metadata, struct err *err)
{
	struct spec spec auto_clean(spec_deinit);
	int r;

	spec_init(&spec);
	r = check_patch(patch, err);
	if (r == 0)
		r = keep_old(patch, have, &spec, err);
	if (r == 0)
		r = add_new(patch, have, &spec, err);
	if (r < 0)
		return r;
	*ret_metadata = spec.metadata;
	memset(&spec.metadata, 0, sizeof(spec.metadata));
	return 0;
}
