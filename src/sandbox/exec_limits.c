/* SPDX-License-Identifier: Apache-2.0 */

#include "sandbox/exec_limits.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/ranges.h"
#include "base/units.h"
#include "sandbox/limit.h"
#include "wire/init_msg.h"

static const char *const policy_names[] = {
	[OUTPUT_TRUNCATE] = "truncate",
	[OUTPUT_KILL] = "kill",
	[OUTPUT_WAIT] = "back-pressure",
};
_Static_assert(ARRAY_SIZE(policy_names) == OUTPUT_NUM_POLICIES,
	       "every policy has a name");

static const struct limit_rule rules[] = {
	{ "wall", LIMIT_TIME, 1, INIT_WALL_MAX_MS,
	  offsetof(struct exec_limits, wall_ms) },
	{ "cpuTime", LIMIT_TIME, 1, UNITS_TIME_MAX_MS,
	  offsetof(struct exec_limits, cpu_ms) },
	{ "output", LIMIT_SIZE, 1, LIMITS_MAX_BYTES,
	  offsetof(struct exec_limits, output_max) },
	{ "outputPolicy", LIMIT_POLICY, 0, OUTPUT_NUM_POLICIES - 1,
	  offsetof(struct exec_limits, output_policy) },
	{ "pids", LIMIT_COUNT, LIMITS_MIN_PIDS, LIMITS_MAX_PIDS,
	  offsetof(struct exec_limits, pids) },
};

int exec_limits_set(struct exec_limits *limits, const char *in_key,
		    const char *in_value, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (strcmp(rules[i].key, in_key) == 0)
			return limit_set(&rules[i], limits, in_value, err);
	return 1;
}

int output_policy_parse(const char *in_text, uint32_t *ret_policy)
{
	for (uint32_t i = 0; i < OUTPUT_NUM_POLICIES; i++) {
		if (strcmp(in_text, policy_names[i]) == 0) {
			*ret_policy = i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *output_policy_name(uint32_t policy)
{
	return policy_names[policy < OUTPUT_NUM_POLICIES ? policy
							 : OUTPUT_TRUNCATE];
}
