/* SPDX-License-Identifier: Apache-2.0 */

/*
 * request - one request and its answer, on a client's connection
 *
 * Blocking, and without pipelining: after an answer no byte is left over.
 * Input from: osbd, hostile until http/ has taken it apart; the body is
 *             bounded by the client's buffer.
 *
 * A daemon that was just about to leave closes the connection before the
 * first byte of an answer. That is told apart from every other failure, and
 * the request is sent once more, to the next daemon.
 */

#include "client/request.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "client/conn.h"
#include "client/fail.h"
#include "http/write.h"

void request_begin(struct osb_client *client, const char *method,
		   const char *target)
{
	buf_reset(&client->out);
	http_put_request(&client->out, method, target,
			 client->lookup.host[0] ? client->lookup.host
						: "localhost");
	if (client->build_id)
		http_put_field(&client->out, "X-OSB-Build", client->build_id);
	if (client->api_key)
		http_put_field(&client->out, "OPEN-SANDBOX-API-KEY",
			       client->api_key);
}

int request_send(struct osb_client *client, struct osb_error *err)
{
	if (client->out.failed)
		return client_fail_text(err, EMSGSIZE,
					"the request is too large");
	while (buf_len(&client->out) > 0) {
		ssize_t n = send(client->sock_fd, buf_data(&client->out),
				 buf_len(&client->out), MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int sys = errno;

			buf_reset(&client->out);
			return client_fail(err, sys, "send to osbd");
		}
		buf_consume(&client->out, (size_t)n);
	}
	return 0;
}

/*
 * More bytes of the answer into client->in[], which is used up.
 * Return: 0; 1 at the end of the stream; -errno with @err.
 */
static int receive(struct osb_client *client, struct osb_error *err)
{
	ssize_t n;

	do {
		n = recv(client->sock_fd, client->in, sizeof(client->in), 0);
	} while (n < 0 && errno == EINTR);
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return 1;
	if (n < 0)
		return client_fail(err, errno, "receive from osbd");
	client->in_start = 0;
	client->in_end = (size_t)n;
	return 0;
}

int request_next_event(struct osb_client *client, struct http_event *ret_event,
		       struct osb_error *err)
{
	struct err http_err = ERR_NULL;
	size_t used;
	int r;

	r = http_reader_next(&client->reader, client->in + client->in_start,
			     client->in_end - client->in_start, &used,
			     ret_event, &http_err);
	if (r < 0)
		return client_fail_err(err, r, &http_err, "the answer of osbd");
	client->in_start += used;
	return 0;
}

/* Where the body of a 200 goes; fn NULL: into client->body, as others. */
struct body_sink {
	osb_bytes_fn fn;
	void *ctx;
};

static int take_body(struct osb_client *client, const struct body_sink *sink,
		     const struct http_event *event, struct osb_error *err)
{
	int r;

	if (sink->fn && client->reader.head.status == 200) {
		r = sink->fn(sink->ctx, event->data, event->len);
		return r < 0 ? client_fail(err, -r, "write what came") : 0;
	}
	buf_add(&client->body, event->data, event->len);
	if (client->body.failed)
		return client_fail_text(err, EMSGSIZE,
					"the answer of osbd is too large");
	return 0;
}

/*
 * Use the bytes in client->in[] up to the end of one message.
 * Return: 0 when it is complete, 1 when more bytes are needed, -errno.
 */
static int read_message(struct osb_client *client, const struct body_sink *sink,
			struct osb_error *err)
{
	struct http_event event;
	int r;

	for (;;) {
		r = request_next_event(client, &event, err);
		if (r < 0)
			return r;
		switch (event.type) {
		case HTTP_EVENT_MORE:
			return 1;
		case HTTP_EVENT_HEAD:
			break;
		case HTTP_EVENT_BODY:
			r = take_body(client, sink, &event, err);
			if (r < 0)
				return r;
			break;
		case HTTP_EVENT_END:
			return 0;
		}
	}
}

static int read_answer(struct osb_client *client, const struct body_sink *sink,
		       unsigned int *ret_status, struct osb_error *err)
{
	bool got_any = false;
	int r;

	buf_reset(&client->body);
	for (;;) {
		r = read_message(client, sink, err);
		if (r < 0)
			return r;
		if (r == 0 && client->reader.head.status >= 200)
			break;
		if (r == 0) /* 1xx: the real answer is still to come */
			continue;
		r = receive(client, err);
		if (r < 0)
			return r;
		if (r == 1 && !got_any) {
			(void)client_fail_text(
				err, EPIPE,
				"osbd closed the connection without an answer");
			return 1;
		}
		if (r == 1) {
			r = http_reader_eof(&client->reader, NULL);
			if (r == 1)
				break;
			return client_fail_text(err, EPIPE,
						"the answer of osbd broke off");
		}
		got_any = true;
	}
	*ret_status = client->reader.head.status;
	return 0;
}

int request_answer(struct osb_client *client, unsigned int *ret_status,
		   struct osb_error *err)
{
	static const struct body_sink none;

	return read_answer(client, &none, ret_status, err);
}

/* Return: as request_answer(). */
static int send_whole(struct osb_client *client, const char *method,
		      const char *target, const char *body,
		      struct osb_error *err)
{
	int r;

	if (client->sock_fd < 0) { /* an earlier request broke off */
		r = conn_reopen(client, err);
		if (r < 0)
			return r;
	}
	request_begin(client, method, target);
	if (body) {
		http_put_field(&client->out, "Content-Type",
			       "application/json");
		http_put_number(&client->out, "Content-Length", strlen(body));
	}
	http_put_end(&client->out);
	if (body)
		buf_adds(&client->out, body);
	r = request_send(client, err);
	/* It may have answered before it closed: look. */
	return r == -EPIPE || r == -ECONNRESET ? 0 : r;
}

int request_exchange(struct osb_client *client, const char *method,
		     const char *target, const char *body,
		     unsigned int *ret_status, struct osb_error *err)
{
	int r = send_whole(client, method, target, body, err);

	return r < 0 ? r : request_answer(client, ret_status, err);
}

int request_json(struct osb_client *client, const char *method,
		 const char *target, const json_t *in_body, unsigned int want,
		 json_t **ret_body, struct osb_error *err)
{
	char *text auto_free = NULL;
	unsigned int status = 0;
	json_error_t why;
	int r;

	if (in_body) {
		text = json_dumps(in_body, JSON_COMPACT);
		if (!text)
			return client_fail(err, ENOMEM, "make a request");
	}
	r = request_exchange(client, method, target, text, &status, err);
	if (r == 1) {
		r = conn_reopen(client, err);
		if (r < 0)
			return r;
		r = request_exchange(client, method, target, text, &status,
				     err);
	}
	if (r != 0) { /* what is left of the answer is nobody's */
		close_fd(&client->sock_fd);
		return r < 0 ? r : -EPIPE;
	}
	if (status != want)
		return client_fail_status(err, status, buf_data(&client->body),
					  buf_len(&client->body));
	if (!ret_body)
		return 0;
	*ret_body = json_loadb((const char *)buf_data(&client->body),
			       buf_len(&client->body), 0, &why);
	if (!*ret_body)
		return client_fail_text(err, EBADMSG,
					"the answer of osbd isn't JSON: %s",
					why.text);
	return 0;
}

static int stream_once(struct osb_client *client, const char *target,
		       const struct body_sink *sink, struct osb_error *err)
{
	unsigned int status = 0;
	int r = send_whole(client, "GET", target, NULL, err);

	if (r == 0)
		r = read_answer(client, sink, &status, err);
	if (r != 0) { /* what is left of the answer is nobody's */
		close_fd(&client->sock_fd);
		return r;
	}
	if (status == 200)
		return 0;
	return client_fail_status(err, status, buf_data(&client->body),
				  buf_len(&client->body));
}

int request_stream(struct osb_client *client, const char *target,
		   osb_bytes_fn fn, void *ctx, struct osb_error *err)
{
	const struct body_sink sink = { .fn = fn, .ctx = ctx };
	int r = stream_once(client, target, &sink, err);

	if (r == 1)
		r = stream_once(client, target, &sink, err);
	return r == 1 ? -EPIPE : r;
}

int request_id_ok(const char *id, struct osb_error *err)
{
	size_t len = strlen(id);

	if (len == 0 || len > OSB_ID_MAX ||
	    strspn(id, "0123456789abcdefghijklmnopqrstuvwxyz"
		       "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_") != len)
		return client_fail_text(err, EINVAL, "'%.64s' isn't an id", id);
	return 0;
}
