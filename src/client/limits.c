/* SPDX-License-Identifier: Apache-2.0 */

#include "client/limits.h"

#include <inttypes.h>
#include <stdio.h>

#include "osb/osb.h"

static int put(json_t *object, const char *key, uint64_t value,
	       const char *unit)
{
	char text[32];

	if (value == 0)
		return 0;
	(void)snprintf(text, sizeof(text), "%" PRIu64 "%s", value, unit);
	return json_object_set_new(object, key, json_string(text));
}

json_t *exec_limits_to_json(const struct osb_exec_limits *limits)
{
	static const char *const policies[] = {
		[OSB_OUTPUT_TRUNCATE] = "truncate",
		[OSB_OUTPUT_KILL] = "kill",
		[OSB_OUTPUT_WAIT] = "back-pressure",
	};
	json_t *object = json_object();
	int r = put(object, "cpuTime", limits->cpu_ms, "ms");

	if (r == 0)
		r = put(object, "output", limits->output_max, "");
	if (r == 0)
		r = put(object, "pids", limits->pids, "");
	if (r == 0 && limits->output_policy != OSB_OUTPUT_DEFAULT)
		r = json_object_set_new(
			object, "outputPolicy",
			json_string(policies[limits->output_policy]));
	if (r == 0)
		return object;
	json_decref(object);
	return NULL;
}
