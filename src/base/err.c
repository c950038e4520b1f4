/* SPDX-License-Identifier: Apache-2.0 */

#include "base/err.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	int http_status;
	int sys; /* errno used when the origin has none */
} kinds[] = {
	[ERR_NONE] = { 200, 0 },
	[ERR_INVALID] = { 400, EINVAL },
	[ERR_UNAUTHORIZED] = { 401, EACCES },
	[ERR_DENIED] = { 403, EPERM },
	[ERR_NOT_FOUND] = { 404, ENOENT },
	[ERR_CONFLICT] = { 409, EEXIST },
	[ERR_TOO_LARGE] = { 413, EMSGSIZE },
	[ERR_QUOTA] = { 429, EAGAIN },
	[ERR_INTERNAL] = { 500, EIO },
	[ERR_UNSUPPORTED] = { 501, EOPNOTSUPP },
	[ERR_UNAVAILABLE] = { 503, EBUSY },
};
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == ERR_NUM_KINDS,
	       "every kind has a status and an errno");

int err_set_at(struct err *err, enum err_kind kind, int sys, const char *file,
	       int line, const char *fmt, ...)
{
	va_list ap;
	int n;

	assert(kind > ERR_NONE && kind < ERR_NUM_KINDS);
	if (err) {
		err->kind = kind;
		err->sys = sys;
		err->file = file;
		err->line = line;
		va_start(ap, fmt);
		n = vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
		va_end(ap);
		if (sys && n >= 0 && (size_t)n < sizeof(err->msg) - 1)
			(void)snprintf(err->msg + n,
				       sizeof(err->msg) - (size_t)n, ": %s",
				       strerrordesc_np(sys)
					       ? strerrordesc_np(sys)
					       : "unknown error");
	}
	/* One from outside may be anything; a failure is always negative. */
	return sys > 0 ? -sys : -kinds[kind].sys;
}

int err_context(struct err *err, int r, const char *fmt, ...)
{
	char tail[ERR_MSG_MAX];
	va_list ap;
	int n;

	if (!err)
		return r;
	memcpy(tail, err->msg, sizeof(tail));
	va_start(ap, fmt);
	n = vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(err->msg) - 1)
		(void)snprintf(err->msg + n, sizeof(err->msg) - (size_t)n,
			       ": %s", tail);
	return r;
}

int err_http_status(enum err_kind kind)
{
	assert(kind < ERR_NUM_KINDS);
	return kinds[kind].http_status;
}

enum err_kind err_kind_from_wire(unsigned int in_kind)
{
	if (in_kind >= ERR_NUM_KINDS)
		return ERR_INTERNAL;
	return (enum err_kind)in_kind;
}
