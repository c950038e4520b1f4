/* SPDX-License-Identifier: Apache-2.0 */

/*
 * exec - run a program over a WebSocket, without blocking
 *
 *	HANDSHAKE  the upgrade request, the exec message and perhaps stdin
 *		   are on their way in one go; the answer isn't there yet
 *	REFUSED    the answer wasn't 101: its body is read for the reason
 *	OPEN       frames both ways
 *	DONE       the verdict is there, or the connection failed
 *
 * Memory is constant: input is refused while OUT_HIGH bytes wait to be sent,
 * and the socket isn't read while the owner has paused the output.
 * Input from: osbd, and through it the sandbox: hostile.
 */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "client/conn.h"
#include "client/fail.h"
#include "client/frames.h"
#include "client/limits.h"
#include "client/request.h"
#include "client/verdict.h"
#include "http/write.h"
#include "http/ws.h"
#include "osb/osb.h"

#define TARGET_MAX 256
/* Stdin is taken up to HIGH; above that is room for signals and for the
   exec message with its arguments. */
#define OUT_HIGH (128u * 1024)
#define OUT_MAX (FRAMES_TEXT_MAX + OUT_HIGH + 4096)
#define REFUSAL_MAX (64u * 1024)

/* The first byte of a binary message. */
enum frame_kind {
	FRAME_STDIN = 0,
	FRAME_STDOUT = 1,
	FRAME_STDERR = 2,
};

enum exec_state {
	EXEC_HANDSHAKE,
	EXEC_REFUSED,
	EXEC_OPEN,
	EXEC_DONE,
};

struct osb_exec {
	struct osb_client *client; /* not owned; its connection is ours */
	enum exec_state state;
	osb_output_fn on_output;
	void *ctx;
	struct buf out;
	struct frames frames;
	char key[WS_KEY_LEN + 1];
	bool paused;
	bool started;
	bool stdin_closed; /* the program reads no more */
	bool has_verdict;
	struct osb_verdict verdict;
	int failed; /* what a message callback found; the reason in error */
	struct osb_error error;
};

DEFINE_AUTO(struct osb_exec *, osb_exec_free);

static void take_text(struct osb_exec *exec, const uint8_t *data, size_t len)
{
	json_t *root auto_json =
		json_loadb((const char *)data, len, JSON_ALLOW_NUL, NULL);
	const char *type = client_json_str(root, "type");

	if (!type) {
		exec->failed = client_fail_text(
			&exec->error, EBADMSG,
			"osbd sent a message that isn't understood");
	} else if (strcmp(type, "started") == 0) {
		exec->started = true;
	} else if (strcmp(type, "stdin_closed") == 0) {
		exec->stdin_closed = true;
	} else if (strcmp(type, "verdict") == 0) {
		exec->failed = verdict_from_json(root, &exec->verdict);
		if (exec->failed < 0)
			(void)client_fail_text(&exec->error, EBADMSG,
					       "osbd sent a broken verdict");
		exec->verdict.started = exec->started;
		exec->has_verdict = exec->failed == 0;
	} else if (strcmp(type, "error") == 0) {
		exec->failed = client_fail_status(&exec->error, 400, data, len);
	}
	/* Other types are for newer clients. */
}

/* The verdict is the last word: whatever follows isn't looked at. */
static bool is_over(const struct osb_exec *exec)
{
	return exec->failed < 0 || exec->has_verdict;
}

static void on_text(void *ctx, const uint8_t *data, size_t len)
{
	struct osb_exec *exec = ctx;

	if (!is_over(exec))
		take_text(exec, data, len);
}

static void on_binary(void *ctx, uint8_t kind, const uint8_t *data, size_t len)
{
	struct osb_exec *exec = ctx;

	if (is_over(exec) || !exec->on_output)
		return;
	if (kind == FRAME_STDOUT)
		exec->on_output(exec->ctx, OSB_STDOUT, data, len);
	else if (kind == FRAME_STDERR)
		exec->on_output(exec->ctx, OSB_STDERR, data, len);
}

static json_t *argv_to_json(const char *const *argv)
{
	json_t *array = json_array();

	for (; *argv; argv++) {
		if (json_array_append_new(array, json_string(*argv)) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

/* A later value of the same name wins, as with env(1). */
static json_t *env_to_json(const char *const *env)
{
	json_t *object = json_object();

	for (; env && *env; env++) {
		const char *equals = strchr(*env, '=');

		if (!equals ||
		    json_object_setn_new(object, *env, (size_t)(equals - *env),
					 json_string(equals + 1)) < 0) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

static char *exec_text(const struct osb_exec_spec *spec)
{
	json_t *root auto_json = NULL;

	root = json_pack("{s:o, s:o, s:s*, s:s, s:I, s:b, s:b, s:o}", "argv",
			 argv_to_json(spec->argv), "env",
			 env_to_json(spec->env), "cwd", spec->cwd, "user",
			 spec->user ? spec->user : "sandbox", "timeout_ms",
			 (json_int_t)spec->timeout_ms, "stdin", spec->has_stdin,
			 "bind", spec->bind, "limits",
			 exec_limits_to_json(&spec->limits));
	return root ? json_dumps(root, JSON_COMPACT) : NULL;
}

static void put_upgrade(struct osb_exec *exec, const char *id)
{
	struct osb_client *client = exec->client;
	char target[TARGET_MAX];

	(void)snprintf(target, sizeof(target), "/v1/sandboxes/%s/exec", id);
	request_begin(client, "GET", target);
	http_put_field(&client->out, "Connection", "Upgrade");
	http_put_field(&client->out, "Upgrade", "websocket");
	http_put_field(&client->out, "Sec-WebSocket-Version", "13");
	http_put_field(&client->out, "Sec-WebSocket-Key", exec->key);
	http_put_end(&client->out);
	buf_add(&exec->out, buf_data(&client->out), buf_len(&client->out));
	if (client->out.failed)
		exec->out.failed = true;
	buf_reset(&client->out);
	buf_reset(&client->body);
}

/* As much of the output as the socket takes now. */
static int flush(struct osb_exec *exec, struct osb_error *err)
{
	while (buf_len(&exec->out) > 0) {
		ssize_t n =
			send(exec->client->sock_fd, buf_data(&exec->out),
			     buf_len(&exec->out), MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0) {
			buf_consume(&exec->out, (size_t)n);
			continue;
		}
		if (errno == EAGAIN)
			return 0;
		if (errno == EPIPE || errno == ECONNRESET) {
			/* The verdict may still be there to be read. */
			buf_reset(&exec->out);
			return 0;
		}
		if (errno != EINTR)
			return client_fail(err, errno, "send to osbd");
	}
	return 0;
}

int osb_exec_start(struct osb_client *client, const char *id,
		   const struct osb_exec_spec *spec, struct osb_exec **ret_exec,
		   struct osb_error *err)
{
	struct osb_exec *exec auto_clean(osb_exec_freep) = NULL;
	char *text auto_free = NULL;
	int r;

	r = request_id_ok(id, err);
	if (r < 0)
		return r;
	text = exec_text(spec);
	if (!text)
		return client_fail_text(
			err, EINVAL,
			"an argument or variable isn't UTF-8 text, which is all that the API can carry");
	exec = calloc(1, sizeof(*exec));
	if (!exec)
		return client_fail(err, ENOMEM, "start an exec");
	exec->client = client;
	exec->on_output = spec->on_output;
	exec->ctx = spec->ctx;
	buf_init(&exec->out, OUT_MAX);

	frames_init(&exec->frames, &exec->out, on_text, on_binary, exec);
	r = ws_new_key(exec->key);
	if (r < 0)
		return client_fail(err, -r, "start an exec");
	put_upgrade(exec, id);
	r = frames_put_text(&exec->frames, text);
	if (r < 0 || exec->out.failed)
		return client_fail_text(
			err, E2BIG, "arguments and environment are too long");
	r = flush(exec, err);
	if (r < 0)
		return r;
	*ret_exec = take_ptr(exec);
	return 0;
}

void osb_exec_free(struct osb_exec *exec)
{
	if (!exec)
		return;
	/* The exec's own end, if it still runs: the server sees the close. */
	close_fd(&exec->client->sock_fd);
	frames_deinit(&exec->frames);
	buf_deinit(&exec->out);
	free(exec);
}

int osb_exec_fd(const struct osb_exec *exec)
{
	return exec->client->sock_fd;
}

short osb_exec_events(const struct osb_exec *exec)
{
	int events = 0;

	if (!exec->paused)
		events |= POLLIN;
	if (buf_len(&exec->out) > 0)
		events |= POLLOUT;
	return (short)events;
}

/* The bytes in client->in[] that are left, in state OPEN. */
static int feed(struct osb_exec *exec, struct osb_error *err)
{
	struct osb_client *client = exec->client;
	size_t start = client->in_start;
	int r;

	client->in_start = client->in_end;
	r = frames_feed(&exec->frames, client->in + start,
			client->in_end - start);
	if (exec->has_verdict) {
		exec->state = EXEC_DONE;
		return 1;
	}
	if (exec->failed < 0) {
		if (err)
			*err = exec->error;
		return exec->failed;
	}
	if (r < 0)
		return client_fail(err, -r, "the WebSocket of osbd");
	return 0;
}

static int check_upgrade(struct osb_exec *exec, struct osb_error *err)
{
	const struct http_head *head = &exec->client->reader.head;
	char want[WS_ACCEPT_LEN + 1];
	const char *got = http_head_get(head, "Sec-WebSocket-Accept");

	ws_accept_key(exec->key, want);
	if (!got || strcmp(got, want) != 0)
		return client_fail_text(err, EBADMSG,
					"osbd broke the WebSocket handshake");
	exec->state = EXEC_OPEN;
	return 0;
}

/* The answer to the upgrade; what follows a 101 is the WebSocket's. */
static int handshake(struct osb_exec *exec, struct osb_error *err)
{
	struct osb_client *client = exec->client;
	struct http_event event;
	int r;

	for (;;) {
		r = request_next_event(client, &event, err);
		if (r < 0)
			return r;
		switch (event.type) {
		case HTTP_EVENT_MORE:
			return 0;
		case HTTP_EVENT_HEAD:
			if (client->reader.head.status == 101)
				return check_upgrade(exec, err);
			exec->state = EXEC_REFUSED;
			break;
		case HTTP_EVENT_BODY:
			if (buf_len(&client->body) + event.len <= REFUSAL_MAX)
				buf_add(&client->body, event.data, event.len);
			break;
		case HTTP_EVENT_END:
			return client_fail_status(err,
						  client->reader.head.status,
						  buf_data(&client->body),
						  buf_len(&client->body));
		}
	}
}

static int on_eof(struct osb_exec *exec, struct osb_error *err)
{
	exec->state = EXEC_DONE;
	return client_fail_text(
		err, EPIPE,
		"osbd closed the connection before the program ended");
}

static int receive(struct osb_exec *exec, struct osb_error *err)
{
	struct osb_client *client = exec->client;
	ssize_t n;
	int r = 0;

	n = recv(client->sock_fd, client->in, sizeof(client->in), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return on_eof(exec, err);
	if (n < 0)
		return client_fail(err, errno, "receive from osbd");
	client->in_start = 0;
	client->in_end = (size_t)n;
	if (exec->state == EXEC_HANDSHAKE || exec->state == EXEC_REFUSED)
		r = handshake(exec, err);
	if (r == 0 && exec->state == EXEC_OPEN &&
	    client->in_start < client->in_end)
		r = feed(exec, err);
	return r;
}

int osb_exec_process(struct osb_exec *exec, short revents,
		     struct osb_error *err)
{
	int r;

	if (exec->state == EXEC_DONE)
		return exec->has_verdict ? 1 : on_eof(exec, err);
	if (buf_len(&exec->out) > 0) {
		r = flush(exec, err);
		if (r < 0)
			return r;
	}
	if (!exec->paused && (revents & (POLLIN | POLLHUP | POLLERR)))
		return receive(exec, err);
	return 0;
}

void osb_exec_pause(struct osb_exec *exec, bool paused)
{
	exec->paused = paused;
}

size_t osb_exec_room(const struct osb_exec *exec)
{
	size_t len = buf_len(&exec->out);

	return !exec->stdin_closed && len < OUT_HIGH ? OUT_HIGH - len : 0;
}

size_t osb_exec_unsent(const struct osb_exec *exec)
{
	return buf_len(&exec->out);
}

int osb_exec_write(struct osb_exec *exec, const void *data, size_t len)
{
	int r;

	if (len > osb_exec_room(exec))
		return -EAGAIN;
	r = frames_put_binary(&exec->frames, FRAME_STDIN, data, len);
	return r < 0 ? r : flush(exec, NULL);
}

static int send_control(struct osb_exec *exec, const char *text)
{
	int r = frames_put_text(&exec->frames, text);

	return r < 0 ? r : flush(exec, NULL);
}

int osb_exec_write_eof(struct osb_exec *exec)
{
	return send_control(exec, "{\"type\":\"stdin_eof\"}");
}

int osb_exec_signal(struct osb_exec *exec, const char *signal)
{
	char text[64];

	if (strspn(signal, "ABCDEFGHIJKLMNOPQRSTUVWXYZ+0123456789") !=
		    strlen(signal) ||
	    strlen(signal) > 16)
		return -EINVAL;
	(void)snprintf(text, sizeof(text),
		       "{\"type\":\"signal\",\"signal\":\"%s\"}", signal);
	return send_control(exec, text);
}

int osb_exec_kill(struct osb_exec *exec)
{
	return send_control(exec, "{\"type\":\"kill\"}");
}

const struct osb_verdict *osb_exec_verdict(const struct osb_exec *exec)
{
	return exec->has_verdict ? &exec->verdict : NULL;
}
