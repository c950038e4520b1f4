/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * open - a client for the commands, as the environment says
 */

#define PROGRAM_PATH_MAX 4096

struct osb_client;

/**
 * open_client() - connect; starts a private daemon when none answers
 *
 * Return: 0, or -errno (said on stderr).
 */
int open_client(struct osb_client **ret_client);

/**
 * open_program() - the path of another program of ours
 *
 * In a build tree they lie side by side; installed, those that people don't
 * run lie in a directory of their own. That it can be run isn't promised.
 */
void open_program(const char *name, char ret_path[PROGRAM_PATH_MAX]);
