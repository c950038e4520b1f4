/* SPDX-License-Identifier: Apache-2.0 */

/*
 * conn - reading, writing and ending of client connections
 *
 * Theory of operation. A readable socket is read once into the server's
 * shared buffer and the bytes are pumped through the HTTP reader, event by
 * event, until they are used up or the request on the connection must first
 * be answered; what is left then waits in conn->in, and the socket isn't
 * read meanwhile. Answers are put into conn->out and flushed before the loop
 * sleeps. Handlers may finish requests and close connections at any point, so
 * a closed connection is only marked and stays valid memory until the flush
 * at the end of the turn.
 *
 * Purpose:    HTTP/1.1 server connections.
 * Process:    osbd.
 * Input from: clients: hostile.
 * Ownership:  the server's list owns connections; a connection holds one
 *             reference to its request.
 * Limits:     the settings'; HTTP_HEAD_MAX and one read of input,
 *             CONN_OUT_MAX of output each; the deadlines below.
 *
 * #syscalls  recvfrom sendto recvmsg sendmsg read readv write writev close
 *            shutdown
 */

#include "server/conn.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "build_id.h"
#include "server/auth.h"
#include "server/reply.h"
#include "server/route.h"
#include "server/server.h"
#include "server/service/audit.h"
#include "server/service/metrics.h"
#include "server/service/origin.h"
#include "server/watch.h"

#define CLOSE_DEADLINE_MS (10u * 1000) /* to take the last answer */
#define LINGER_DEADLINE_MS 2000u       /* to notice that it was the last */
#define READS_PER_CALL 4               /* then others get their turn */

/* Set by what the connection waits for; a request in work has none. */
static void set_deadline(struct conn *conn, uint64_t ms)
{
	conn->deadline_ms = ms ? server_now_ms(conn->server) + ms : 0;
}

/* Who doesn't read answers asks nothing more: pipelining stays bounded. */
static bool is_backed_up(const struct conn *conn)
{
	return !conn->req && buf_len(&conn->out) > CONN_LOW_WATER;
}

static bool wants_input(const struct conn *conn)
{
	if (conn->peer_eof || conn->paused)
		return false;
	if (conn->closing)
		return conn->lingers;
	return !is_backed_up(conn) &&
	       (!conn->req || conn->req->upgraded || !conn->req->body_complete);
}

/*
 * Changing what the loop watches costs system calls, so input that isn't
 * wanted is only turned off when some comes (see refuse_input()).
 */
static void update_watch(struct conn *conn)
{
	unsigned int events = conn->events & POLLER_READ;

	if (conn->closed)
		return;
	if (wants_input(conn))
		events |= POLLER_READ;
	if (conn->peer_eof)
		events = 0;
	if (buf_len(&conn->out))
		events |= POLLER_WRITE;
	if (events == conn->events)
		return;
	conn->events = events;
	watch_set(conn->watch, events);
}

struct request *request_ref(struct request *req)
{
	req->refs++;
	return req;
}

void request_unref(struct request *req)
{
	if (!req || --req->refs)
		return;
	if (!req->replied)
		audit_answer(req, 0); /* its client didn't wait */
	buf_deinit(&req->body);
	free(req);
}

/* The connection and its request part; the request is told if it cares. */
static void drop_request(struct conn *conn, bool is_gone)
{
	struct request *req = take_ptr(conn->req);

	if (!req)
		return;
	metrics_end(req);
	req->conn = NULL;
	req->head = NULL;
	conn->paused = false;
	if (is_gone && req->ops && req->ops->gone)
		req->ops->gone(req);
	request_unref(req);
}

void conn_close(struct conn *conn)
{
	struct server *server = conn->server;

	if (conn->closed)
		return;
	conn->closed = true;
	watch_free(take_ptr(conn->watch));
	close_fd(&conn->fd);
	if (conn->prev)
		conn->prev->next = conn->next;
	else
		server->conns = conn->next;
	if (conn->next)
		conn->next->prev = conn->prev;
	server->num_conns--;
	conn->next_dead = server->dead;
	server->dead = conn;
	drop_request(conn, true);
	if (conn->owns)
		sandboxes_release(&server->sandboxes, conn);
	server_wake(server);
}

static void free_dead(struct server *server)
{
	while (server->dead) {
		struct conn *conn = server->dead;

		server->dead = conn->next_dead;
		http_reader_deinit(&conn->reader);
		buf_deinit(&conn->in);
		buf_deinit(&conn->out);
		free(conn);
	}
}

void conn_wrote(struct conn *conn)
{
	if (buf_len(&conn->out) > CONN_HIGH_WATER)
		conn->above = true;
	if (conn->is_dirty || conn->closed)
		return;
	conn->is_dirty = true;
	conn->next_dirty = conn->server->dirty;
	conn->server->dirty = conn;
}

/* All is written and no more will be: wait for the peer to see it. */
static void start_linger(struct conn *conn)
{
	if (conn->lingers)
		return;
	if (conn->peer_eof || shutdown(conn->fd, SHUT_WR) < 0) {
		conn_close(conn);
		return;
	}
	conn->lingers = true;
	conn->paused = false;
	set_deadline(conn, LINGER_DEADLINE_MS);
}

static void pump_waiting(struct conn *conn);

void conn_break(struct conn *conn)
{
	conn->out.failed = true;
	conn_wrote(conn);
}

void conn_flush(struct conn *conn)
{
	bool was_above = conn->above;

	/* Cut output would be taken for something else. */
	if (conn->out.failed)
		conn_close(conn);
	while (!conn->closed && buf_len(&conn->out)) {
		ssize_t n =
			send(conn->fd, buf_data(&conn->out),
			     buf_len(&conn->out), MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (n < 0) {
			conn_close(conn);
			return;
		}
		buf_consume(&conn->out, (size_t)n);
		if (conn->closing && !conn->lingers)
			set_deadline(conn, CLOSE_DEADLINE_MS);
	}
	if (conn->closed)
		return;
	if (buf_len(&conn->out) <= CONN_LOW_WATER)
		conn->above = false;
	if (was_above && !conn->above && conn->req && conn->req->ops &&
	    conn->req->ops->drained)
		conn->req->ops->drained(conn->req); /* starts reading only */
	if (!conn->closed && conn->closing && buf_len(&conn->out) == 0)
		start_linger(conn);
	if (!conn->closed && !conn->req)
		pump_waiting(conn);
	update_watch(conn);
}

void conn_flush_all(struct server *server)
{
	while (server->dirty) {
		struct conn *conn = server->dirty;

		server->dirty = conn->next_dirty;
		conn->is_dirty = false;
		if (!conn->closed)
			conn_flush(conn);
	}
	free_dead(server);
}

/* The request's name in logs: the client's own if it is a decent one. */
static void take_request_id(struct request *req)
{
	const char *in_id =
		req->head ? http_head_get(req->head, "X-Request-ID") : NULL;
	uint8_t random[16];

	if (in_id && *in_id && strlen(in_id) <= REQUEST_ID_MAX) {
		memcpy(req->id, in_id, strlen(in_id) + 1);
		return;
	}
	/* Only a name: one without randomness is better than no answer. */
	memset(random, 0, sizeof(random));
	if (getrandom(random, sizeof(random), GRND_NONBLOCK) < 0)
		random[0] = 1;
	for (unsigned int i = 0; i < sizeof(random); i++)
		(void)snprintf(req->id + 2 * i, 3, "%02x", random[i]);
}

/* Return: 0, or 1 after refusing. */
static int authenticate(struct request *req)
{
	const struct keys *keys = &req->server->keys;
	const char *in_key = http_head_get(req->head, "OPEN-SANDBOX-API-KEY");
	const char *domain;

	if (req->route->flags & ROUTE_OPEN)
		return 0;
	if (keys->num == 0) {
		memcpy(req->domain, req->conn->peer_domain,
		       sizeof(req->domain));
		return 0;
	}
	if (!in_key || *in_key == '\0') {
		if (req->route->flags & ROUTE_BY_ID) {
			req->by_id = true;
			return 0;
		}
		reply_error(req, 401, "MISSING_API_KEY",
			    "the OPEN-SANDBOX-API-KEY header is missing");
		return 1;
	}
	domain = keys_find(keys, in_key);
	if (!domain) {
		reply_error(req, 401, "INVALID_API_KEY",
			    "the API key isn't known here");
		return 1;
	}
	memcpy(req->domain, domain, strlen(domain) + 1);
	return 0;
}

/* Return: 0, or 1 after refusing. Without a key the sandbox's domain pays. */
static int check_rate(struct request *req)
{
	struct sandboxes *all = &req->server->sandboxes;
	const char *domain = req->domain;
	const struct sandbox *sandbox;
	unsigned int wait_s;

	if (req->route->flags & ROUTE_OPEN)
		return 0;
	if (req->by_id) {
		sandbox = sandboxes_find(all, req->in_id, NULL);
		if (!sandbox)
			return 0;
		domain = sandbox->domain;
	}
	if (account_may_request(&all->accounts, domain,
				server_now_ms(req->server), &wait_s))
		return 0;
	reply_too_fast(req, "requests", all->accounts.limits.request_rate,
		       wait_s);
	return 1;
}

/* A private osbd makes room for one of another build once it is idle. */
static void look_at_build(struct request *req)
{
	const char *in_build = http_head_get(req->head, "X-OSB-Build");

	if (req->server->private && in_build &&
	    strcmp(in_build, OSB_BUILD_ID) != 0)
		req->server->other_build_seen = true;
}

static void refuse_body(struct request *req)
{
	reply_error(req, 413, "INVALID_REQUEST_BODY",
		    "the body may have %" PRIu64 " bytes",
		    req->server->settings.max_body);
}

/*
 * A body that we wait for whole has to come at 1 kB a second, all in all: else
 * a byte now and then would hold a connection for days.
 */
static void await_body(struct conn *conn)
{
	const struct request *req = conn->req;
	uint64_t timeout_ms = conn->server->settings.body_timeout_ms;
	uint64_t until_ms =
		req->started_ns / 1000000 + timeout_ms + buf_len(&req->body);

	set_deadline(conn, timeout_ms);
	if (conn->deadline_ms > until_ms)
		conn->deadline_ms = until_ms;
}

static void take_body(struct conn *conn, const struct http_event *ev)
{
	struct request *req = conn->req;

	if (req->route->flags & ROUTE_STREAM) {
		set_deadline(conn, conn->server->settings.body_timeout_ms);
		request_ref(req);
		if (req->ops && req->ops->body)
			req->ops->body(req, ev->data, ev->len);
		request_unref(req);
		return;
	}
	buf_add(&req->body, ev->data, ev->len);
	await_body(conn);
	if (req->body.failed)
		refuse_body(req);
}

static void end_body(struct conn *conn)
{
	struct request *req = conn->req;

	set_deadline(conn, 0);
	req->body_complete = true;
	request_ref(req);
	if (!(req->route->flags & ROUTE_STREAM))
		req->route->handle(req);
	else if (req->ops && req->ops->body_end)
		req->ops->body_end(req);
	request_unref(req);
}

static void begin_request(struct conn *conn)
{
	struct request *req = calloc(1, sizeof(*req));
	const struct http_head *head = &conn->reader.head;

	if (!req) {
		conn_close(conn);
		return;
	}
	req->refs = 1;
	req->conn = conn;
	req->server = conn->server;
	req->head = head;
	req->body_complete = !head->chunked && head->content_length == 0;
	buf_init(&req->body, req->server->settings.max_body);
	conn->req = req;
	set_deadline(conn, req->server->settings.body_timeout_ms);
	take_request_id(req);
	metrics_begin(req);
	look_at_build(req);
	if (origin_check(req) != 0 || route_find(req) != 0 ||
	    authenticate(req) != 0 || check_rate(req) != 0)
		return;
	if (head->has_length &&
	    head->content_length > req->server->settings.max_body &&
	    !(req->route->flags & ROUTE_STREAM)) {
		refuse_body(req);
		return;
	}
	request_ref(req);
	if (req->route->flags & ROUTE_STREAM)
		req->route->handle(req);
	if (req->body_complete) {
		if (req->conn && !req->upgraded)
			end_body(conn);
	} else if (head->expect_continue && req->conn && !req->replied) {
		/* The sender waits for this before it sends the body. */
		buf_adds(&conn->out, "HTTP/1.1 100 Continue\r\n\r\n");
		conn_wrote(conn);
	}
	request_unref(req);
}

static void take_event(struct conn *conn, const struct http_event *ev)
{
	/* Bytes behind an answer that came early: close() takes care. */
	if (ev->type != HTTP_EVENT_HEAD && (!conn->req || conn->closing))
		return;
	switch (ev->type) {
	case HTTP_EVENT_HEAD:
		begin_request(conn);
		break;
	case HTTP_EVENT_BODY:
		take_body(conn, ev);
		break;
	case HTTP_EVENT_END:
		if (!conn->req->body_complete)
			end_body(conn);
		break;
	case HTTP_EVENT_MORE:
		break;
	}
}

/* What isn't HTTP gets one answer and the door. */
static void refuse(struct conn *conn, const struct err *err)
{
	struct request req = { .refs = 1,
			       .conn = conn,
			       .server = conn->server };
	unsigned int status = (unsigned int)err_http_status(err->kind);

	if (conn->req) { /* in the middle of a body: no answer fits */
		conn_close(conn);
		return;
	}
	if (err->kind == ERR_TOO_LARGE)
		status = 431;
	take_request_id(&req);
	metrics_begin(&req);
	conn->req = &req; /* for as long as it takes to answer */
	reply_error(&req, status, "GENERAL::BAD_REQUEST", "%s", err->msg);
	metrics_end(&req);
	conn->req = NULL;
	conn->closing = true;
	set_deadline(conn, CLOSE_DEADLINE_MS);
}

/* May more bytes be looked at now? */
static bool can_pump(const struct conn *conn)
{
	return !conn->closed && !is_backed_up(conn) && !conn->closing &&
	       !conn->paused &&
	       (!conn->req || conn->req->upgraded || !conn->req->body_complete);
}

static size_t pump_raw(struct conn *conn, const uint8_t *data, size_t len)
{
	struct request *req = conn->req;

	request_ref(req);
	if (req->ops && req->ops->raw)
		req->ops->raw(req, data, len);
	request_unref(req);
	return len;
}

/* Uses bytes as far as possible now; returns how many. */
static size_t pump(struct conn *conn, const uint8_t *data, size_t len)
{
	struct http_event ev = { .type = HTTP_EVENT_HEAD };
	struct err err = ERR_NULL;
	size_t used = 0;

	conn->pumping = true;
	while (can_pump(conn)) {
		size_t n = 0;

		if (conn->req && conn->req->upgraded) {
			if (used == len)
				break;
			used += pump_raw(conn, data + used, len - used);
			continue;
		}
		if (!conn->req && used < len && http_reader_idle(&conn->reader))
			set_deadline(conn,
				     conn->server->settings.head_timeout_ms);
		if (http_reader_next(&conn->reader, data + used, len - used, &n,
				     &ev, &err) < 0) {
			refuse(conn, &err);
			used = len;
			break;
		}
		used += n;
		if (ev.type == HTTP_EVENT_MORE)
			break;
		take_event(conn, &ev);
	}
	conn->pumping = false;
	return conn->closing ? len : used;
}

/* Bytes that waited, then the state that they have led to. */
static void pump_waiting(struct conn *conn)
{
	if (conn->pumping || !can_pump(conn))
		return;
	if (buf_len(&conn->in) || conn->reader.state == HTTP_STATE_END) {
		size_t used =
			pump(conn, buf_data(&conn->in), buf_len(&conn->in));

		if (!conn->closed)
			buf_consume(&conn->in, used);
	}
	update_watch(conn);
}

/* The peer sends no more. It may still want its answer. */
static void take_eof(struct conn *conn)
{
	struct pollfd pfd = { .fd = conn->fd };
	bool idle = !conn->req && http_reader_idle(&conn->reader);

	conn->peer_eof = true;
	if (conn->closing && conn->lingers) {
		conn_close(conn);
		return;
	}
	/* Closed in both directions: there is nobody to answer. */
	if (poll(&pfd, 1, 0) == 1 && (pfd.revents & (POLLHUP | POLLERR))) {
		conn_close(conn);
		return;
	}
	if (idle && buf_len(&conn->out) == 0) {
		conn_close(conn);
		return;
	}
	if (idle || conn->closing) {
		conn->closing = true;
		return;
	}
	if (!conn->req || conn->req->upgraded || !conn->req->body_complete)
		conn_close(conn);
}

static void take_bytes(struct conn *conn, const uint8_t *data, size_t len)
{
	size_t used;

	if (conn->closing)
		return;           /* discarded */
	if (buf_len(&conn->in)) { /* keep their order */
		buf_add(&conn->in, data, len);
		pump_waiting(conn);
		return;
	}
	used = pump(conn, data, len);
	if (!conn->closed && used < len)
		buf_add(&conn->in, data + used, len - used);
	if (conn->in.failed)
		conn_close(conn); /* can't be: we don't read when it's full */
}

static void read_conn(struct conn *conn)
{
	struct server *server = conn->server;

	for (unsigned int i = 0; i < READS_PER_CALL; i++) {
		ssize_t n;

		if (conn->closed || !wants_input(conn))
			break;
		n = recv(conn->fd, server->read_buf, sizeof(server->read_buf),
			 MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (n < 0) {
			conn_close(conn);
			break;
		}
		if (n == 0) {
			take_eof(conn);
			break;
		}
		take_bytes(conn, server->read_buf, (size_t)n);
		if ((size_t)n < sizeof(server->read_buf))
			break; /* drained; a new event comes for more */
	}
}

/*
 * Something is there to be read, but not now: bytes for later, or the end.
 * Somebody who left must be noticed even if we don't read.
 */
static void refuse_input(struct conn *conn)
{
	struct pollfd pfd = { .fd = conn->fd, .events = POLLRDHUP };
	bool half_closed;

	if (poll(&pfd, 1, 0) < 0)
		return;
	half_closed = (pfd.revents & POLLRDHUP) != 0;
	if ((pfd.revents & (POLLHUP | POLLERR)) ||
	    (half_closed && conn->req && conn->req->upgraded)) {
		conn_close(conn); /* half a WebSocket is none */
		return;
	}
	/* Half closed, it may still want its answer. */
	conn->events &= ~(unsigned int)POLLER_READ;
	watch_set(conn->watch,
		  conn->events | (half_closed ? 0 : POLLER_HANGUP));
}

static void on_ready(void *ctx, unsigned int events)
{
	struct conn *conn = ctx;

	if ((events & POLLER_WRITE) && buf_len(&conn->out))
		conn_flush(conn);
	if (conn->closed || !(events & POLLER_READ))
		return;
	if (!wants_input(conn)) {
		refuse_input(conn);
		return;
	}
	read_conn(conn);
	if (!conn->closed) {
		conn_wrote(conn); /* flush, or close when there is nothing */
		update_watch(conn);
	}
}

/* By TCP nobody knows whose process it is, only that it is on this machine. */
static int name_peer(struct conn *conn)
{
	if (!conn->is_tcp)
		return auth_peer_domain(conn->fd, conn->peer_domain);
	memcpy(conn->peer_domain, "local", sizeof("local"));
	return 0;
}

void conn_new(struct server *server, int fd, bool is_tcp)
{
	struct conn *conn = calloc(1, sizeof(*conn));

	if (!conn) {
		close_fd(&fd);
		return;
	}
	conn->server = server;
	conn->fd = fd;
	conn->is_tcp = is_tcp;
	http_reader_init(&conn->reader, HTTP_READ_REQUESTS);
	buf_init(&conn->in, 2 * SERVER_READ_MAX);
	buf_init(&conn->out, CONN_OUT_MAX);
	set_deadline(conn, server->settings.head_timeout_ms);
	if (name_peer(conn) == 0)
		conn->watch = watch_new(server->loop, fd, POLLER_READ, on_ready,
					conn);
	conn->events = POLLER_READ;
	if (!conn->watch) {
		close_fd(&conn->fd);
		free(conn);
		return;
	}
	conn->next = server->conns;
	if (server->conns)
		server->conns->prev = conn;
	server->conns = conn;
	server->num_conns++;
	server->metrics.connections++;
	server_wake(server);
	on_ready(conn, POLLER_READ); /* a request is often there already */
}

void conn_tick_all(struct server *server, uint64_t now_ms)
{
	struct conn *next;

	for (struct conn *conn = server->conns; conn; conn = next) {
		next = conn->next;
		if (conn->closed) /* by a tick of another one */
			continue;
		if (conn->deadline_ms && conn->deadline_ms <= now_ms) {
			conn_close(conn);
			continue;
		}
		if (conn->req && conn->req->ops && conn->req->ops->tick)
			conn->req->ops->tick(conn->req, now_ms);
	}
}

bool conn_drain_all(struct server *server)
{
	struct conn *next;
	bool done = true;

	for (struct conn *conn = server->conns; conn; conn = next) {
		next = conn->next;
		if (conn->lingers ||
		    (!conn->req && http_reader_idle(&conn->reader) &&
		     buf_len(&conn->in) == 0 && buf_len(&conn->out) == 0))
			conn_close(conn); /* has all that it will get */
		else
			done = false;
	}
	return done;
}

void request_finish(struct request *req)
{
	struct conn *conn = req->conn;
	bool keep;

	if (!conn || req->finished)
		return;
	req->finished = true;
	keep = req->body_complete && req->head && req->head->keep_alive &&
	       !conn->server->draining;
	conn_wrote(conn);
	if (!req->head) /* refuse()'s stand-in */
		return;
	drop_request(conn, false);
	if (!keep) {
		conn->closing = true;
		set_deadline(conn, CLOSE_DEADLINE_MS);
		update_watch(conn);
		return;
	}
	set_deadline(conn, conn->server->settings.idle_timeout_ms);
	pump_waiting(conn);
	if (conn->peer_eof && !conn->req) /* that was its last one */
		conn->closing = true;
}

void request_abort(struct request *req)
{
	if (req->conn)
		conn_close(req->conn);
}

void request_upgrade(struct request *req)
{
	req->upgraded = true;
	set_deadline(req->conn, 0);
	conn_wrote(req->conn);
}

void request_close(struct request *req)
{
	struct conn *conn = req->conn;

	if (!conn)
		return;
	conn->closing = true;
	set_deadline(conn, CLOSE_DEADLINE_MS);
	conn_wrote(conn);
	update_watch(conn);
}

void request_pause(struct request *req, bool paused)
{
	struct conn *conn = req->conn;

	if (!conn || conn->paused == paused)
		return;
	conn->paused = paused;
	/* The peer isn't slow while it is us who don't read. */
	if (!req->body_complete && !req->upgraded)
		set_deadline(conn,
			     paused ? 0
				    : conn->server->settings.body_timeout_ms);
	if (!paused)
		pump_waiting(conn);
	update_watch(conn);
}

bool request_full(const struct request *req)
{
	return req->conn && req->conn->above;
}
