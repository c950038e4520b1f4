/* SPDX-License-Identifier: Apache-2.0 */

/*
 * api_command - shell commands as a stream of events
 *
 * Theory of operation. The answer begins only when the command runs, so that
 * what goes wrong before is an ordinary error. Each event is one JSON object
 * and an empty line, without SSE's field names: that is what all clients
 * read. A command outlives its client; then its output is thrown away. So
 * struct command is owned by its run, and the request only hangs on to it.
 *
 * Process:    osbd.
 * Input from: clients: hostile. Programs: hostile.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/cleanup.h"
#include "http/url.h"
#include "http/write.h"
#include "sandbox/sandbox.h"
#include "server/api.h"
#include "server/conn.h"
#include "server/env.h"
#include "server/json.h"
#include "server/lines.h"
#include "server/reply.h"
#include "server/run.h"
#include "server/server.h"
#include "server/verdict.h"

#define COMMAND_ID_LEN 32
#define PING_MS 3000
#define TERM_GRACE_MS 3000
#define EVENT_MAX (8u * LINES_MAX) /* a line with every byte escaped */

struct command {
	struct command *next, *prev; /* in server->commands */
	struct server *server;
	struct request *req; /* a reference; NULL: the client is gone */
	struct sandbox *sandbox;
	struct run *run;
	char id[COMMAND_ID_LEN + 1];
	bool tried_sh;
	struct lines lines[2];
	uint64_t started_ms;
	uint64_t ping_at_ms;
	uint64_t kill_at_ms; /* 0: nobody asked it to end */
	/* what it takes to start it */
	struct strv argv, env;
	char cwd[4096];
	uint32_t uid, gid;
	int64_t timeout_ms;
};

static void command_free(struct command *command)
{
	if (!command)
		return;
	if (command->prev)
		command->prev->next = command->next;
	else if (command->server->commands == command)
		command->server->commands = command->next;
	if (command->next)
		command->next->prev = command->prev;
	request_unref(command->req);
	sandbox_unref(command->sandbox);
	lines_deinit(&command->lines[0]);
	lines_deinit(&command->lines[1]);
	strv_deinit(&command->argv);
	strv_deinit(&command->env);
	free(command);
}
DEFINE_AUTO(struct command *, command_free);

/* An event under construction. */
struct event {
	struct buf buf;
	struct json_out json;
};

static void event_begin(struct event *event, const char *type)
{
	buf_init(&event->buf, EVENT_MAX);
	event->json = (struct json_out){ .buf = &event->buf };
	json_open(&event->json, NULL, '{');
	json_put_text(&event->json, "type", type);
}

/* @req: NULL when the client has gone: thrown away. */
static void event_send(struct event *event, struct request *req)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now); /* can't fail */
	json_put_int(&event->json, "timestamp",
		     now.tv_sec * 1000 + now.tv_nsec / 1000000);
	json_close(&event->json, '}');
	buf_adds(&event->buf, "\n\n");
	if (req && event->buf.failed)
		request_abort(req);
	else if (req)
		reply_piece(req, buf_data(&event->buf), buf_len(&event->buf));
	buf_deinit(&event->buf);
}

static void send_text_event(struct request *req, const char *type,
			    const void *text, size_t len)
{
	struct event event;

	event_begin(&event, type);
	json_put_bytes(&event.json, "text", text, len);
	event_send(&event, req);
}

/* @more: a second line of the traceback, or NULL. */
static void send_error_event(struct request *req, const char *value,
			     const char *trace, const char *more)
{
	struct event event;

	event_begin(&event, "error");
	json_open(&event.json, "error", '{');
	json_put_text(&event.json, "ename", "CommandExecError");
	json_put_text(&event.json, "evalue", value);
	json_open(&event.json, "traceback", '[');
	json_put_text(&event.json, NULL, trace);
	if (more)
		json_put_text(&event.json, NULL, more);
	json_close(&event.json, ']');
	json_close(&event.json, '}');
	event_send(&event, req);
}

static void send_complete_event(struct command *command)
{
	struct event event;
	uint64_t took_ms = server_now_ms(command->server) - command->started_ms;

	event_begin(&event, "execution_complete");
	if (took_ms)
		json_put_int(&event.json, "execution_time", (int64_t)took_ms);
	event_send(&event, command->req);
}

static void send_stdout_line(void *ctx, const uint8_t *line, size_t len)
{
	struct command *command = ctx;

	/* An empty text would be left out by clients' models. */
	send_text_event(command->req, "stdout", len ? line : (void *)"\n",
			len ? len : 1);
}

static void send_stderr_line(void *ctx, const uint8_t *line, size_t len)
{
	struct command *command = ctx;

	send_text_event(command->req, "stderr", len ? line : (void *)"\n",
			len ? len : 1);
}

static lines_fn line_fn(enum run_stream stream)
{
	return stream == RUN_STDOUT ? send_stdout_line : send_stderr_line;
}

static void begin_stream(struct command *command)
{
	struct request *req = command->req;
	struct buf *out = reply_head(req, 200);

	if (!out)
		return;
	http_put_field(out, "Content-Type", "text/event-stream");
	http_put_field(out, "Cache-Control", "no-cache");
	http_put_field(out, "X-Accel-Buffering", "no");
	reply_head_end(req, true);
	send_text_event(req, "init", command->id, COMMAND_ID_LEN);
}

static void on_started(void *ctx, int32_t pid)
{
	struct command *command = ctx;

	(void)pid;
	command->started_ms = server_now_ms(command->server);
	command->ping_at_ms = command->started_ms + PING_MS;
	if (!command->req)
		return;
	begin_stream(command);
	send_text_event(command->req, "ping", "pong", 4);
}

static void on_output(void *ctx, enum run_stream stream, const uint8_t *data,
		      size_t len)
{
	struct command *command = ctx;

	if (!command->req)
		return;
	lines_feed(&command->lines[stream - 1], data, len, line_fn(stream),
		   command);
	if (command->req && request_full(command->req))
		run_pause(command->run, true);
}

static int start(struct command *command, struct err *err);

/* It never ran. Return: true when another shell is being tried. */
static bool take_failure(struct command *command,
			 const struct run_result *result)
{
	struct request *req = command->req;
	char text[VERDICT_TEXT_MAX];
	struct err err = ERR_NULL;

	if (result->stage == INIT_STAGE_EXEC && result->sys == ENOENT &&
	    !command->tried_sh) {
		const char *script =
			strv_next(&command->argv,
				  strv_next(&command->argv,
					    strv_first(&command->argv)));
		struct strv argv;

		command->tried_sh = true;
		strv_init(&argv, 3, INIT_MSG_MAX);
		if (strv_add(&argv, "sh") == 0 && strv_add(&argv, "-c") == 0 &&
		    strv_add(&argv, script) == 0) {
			strv_deinit(&command->argv);
			command->argv = argv;
			if (start(command, &err) == 0)
				return true;
		} else {
			strv_deinit(&argv);
		}
	}
	if (!req)
		return false;
	verdict_text(result, strv_first(&command->argv), command->cwd, text);
	if (result->stage == INIT_STAGE_CWD) {
		reply_error(req, 400, "INVALID_REQUEST_BODY",
			    "cwd '%.200s': %s", command->cwd,
			    strerror(result->sys));
	} else if (result->stage == INIT_STAGE_EXEC) {
		begin_stream(command);
		send_error_event(req, strerror(result->sys), text, NULL);
		reply_end(req);
	} else {
		reply_error(req, 500, "RUNTIME_ERROR", "%s", text);
	}
	return false;
}

static void send_end(struct command *command, const struct run_result *result)
{
	const struct init_exited *exited = &result->exited;
	char value[16];
	char trace[VERDICT_TEXT_MAX];
	char timeout[64];

	if (result->outcome == RUN_EXITED && exited->signal == 0 &&
	    exited->exit_code == 0 && exited->verdict == VERDICT_EXITED) {
		send_complete_event(command);
		return;
	}
	if (result->outcome == RUN_EXITED && exited->signal == 0 &&
	    exited->verdict == VERDICT_EXITED) {
		(void)snprintf(value, sizeof(value), "%d", exited->exit_code);
		(void)snprintf(trace, sizeof(trace), "exit status %d",
			       exited->exit_code);
		send_error_event(command->req, value, trace, NULL);
		return;
	}
	if (result->outcome == RUN_EXITED && exited->signal == SIGKILL)
		(void)snprintf(trace, sizeof(trace), "signal: killed");
	else if (result->outcome == RUN_EXITED && exited->signal == SIGTERM)
		(void)snprintf(trace, sizeof(trace), "signal: terminated");
	else
		verdict_text(result, strv_first(&command->argv), command->cwd,
			     trace);
	(void)snprintf(timeout, sizeof(timeout), "timeout after %lld ms",
		       (long long)command->timeout_ms);
	send_error_event(command->req, "-1", trace,
			 result->outcome == RUN_EXITED &&
					 exited->verdict == VERDICT_WALL_TIMEOUT
				 ? timeout
				 : NULL);
}

static void on_done(void *ctx, const struct run_result *result)
{
	struct command *command = ctx;
	struct request *req auto_clean(request_unrefp) =
		command->req ? request_ref(command->req) : NULL;

	command->run = NULL;
	if (result->outcome == RUN_FAILED) {
		if (take_failure(command, result))
			return;
	} else if (req && !req->replied) {
		reply_error(req, 500, "RUNTIME_ERROR",
			    "the sandbox ended before the command began");
	} else if (req) {
		lines_end(&command->lines[0], send_stdout_line, command);
		lines_end(&command->lines[1], send_stderr_line, command);
		send_end(command, result);
		reply_end(req);
	}
	command_free(command);
}

static const struct run_ops run_ops = {
	.started = on_started,
	.output = on_output,
	.done = on_done,
};

static int start(struct command *command, struct err *err)
{
	struct run_spec spec = {
		.argv = &command->argv,
		.env = &command->env,
		.cwd = command->cwd,
		.uid = command->uid,
		.gid = command->gid,
		.wall_ms = (uint64_t)command->timeout_ms,
	};

	return run_start(command->server, command->sandbox, &spec, &run_ops,
			 command, &command->run, err);
}

static void on_drained(struct request *req)
{
	struct command *command = req->state;

	if (command->run)
		run_pause(command->run, false);
}

/* The command goes on; nobody listens. */
static void on_gone(struct request *req)
{
	struct command *command = req->state;

	if (command->run)
		run_pause(command->run, false);
	command->req = NULL;
	request_unref(req);
}

static void on_tick(struct request *req, uint64_t now_ms)
{
	struct command *command = req->state;

	if (!req->replied || now_ms < command->ping_at_ms)
		return;
	command->ping_at_ms = now_ms + PING_MS;
	send_text_event(req, "ping", "pong", 4);
}

static int read_user(const json_t *body, struct command *command,
		     struct err *err)
{
	int64_t uid = 0;
	int64_t gid = 0;
	int r_uid = json_get_int(body, "uid", 0, 65535, &uid, err);
	int r_gid = json_get_int(body, "gid", 0, 65535, &gid, err);

	if (r_uid < 0 || r_gid < 0)
		return -EINVAL;
	if (r_uid == 1 && r_gid == 0)
		return err_set(err, ERR_INVALID, 0, "gid: only with uid");
	command->uid = (uint32_t)uid;
	command->gid = (uint32_t)(r_gid == 0 ? gid : uid);
	return 0;
}

static int read_envs(const json_t *body, struct command *command,
		     struct err *err)
{
	const json_t *envs;
	const json_t *value;
	const char *key;
	int r = json_get_object(body, "envs", &envs, err);

	if (r != 0)
		return r < 0 ? r : 0;
	json_object_foreach((json_t *)(uintptr_t)envs, key, value)
	{
		if (!json_is_string(value))
			return err_set(err, ERR_INVALID, 0,
				       "envs '%.100s': must be a string", key);
		if (strv_set_env(&command->env, key, json_string_value(value)) <
		    0)
			return err_set(err, ERR_INVALID, 0,
				       "envs '%.100s': bad name, or too much",
				       key);
	}
	return 0;
}

static int read_body(const json_t *body, struct command *command,
		     struct err *err)
{
	const char *text = "";
	const char *cwd = ENV_WORKDIR;
	int r;

	if (json_get_text(body, "command", &text, err) < 0 ||
	    json_get_text(body, "cwd", &cwd, err) < 0 ||
	    json_get_int(body, "timeout", 0, INT64_MAX / 1000,
			 &command->timeout_ms, err) < 0)
		return -EINVAL;
	if (*text == '\0')
		return err_set(err, ERR_INVALID, 0, "command is missing");
	strv_init(&command->argv, 3, INIT_MSG_MAX);
	if (strv_add(&command->argv, "bash") < 0 ||
	    strv_add(&command->argv, "-c") < 0 ||
	    strv_add(&command->argv, text) < 0)
		return err_set(err, ERR_INVALID, 0, "command: too long");
	r = read_user(body, command, err);
	if (r == 0)
		r = env_init(&command->env, &command->sandbox->spec,
			     command->uid, err);
	if (r == 0)
		r = read_envs(body, command, err);
	if (r == 0)
		r = env_path(&command->env, *cwd ? cwd : ENV_WORKDIR,
			     command->cwd, sizeof(command->cwd), err);
	return r;
}

static struct command *command_new(struct request *req, struct sandbox *sandbox)
{
	struct command *command = calloc(1, sizeof(*command));
	uint8_t random[COMMAND_ID_LEN / 2];

	if (!command ||
	    getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
		free(command);
		return NULL;
	}
	for (unsigned int i = 0; i < sizeof(random); i++)
		(void)snprintf(command->id + 2 * i, 3, "%02x", random[i]);
	command->server = req->server;
	command->req = request_ref(req);
	command->sandbox = sandbox_ref(sandbox);
	lines_init(&command->lines[0]);
	lines_init(&command->lines[1]);
	return command;
}

void api_ping(struct request *req)
{
	if (reply_sandbox(req))
		reply_empty(req, 200);
}

void api_command_run(struct request *req)
{
	static const struct request_ops ops = {
		.drained = on_drained,
		.tick = on_tick,
		.gone = on_gone,
	};
	struct command *command auto_clean(command_freep) = NULL;
	struct sandbox *sandbox = reply_sandbox(req);
	json_t *body auto_json = NULL;
	struct err err = ERR_NULL;
	bool background = false;

	if (!sandbox)
		return;
	command = command_new(req, sandbox);
	if (!command) {
		request_abort(req);
		return;
	}
	body = json_read(buf_data(&req->body), buf_len(&req->body), &err);
	if (!body || json_get_bool(body, "background", &background, &err) < 0 ||
	    read_body(body, command, &err) < 0) {
		reply_err(req, "INVALID_REQUEST_BODY", &err);
		return;
	}
	if (background) {
		reply_error(req, 501, "NOT_SUPPORTED",
			    "background commands aren't served here");
		return;
	}
	if (start(command, &err) < 0) {
		reply_err(req, "RUNTIME_ERROR", &err);
		return;
	}
	req->ops = &ops;
	req->state = command;
	command->next = req->server->commands;
	if (command->next)
		command->next->prev = command;
	req->server->commands = command;
	(void)take_ptr(command);
}

void api_command_interrupt(struct request *req)
{
	struct sandbox *sandbox = reply_sandbox(req);
	char id[COMMAND_ID_LEN + 1];
	int r;

	if (!sandbox)
		return;
	r = http_query_get(req->head->query, "id", id, sizeof(id));
	if (r == -ENOENT || (r == 0 && id[0] == '\0')) {
		reply_error(req, 400, "MISSING_QUERY", "id is missing");
		return;
	}
	if (r < 0)
		id[0] = '\0'; /* not decodable, too long: not one of ours */
	for (struct command *c = req->server->commands; c; c = c->next) {
		if (c->sandbox != sandbox || strcmp(c->id, id) != 0 || !c->run)
			continue;
		run_kill(c->run, INIT_KILL_TERM_TREE, SIGTERM);
		c->kill_at_ms = server_now_ms(req->server) + TERM_GRACE_MS;
		reply_empty(req, 200);
		return;
	}
	reply_error(req, 404, "RUNTIME_ERROR", "no such command is running");
}

void api_command_tick(struct server *server, uint64_t now_ms)
{
	for (struct command *c = server->commands; c; c = c->next) {
		if (!c->kill_at_ms || c->kill_at_ms > now_ms || !c->run)
			continue;
		c->kill_at_ms = 0;
		run_kill(c->run, INIT_KILL_TREE, SIGKILL);
	}
}
