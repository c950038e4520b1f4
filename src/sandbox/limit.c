/* SPDX-License-Identifier: Apache-2.0 */

#include "sandbox/limit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "sandbox/exec_limits.h"

static const char *const kind_allowed[] = {
	[LIMIT_SIZE] = UNITS_SIZE_ALLOWED,   [LIMIT_TIME] = UNITS_TIME_ALLOWED,
	[LIMIT_COUNT] = UNITS_COUNT_ALLOWED, [LIMIT_CPUS] = UNITS_CPUS_ALLOWED,
	[LIMIT_POLICY] = OUTPUT_POLICIES,
};

static int parse(const struct limit_rule *rule, const char *in_value,
		 uint64_t *ret_value)
{
	uint32_t small;
	int r;

	switch (rule->kind) {
	case LIMIT_SIZE:
		return units_parse_size(in_value, ret_value);
	case LIMIT_TIME:
		return units_parse_time(in_value, ret_value);
	case LIMIT_COUNT:
		return units_parse_count(in_value, rule->max, ret_value);
	case LIMIT_CPUS:
		r = units_parse_cpus(in_value, &small);
		break;
	default:
		r = output_policy_parse(in_value, &small);
		break;
	}
	if (r == 0)
		*ret_value = small;
	return r;
}

static int refuse_range(const struct limit_rule *rule, const char *in_value,
			bool too_large, struct err *err)
{
	uint64_t bound = too_large ? rule->max : rule->min;
	char text[UNITS_TEXT_MAX];

	switch (rule->kind) {
	case LIMIT_CPUS:
		units_format_cpus(bound, text);
		break;
	case LIMIT_SIZE:
		units_format_size(bound, text);
		break;
	case LIMIT_TIME:
		units_format_time(bound, text);
		break;
	default:
		(void)snprintf(text, sizeof(text), "%llu",
			       (unsigned long long)bound);
		break;
	}
	return err_set(err, ERR_INVALID, 0, "%s '%.60s': must be at %s %s",
		       rule->key, in_value, too_large ? "most" : "least", text);
}

int limit_set(const struct limit_rule *rule, void *target, const char *in_value,
	      struct err *err)
{
	uint8_t *at = (uint8_t *)target + rule->offset;
	uint64_t value = 0;
	uint32_t value32;
	int r;

	r = parse(rule, in_value, &value);
	if (r == -EINVAL)
		return err_set(err, ERR_INVALID, 0, "%s '%.60s': must be %s",
			       rule->key, in_value, kind_allowed[rule->kind]);
	if (r < 0 || value > rule->max || value < rule->min)
		return refuse_range(rule, in_value, r < 0 || value > rule->max,
				    err);
	if (rule->kind == LIMIT_SIZE || rule->kind == LIMIT_TIME) {
		memcpy(at, &value, sizeof(value));
	} else {
		value32 = (uint32_t)value;
		memcpy(at, &value32, sizeof(value32));
	}
	return 0;
}
