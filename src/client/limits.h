/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * limits - what one program may use, as the API writes it
 */

#include "client/json.h"

struct osb_exec_limits;

/** exec_limits_to_json() - a new object, {} when none is given; NULL: no memory */
json_t *exec_limits_to_json(const struct osb_exec_limits *limits);
