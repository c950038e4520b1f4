/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * init_link - osbd's connection to one sandbox's init, and the execs on it
 *
 * An exec is told about by callbacks: started or failed first, then exited;
 * or lost at any time, when the link breaks. failed, exited and lost are
 * final: the exec is freed after them. A callback may close the link.
 *
 * An exec with a log (INIT_EXEC_LOG) outlives the link: the next one takes it
 * up with init_link_attach(), and init keeps its result until
 * init_link_ack(). Others are of no use without their pipes: what an earlier
 * link has left of them is ended.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/poller.h"
#include "wire/init_msg.h"

struct err;
struct exec;
struct init_link;
struct strv;

struct exec_ops {
	void (*started)(void *ctx, int32_t pid);
	void (*failed)(void *ctx, enum init_stage stage, int sys);
	/* Checked: enums in range, names terminated, num_left bounded. */
	void (*exited)(void *ctx, const struct init_exited *exited);
	void (*lost)(void *ctx);
	/* There is more in its log. Only for those that have one. */
	void (*grew)(void *ctx);
};

struct exec_spec {
	uint32_t flags; /* enum init_exec_flag */
	uint32_t uid, gid;
	uint64_t wall_ms;
	const char *cwd;
	const struct strv *argv;
	const struct strv *env;
	uint64_t log_max;       /* with INIT_EXEC_LOG */
	uint64_t cpu_ms;        /* 0: any */
	uint32_t pids_max;      /* 0: as many as there can be */
	int fds[INIT_EXEC_FDS]; /* in the order of the flags; stay the
				   caller's */
	unsigned int num_fds;
};

/**
 * init_link_open() - connect to <id>.sock in the directory @dir_fd
 *
 * Never waits: a full backlog is an error (ERR_UNAVAILABLE).
 */
int init_link_open(const struct poller *poller, int dir_fd, const char *id,
		   struct init_link **ret_link, struct err *err);

/**
 * init_link_new() - the same over a socket that is connected already
 * @fd: non-blocking; taken on success
 *
 * Return: 0 or -errno.
 */
int init_link_new(const struct poller *poller, int fd,
		  struct init_link **ret_link);

/** init_link_close() - every exec is lost (and told so); NULL is fine */
void init_link_close(struct init_link *link);

/** init_link_broken() - has init closed it? Then only close is left to do. */
bool init_link_broken(const struct init_link *link);

/**
 * init_link_exec() - ask init to start a program
 *
 * On success exactly one final callback will follow, never from within this
 * call.
 * Return: 0, or -errno with @err (too long: INVALID; too many: QUOTA).
 */
int init_link_exec(struct init_link *link, const struct exec_spec *spec,
		   const struct exec_ops *ops, void *ctx,
		   struct exec **ret_exec, struct err *err);

/**
 * init_link_attach() - take up an exec of an earlier link
 * @id: its exec_id()
 *
 * Before the loop gets its turn with a new link. Callbacks as for a new exec;
 * lost, too, when init doesn't know it.
 */
int init_link_attach(struct init_link *link, uint32_t id,
		     const struct exec_ops *ops, void *ctx,
		     struct exec **ret_exec, struct err *err);

/** exec_id() - what init knows it by */
uint32_t exec_id(const struct exec *exec);

/** init_link_ack() - the result of an exec with a log is kept elsewhere now */
void init_link_ack(struct init_link *link, uint32_t id);

/**
 * init_link_life() - how long the sandbox may live
 * @keep:    whether it outlives broker and osbd
 * @left_ms: from now; 0: for ever
 *
 * Sent now, or as soon as the socket takes it. @fn (or NULL) is called once:
 * when it holds, or, with an error, when the link breaks before.
 */
typedef void (*init_life_fn)(void *ctx, int r);
void init_link_life(struct init_link *link, bool keep, uint64_t left_ms,
		    init_life_fn fn, void *ctx);

/** exec_kill() - sent now, or as soon as the socket takes it; no answer */
void exec_kill(struct exec *exec, enum init_kill_how how, int signal);
