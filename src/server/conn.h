/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * conn - one client connection, and the request on it
 *
 * States of a connection:
 * - no request: the reader collects a head; a deadline runs.
 * - request, body coming: bytes go to the request's ops or its buffer.
 * - request, body complete: the socket isn't read until the answer is done,
 *   so pipelined requests wait in order.
 * - upgraded: bytes go to ops->raw; the reader isn't used any more.
 * - closing: output is flushed, input discarded; a deadline runs.
 *
 * A request outlives its connection while somebody holds a reference (an
 * answer of the broker or of a sandbox is awaited): then conn is NULL, and
 * all replies are no-ops.
 *
 * Nothing is written from within a handler: output is put into conn->out and
 * flushed before the loop sleeps, so what belongs together leaves in one
 * write.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "http/reader.h"
#include "wire/broker_msg.h"

#define CONN_OUT_MAX (16u * 1024 * 1024) /* the largest plain answer */
#define CONN_HIGH_WATER (256u * 1024)    /* streams stop producing above this */
#define CONN_LOW_WATER (128u * 1024)     /* ... and go on below that */
#define REQUEST_ID_MAX 128

struct request;
struct route;
struct server;
struct watch;

/* What a handler that doesn't answer at once may want to hear. */
struct request_ops {
	/* Streamed body; only for ROUTE_STREAM. */
	void (*body)(struct request *req, const uint8_t *data, size_t len);
	void (*body_end)(struct request *req);
	/* After request_upgrade(). */
	void (*raw)(struct request *req, const uint8_t *data, size_t len);
	/* Output has fallen below CONN_LOW_WATER. */
	void (*drained)(struct request *req);
	/* About once a second. */
	void (*tick)(struct request *req, uint64_t now_ms);
	/* The client is gone or the connection broken; req->conn is NULL. */
	void (*gone)(struct request *req);
};

struct request {
	unsigned int refs;
	struct conn *conn; /* NULL: gone */
	struct server *server;
	const struct http_head *head; /* only while conn isn't NULL */
	const struct route *route;    /* NULL: none fits */
	char id[REQUEST_ID_MAX + 1];  /* X-Request-ID */
	char domain[DOMAIN_NAME_MAX + 1];
	unsigned int status; /* of its answer; 0: none yet */
	uint64_t started_ns; /* monotonic */
	bool from_page;      /* a web page's that is allowed */
	bool by_id; /* no key was presented where none is needed: the sandbox
		       id alone is the permission */
	char in_id[SANDBOX_ID_LEN + 1];   /* {id} of the path; "": too long */
	char in_exec[SANDBOX_ID_LEN + 1]; /* {exec} likewise */
	char made_id[SANDBOX_ID_LEN + 1]; /* of the sandbox that it made */
	unsigned int port;                /* {port} of the path */
	struct buf body;                  /* complete, unless ROUTE_STREAM */
	const struct request_ops *ops;
	void *state;                /* the handler's */
	unsigned int retry_after_s; /* of a 429; 0: a default */
	bool body_complete;
	bool replied; /* the head of an answer is in the output */
	bool chunked;
	bool finished;
	bool upgraded;
};

struct conn {
	struct conn *next, *prev; /* in server->conns */
	struct conn *next_dirty;
	struct conn *next_dead;
	struct server *server;
	int fd;
	struct watch *watch;
	unsigned int events; /* what it watches */
	struct http_reader reader;
	struct buf in; /* read, but waiting for the request before */
	struct buf out;
	struct request *req;
	uint64_t deadline_ms; /* 0: none */
	char peer_domain[DOMAIN_NAME_MAX + 1];
	bool is_tcp;
	bool owns; /* a sandbox was bound to it */
	bool closed;
	bool closing; /* flush, then close */
	bool lingers; /* wrote all, discards input until the peer closes */
	bool is_dirty;
	bool pumping;  /* conn_pump() is on the stack */
	bool paused;   /* by request_pause() */
	bool peer_eof; /* the peer sends no more, and all of it was read */
	bool above;    /* out went above CONN_HIGH_WATER */
};

/** conn_new() - serve an accepted socket; takes @fd also on failure */
void conn_new(struct server *server, int fd, bool is_tcp);

/**
 * conn_drain_all() - no more requests: close what is idle, the others later
 *
 * Is called again until it returns true: all is answered.
 */
bool conn_drain_all(struct server *server);

/** conn_close() - at once; a request on it is told */
void conn_close(struct conn *conn);

/** conn_flush_all() - write what waits everywhere; frees the closed ones */
void conn_flush_all(struct server *server);

/** conn_tick_all() - deadlines, and the requests' ticks */
void conn_tick_all(struct server *server, uint64_t now_ms);

/** conn_flush() - write now instead of before the loop sleeps */
void conn_flush(struct conn *conn);

/** conn_break() - close it before the loop sleeps, instead of flushing */
void conn_break(struct conn *conn);

/** conn_wrote() - something was put into conn->out */
void conn_wrote(struct conn *conn);

struct request *request_ref(struct request *req);
void request_unref(struct request *req); /* NULL is fine */
DEFINE_AUTO(struct request *, request_unref);

/** request_finish() - the answer is complete; the connection goes on */
void request_finish(struct request *req);

/** request_abort() - the answer can't be completed: close the connection */
void request_abort(struct request *req);

/** request_upgrade() - from now on bytes go to ops->raw */
void request_upgrade(struct request *req);

/** request_close() - flush and close: the end of an upgraded connection */
void request_close(struct request *req);

/** request_pause() - stop or go on reading the body or raw bytes */
void request_pause(struct request *req, bool paused);

/** request_full() - is so much output waiting that producing must stop? */
bool request_full(const struct request *req);
