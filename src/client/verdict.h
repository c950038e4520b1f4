/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * verdict - read the last message of an exec
 */

#include "client/json.h"

struct osb_verdict;

/**
 * verdict_from_json() - @root is the message; hostile
 *
 * Return: 0, or -EBADMSG when it isn't a verdict.
 */
int verdict_from_json(const json_t *root, struct osb_verdict *ret_verdict);
