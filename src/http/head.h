/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * head - the start line and header fields of one HTTP/1.1 message
 *
 * The only user of Debian's http-parser: it reads a head that is already
 * complete in memory. Our own strictness stands before and behind it, so that
 * no proxy in front of us can see another message than we do: bare LF or CR,
 * obs-fold, control bytes, a second or non-decimal Content-Length, any
 * Transfer-Encoding but "chunked", both together, a missing or second Host
 * are refused.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define HTTP_HEAD_MAX (32u * 1024)
#define HTTP_HEADERS_MAX 64

enum http_role {
	HTTP_READ_REQUESTS,  /* a server's side */
	HTTP_READ_RESPONSES, /* a client's side */
};

struct http_field {
	const char *name;
	const char *value; /* without surrounding blanks; may be "" */
};

/* All strings lie in the raw head; they live as long as that memory. */
struct http_head {
	const char *method;  /* request: "GET" …; else "" */
	const char *path;    /* request: raw, starts with '/'; else "" */
	const char *query;   /* request: raw, without '?'; "" when none */
	unsigned int status; /* response: 100-999; request: 0 */
	unsigned int num_fields;
	struct http_field field[HTTP_HEADERS_MAX];
	bool keep_alive;      /* the connection may serve another message */
	bool chunked;         /* body comes in chunks */
	bool has_length;      /* body has content_length bytes */
	bool expect_continue; /* sender waits for "100 Continue" */
	bool upgrade;         /* Connection: upgrade, and an Upgrade field */
	uint64_t content_length;
};

/**
 * http_head_parse() - take a complete head apart
 * @raw: @len bytes from the first of the start line to the empty line's LF;
 *       modified (NULs are put behind the strings), stays the caller's
 *
 * Return: 0, or -errno with @err of kind INVALID, TOO_LARGE or UNSUPPORTED.
 */
int http_head_parse(enum http_role role, char *raw, size_t len,
		    struct http_head *ret_head, struct err *err);

/** http_head_get() - first field of that name (any case), or NULL */
const char *http_head_get(const struct http_head *head, const char *name);

/** http_head_has_token() - is @token (any case) in a comma-separated field? */
bool http_head_has_token(const struct http_head *head, const char *name,
			 const char *token);
