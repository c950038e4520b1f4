/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * broker - the only code that holds privilege
 *
 *   main.c    options, start, the loop
 *   config.c  broker.conf
 *   table.c   what osbd may ask for, and when
 *   front.c   starts osbd, restarts it, talks to it
 *
 * See ARCHITECTURE.md, "Processes", and docs/internals/broker.md.
 */

#include <stdbool.h>
#include <stdint.h>

#include "backend/native/native.h"
#include "base/err.h"
#include "wire/broker_msg.h"

/*
 * FRONT_NEW      osbd runs but hasn't said HELLO: nothing else is allowed.
 * FRONT_READY    every request is allowed.
 * FRONT_LEAVING  osbd was told that it may go: nothing is allowed, and it has
 *                two seconds.
 * FRONT_ENDING   we are told to end, and osbd likewise: it finishes what it
 *                has in work, for which it may make and end sandboxes.
 */
enum front_state {
	FRONT_NEW = 1 << 0,
	FRONT_READY = 1 << 1,
	FRONT_LEAVING = 1 << 2,
	FRONT_ENDING = 1 << 3,
};

struct front {
	enum front_state state;
	pid_t pid;
	int pidfd;
	int sock_fd;
	unsigned int quick_deaths; /* in a row, within a second of the start */
	uint64_t started_ms;
	uint64_t leave_by_ms; /* LEAVING, ENDING: when it must have; 0: unset */
	char gave_up[ERR_MSG_MAX]; /* why it can't serve; empty: it can */
};

struct broker_options {
	char socket_path[PATH_MAX];
	char key_file[PATH_MAX];    /* empty: no keys */
	char osbd_config[PATH_MAX]; /* empty: DEFAULT_OSBD_CONFIG, if any */
	char osbd_path[PATH_MAX];
	char idle_exit[16]; /* seconds for osbd; empty: stays */
	bool keep;          /* sandboxes, when we are told to end */
	int ready_fd;       /* -1: nobody waits */
};

/* An osbd that waits to hear that a sandbox has completely gone. */
struct waiter {
	bool used;
	uint32_t tag;
	char id[SANDBOX_ID_LEN + 1];
};

struct broker {
	struct broker_options options;
	struct native native;
	struct front front;
	int run_dir_fd; /* locked */
	int state_fd;   /* osbd's */
	int listen_fd, key_fd, osbd_config_fd, signal_fd;
	unsigned int num_listeners; /* from the environment, by number */
	bool listening;             /* the socket bears its name */
	bool stop;
	struct waiter waiters[NATIVE_SANDBOXES_MAX];
};

/** config_load() - @path may not exist when @optional */
int config_load(struct native_config *config, const char *path, bool optional,
		struct err *err);

/** config_defaults() - what holds without a file */
void config_defaults(struct native_config *config);

/** table_answer() - admit and run one request from osbd */
void table_answer(struct broker *broker, const void *in_msg, size_t len);

/** table_gone() - native_gone_fn: tell osbd, as an answer or an event */
void table_gone(void *arg, const char *id);

/** front_start() - run osbd */
int front_start(struct broker *broker, struct err *err);

/**
 * front_died() - reap osbd, and start it again
 *
 * Return: 0 when it was started again, or a positive: it left in good order,
 * or -errno: it keeps dying, or gave up.
 */
int front_died(struct broker *broker, struct err *err);

/** front_end() - kill and reap osbd, if it runs */
void front_end(struct front *front);

/** front_send() - never blocks: an osbd that doesn't read is killed */
void front_send(struct front *front, const void *msg, size_t len);

/** front_drop() - no word more with this osbd: kill it; front_died() follows */
void front_drop(struct front *front);

/**
 * front_patience() - how long osbd, which is to leave, may still take
 *
 * Return: milliseconds, or -1 when nothing has to happen by itself. Ends it
 * when its time is over.
 */
int front_patience(struct front *front);

/** front_ask_to_end() - SIGTERM; front_died() follows, and no other osbd */
void front_ask_to_end(struct broker *broker);

/** front_reload() - hand osbd the key file and osbd.conf as they are open now */
void front_reload(struct broker *broker);

/** ready_say() - the first word on ready_fd, and the last: one line */
void ready_say(struct broker *broker, const char *line);
