/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * settings - osbd.conf: how much osbd takes on, and how long it waits
 *
 * The table in settings.c has each key's default and range; osbd.conf(5) says
 * why one would change it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/profile.h"

struct account_limits;
struct err;
struct exec_limits;

#define SETTINGS_CONNS 4096 /* without a line */
#define SETTINGS_CONNS_MAX 16384
#define SETTINGS_BODY_MAX (16u * 1024 * 1024)
#define SETTINGS_FILE_MAX (64u * 1024)

#define SETTINGS_ORIGINS_MAX 16
#define SETTINGS_POOL_MAX 200
#define SETTINGS_ORIGIN_MAX 127

/* The broker waits a bit longer for osbd than this: END_MS of front.c. */
#define SETTINGS_DRAIN_MAX_MS 4000

enum settings_log {
	SETTINGS_LOG_TEXT,
	SETTINGS_LOG_JSON,
};

struct settings {
	uint64_t max_sandboxes;  /* of one domain */
	uint64_t max_guarantee;  /* of one domain; bytes */
	uint64_t memory_reserve; /* for the host; bytes; 0: a part of it */
	uint64_t create_rate;    /* of one domain, per second; 0: any */
	uint64_t create_burst;
	uint64_t request_rate; /* as create_rate */
	uint64_t pool_min;     /* sandboxes ready ahead, of a template */
	uint64_t pool_max;     /* 0: none */
	uint64_t max_connections;
	uint64_t max_body; /* of a request that isn't a stream */
	uint64_t head_timeout_ms;
	uint64_t body_timeout_ms; /* without progress */
	uint64_t idle_timeout_ms;
	uint64_t drain_timeout_ms;
	uint64_t log;        /* enum settings_log */
	uint64_t access_log; /* or not: 0 */
	/* Of each exec, unless its sandbox or itself says else; 0: none. */
	uint64_t cpu_time_ms;
	uint64_t output_max;    /* bytes */
	uint64_t output_policy; /* enum output_policy */
	struct profiles profiles;
	uint64_t num_origins;
	/* "https://app.example.com": whose pages may use us */
	char origin[SETTINGS_ORIGINS_MAX][SETTINGS_ORIGIN_MAX + 1];
};

/** settings_init() - what holds without a file */
void settings_init(struct settings *settings);

/**
 * settings_load() - read a file; what it doesn't name keeps its default
 * @fd:   stays the caller's
 * @name: the file's, for messages
 *
 * Return: 0, or -errno with @err naming file, line and what is allowed.
 */
int settings_load(int fd, const char *name, struct settings *ret_settings,
		  struct err *err);

/** settings_parse() - the same from @len bytes of text */
int settings_parse(const char *text, size_t len, const char *name,
		   struct settings *ret_settings, struct err *err);

/**
 * settings_accounts() - what they mean for accounts on this host
 * @one_caller: there is nobody else whom its rates would protect
 *
 * Return: 0, or -errno with @err.
 */
int settings_accounts(const struct settings *settings, bool one_caller,
		      struct account_limits *ret_limits, struct err *err);

/** settings_exec_limits() - what they mean for what a new sandbox runs */
void settings_exec_limits(const struct settings *settings,
			  struct exec_limits *ret_limits);
