/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * exec_limits - what bounds one exec, beside the limits of its sandbox
 */

#include <stdint.h>

struct err;

/* What becomes of more output than is allowed. Kept in files. */
enum output_policy {
	OUTPUT_TRUNCATE = 0, /* it is dropped, and the program goes on */
	OUTPUT_KILL = 1,     /* the program is ended */
	OUTPUT_WAIT = 2,     /* it isn't read: the program waits to print it */
	OUTPUT_NUM_POLICIES
};

#define OUTPUT_POLICIES "truncate, kill or back-pressure"

struct exec_limits {
	uint64_t wall_ms;       /* 0: any; who starts one may name another */
	uint64_t cpu_ms;        /* of all its processes; 0: any */
	uint64_t output_max;    /* bytes, of both streams; 0: any */
	uint32_t output_policy; /* enum output_policy */
	uint32_t pids;          /* 0: as many as the sandbox allows each */
};

/**
 * exec_limits_set() - one limit, both as the API names them
 *
 * Return: 0; 1 when there is none of that name; -EINVAL with @err.
 */
int exec_limits_set(struct exec_limits *limits, const char *in_key,
		    const char *in_value, struct err *err);

/** output_policy_parse() - Return: 0 or -EINVAL */
int output_policy_parse(const char *in_text, uint32_t *ret_policy);

/** output_policy_name() - of an enum output_policy */
const char *output_policy_name(uint32_t policy);
