/* SPDX-License-Identifier: Apache-2.0 */

/*
 * api_command - shell commands: start, follow, look at, interrupt
 *
 * Theory of operation. The answer begins only when the command runs, so that
 * what goes wrong before is an ordinary error. From then on the command lives
 * by itself (sandbox/command.h), and its client is one that follows it
 * (follow.h) like any other.
 *
 * Process:    osbd.
 * Input from: clients: hostile. Programs: hostile.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "http/url.h"
#include "http/write.h"
#include "sandbox/command.h"
#include "sandbox/exec_log.h"
#include "sandbox/sandbox.h"
#include "server/api/api.h"
#include "server/api/event.h"
#include "server/api/follow.h"
#include "server/api/limits_body.h"
#include "server/api/verdict.h"
#include "server/conn.h"
#include "server/env.h"
#include "server/json.h"
#include "server/reply.h"
#include "server/run.h"
#include "server/server.h"

#define LOGS_MAX (8u * 1024 * 1024) /* of a log, in one answer */
#define LIST_TEXT_MAX 1024u         /* of a command's text, in a list */
/* Every byte escaped, and what else there is of one. */
#define LIST_MAX \
	((INIT_EXECS_MAX + COMMANDS_KEPT_MAX) * (8u * LIST_TEXT_MAX + 1024))

/* A command that is asked for. */
struct starting {
	struct request *req; /* a reference; its connection may be gone */
	struct sandbox *sandbox;
	struct command *command; /* a reference, once asked for */
	bool tried_sh, background;
	const char *text; /* in argv */
	struct strv argv, env;
	char cwd[4096];
	uint32_t uid, gid;
	int64_t timeout_ms;
	struct exec_limits limits;
};

static void starting_free(struct starting *starting)
{
	if (!starting)
		return;
	request_unref(starting->req);
	sandbox_unref(starting->sandbox);
	command_unref(starting->command);
	strv_deinit(&starting->argv);
	strv_deinit(&starting->env);
	free(starting);
}
DEFINE_AUTO(struct starting *, starting_free);

static int set_argv(struct starting *starting, const char *shell,
		    const char *text)
{
	struct strv argv;

	strv_init(&argv, 3, INIT_MSG_MAX);
	if (strv_add(&argv, shell) < 0 || strv_add(&argv, "-c") < 0 ||
	    strv_add(&argv, text) < 0) {
		strv_deinit(&argv);
		return -E2BIG;
	}
	strv_deinit(&starting->argv);
	starting->argv = argv;
	starting->text = strv_next(&argv, strv_next(&argv, strv_first(&argv)));
	return 0;
}

static int start(struct starting *starting, struct err *err);

static void on_started(void *ctx)
{
	struct starting *starting auto_clean(starting_freep) = ctx;
	static const uint64_t from[2] = { 0, 0 };
	struct request *req = starting->req;
	struct event event;

	if (!req->conn)
		return; /* it goes on; nobody listens */
	if (!starting->background) {
		follow_begin(req, starting->command, from);
		return;
	}
	event_stream(req);
	event_text(req, "init", starting->command->id, COMMAND_ID_LEN);
	event_begin(&event, "execution_complete");
	event_send(&event, req);
	reply_end(req);
}

/* Where there is no bash, sh does. The one that failed stays if this does. */
static int try_sh(struct starting *starting, struct err *err)
{
	struct command *failed = starting->command;
	int r;

	starting->tried_sh = true;
	r = set_argv(starting, "sh", starting->text);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "try sh");
	r = start(starting, err);
	if (r == 0)
		command_unref(failed);
	return r;
}

static void on_failed(void *ctx, enum init_stage stage, int sys)
{
	struct starting *starting auto_clean(starting_freep) = ctx;
	struct request *req = starting->req;
	struct err err = ERR_NULL;
	char text[VERDICT_TEXT_MAX];

	if (stage == INIT_STAGE_EXEC && sys == ENOENT && !starting->tried_sh) {
		if (try_sh(starting, &err) < 0)
			reply_err(req, "RUNTIME_ERROR", &err);
		else
			(void)take_ptr(starting);
		return;
	}
	if (stage == INIT_STAGE_CWD) {
		reply_error(req, 400, "INVALID_REQUEST_BODY",
			    "cwd '%.200s': %s", starting->cwd, strerror(sys));
		return;
	}
	verdict_failed_text(stage, sys, strv_first(&starting->argv),
			    starting->cwd, text);
	if (stage != INIT_STAGE_EXEC) {
		reply_error(req, 500, "RUNTIME_ERROR", "%s", text);
		return;
	}
	event_stream(req);
	event_text(req, "init", starting->command->id, COMMAND_ID_LEN);
	event_error(req, strerror(sys), text, NULL);
	reply_end(req);
}

static void on_refused(void *ctx, const struct err *err)
{
	struct starting *starting auto_clean(starting_freep) = ctx;

	reply_error(starting->req, err->kind == ERR_UNAVAILABLE ? 503 : 500,
		    "RUNTIME_ERROR", "%s", err->msg);
}

static int start(struct starting *starting, struct err *err)
{
	static const struct command_ops ops = {
		.started = on_started,
		.failed = on_failed,
		.refused = on_refused,
	};
	const struct command_spec spec = {
		.text = starting->text,
		.argv = &starting->argv,
		.env = &starting->env,
		.cwd = starting->cwd,
		.uid = starting->uid,
		.gid = starting->gid,
		.wall_ms = starting->timeout_ms ? (uint64_t)starting->timeout_ms
						: starting->limits.wall_ms,
		.limits = starting->limits,
		.background = starting->background,
	};
	struct command *command;
	int r;

	r = command_start(starting->sandbox, &spec, &ops, starting, &command,
			  err);
	if (r == 0)
		starting->command = command_ref(command);
	return r;
}

static int read_user(const json_t *body, struct starting *starting,
		     struct err *err)
{
	const struct spec *spec = &starting->sandbox->spec;
	int64_t uid = env_default_uid(spec);
	int64_t gid = 0;
	int r_uid = json_get_int(body, "uid", 0, 65535, &uid, err);
	int r_gid = json_get_int(body, "gid", 0, 65535, &gid, err);

	if (r_uid < 0 || r_gid < 0)
		return -EINVAL;
	if (r_uid == 1 && r_gid == 0)
		return err_set(err, ERR_INVALID, 0, "gid: only with uid");
	starting->uid = (uint32_t)uid;
	starting->gid = (uint32_t)(r_gid == 0 ? gid : uid);
	return env_check_user(spec, starting->uid, starting->gid, err);
}

static int read_envs(const json_t *body, struct starting *starting,
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
		if (strv_set_env(&starting->env, key,
				 json_string_value(value)) < 0)
			return err_set(err, ERR_INVALID, 0,
				       "envs '%.100s': bad name, or too much",
				       key);
	}
	return 0;
}

static int read_limits(const json_t *body, struct starting *starting,
		       struct err *err)
{
	const struct spec *spec = &starting->sandbox->spec;
	char text[UNITS_TEXT_MAX], most[UNITS_TEXT_MAX];
	uint64_t max;
	int r = limits_body_read(body, spec, &starting->limits, err);

	max = starting->limits.output_max;
	/* Of the sandbox's default as much as a log takes. */
	if (r < 0 || max <= COMMAND_LOG_MAX || max == spec->exec.output_max)
		return r;
	units_format_size(max, text);
	units_format_size(COMMAND_LOG_MAX, most);
	return err_set(err, ERR_INVALID, 0,
		       "output '%s': must be at most %s, as a log holds", text,
		       most);
}

static int read_body(const json_t *body, struct starting *starting,
		     struct err *err)
{
	const char *text = "";
	const char *cwd = ENV_WORKDIR;
	int r;

	if (json_get_bool(body, "background", &starting->background, err) < 0 ||
	    json_get_text(body, "command", &text, err) < 0 ||
	    json_get_text(body, "cwd", &cwd, err) < 0 ||
	    json_get_int(body, "timeout", 0, INT64_MAX / 1000,
			 &starting->timeout_ms, err) < 0)
		return -EINVAL;
	if (*text == '\0')
		return err_set(err, ERR_INVALID, 0, "command is missing");
	if (set_argv(starting, "bash", text) < 0)
		return err_set(err, ERR_INVALID, 0, "command: too long");
	r = read_user(body, starting, err);
	if (r == 0)
		r = read_limits(body, starting, err);
	if (r == 0)
		r = env_init(&starting->env, &starting->sandbox->spec,
			     starting->uid, err);
	if (r == 0)
		r = read_envs(body, starting, err);
	if (r == 0)
		r = env_path(&starting->env, *cwd ? cwd : ENV_WORKDIR,
			     starting->cwd, sizeof(starting->cwd), err);
	return r;
}

void api_ping(struct request *req)
{
	if (reply_sandbox(req))
		reply_empty(req, 200);
}

void api_command_run(struct request *req)
{
	struct starting *starting auto_clean(starting_freep) = NULL;
	struct sandbox *sandbox = reply_sandbox(req);
	json_t *body auto_json = NULL;
	struct err err = ERR_NULL;

	if (!sandbox)
		return;
	starting = calloc(1, sizeof(*starting));
	if (!starting) {
		request_abort(req);
		return;
	}
	starting->req = request_ref(req);
	starting->sandbox = sandbox_ref(sandbox);
	body = json_read(buf_data(&req->body), buf_len(&req->body), &err);
	if (!body || read_body(body, starting, &err) < 0) {
		reply_err(req, "INVALID_REQUEST_BODY", &err);
		return;
	}
	if (start(starting, &err) < 0) {
		reply_err(req, "RUNTIME_ERROR", &err);
		return;
	}
	(void)take_ptr(starting);
	server_wake(req->server);
}

/* The command of the path, or NULL after refusing. */
static struct command *reply_command(struct request *req)
{
	struct sandbox *sandbox = reply_sandbox(req);
	struct command *command =
		sandbox ? command_find(sandbox, req->in_exec) : NULL;

	if (sandbox && !command)
		reply_error(req, 404, "COMMAND_NOT_FOUND",
			    "command %s not found; the last %d that ended are "
			    "remembered",
			    req->in_exec, COMMANDS_KEPT_MAX);
	return command;
}

static void put_end(struct json_out *json, const struct command *command)
{
	const struct command_result *result = &command->result;
	char value[16], trace[FOLLOW_TEXT_MAX], name[VERDICT_SIGNAL_MAX];
	struct run_result run;

	if (verdict_by_itself(result->verdict))
		json_put_int(json, "exit_code", result->exit_code);
	else if (result->verdict != VERDICT_LOST)
		json_put_int(json, "exit_code", -1);
	if (follow_error_text(command, value, trace) == 0)
		json_put_text(json, "error", trace);
	json_put_time(json, "finished_at", command->finished_us);
	json_put_text(json, "verdict", verdict_name(result->verdict));
	if (result->signal > 0)
		json_put_text(json, "signal",
			      verdict_signal_name(result->signal, name));
	follow_result(command, &run);
	verdict_put_usage(json, &run.exited, run.output_bytes);
}

/* At most @max bytes of @text, without cutting a character. */
static size_t cut_text(const char *text, size_t max)
{
	size_t len = strnlen(text, max);

	while (text[len] && len > 0 &&
	       ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	return len;
}

static void put_command(struct json_out *json, const struct command *command,
			size_t text_max)
{
	json_open(json, NULL, '{');
	json_put_text(json, "id", command->id);
	json_put_bytes(json, "content", command->text,
		       cut_text(command->text, text_max));
	json_put_bool(json, "background", command->background);
	json_put_bool(json, "running", command_running(command));
	json_put_time(json, "started_at", command->started_us);
	if (!command_running(command))
		put_end(json, command);
	json_close(json, '}');
}

void api_command_status(struct request *req)
{
	const struct command *command = reply_command(req);
	struct buf body auto_clean(buf_deinit) = BUF_NULL;
	struct json_out json = { .buf = &body };

	if (!command)
		return;
	buf_init(&body, 8 * INIT_MSG_MAX);
	put_command(&json, command, SIZE_MAX);
	reply_json(req, 200, &body);
}

void api_command_list(struct request *req)
{
	const struct sandbox *sandbox = reply_sandbox(req);
	struct buf body auto_clean(buf_deinit) = BUF_NULL;
	struct json_out json = { .buf = &body };

	if (!sandbox)
		return;
	buf_init(&body, LIST_MAX);
	json_open(&json, NULL, '{');
	json_open(&json, "items", '[');
	for (const struct command *c = sandbox->commands; c; c = c->next)
		if (c->state != COMMAND_STARTING)
			put_command(&json, c, LIST_TEXT_MAX);
	json_close(&json, ']');
	json_close(&json, '}');
	reply_json(req, 200, &body);
}

/* Decimal digits; 0 for anything else, as the protocol wants it. */
static uint64_t read_cursor(const struct request *req)
{
	char text[24], *end;
	uint64_t cursor;

	if (http_query_get(req->head->query, "cursor", text, sizeof(text)) <
		    0 ||
	    text[0] < '0' || text[0] > '9')
		return 0;
	errno = 0;
	cursor = strtoull(text, &end, 10);
	return *end || errno || cursor > INT64_MAX ? 0 : cursor;
}

/* How much of the log from @at goes into one answer. */
static size_t log_part(const struct exec_log *log, uint64_t at)
{
	uint64_t size = exec_log_size(log);
	uint64_t left = at < size ? size - at : 0;

	return left < LOGS_MAX ? (size_t)left : LOGS_MAX;
}

/* A log on its way to a client, as fast as that takes it. */
struct log_answer {
	struct request *req;     /* a reference */
	struct command *command; /* another; its log is open for us */
	struct exec_log log;
	size_t left;
	uint64_t until_ms; /* to take some of it */
};

static void log_answer_free(struct log_answer *answer)
{
	command_close_log(answer->command);
	command_unref(answer->command);
	request_unref(answer->req);
	free(answer);
}

static void pump_log(struct log_answer *answer)
{
	struct request *req = answer->req;
	struct server *server = req->server;
	unsigned int stream;

	answer->until_ms =
		server_now_ms(server) + server->settings.idle_timeout_ms;
	while (answer->left > 0 && !request_full(req)) {
		size_t max = sizeof(server->log_buf);
		size_t n =
			exec_log_next(&answer->log, server->log_buf,
				      answer->left < max ? answer->left : max,
				      &stream);

		if (n == 0) { /* it has shrunk: no honest init does that */
			request_abort(req);
			return;
		}
		reply_piece(req, server->log_buf, n);
		answer->left -= n;
	}
	if (answer->left > 0)
		return;
	req->ops = NULL; /* from here on it is ours alone */
	reply_end(req);
	log_answer_free(answer);
}

static void on_log_drained(struct request *req)
{
	pump_log(req->state);
}

static void on_log_tick(struct request *req, uint64_t now_ms)
{
	const struct log_answer *answer = req->state;

	if (now_ms >= answer->until_ms)
		request_abort(req);
}

static void on_log_gone(struct request *req)
{
	log_answer_free(req->state);
}

static void reply_log(struct log_answer *answer)
{
	static const struct request_ops ops = {
		.drained = on_log_drained,
		.tick = on_log_tick,
		.gone = on_log_gone,
	};
	struct request *req = answer->req;
	uint64_t at = read_cursor(req);
	struct buf *out = reply_head(req, 200);

	answer->left = log_part(&answer->log, at);
	answer->log.at = at;
	http_put_field(out, "Content-Type", "text/plain; charset=utf-8");
	http_put_number(out, "EXECD-COMMANDS-TAIL-CURSOR", at + answer->left);
	http_put_number(out, "Content-Length", answer->left);
	reply_head_end(req, false);
	req->ops = &ops;
	req->state = answer;
	pump_log(answer);
}

void api_command_logs(struct request *req)
{
	struct command *command = reply_command(req);
	struct log_answer *answer;

	if (!command)
		return;
	answer = calloc(1, sizeof(*answer));
	if (!answer) {
		request_abort(req);
		return;
	}
	if (command_open_log(command, &answer->log) < 0) {
		free(answer);
		reply_error(req, 500, "RUNTIME_ERROR",
			    "the command's log can't be read");
		return;
	}
	answer->req = request_ref(req);
	answer->command = command_ref(command);
	reply_log(answer);
}

/* "N" or "N,M". Return: 0, or -EINVAL. */
static int parse_from(const char *text, uint64_t ret_from[static 2])
{
	for (unsigned int i = 0; i < 2; i++) {
		char *end;

		if (*text < '0' || *text > '9')
			return -EINVAL;
		errno = 0;
		ret_from[i] = strtoull(text, &end, 10);
		if (errno || ret_from[i] > INT64_MAX)
			return -EINVAL;
		if (*end == '\0')
			return 0;
		if (*end != ',')
			return -EINVAL;
		text = end + 1;
	}
	return -EINVAL;
}

void api_command_events(struct request *req)
{
	uint64_t from[2] = { 0, 0 };
	struct command *command = reply_command(req);
	char text[48];
	int r;

	if (!command)
		return;
	r = http_query_get(req->head->query, "from", text, sizeof(text));
	if (r != -ENOENT && (r < 0 || parse_from(text, from) < 0)) {
		reply_error(req, 400, "INVALID_QUERY",
			    "from: the offsets of the last events seen, "
			    "STDOUT or STDOUT,STDERR");
		return;
	}
	follow_begin(req, command, from);
}

void api_command_interrupt(struct request *req)
{
	struct sandbox *sandbox = reply_sandbox(req);
	char id[COMMAND_ID_LEN + 1];
	struct command *command;
	int r;

	if (!sandbox)
		return;
	r = http_query_get(req->head->query, "id", id, sizeof(id));
	if (r == -ENOENT || (r == 0 && id[0] == '\0')) {
		reply_error(req, 400, "MISSING_QUERY", "id is missing");
		return;
	}
	/* Not decodable, too long: not one of ours. */
	command = r < 0 ? NULL : command_find(sandbox, id);
	if (!command || !command->exec) {
		reply_error(req, 404, "RUNTIME_ERROR",
			    "no such command is running");
		return;
	}
	command_interrupt(command);
	reply_empty(req, 200);
}

/* Somebody who waits for a command's end, to have it forgotten. */
struct removal {
	struct request *req;
	struct command *command;
	struct command_watch watch;
};

static void on_removal_news(void *ctx)
{
	struct removal *removal = ctx;
	struct command *command = removal->command;

	if (command_running(command))
		return;
	command_unwatch(command, &removal->watch);
	if (command->sandbox)
		command_forget(command);
	reply_empty(removal->req, 204);
	request_unref(removal->req);
	command_unref(command);
	free(removal);
}

void api_command_delete(struct request *req)
{
	struct command *command = reply_command(req);
	struct removal *removal;

	if (!command)
		return;
	removal = calloc(1, sizeof(*removal));
	if (!removal) {
		request_abort(req);
		return;
	}
	removal->req = request_ref(req);
	removal->command = command_ref(command);
	removal->watch.fn = on_removal_news;
	removal->watch.ctx = removal;
	command_watch(command, &removal->watch);
	command_kill(command);
	on_removal_news(removal);
}
