/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * limit - one named limit: how its value is read, and what is allowed
 */

#include <stddef.h>
#include <stdint.h>

struct err;

enum limit_kind {
	LIMIT_SIZE,   /* uint64_t, bytes */
	LIMIT_TIME,   /* uint64_t, ms */
	LIMIT_COUNT,  /* uint32_t */
	LIMIT_CPUS,   /* uint32_t, thousandths */
	LIMIT_POLICY, /* uint32_t, enum output_policy */
	LIMIT_NUM_KINDS
};

struct limit_rule {
	const char *key; /* as the API names it */
	enum limit_kind kind;
	uint64_t min, max;
	size_t offset; /* of the field in its struct */
};

/**
 * limit_set() - read @in_value into its field of @target
 *
 * Return: 0, or -EINVAL with @err: key, value and what is allowed.
 */
int limit_set(const struct limit_rule *rule, void *target, const char *in_value,
	      struct err *err);
