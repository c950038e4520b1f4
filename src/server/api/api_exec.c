/* SPDX-License-Identifier: Apache-2.0 */

/*
 * api_exec - one program over one WebSocket, byte for byte
 *
 * Theory of operation. The upgrade is granted at once; the client's first
 * message says what to run. From then on: client's binary messages are stdin,
 * ours are stdout and stderr, text messages are control; our last one is the
 * verdict. A program doesn't outlive its connection: whoever could read its
 * output has gone. With bind, neither does the sandbox.
 *
 * Back-pressure: while the program doesn't read its stdin, the socket isn't
 * read; while the client doesn't read, the pipes aren't. So whatever the two
 * do, memory stays bounded.
 *
 * Process:    osbd.
 * Input from: clients: hostile. Programs: hostile.
 * Ownership:  struct exec_ws lives as long as its connection. Sending can
 *             fail and end that, so whoever goes on afterwards holds a
 *             reference.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "http/write.h"
#include "http/ws.h"
#include "sandbox/sandbox.h"
#include "server/api/api.h"
#include "server/api/verdict.h"
#include "server/api/wish.h"
#include "server/conn.h"
#include "server/json.h"
#include "server/reply.h"
#include "server/run.h"
#include "server/server.h"

#define CONTROL_MAX 16384 /* one of our text messages */
#define PROGRAM_NAME_MAX 128

/* The type byte of a binary message. */
enum frame_type {
	FRAME_STDIN = 0,
	FRAME_STDOUT = 1,
	FRAME_STDERR = 2,
};

struct exec_ws {
	unsigned int refs;   /* the request's; and of who must not lose it */
	struct request *req; /* a reference */
	struct ws *ws;
	struct sandbox *sandbox; /* a reference */
	struct run *run;         /* NULL: not yet, or over */
	bool asked;              /* the first message was taken */
	bool stdin_told;         /* the client knows that nobody reads it */
	bool bind;
	bool signaled;                  /* the client sent it a signal */
	bool killed;                    /* ... or wanted its whole tree dead */
	char program[PROGRAM_NAME_MAX]; /* for messages */
	char cwd[PROGRAM_NAME_MAX];
};

static void exec_ws_unref(struct exec_ws *exec)
{
	if (--exec->refs)
		return;
	ws_free(exec->ws);
	sandbox_unref(exec->sandbox);
	request_unref(exec->req);
	free(exec);
}

/* The end of the connection, with the handshake that WebSockets have. */
static void close_ws(struct exec_ws *exec, unsigned int code,
		     const char *reason)
{
	ws_close(exec->ws, code, reason);
	request_close(exec->req);
}

static void send_text(struct exec_ws *exec, struct buf *text)
{
	if (text->failed ||
	    ws_send(exec->ws, true, NULL, 0, buf_data(text), buf_len(text)) < 0)
		request_abort(exec->req);
	else if (exec->req->conn)
		conn_wrote(exec->req->conn);
}

static void refuse(struct exec_ws *exec, const char *code, const char *message)
{
	struct buf text auto_clean(buf_deinit) = BUF_NULL;
	struct json_out json = { .buf = &text };

	buf_init(&text, CONTROL_MAX);
	json_open(&json, NULL, '{');
	json_put_text(&json, "type", "error");
	json_put_text(&json, "code", code);
	json_put_text(&json, "message", message);
	json_close(&json, '}');
	send_text(exec, &text);
	if (exec->req->conn)
		close_ws(exec, 1008, code);
}

static void on_started(void *ctx, int32_t pid)
{
	struct exec_ws *exec = ctx;
	struct buf text auto_clean(buf_deinit) = BUF_NULL;
	struct json_out json = { .buf = &text };

	buf_init(&text, CONTROL_MAX);
	json_open(&json, NULL, '{');
	json_put_text(&json, "type", "started");
	json_put_int(&json, "pid", pid);
	json_close(&json, '}');
	send_text(exec, &text);
}

static void on_output(void *ctx, enum run_stream stream, const uint8_t *data,
		      size_t len)
{
	struct exec_ws *exec = ctx;
	uint8_t type = stream == RUN_STDOUT ? FRAME_STDOUT : FRAME_STDERR;

	if (exec->req->conn->closing)
		return; /* the client has been told why already */
	if (ws_send(exec->ws, false, &type, 1, data, len) < 0) {
		request_abort(exec->req);
		return;
	}
	conn_wrote(exec->req->conn);
	if (request_full(exec->req))
		run_pause(exec->run, true);
}

/* A client with endless stdin can stop sending what nobody will read. */
static void tell_if_stdin_closed(struct exec_ws *exec)
{
	if (exec->stdin_told || !exec->run || run_stdin_open(exec->run) ||
	    !exec->req->conn || exec->req->conn->closing)
		return;
	exec->stdin_told = true;
	if (ws_send_text(exec->ws, "{\"type\":\"stdin_closed\"}") == 0)
		conn_wrote(exec->req->conn);
}

static void on_stdin_drained(void *ctx)
{
	struct exec_ws *exec = ctx;

	tell_if_stdin_closed(exec);

	request_pause(exec->req, false);
}

/* What is bound to the connection has no use without it. */
static void release_sandbox(struct exec_ws *exec)
{
	if (exec->bind && sandbox_visible(exec->sandbox, NULL))
		sandbox_destroy(exec->sandbox, NULL, NULL);
}

/*
 * A signal that the client passes on is the program's to handle: what comes
 * of it is not our kill, although init sends both in the same way.
 */
static void correct_verdict(const struct exec_ws *exec,
			    struct run_result *result)
{
	struct init_exited *exited = &result->exited;

	if (result->outcome == RUN_EXITED && exec->signaled && !exec->killed &&
	    exited->verdict == VERDICT_KILLED)
		exited->verdict =
			exited->signal ? VERDICT_SIGNALED : VERDICT_EXITED;
}

static void on_done(void *ctx, const struct run_result *done)
{
	struct exec_ws *exec = ctx;
	struct run_result result = *done;
	struct buf text auto_clean(buf_deinit) = BUF_NULL;

	exec->run = NULL;
	exec->refs++;
	buf_init(&text, CONTROL_MAX);
	correct_verdict(exec, &result);
	verdict_put(&text, &result, exec->program, exec->cwd);
	send_text(exec, &text);
	if (exec->req->conn) {
		request_pause(exec->req, false);
		close_ws(exec, 1000, "");
	}
	/* The client first: it waits for this, and not for what follows. */
	if (exec->req->conn && exec->bind)
		conn_flush(exec->req->conn);
	release_sandbox(exec);
	exec_ws_unref(exec);
}

static const struct run_ops run_ops = {
	.started = on_started,
	.output = on_output,
	.stdin_drained = on_stdin_drained,
	.done = on_done,
};

static int start(struct exec_ws *exec, const struct wish *wish, struct err *err)
{
	struct run_spec spec = {
		.argv = &wish->argv,
		.env = &wish->env,
		.cwd = wish->cwd,
		.uid = wish->uid,
		.gid = wish->gid,
		.wall_ms = wish->timeout_ms ? (uint64_t)wish->timeout_ms
					    : wish->limits.wall_ms,
		.limits = wish->limits,
		.has_stdin = wish->has_stdin,
	};

	(void)snprintf(exec->program, sizeof(exec->program), "%s",
		       strv_first(&wish->argv));
	(void)snprintf(exec->cwd, sizeof(exec->cwd), "%s", wish->cwd);
	return run_start(exec->req->server, exec->sandbox, &spec, &run_ops,
			 exec, &exec->run, err);
}

static const char *refusal_code(enum err_kind kind)
{
	switch (kind) {
	case ERR_INVALID:
		return "INVALID_REQUEST_BODY";
	case ERR_CONFLICT:
		return "SANDBOX::NOT_RUNNING";
	default:
		return "RUNTIME_ERROR";
	}
}

static void take_wish(struct exec_ws *exec, const json_t *object)
{
	struct wish wish auto_clean(wish_deinit) = { .timeout_ms = 0 };
	struct err err = ERR_NULL;
	int r;

	r = wish_read(object, &exec->sandbox->spec, &wish, &err);
	/* Also a wish that can't be granted ends what is bound to it. */
	exec->bind = wish.bind;
	if (wish.bind)
		sandbox_unkeep(exec->sandbox);
	if (r == 0)
		r = start(exec, &wish, &err);
	if (r < 0)
		refuse(exec, refusal_code(err.kind), err.msg);
}

static void take_control(struct exec_ws *exec, const json_t *object)
{
	const char *type = "";
	const char *name = "";
	struct err err = ERR_NULL;
	int number;

	if (json_get_text(object, "type", &type, &err) != 0 ||
	    json_get_text(object, "signal", &name, &err) < 0) {
		refuse(exec, "INVALID_FRAME", "control message without a type");
		return;
	}
	if (!exec->run)
		return; /* it is over already: nothing to control */
	if (strcmp(type, "stdin_eof") == 0) {
		exec->stdin_told = true; /* it closes it itself */
		run_stdin_eof(exec->run);
		request_pause(exec->req, run_stdin_waits(exec->run) > 0);
	} else if (strcmp(type, "kill") == 0) {
		exec->killed = true;
		run_kill(exec->run, INIT_KILL_TREE, SIGKILL);
	} else if (strcmp(type, "signal") == 0) {
		number = verdict_signal_number(name);
		if (number == 0) {
			refuse(exec, "INVALID_FRAME", "unknown signal");
			return;
		}
		exec->signaled = true;
		/* To all, as a terminal would: a shell waits for the program
		   that it has in front. */
		run_kill(exec->run, INIT_KILL_TERM_TREE, number);
	} else {
		refuse(exec, "INVALID_FRAME", "unknown control message");
	}
}

static void take_text(struct exec_ws *exec, const uint8_t *data, size_t len)
{
	struct err err = ERR_NULL;
	json_t *object auto_json = json_read(data, len, &err);

	if (!object) {
		refuse(exec, "INVALID_REQUEST_BODY", err.msg);
	} else if (!exec->asked) {
		exec->asked = true;
		take_wish(exec, object);
	} else {
		take_control(exec, object);
	}
}

static void take_binary(struct exec_ws *exec, const uint8_t *data, size_t len)
{
	if (!exec->asked || len == 0 || data[0] != FRAME_STDIN) {
		refuse(exec, "INVALID_FRAME", "unexpected binary message");
		return;
	}
	if (!exec->run)
		return; /* nobody reads it any more */
	if (run_stdin(exec->run, data + 1, len - 1) < 0) {
		request_abort(exec->req);
		return;
	}
	/* One read may hold several messages: the next can find room again. */
	request_pause(exec->req, run_stdin_waits(exec->run) > 0);
	tell_if_stdin_closed(exec);
}

static void on_message(void *ctx, bool text, const uint8_t *data, size_t len)
{
	struct exec_ws *exec = ctx;

	if (!exec->req->conn || exec->req->conn->closing)
		return;
	if (text)
		take_text(exec, data, len);
	else
		take_binary(exec, data, len);
}

static void on_raw(struct request *req, const uint8_t *data, size_t len)
{
	struct exec_ws *exec = req->state;
	int r;

	exec->refs++;
	r = ws_feed(exec->ws, data, len);
	if (req->conn)
		conn_wrote(req->conn);
	/* A broken protocol or a close: either way there comes no more. */
	if (req->conn && (r < 0 || ws_close_code(exec->ws))) {
		if (exec->run)
			run_kill(exec->run, INIT_KILL_TREE, SIGKILL);
		request_close(req);
	}
	exec_ws_unref(exec);
}

static void on_drained(struct request *req)
{
	struct exec_ws *exec = req->state;

	if (exec->run)
		run_pause(exec->run, false);
}

static void on_gone(struct request *req)
{
	struct exec_ws *exec = req->state;
	struct run *run = take_ptr(exec->run);

	if (run) {
		run_kill(run, INIT_KILL_TREE, SIGKILL);
		run_detach(run);
	}
	release_sandbox(exec);
	exec_ws_unref(exec);
}

static int make_exec(struct request *req, struct sandbox *sandbox)
{
	static const struct request_ops ops = {
		.raw = on_raw,
		.drained = on_drained,
		.gone = on_gone,
	};
	struct exec_ws *exec = calloc(1, sizeof(*exec));

	if (!exec)
		return -ENOMEM;
	if (ws_new(WS_SERVER, &req->conn->out, on_message, exec, &exec->ws) <
	    0) {
		free(exec);
		return -ENOMEM;
	}
	exec->refs = 1;
	exec->req = request_ref(req);
	exec->sandbox = sandbox_ref(sandbox);
	req->ops = &ops;
	req->state = exec;
	return 0;
}

void api_exec(struct request *req)
{
	const char *key = ws_request_key(req->head);
	struct sandbox *sandbox = reply_sandbox(req);
	char accept[WS_ACCEPT_LEN + 1];
	struct buf *out;

	if (!sandbox)
		return;
	if (!key || !req->body_complete) {
		reply_error(req, 400, "GENERAL::BAD_REQUEST",
			    "a WebSocket handshake (version 13) is needed "
			    "here");
		return;
	}
	if (sandbox->state != SANDBOX_RUNNING) {
		reply_error(req, 409, "SANDBOX::NOT_RUNNING",
			    "the sandbox isn't running but %s",
			    sandbox_state_name(sandbox->state));
		return;
	}
	ws_accept_key(key, accept);
	if (make_exec(req, sandbox) < 0) {
		request_abort(req);
		return;
	}
	out = reply_head(req, 101);
	http_put_field(out, "Upgrade", "websocket");
	http_put_field(out, "Connection", "Upgrade");
	http_put_field(out, "Sec-WebSocket-Accept", accept);
	request_upgrade(req);
	reply_head_end(req, false);
}
