/* SPDX-License-Identifier: Apache-2.0 */

/*
 * follow - from a command's log to its clients
 *
 * Theory of operation. Whenever the command's log grows, its client's output
 * has drained, or the command has ended, the log is read as far as the
 * connection takes it. The end is told when all that was in the log by then
 * is sent. A heartbeat keeps what lies between us and the client from taking
 * a silent stream for a dead one.
 *
 * Input from: programs: hostile.
 */

#include "server/api/follow.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sandbox/command.h"
#include "sandbox/exec_log.h"
#include "sandbox/sandbox.h"
#include "server/api/event.h"
#include "server/api/lines.h"
#include "server/api/verdict.h"
#include "server/conn.h"
#include "server/reply.h"
#include "server/run.h"
#include "server/server.h"

#define PING_MS 3000

/* At a time: of empty lines, each byte becomes an event of about 70. */
#define READ_MAX (16u * 1024)

struct follow {
	struct request *req;     /* a reference */
	struct command *command; /* another */
	struct command_watch watch;
	bool has_log;
	struct exec_log log;
	struct lines lines[EXEC_LOG_STREAMS];
	uint64_t ping_at_ms;
};

static void follow_free(struct follow *follow)
{
	command_unwatch(follow->command, &follow->watch);
	if (follow->has_log)
		command_close_log(follow->command);
	command_unref(follow->command);
	for (unsigned int i = 0; i < EXEC_LOG_STREAMS; i++)
		lines_deinit(&follow->lines[i]);
	request_unref(follow->req);
	free(follow);
}

static void send_stdout(void *ctx, const uint8_t *line, size_t len)
{
	struct follow *follow = ctx;

	event_line(follow->req, "stdout", line, len, follow->lines[0].end);
}

static void send_stderr(void *ctx, const uint8_t *line, size_t len)
{
	struct follow *follow = ctx;

	event_line(follow->req, "stderr", line, len, follow->lines[1].end);
}

_Static_assert(READ_MAX <= SERVER_LOG_MAX, "it fits the buffer");

static const lines_fn line_fns[EXEC_LOG_STREAMS] = { send_stdout, send_stderr };

void follow_result(const struct command *command, struct run_result *ret)
{
	const struct command_result *result = &command->result;

	*ret = (struct run_result){
		.outcome = result->verdict == VERDICT_LOST ? RUN_LOST
							   : RUN_EXITED,
		.exited = {
			.verdict = result->verdict,
			.exit_code = result->exit_code,
			.signal = result->signal,
			.limits_hit = result->limits_hit,
			.wall_us = result->wall_us,
			.cpu_us = result->cpu_us,
			.peak_memory_bytes = result->peak_memory_bytes,
			.peak_pids = result->peak_pids,
			.truncated = result->truncated,
		},
		.output_bytes = command->log_bytes,
		.contest = command->sandbox && command->sandbox->spec.contest,
	};
	if (!result->left)
		return;
	ret->exited.num_left = result->num_left < INIT_LEFT_MAX
				       ? result->num_left
				       : INIT_LEFT_MAX;
	memcpy(ret->exited.left, result->left,
	       ret->exited.num_left * sizeof(*result->left));
}

int follow_error_text(const struct command *command, char ret_value[16],
		      char ret_trace[FOLLOW_TEXT_MAX])
{
	const struct command_result *result = &command->result;
	bool by_itself = verdict_by_itself(result->verdict);
	struct run_result run;

	if (by_itself && result->exit_code == 0)
		return 1;
	(void)snprintf(ret_value, 16, "%d", by_itself ? result->exit_code : -1);
	if (by_itself) {
		(void)snprintf(ret_trace, FOLLOW_TEXT_MAX, "exit status %d",
			       result->exit_code);
	} else if (result->verdict != VERDICT_LOST &&
		   result->signal == SIGKILL) {
		(void)snprintf(ret_trace, FOLLOW_TEXT_MAX, "signal: killed");
	} else if (result->verdict != VERDICT_LOST &&
		   result->signal == SIGTERM) {
		(void)snprintf(ret_trace, FOLLOW_TEXT_MAX,
			       "signal: terminated");
	} else {
		follow_result(command, &run);
		verdict_text(&run, "", "", ret_trace);
	}
	return 0;
}
_Static_assert(FOLLOW_TEXT_MAX == VERDICT_TEXT_MAX, "one text fits the other");

/* Beside what clients know of: how it ended, as of an exec. */
static void put_outcome(struct json_out *json, const struct command *command)
{
	struct run_result run;

	follow_result(command, &run);
	json_open(json, "outcome", '{');
	verdict_put_members(json, &run, "", "");
	json_close(json, '}');
}

static void send_complete(struct follow *follow)
{
	const struct command *command = follow->command;
	int64_t took_ms = (command->finished_us - command->started_us) / 1000;
	struct event event;

	event_begin(&event, "execution_complete");
	if (took_ms > 0)
		json_put_int(&event.json, "execution_time", took_ms);
	put_outcome(&event.json, command);
	event_send(&event, follow->req);
}

static void send_failed(struct follow *follow, const char *value,
			const char *trace)
{
	const struct command *command = follow->command;
	const struct command_result *result = &command->result;
	struct event event;
	char more[64];

	(void)snprintf(more, sizeof(more), "timeout after %llu ms",
		       (unsigned long long)(command->wall_ms
						    ? command->wall_ms
						    : result->wall_us / 1000));
	event_begin(&event, "error");
	event_put_error(&event, value, trace,
			result->verdict == VERDICT_WALL_TIMEOUT ? more : NULL);
	put_outcome(&event.json, command);
	event_send(&event, follow->req);
}

static void send_end(struct follow *follow)
{
	const struct command *command = follow->command;
	char value[16], trace[FOLLOW_TEXT_MAX];

	for (unsigned int i = 0; i < EXEC_LOG_STREAMS; i++) {
		/* What is missing of a character was cut off by us. */
		if (command->result.truncated)
			lines_trim(&follow->lines[i]);
		lines_end(&follow->lines[i], line_fns[i], follow);
	}
	if (follow_error_text(command, value, trace) == 0)
		send_failed(follow, value, trace);
	else
		send_complete(follow);
	reply_end(follow->req);
}

static void feed(struct follow *follow, unsigned int stream,
		 const uint8_t *data, size_t len)
{
	struct lines *lines = &follow->lines[stream];

	/* Its client has a line that ended with a CR: a LF belongs to it. */
	if (follow->log.skipped[stream] == '\r')
		lines->after_cr = true;
	follow->log.skipped[stream] = 0;
	lines_feed(lines, data, len, line_fns[stream], follow);
}

/* As far as the connection takes it. */
static void pump(struct follow *follow)
{
	struct request *req = follow->req;
	struct server *server = req->server;
	/* Before reading: what comes later isn't part of it. */
	bool ended = !command_running(follow->command);

	while (req->conn && !request_full(req)) {
		unsigned int stream;
		size_t n = exec_log_next(&follow->log, server->log_buf,
					 READ_MAX, &stream);

		if (n > 0) {
			feed(follow, stream, server->log_buf, n);
			continue;
		}
		if (ended) {
			req->ops = NULL; /* from here on it is ours alone */
			send_end(follow);
			follow_free(follow);
		}
		return;
	}
}

static void on_news(void *ctx)
{
	pump(ctx);
}

static void on_drained(struct request *req)
{
	pump(req->state);
}

static void on_gone(struct request *req)
{
	follow_free(req->state);
}

static void on_tick(struct request *req, uint64_t now_ms)
{
	struct follow *follow = req->state;

	if (now_ms < follow->ping_at_ms)
		return;
	follow->ping_at_ms = now_ms + PING_MS;
	event_text(req, "ping", "pong", 4);
}

static int open_log(struct follow *follow, const uint64_t from[static 2])
{
	int r = command_open_log(follow->command, &follow->log);

	if (r < 0)
		return r;
	follow->has_log = true;
	exec_log_skip(&follow->log, from);
	for (unsigned int i = 0; i < EXEC_LOG_STREAMS; i++)
		lines_init(&follow->lines[i], from[i]);
	return 0;
}

void follow_begin(struct request *req, struct command *command,
		  const uint64_t from[static 2])
{
	static const struct request_ops ops = {
		.drained = on_drained,
		.tick = on_tick,
		.gone = on_gone,
	};
	struct follow *follow = calloc(1, sizeof(*follow));

	if (!follow) {
		request_abort(req);
		return;
	}
	follow->req = request_ref(req);
	follow->command = command_ref(command);
	if (open_log(follow, from) < 0) {
		reply_error(req, 500, "RUNTIME_ERROR",
			    "the command's log can't be read");
		follow_free(follow);
		return;
	}
	follow->watch.fn = on_news;
	follow->watch.ctx = follow;
	command_watch(command, &follow->watch);
	follow->ping_at_ms = server_now_ms(req->server) + PING_MS;
	req->ops = &ops;
	req->state = follow;
	event_stream(req);
	event_text(req, "init", command->id, COMMAND_ID_LEN);
	event_text(req, "ping", "pong", 4);
	pump(follow);
}
