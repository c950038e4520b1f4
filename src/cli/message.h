/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * message - one line on stderr, for a person
 */

/**
 * message() - print "osb: …" as exactly one line, in one write
 *
 * Control bytes, which a value from the command line or a server may hold,
 * are shown as '?'.
 * Return: EXIT_OSB, so that a failure can be reported in one statement.
 */
int message(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
