/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * id - names of sandboxes and commands: 128 random bits, so that who knows one
 * has been told
 */

#include "wire/broker_msg.h"

/** id_new() - lowercase hex. Return: 0, or -EIO without randomness */
int id_new(char ret_id[SANDBOX_ID_LEN + 1]);
