/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * audit_check - osbd --verify-audit: tell a person whether the log is whole
 */

/**
 * audit_check_run() - one line on stdout
 * @dir: a state directory; what osbd keeps is in its "osbd"
 *
 * As root it becomes the owner of the files first, and stays so.
 * Return: the process's exit code: 0 intact, 1 not, 125 nobody can tell.
 */
int audit_check_run(const char *dir);
