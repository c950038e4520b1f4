/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * conn - struct osb_client: one HTTP connection to osbd
 */

#include "base/buf.h"
#include "client/lookup.h"
#include "http/reader.h"

struct osb_error;

/* One read of the socket; the most output that one call hands on. */
#define CONN_READ_MAX (64u * 1024)

struct osb_client {
	int sock_fd;
	struct lookup lookup;
	char *broker_path; /* NULL: none is started */
	char *api_key;
	char *build_id;
	struct buf out;  /* the request being put together */
	struct buf body; /* the last answer's */
	struct http_reader reader;
	uint8_t in[CONN_READ_MAX];
	size_t in_start, in_end; /* read and not yet used bytes of in[] */
};

/** conn_reopen() - connect again, starting a daemon if that is allowed */
int conn_reopen(struct osb_client *client, struct osb_error *err);
