/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * settings - osbd.conf: how much osbd takes on, and how long it waits
 *
 * The table in settings.c has each key's default and range; osbd.conf(5) says
 * why one would change it.
 */

#include <stddef.h>
#include <stdint.h>

struct err;

#define SETTINGS_CONNS_MAX 4096
#define SETTINGS_BODY_MAX (16u * 1024 * 1024)
#define SETTINGS_FILE_MAX (64u * 1024)

struct settings {
	uint64_t max_sandboxes; /* of one domain */
	uint64_t max_connections;
	uint64_t max_body; /* of a request that isn't a stream */
	uint64_t head_timeout_ms;
	uint64_t idle_timeout_ms;
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
