/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * err - why something failed, for a person or a remote caller
 *
 * Functions return 0, or -errno (forward it), or a positive condition that
 * they document (handle it). Where somebody will read the reason, the last
 * parameter is a struct err: fixed size, nothing to free, can't fail.
 * The message is built where the cause is known; callers add context in front.
 * Across a socket go only kind, sys and msg.
 */

#define ERR_MSG_MAX 256

enum err_kind {
	ERR_NONE,
	ERR_INVALID,      /* the caller's value is wrong: 400 */
	ERR_UNAUTHORIZED, /* no or wrong key: 401 */
	ERR_DENIED,       /* policy says no: 403 */
	ERR_NOT_FOUND,    /* 404 */
	ERR_CONFLICT,     /* wrong state, duplicate: 409 */
	ERR_TOO_LARGE,    /* 413 */
	ERR_QUOTA,        /* a table or account is full: 429 */
	ERR_INTERNAL,     /* a bug or a broken host: 500 */
	ERR_UNSUPPORTED,  /* this host or version can't: 501 */
	ERR_UNAVAILABLE,  /* try again later: 503 */
	ERR_NUM_KINDS
};

struct err {
	enum err_kind kind;
	int sys;          /* errno at the origin, or 0 */
	const char *file; /* origin; meaningful in this process only */
	int line;
	char msg[ERR_MSG_MAX];
};

#define ERR_NULL  \
	{         \
		0 \
	}

/**
 * err_set() - record a failure where it is known
 * @e:   may be NULL
 * @k:   kind
 * @s:   errno, or 0; its text is appended to the message when not 0
 *
 * Return: -@s, or when @s is 0 an errno that fits the kind, negative.
 */
#define err_set(e, k, s, ...) \
	err_set_at(e, k, s, __FILE__, __LINE__, __VA_ARGS__)
int err_set_at(struct err *err, enum err_kind kind, int sys, const char *file,
	       int line, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));

/**
 * err_context() - put "what: " in front of the message
 *
 * Return: @r unchanged, so that it can be returned in one line.
 */
int err_context(struct err *err, int r, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** err_http_status() - the one HTTP status of a kind */
int err_http_status(enum err_kind kind);

/** err_kind_from_wire() - a kind read from a peer; unknown becomes INTERNAL */
enum err_kind err_kind_from_wire(unsigned int in_kind);
