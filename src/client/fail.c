/* SPDX-License-Identifier: Apache-2.0 */

/*
 * fail - fill in a struct osb_error
 *
 * The message is built where the cause is known; nothing is logged here. A
 * message of the server goes on to people as it is: whoever prints it has to
 * mind control bytes.
 */

#include "client/fail.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "client/json.h"
#include "osb/osb.h"

__attribute__((format(printf, 4, 0))) static int fail_v(struct osb_error *err,
							int sys, bool with_text,
							const char *fmt,
							va_list ap)
{
	int n;

	if (!err)
		return -sys;
	memset(err, 0, sizeof(*err));
	err->sys = sys;
	n = vsnprintf(err->message, sizeof(err->message), fmt, ap);
	if (with_text && n >= 0 && (size_t)n < sizeof(err->message))
		(void)snprintf(err->message + n,
			       sizeof(err->message) - (size_t)n, ": %s",
			       strerrordesc_np(sys) ? strerrordesc_np(sys)
						    : "unknown error");
	return -sys;
}

int client_fail(struct osb_error *err, int sys, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)fail_v(err, sys, true, fmt, ap);
	va_end(ap);
	return -sys;
}

int client_fail_text(struct osb_error *err, int sys, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)fail_v(err, sys, false, fmt, ap);
	va_end(ap);
	return -sys;
}

int client_fail_err(struct osb_error *err, int r, const struct err *from,
		    const char *what)
{
	return client_fail_text(err, -r, "%s: %s", what, from->msg);
}

static int status_errno(unsigned int status)
{
	static const struct {
		unsigned int status;
		int sys;
	} table[] = {
		{ 400, EINVAL }, { 401, EACCES },     { 403, EPERM },
		{ 404, ENOENT }, { 409, EEXIST },     { 413, EMSGSIZE },
		{ 429, EAGAIN }, { 501, EOPNOTSUPP }, { 503, EBUSY },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].status == status)
			return table[i].sys;
	return EIO;
}

int client_fail_status(struct osb_error *err, unsigned int status,
		       const void *body, size_t len)
{
	json_t *root auto_json = json_loadb(body, len, 0, NULL);
	const char *code = json_string_value(json_object_get(root, "code"));
	const char *message =
		json_string_value(json_object_get(root, "message"));
	int sys = status_errno(status);

	if (!err)
		return -sys;
	memset(err, 0, sizeof(*err));
	err->status = (int)status;
	err->sys = sys;
	client_copy(err->code, sizeof(err->code), code);
	if (message && *message)
		client_copy(err->message, sizeof(err->message), message);
	else
		(void)snprintf(err->message, sizeof(err->message),
			       "the server answered with status %u", status);
	return -sys;
}
