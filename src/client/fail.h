/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fail - fill in a struct osb_error
 */

#include <stddef.h>

struct err;
struct osb_error;

/**
 * client_fail() - a failure on our side; its errno's text is appended
 * @err: may be NULL
 * @sys: errno, not 0
 *
 * Return: -@sys.
 */
int client_fail(struct osb_error *err, int sys, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * client_fail_text() - the same when the errno's text says nothing
 *
 * Return: -@sys.
 */
int client_fail_text(struct osb_error *err, int sys, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** client_fail_err() - take over an error of http/, whose result was @r */
int client_fail_err(struct osb_error *err, int r, const struct err *from,
		    const char *what);

/**
 * client_fail_status() - the server refused: take its envelope apart
 * @body: @len bytes that should be {"code":…,"message":…}; hostile
 *
 * Return: a negative errno that fits the status.
 */
int client_fail_status(struct osb_error *err, unsigned int status,
		       const void *body, size_t len);
