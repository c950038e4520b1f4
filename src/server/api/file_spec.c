/* SPDX-License-Identifier: Apache-2.0 */

#include "server/api/file_spec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "sandbox/strv.h"
#include "server/env.h"
#include "server/json.h"

/*
 * Names as the image has them; ids as they are. Unknown ones are left out,
 * as clients expect.
 */
static void owner_to_id(const char *name, const char *nobody, char ret_id[16])
{
	static const struct {
		const char *name;
		const char *id;
	} known[] = {
		{ "root", "0" },   { "daemon", "1" },     { "bin", "2" },
		{ "sys", "3" },    { "www-data", "33" },  { "users", "100" },
		{ "staff", "50" }, { "sandbox", "1000" },
	};

	(void)snprintf(ret_id, 16, "-");
	if (strcmp(name, nobody) == 0)
		(void)snprintf(ret_id, 16, "65534");
	else if (*name && strlen(name) < 6 &&
		 strspn(name, "0123456789") == strlen(name))
		(void)snprintf(ret_id, 16, "%s", name);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(name, known[i].name) == 0)
			(void)snprintf(ret_id, 16, "%s", known[i].id);
}

/* 644 means 0644: the decimal digits are octal ones. */
static int mode_to_text(int64_t mode, char ret_text[8], struct err *err)
{
	(void)snprintf(ret_text, 8, "%lld", (long long)mode);
	if (strspn(ret_text, "01234567") != strlen(ret_text))
		return err_set(err, ERR_INVALID, 0,
			       "mode %lld: its digits must be octal",
			       (long long)mode);
	if (mode == 0)
		memcpy(ret_text, "-", 2);
	return 0;
}

int file_spec_path(const char *path, char *ret_path, size_t size,
		   struct err *err)
{
	size_t len = strlen(path);

	if (path[0] != '/' || len >= size)
		return err_set(err, ERR_INVALID, 0,
			       "path '%.100s': too long, or not absolute",
			       path);
	memcpy(ret_path, path, len + 1);
	return 0;
}

int file_spec_read(const void *data, size_t len, const struct spec *sandbox,
		   struct file_spec *ret_spec, struct err *err)
{
	struct file_spec spec = { .path = "" };
	struct strv env auto_clean(strv_deinit) = { 0 };
	json_t *json auto_json = NULL;
	const char *path = "";
	const char *owner = "";
	const char *group = "";
	int64_t mode = 0;
	bool verbatim = false;
	int r;

	json = json_read(data, len, err);
	if (!json || json_get_text(json, "path", &path, err) < 0 ||
	    json_get_text(json, "owner", &owner, err) < 0 ||
	    json_get_text(json, "group", &group, err) < 0 ||
	    json_get_bool(json, "verbatim", &verbatim, err) < 0 ||
	    json_get_int(json, "mode", 0, 7777, &mode, err) < 0)
		return -EINVAL;
	if (*path == '\0')
		return err_set(err, ERR_INVALID, 0, "path is missing");
	r = env_init(&env, sandbox, env_default_uid(sandbox), err);
	if (r == 0 && verbatim) /* ours: names that hold a '$' */
		r = file_spec_path(path, spec.path, sizeof(spec.path), err);
	else if (r == 0)
		r = env_path(&env, path, spec.path, sizeof(spec.path), err);
	if (r == 0)
		r = mode_to_text(mode, spec.mode, err);
	if (r < 0)
		return r;
	owner_to_id(owner, "nobody", spec.uid);
	owner_to_id(group, "nogroup", spec.gid);
	*ret_spec = spec;
	return 0;
}
