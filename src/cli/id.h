/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * id - a sandbox or command as people name it: its id, or how that begins
 */

#include "osb/osb.h"

#define ID_PREFIX_MIN 6 /* shorter ones hit a foreign sandbox too easily */

/**
 * id_resolve() - the whole id
 * @command: for messages
 *
 * Return: 0, or -errno (said on stderr).
 */
int id_resolve(struct osb_client *client, const char *command, const char *arg,
	       char ret_id[OSB_ID_MAX + 1]);

/**
 * id_resolve_command() - the same for a command of the sandbox @id
 */
int id_resolve_command(struct osb_client *client, const char *command,
		       const char *id, const char *arg,
		       char ret_id[OSB_ID_MAX + 1]);
