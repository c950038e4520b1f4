/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * ps - what lists of osb ps share
 */

#include <stdbool.h>
#include <stdint.h>

#define PS_CELL_MAX 32

struct osb_client;

/** ps_format_span() - in the unit that leaves two or three digits: "98s" */
void ps_format_span(int64_t seconds, char ret_text[PS_CELL_MAX]);

/**
 * ps_commands() - list the commands of a sandbox
 * @arg: its id, or how that begins
 *
 * Return: the exit status.
 */
int ps_commands(struct osb_client *client, const char *arg, bool json);
