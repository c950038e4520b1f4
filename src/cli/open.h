/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * open - a client for the commands, as the environment says
 */

struct osb_client;

/**
 * open_client() - connect; starts a private daemon when none answers
 *
 * Return: 0, or -errno (said on stderr).
 */
int open_client(struct osb_client **ret_client);
