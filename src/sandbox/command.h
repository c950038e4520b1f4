/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * command - programs of a sandbox that go on without their client, and
 * without osbd
 *
 * A command's output goes to its log, its record to the store. Who asked for
 * it is told once whether it began; anybody may watch it afterwards, and read
 * its log from where he likes. The last ones that ended are remembered; they
 * go with their sandbox.
 *
 * COMMAND_STARTING  init was asked, and the store.
 * COMMAND_RUNNING   `exec` is valid.
 * COMMAND_ENDING    how it ended is known, and being written down.
 * COMMAND_ENDED     only to be looked at.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sandbox/exec_limits.h"
#include "wire/broker_msg.h"
#include "wire/init_msg.h"

#define COMMAND_ID_LEN SANDBOX_ID_LEN
#define COMMANDS_KEPT_MAX 100            /* that ended, of a sandbox */
#define COMMANDS_TEXTS_MAX (256u << 10)  /* bytes of their texts */
#define COMMANDS_LOGS_MAX (256ull << 20) /* bytes of their logs */
#define COMMAND_LOG_MAX (64ull << 20)

struct exec;
struct exec_log;
struct sandbox;
struct sandboxes;
struct strv;

enum command_state {
	COMMAND_STARTING,
	COMMAND_RUNNING,
	COMMAND_ENDING,
	COMMAND_ENDED,
};

/* Somebody who wants to hear that there is more to read, or that it ended. */
struct command_watch {
	struct command_watch *next;
	void (*fn)(void *ctx);
	void *ctx;
};

/* What is remembered of how one ended. */
struct command_result {
	uint32_t verdict; /* enum verdict */
	int32_t exit_code, signal;
	uint32_t limits_hit;
	bool truncated;
	uint64_t wall_us, cpu_us;
	uint64_t peak_memory_bytes;
	uint32_t peak_pids;
	uint32_t num_left;
	struct init_left *left; /* at most INIT_LEFT_MAX of them; owned */
};

struct command {
	struct command *next; /* of the sandbox, the newest first */
	unsigned int refs;
	enum command_state state;
	struct sandbox *sandbox; /* NULL: it is gone */
	char id[COMMAND_ID_LEN + 1];
	char *text; /* for people */
	bool background;
	uint32_t uid;
	uint32_t number;                 /* init's */
	int64_t started_us, finished_us; /* since 1970 */
	struct exec *exec;
	uint64_t wall_ms;    /* its limit; 0: none, or not known any more */
	uint64_t overdue_ms; /* monotonic; when init has missed its deadline */
	uint64_t kill_at_ms; /* 0: nobody asked it to end */
	uint64_t log_bytes;  /* when it ended; what it left running may add */
	struct command_result result;
	struct command_watch *watches;
	unsigned int log_users;        /* who reads its log ... */
	int log_fd, log_index_fd;      /* ... by these */
	unsigned int waits;            /* STARTING: for init, store */
	const struct command_ops *ops; /* STARTING */
	void *ctx;
	struct err wait_err;
};

/* Exactly one of them, once; then the command goes on by itself. */
struct command_ops {
	void (*started)(void *ctx);
	/* It never ran, and is forgotten. */
	void (*failed)(void *ctx, enum init_stage stage, int sys);
	/* The same, for another reason than the program. */
	void (*refused)(void *ctx, const struct err *err);
};

struct command_spec {
	const char *text;
	const struct strv *argv;
	const struct strv *env;
	const char *cwd;
	uint32_t uid, gid;
	uint64_t wall_ms;
	struct exec_limits limits; /* its output: at most COMMAND_LOG_MAX */
	bool background;           /* its two streams are one */
};

/**
 * command_start() - ask init for it
 *
 * On failure no callback comes. @ret_command is borrowed.
 */
int command_start(struct sandbox *sandbox, const struct command_spec *spec,
		  const struct command_ops *ops, void *ctx,
		  struct command **ret_command, struct err *err);

/** command_find() - that began; or NULL */
struct command *command_find(const struct sandbox *sandbox, const char *in_id);

/** command_running() - has nobody heard yet that it ended? */
bool command_running(const struct command *command);

/** command_watch() - @watch stays the caller's; until command_unwatch() */
void command_watch(struct command *command, struct command_watch *watch);
void command_unwatch(struct command *command, struct command_watch *watch);

/**
 * command_open_log() - read its log from the start
 *
 * However many readers there are, they need no more descriptors than one.
 * Return: 0 or -errno.
 */
int command_open_log(struct command *command, struct exec_log *ret_log);

/** command_close_log() - a log of command_open_log(), once */
void command_close_log(struct command *command);

/** command_interrupt() - SIGTERM to all of it, SIGKILL 3 s later */
void command_interrupt(struct command *command);

/** command_kill() - SIGKILL to all of it */
void command_kill(struct command *command);

/** command_forget() - a command that ended: its record and its log go */
void command_forget(struct command *command);

struct command *command_ref(struct command *command);
void command_unref(struct command *command); /* NULL is fine */

/** commands_load() - all that the store has, of sandboxes that are there */
int commands_load(struct sandboxes *all, struct err *err);

/** commands_take_up() - what ran under an earlier osbd; RUNNING sandboxes */
void commands_take_up(struct sandbox *sandbox);

/** commands_drop() - their sandbox goes: end them, remove their logs */
void commands_drop(struct sandbox *sandbox);

/** commands_count() - that run now, of all sandboxes */
unsigned int commands_count(const struct sandboxes *all);

/** commands_tick() - about once a second: what is overdue */
void commands_tick(struct sandboxes *all, uint64_t now_ms);
