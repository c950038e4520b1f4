/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * run - one program in a sandbox, with its pipes
 *
 * Order of callbacks: started, then output as it comes, then done; or done
 * alone when the program never ran. After done the run is freed. No callback
 * comes from within run_start() or any other function here.
 *
 * Back-pressure: while paused no output is read, so the program stops at a
 * full pipe; what is given to stdin beyond the pipe waits here, and its
 * amount is the caller's to watch (run_stdin_waits()).
 *
 * Beyond the limit of its output nothing is passed on, whatever the policy.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/exec_limits.h"
#include "wire/init_msg.h"

#define RUN_STDIN_MAX (2u * 1024 * 1024)

struct err;
struct run;
struct sandbox;
struct server;
struct strv;

enum run_stream {
	RUN_STDOUT = 1,
	RUN_STDERR = 2,
};

enum run_outcome {
	RUN_EXITED, /* `exited` is valid */
	RUN_FAILED, /* never ran: `stage` and `sys` are valid */
	RUN_LOST,   /* nobody knows */
};

struct run_result {
	enum run_outcome outcome;
	struct init_exited exited;
	enum init_stage stage;
	int sys;
	uint64_t output_bytes; /* that were passed on */
	bool removed;          /* killed, because the sandbox was to end */
	bool contest;          /* its word of a contest is wanted, too */
};

struct run_ops {
	void (*started)(void *ctx, int32_t pid);
	void (*output)(void *ctx, enum run_stream stream, const uint8_t *data,
		       size_t len);
	void (*stdin_drained)(void *ctx); /* may be NULL */
	void (*done)(void *ctx, const struct run_result *result);
};

struct run_spec {
	const struct strv *argv;
	const struct strv *env;
	const char *cwd;
	uint32_t uid, gid;
	uint64_t wall_ms;
	struct exec_limits limits;
	bool has_stdin; /* else /dev/null */
	bool no_output; /* to /dev/null, both streams */
	bool is_files;  /* osb-files instead of argv[0] */
};

/** run_start() - ask init for it; on failure no callback comes */
int run_start(struct server *server, struct sandbox *sandbox,
	      const struct run_spec *spec, const struct run_ops *ops, void *ctx,
	      struct run **ret_run, struct err *err);

/** run_count() - how many programs run */
unsigned int run_count(const struct server *server);

/**
 * run_stdin() - bytes for the program; dropped if it reads no more
 *
 * Return: 0, or -ENOBUFS when over RUN_STDIN_MAX would wait.
 */
int run_stdin(struct run *run, const void *data, size_t len);

/** run_stdin_eof() - close stdin behind what was given */
void run_stdin_eof(struct run *run);

/** run_stdin_open() - does the program still read it, as far as we know? */
bool run_stdin_open(const struct run *run);

/** run_stdin_waits() - bytes that the pipe hasn't taken yet */
size_t run_stdin_waits(const struct run *run);

/** run_pause() - stop or go on reading output */
void run_pause(struct run *run, bool paused);

/** run_kill() - see enum init_kill_how */
void run_kill(struct run *run, enum init_kill_how how, int signal);

/** run_tick() - end the sandboxes whose init missed a deadline */
void run_tick(struct server *server, uint64_t now_ms);

/** run_detach() - no more callbacks; output is discarded until it ends */
void run_detach(struct run *run);
