/* SPDX-License-Identifier: Apache-2.0 */

/*
 * run - pipes of one exec, and when they are over
 *
 * Theory of operation. Output is read only once init says "started", so that
 * the order of callbacks holds. When init says "exited", everything that the
 * program has written is in the pipes already; FIONREAD tells how much, and
 * exactly that much is still read. EOF can't be waited for: a process left
 * running may hold the pipe open for ever.
 *
 * Purpose:    connect a program's streams with whoever asked for it.
 * Process:    osbd.
 * Input from: the program: any bytes at any speed.
 * Ownership:  owns our ends of the pipes; the far ends are closed as soon as
 *             init has them. A callback can end the client, with it a sandbox
 *             that is bound to it, and so the run: who goes on afterwards holds
 *             a reference.
 * Limits:     RUN_STDIN_MAX bytes wait for stdin; output is never kept.
 *
 * #syscalls  pipe2 fcntl fchmod read write close
 */

#include "server/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "sandbox/sandbox.h"
#include "server/api/verdict.h"
#include "server/server.h"
#include "server/watch.h"

#define READS_PER_CALL 8 /* then others get their turn */

/*
 * Init keeps the deadline. One that hasn't by so much later can't be trusted
 * to: its whole sandbox is ended.
 */
#define OVERDUE_MS 3000

struct out_pipe {
	struct run *run;
	enum run_stream stream;
	int fd; /* -1: at its end */
	struct watch *watch;
	size_t left; /* once ended: bytes still to be read */
};

struct run {
	unsigned int refs; /* until it is over; and of who goes on with it */
	struct server *server;
	struct sandbox *sandbox; /* a reference */
	struct exec *exec;       /* NULL: over */
	const struct run_ops *ops;
	void *ctx;
	int stdin_fd;
	struct watch *stdin_watch;
	struct buf stdin_buf;
	bool stdin_eof; /* close it when stdin_buf is empty */
	struct out_pipe out[2];
	bool started, ended, paused, detached;
	bool over;               /* had its last callback */
	uint64_t output_max;     /* bytes; 0: any */
	uint32_t output_policy;  /* enum output_policy */
	bool output_kill;        /* we ended it for that */
	bool overdue;            /* we ended the sandbox for it */
	uint64_t overdue_ms;     /* when to; 0: never */
	struct run *prev, *next; /* in server->runs */
	uint64_t started_ms;
	struct run_result result;
};

static void run_unref(struct run *run)
{
	if (!run || --run->refs)
		return;
	if (run->prev)
		run->prev->next = run->next;
	else
		run->server->runs = run->next;
	if (run->next)
		run->next->prev = run->prev;
	watch_free(run->stdin_watch);
	close_fd(&run->stdin_fd);
	buf_deinit(&run->stdin_buf);
	for (unsigned int i = 0; i < ARRAY_SIZE(run->out); i++) {
		watch_free(run->out[i].watch);
		close_fd(&run->out[i].fd);
	}
	sandbox_unref(run->sandbox);
	free(run);
}
DEFINE_AUTO(struct run *, run_unref);

static void watch_outs(struct run *run);

static void close_out(struct out_pipe *out)
{
	watch_free(take_ptr(out->watch));
	close_fd(&out->fd);
}

static void close_stdin(struct run *run)
{
	watch_free(take_ptr(run->stdin_watch));
	close_fd(&run->stdin_fd);
	buf_reset(&run->stdin_buf);
}

/* The program waits, for good, to print what it may not. */
static bool waits(const struct run *run)
{
	return run->output_max && run->output_policy == OUTPUT_WAIT &&
	       run->result.output_bytes == run->output_max && !run->ended;
}

/* Return: how many of @len bytes may be passed on. */
static size_t account_output(struct run *run, size_t len)
{
	struct run_result *result = &run->result;

	if (run->output_max && len > run->output_max - result->output_bytes) {
		len = (size_t)(run->output_max - result->output_bytes);
		result->exited.truncated = 1;
		if (run->output_policy == OUTPUT_KILL && !run->output_kill &&
		    run->exec) {
			run->output_kill = true;
			run_kill(run, INIT_KILL_TREE, SIGKILL);
		}
	}
	result->output_bytes += len;
	return len;
}

/* Whoever had ended it already for another reason was first. */
static void judge_output(struct run *run)
{
	struct init_exited *exited = &run->result.exited;

	if (run->result.outcome != RUN_EXITED || !exited->truncated)
		return;
	exited->limits_hit |= LIMIT_HIT_OUTPUT;
	if (run->output_policy == OUTPUT_KILL &&
	    (verdict_by_itself(exited->verdict) ||
	     exited->verdict == VERDICT_OOM ||
	     exited->verdict == VERDICT_SIGNALED ||
	     (exited->verdict == VERDICT_KILLED && run->output_kill)))
		exited->verdict = VERDICT_OUTPUT_LIMIT;
}

/* All is read: the last callback. */
static void finish_if_done(struct run *run)
{
	if (run->over || !run->ended || run->out[0].fd >= 0 ||
	    run->out[1].fd >= 0)
		return;
	run->over = true;
	judge_output(run);
	if (!run->detached)
		run->ops->done(run->ctx, &run->result);
	run_unref(run);
}

/* What was read into the server's buffer. */
static void pass_on(struct out_pipe *out, size_t len)
{
	struct run *run = out->run;

	len = account_output(run, len);
	if (waits(run))
		watch_outs(run);
	if (len > 0 && !run->detached)
		run->ops->output(run->ctx, out->stream, run->server->pipe_buf,
				 len);
}

/* Reads what is there, as long as somebody wants it. */
static void read_out(struct out_pipe *out)
{
	struct run *run = out->run;
	struct server *server = run->server;

	for (unsigned int i = 0; out->fd >= 0; i++) {
		size_t want = sizeof(server->pipe_buf);
		ssize_t n;

		if (run->ended && out->left == 0) {
			close_out(out);
			return;
		}
		if (run->paused || waits(run) ||
		    (i >= READS_PER_CALL && !run->ended))
			return;
		if (run->ended && out->left < want)
			want = out->left;
		n = read(out->fd, server->pipe_buf, want);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN && !run->ended)
			return;
		if (n <= 0) {
			close_out(out);
			return;
		}
		server->metrics.output_bytes += (uint64_t)n;
		if (run->ended)
			out->left -= (size_t)n;
		pass_on(out, (size_t)n);
	}
}

static void on_out_ready(void *ctx, unsigned int events)
{
	struct out_pipe *out = ctx;
	struct run *run = out->run;

	(void)events;
	run->refs++;
	read_out(out);
	finish_if_done(run);
	run_unref(run);
}

static void watch_outs(struct run *run)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(run->out); i++) {
		struct out_pipe *out = &run->out[i];

		if (out->fd < 0)
			continue;
		if (!out->watch)
			out->watch = watch_new(run->server->loop, out->fd,
					       POLLER_READ, on_out_ready, out);
		if (!out->watch)
			close_out(out); /* no memory: better cut than stuck */
		watch_set(out->watch,
			  run->paused || waits(run) ? 0 : POLLER_READ);
	}
}

static void on_started(void *ctx, int32_t pid)
{
	struct run *run = ctx;

	run->started = true;
	run->started_ms = server_now_ms(run->server);
	run->server->metrics.execs++;
	run->refs++;
	if (!run->detached)
		run->ops->started(run->ctx, pid);
	watch_outs(run);
	run_unref(run);
}

/* The program is over: find out how much of its output is still ours. */
static void end_run(struct run *run, enum run_outcome outcome)
{
	run->refs++;
	run->exec = NULL;
	run->ended = true;
	run->result.outcome = outcome;
	close_stdin(run);
	for (unsigned int i = 0; i < ARRAY_SIZE(run->out); i++) {
		struct out_pipe *out = &run->out[i];
		int bytes = 0;

		if (out->fd < 0)
			continue;
		if (ioctl(out->fd, FIONREAD, &bytes) < 0 || bytes < 0)
			bytes = 0;
		out->left = (size_t)bytes;
		read_out(out);
	}
	watch_outs(run); /* what is paused goes on later */
	finish_if_done(run);
	run_unref(run);
}

static void on_failed(void *ctx, enum init_stage stage, int sys)
{
	struct run *run = ctx;

	run->result.stage = stage;
	run->result.sys = sys;
	end_run(run, RUN_FAILED);
}

static void on_exited(void *ctx, const struct init_exited *exited)
{
	struct run *run = ctx;

	/* What was found of its output is ours to say. */
	uint32_t truncated = run->result.exited.truncated;

	run->result.exited = *exited;
	run->result.exited.truncated = truncated;
	end_run(run, RUN_EXITED);
}

/*
 * Init is gone. If that is because somebody asked for the sandbox's end, the
 * program was killed like everything in it.
 */
static void on_lost(void *ctx)
{
	struct run *run = ctx;
	struct init_exited *exited = &run->result.exited;

	uint32_t verdict = sandbox_end_verdict(run->sandbox);

	if (!run->started || verdict == VERDICT_LOST) {
		end_run(run, RUN_LOST);
		return;
	}
	run->result.removed = true;
	exited->verdict = run->overdue ? VERDICT_WALL_TIMEOUT : verdict;
	exited->exit_code = -1;
	exited->signal = SIGKILL;
	exited->wall_us = (server_now_ms(run->server) - run->started_ms) * 1000;
	end_run(run, RUN_EXITED);
}

/* One pipe; our end doesn't block, the program's does, as it expects. */
static int make_pipe(bool we_read, int *ret_ours, int *ret_theirs)
{
	int ends[2];
	int ours;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	ours = we_read ? ends[0] : ends[1];
	*ret_ours = ours;
	*ret_theirs = we_read ? ends[1] : ends[0];
	/* The mode lets the program open /dev/stdout again as another user. */
	if (fcntl(ours, F_SETFL, (we_read ? O_RDONLY : O_WRONLY) | O_NONBLOCK) <
		    0 ||
	    fchmod(ours, 0666) < 0)
		return -errno;
	return 0;
}

struct far_ends {
	int fd[3];
	unsigned int num;
};

static void far_ends_close(struct far_ends *far)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(far->fd); i++)
		close_fd(&far->fd[i]);
}

static int make_pipes(struct run *run, const struct run_spec *spec,
		      struct far_ends *far)
{
	int r = 0;

	if (spec->has_stdin)
		r = make_pipe(false, &run->stdin_fd, &far->fd[far->num++]);
	for (unsigned int i = 0; i < 2 && r == 0 && !spec->no_output; i++)
		r = make_pipe(true, &run->out[i].fd, &far->fd[far->num++]);
	return r;
}

static struct run *run_new(struct server *server, struct sandbox *sandbox,
			   const struct run_ops *ops, void *ctx)
{
	struct run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	run->refs = 1;
	run->server = server;
	run->next = server->runs;
	if (run->next)
		run->next->prev = run;
	server->runs = run;
	run->sandbox = sandbox_ref(sandbox);
	run->ops = ops;
	run->ctx = ctx;
	run->stdin_fd = -1;
	buf_init(&run->stdin_buf, RUN_STDIN_MAX);
	for (unsigned int i = 0; i < ARRAY_SIZE(run->out); i++) {
		run->out[i].run = run;
		run->out[i].stream = i ? RUN_STDERR : RUN_STDOUT;
		run->out[i].fd = -1;
	}
	return run;
}

unsigned int run_count(const struct server *server)
{
	unsigned int num = 0;

	for (const struct run *run = server->runs; run; run = run->next)
		num += run->started && !run->ended;
	return num;
}

int run_start(struct server *server, struct sandbox *sandbox,
	      const struct run_spec *spec, const struct run_ops *ops, void *ctx,
	      struct run **ret_run, struct err *err)
{
	static const struct exec_ops exec_ops = {
		.started = on_started,
		.failed = on_failed,
		.exited = on_exited,
		.lost = on_lost,
	};
	struct run *run auto_clean(run_unrefp) =
		run_new(server, sandbox, ops, ctx);
	struct far_ends far auto_clean(far_ends_close) = {
		.fd = { -1, -1, -1 },
	};
	struct exec_spec exec_spec = {
		.uid = spec->uid,
		.gid = spec->gid,
		.wall_ms = spec->wall_ms,
		.cwd = spec->cwd,
		.argv = spec->argv,
		.env = spec->env,
		.cpu_ms = spec->limits.cpu_ms,
		.pids_max = spec->limits.pids,
	};
	int r;

	if (!run)
		return err_set(err, ERR_INTERNAL, ENOMEM, "start a program");
	run->result.contest = sandbox->spec.contest;
	run->output_max = spec->limits.output_max;
	run->output_policy = spec->limits.output_policy;
	r = make_pipes(run, spec, &far);
	if (r < 0)
		return err_set(err, ERR_UNAVAILABLE, -r, "make pipes");
	exec_spec.flags =
		(spec->has_stdin ? INIT_EXEC_STDIN : 0) |
		(spec->no_output ? 0 : INIT_EXEC_STDOUT | INIT_EXEC_STDERR) |
		(spec->is_files ? INIT_EXEC_FILES : 0);
	memcpy(exec_spec.fds, far.fd, sizeof(far.fd));
	exec_spec.num_fds = far.num;
	r = sandbox_exec(sandbox, &exec_spec, &exec_ops, run, &run->exec, err);
	if (r < 0)
		return r;
	if (spec->wall_ms)
		run->overdue_ms =
			server_now_ms(server) + spec->wall_ms + OVERDUE_MS;
	server_wake(server);
	*ret_run = take_ptr(run);
	return 0;
}

void run_tick(struct server *server, uint64_t now_ms)
{
	struct run *next;

	for (struct run *run = server->runs; run; run = next) {
		next = run->next;
		if (!run->exec || !run->overdue_ms || now_ms < run->overdue_ms)
			continue;
		run->overdue = true;
		run->overdue_ms = 0;
		sandbox_destroy(run->sandbox, NULL, NULL);
		next = server->runs; /* others may have ended with it */
	}
}

static void on_stdin_ready(void *ctx, unsigned int events);

/* As much as the pipe takes; then either wait for it, or end. */
static void write_stdin(struct run *run)
{
	struct buf *buf = &run->stdin_buf;

	while (buf_len(buf)) {
		ssize_t n = write(run->stdin_fd, buf_data(buf), buf_len(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) { /* nobody reads it any more */
			close_stdin(run);
			return;
		}
		buf_consume(buf, (size_t)n);
	}
	if (buf_len(buf) == 0 && run->stdin_eof) {
		close_stdin(run);
		return;
	}
	if (buf_len(buf) && !run->stdin_watch)
		run->stdin_watch = watch_new(run->server->loop, run->stdin_fd,
					     POLLER_WRITE, on_stdin_ready, run);
	watch_set(run->stdin_watch, buf_len(buf) ? POLLER_WRITE : 0);
}

static void on_stdin_ready(void *ctx, unsigned int events)
{
	struct run *run = ctx;

	(void)events;
	if (run->stdin_fd < 0)
		return;
	write_stdin(run);
	if (buf_len(&run->stdin_buf) == 0 && !run->detached &&
	    run->ops->stdin_drained)
		run->ops->stdin_drained(run->ctx);
}

int run_stdin(struct run *run, const void *data, size_t len)
{
	if (run->stdin_fd < 0 || run->stdin_eof)
		return 0;
	buf_add(&run->stdin_buf, data, len);
	if (run->stdin_buf.failed)
		return -ENOBUFS;
	write_stdin(run);
	return 0;
}

void run_stdin_eof(struct run *run)
{
	if (run->stdin_fd < 0)
		return;
	run->stdin_eof = true;
	write_stdin(run);
}

bool run_stdin_open(const struct run *run)
{
	return run->stdin_fd >= 0;
}

size_t run_stdin_waits(const struct run *run)
{
	return buf_len(&run->stdin_buf);
}

void run_pause(struct run *run, bool paused)
{
	if (run->paused == paused)
		return;
	run->paused = paused;
	if (run->started || run->ended)
		watch_outs(run);
}

void run_kill(struct run *run, enum init_kill_how how, int signal)
{
	if (run->exec)
		exec_kill(run->exec, how, signal);
}

void run_detach(struct run *run)
{
	run->detached = true;
	close_stdin(run);
	run_pause(run, false);
}
