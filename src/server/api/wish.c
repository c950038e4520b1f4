/* SPDX-License-Identifier: Apache-2.0 */

#include "server/api/wish.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "server/api/limits_body.h"
#include "server/env.h"
#include "wire/init_msg.h"

void wish_deinit(struct wish *wish)
{
	strv_deinit(&wish->argv);
	strv_deinit(&wish->env);
}

static int read_argv(const json_t *object, struct wish *wish, struct err *err)
{
	const json_t *array;
	const json_t *arg;
	size_t i;

	if (json_get_array(object, "argv", &array, err) != 0 ||
	    json_array_size(array) == 0)
		return err_set(err, ERR_INVALID, 0,
			       "argv: must be a list of strings, not empty");
	json_array_foreach(array, i, arg)
	{
		if (!json_is_string(arg))
			return err_set(err, ERR_INVALID, 0,
				       "argv: must be strings");
		if (strv_add(&wish->argv, json_string_value(arg)) < 0)
			return err_set(
				err, ERR_INVALID, 0,
				"argv: at most %d arguments and %u bytes",
				INIT_ARGS_MAX, INIT_MSG_MAX);
	}
	return 0;
}

static int read_env(const json_t *object, struct wish *wish, struct err *err)
{
	const json_t *env;
	const json_t *value;
	const char *key;
	int r = json_get_object(object, "env", &env, err);

	if (r != 0)
		return r < 0 ? r : 0;
	json_object_foreach((json_t *)(uintptr_t)env, key, value)
	{
		if (!json_is_string(value))
			return err_set(err, ERR_INVALID, 0,
				       "env '%.100s': must be a string", key);
		if (strv_set_env(&wish->env, key, json_string_value(value)) < 0)
			return err_set(err, ERR_INVALID, 0,
				       "env '%.100s': bad name, or too much",
				       key);
	}
	return 0;
}

int wish_read(const json_t *object, const struct spec *spec, struct wish *wish,
	      struct err *err)
{
	const char *user = "sandbox";
	const char *cwd = ENV_WORKDIR;
	int r;

	memset(wish, 0, sizeof(*wish));
	strv_init(&wish->argv, INIT_ARGS_MAX, INIT_MSG_MAX);
	if (json_get_text(object, "user", &user, err) < 0 ||
	    json_get_text(object, "cwd", &cwd, err) < 0 ||
	    json_get_bool(object, "stdin", &wish->has_stdin, err) < 0 ||
	    json_get_bool(object, "bind", &wish->bind, err) < 0 ||
	    json_get_int(object, "timeout_ms", 0, INT64_MAX / 1000,
			 &wish->timeout_ms, err) < 0)
		return -EINVAL;
	r = limits_body_read(object, spec, &wish->limits, err);
	if (r == 0)
		r = env_user(user, &wish->uid, &wish->gid, err);
	if (r == 0)
		r = env_check_user(spec, wish->uid, wish->gid, err);
	if (r == 0)
		r = env_init(&wish->env, spec, wish->uid, err);
	if (r == 0)
		r = read_argv(object, wish, err);
	if (r == 0)
		r = read_env(object, wish, err);
	if (r == 0)
		r = env_path(&wish->env, cwd, wish->cwd, sizeof(wish->cwd),
			     err);
	return r;
}
