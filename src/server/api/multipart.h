/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * multipart - a multipart/form-data body (RFC 7578), as it streams in
 *
 * Fed and emptied event by event like http/reader.h; a part's content is
 * given in place and never stored.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define MULTIPART_BOUNDARY_MAX 70 /* RFC 2046 */
#define MULTIPART_HEAD_MAX 8192   /* of one part */
#define MULTIPART_NAME_MAX 63

struct err;

enum multipart_event_type {
	MULTIPART_MORE, /* all bytes are used up */
	MULTIPART_PART, /* a part begins; its name is in the struct */
	MULTIPART_DATA, /* data, len */
	MULTIPART_PART_END,
	MULTIPART_END, /* the last part is over; the rest is ignored */
};

struct multipart_event {
	enum multipart_event_type type;
	const uint8_t *data;
	size_t len;
};

/* Private, but for the name of the part. */
struct multipart {
	enum {
		MULTIPART_STATE_PREAMBLE,
		MULTIPART_STATE_BOUNDARY, /* the two bytes behind one */
		MULTIPART_STATE_HEAD,
		MULTIPART_STATE_DATA,
		MULTIPART_STATE_EPILOGUE,
	} state;
	char delimiter[4 + MULTIPART_BOUNDARY_MAX + 1]; /* CRLF "--" boundary */
	size_t delimiter_len;
	size_t matched; /* of the delimiter, at the end of what came so far */
	char after[2];  /* what followed a delimiter */
	unsigned int num_after;
	bool in_part;
	struct buf head;
	char name[MULTIPART_NAME_MAX + 1];
};

/**
 * multipart_init() - from a request's Content-Type
 *
 * Return: 0, or -EINVAL with @err: not multipart/form-data, bad boundary.
 */
int multipart_init(struct multipart *mp, const char *in_content_type,
		   struct err *err);

void multipart_deinit(struct multipart *mp);

/** multipart_next() - use bytes up to the next event; -EINVAL: malformed */
int multipart_next(struct multipart *mp, const uint8_t *data, size_t len,
		   size_t *ret_used, struct multipart_event *ret_event,
		   struct err *err);

/** multipart_ended() - has the last boundary been seen? */
bool multipart_ended(const struct multipart *mp);
