/* SPDX-License-Identifier: Apache-2.0 */

#include "server/api/limits_body.h"

#include <errno.h>

#include "base/err.h"
#include "sandbox/spec.h"
#include "server/json.h"

static int read_limit(struct exec_limits *limits, const char *in_key,
		      const json_t *value, struct err *err)
{
	int r;

	if (json_is_null(value))
		return 0;
	if (!json_is_string(value))
		return err_set(err, ERR_INVALID, 0,
			       "limits '%.60s': must be a string", in_key);
	r = exec_limits_set(limits, in_key, json_string_value(value), err);
	if (r == 1)
		return err_set(
			err, ERR_INVALID, 0,
			"limits '%.60s' isn't known; allowed: wall cpuTime "
			"output outputPolicy pids",
			in_key);
	return r;
}

int limits_body_read(const json_t *body, const struct spec *spec,
		     struct exec_limits *ret_limits, struct err *err)
{
	struct exec_limits limits = spec->exec;
	const json_t *object;
	const json_t *value;
	const char *key;
	int r = json_get_object(body, "limits", &object, err);

	if (r < 0)
		return r;
	if (r == 0) {
		json_object_foreach((json_t *)(uintptr_t)object, key, value)
		{
			r = read_limit(&limits, key, value, err);
			if (r < 0)
				return r;
		}
	}
	if (limits.pids > spec->limits.pids)
		return err_set(err, ERR_INVALID, 0,
			       "pids '%u': must be at most the sandbox's %u",
			       limits.pids, spec->limits.pids);
	*ret_limits = limits;
	return 0;
}
