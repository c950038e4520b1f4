/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * server - what hangs together in one osbd
 */

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/poller.h"
#include "sandbox/sandbox.h"
#include "server/auth.h"
#include "server/listen.h"
#include "server/service/log.h"
#include "server/service/metrics.h"
#include "server/settings.h"

#define SERVER_READ_MAX (64u * 1024) /* of a socket, in one go */
#define SERVER_PIPE_MAX (32u * 1024) /* of an exec's output, in one go */
#define SERVER_LOG_MAX (64u * 1024)  /* of a command's log, in one go */

struct conn;
struct run;
struct watch;

struct server {
	uv_loop_t *loop;
	uv_timer_t tick;    /* each second while there is something to watch */
	uv_prepare_t flush; /* before the loop sleeps: write what is ready */
	uv_signal_t term;
	uv_timer_t drain; /* its end; see drain() */
	struct poller poller;
	struct broker_link *broker;
	struct store *store;
	uint64_t prune_ms; /* when it is next rid of what is too old */
	struct sandboxes sandboxes;
	struct keys keys;
	struct settings settings;
	const char *config_name;
	struct metrics metrics;
	struct listeners listeners;
	struct account_limits account_limits; /* what they come to here */

	struct conn *conns; /* all open ones */
	struct conn *dirty; /* have output to be flushed */
	struct conn *dead;  /* closed in this turn of the loop */
	unsigned int num_conns;
	unsigned int crowd; /* as many as there were lately */
	struct run *runs;   /* all that haven't ended */

	uint64_t idle_exit_ms;  /* 0: never */
	uint64_t idle_since_ms; /* 0: not idle */
	bool private;           /* serves one user's `osb` only */
	bool one_caller;        /* ... and nobody else, by no key */
	bool other_build_seen;  /* ... and that is another build: make room */
	bool leaving;           /* the broker is asked for leave */
	bool draining;          /* we end as soon as all is answered */
	int exit_code;

	uint8_t read_buf[SERVER_READ_MAX]; /* used within one call only */
	uint8_t pipe_buf[SERVER_PIPE_MAX]; /* likewise */
	/* Not read_buf: requests that were pipelined may wait in that. */
	uint8_t log_buf[SERVER_LOG_MAX];
};

struct server_options {
	uint64_t idle_exit_ms;
	bool private;
	bool has_keys;
	const char *config_name;    /* of osbd.conf, for messages; NULL: none */
	unsigned int num_listeners; /* beside OSBD_FD_LISTEN */
	const char *check_config, *check_keys; /* only say what is wrong */
};

/**
 * server_run() - serve until told to stop
 * @server: zeroed memory of the caller's
 *
 * Takes the descriptors of enum osbd_fd.
 * Return: the process's exit code.
 */
int server_run(struct server *server, const struct server_options *options);

/** server_now_ms() - monotonic; the loop's time, so cheap and a bit old */
uint64_t server_now_ms(const struct server *server);

/** server_wake() - something that the tick watches has come or gone */
void server_wake(struct server *server);
