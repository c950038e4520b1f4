/* SPDX-License-Identifier: Apache-2.0 */

/*
 * settings - osbd.conf, an INI file with one section
 *
 * Read once, before osbd serves anybody and before its system call filter.
 * inih gets its lines from us, so that a message can name the line, and so
 * that a line too long for it isn't taken for two.
 */

#include "server/settings.h"

#include <errno.h>
#include <ini.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/units.h"
#include "sandbox/account.h"
#include "sandbox/exec_limits.h"
#include "sandbox/sandbox.h"
#include "wire/setup_msg.h"

#define SECTION "osbd"
#define PROFILE_SECTION "profile " /* and its name */

enum kind {
	KIND_COUNT,
	KIND_SIZE,
	KIND_TIME,
	KIND_LOG, /* this and the next: one of some words, 0 the first */
	KIND_YES,
	KIND_POLICY,
	NUM_KINDS
};

#define WORDS_MAX 3

static const char *const words[NUM_KINDS][WORDS_MAX] = {
	[KIND_LOG] = { "text", "json" },
	[KIND_YES] = { "no", "yes" },
	[KIND_POLICY] = { "truncate", "kill", "back-pressure" },
};
_Static_assert(OUTPUT_NUM_POLICIES == WORDS_MAX, "each has its word");

static const struct {
	const char *name;
	enum kind kind;
	size_t offset; /* in struct settings */
	uint64_t min, max;
	uint64_t standard; /* without a line */
} keys[] = {
	/* Who has no more than one block of ids leaves the others to others. */
	{ "max_sandboxes", KIND_COUNT, offsetof(struct settings, max_sandboxes),
	  1, SANDBOXES_MAX, DOMAIN_SLOTS - 1 },
	{ "max_guarantee", KIND_SIZE, offsetof(struct settings, max_guarantee),
	  LIMITS_MIN_GUARANTEE, LIMITS_MAX_BYTES, LIMITS_MAX_BYTES },
	{ "memory_reserve", KIND_SIZE,
	  offsetof(struct settings, memory_reserve), 1, LIMITS_MAX_BYTES, 0 },
	{ "create_rate", KIND_COUNT, offsetof(struct settings, create_rate), 0,
	  ACCOUNT_RATE_MAX, 100 },
	{ "create_burst", KIND_COUNT, offsetof(struct settings, create_burst),
	  1, ACCOUNT_RATE_MAX, 200 },
	{ "request_rate", KIND_COUNT, offsetof(struct settings, request_rate),
	  0, ACCOUNT_RATE_MAX, 0 },
	{ "pool_min", KIND_COUNT, offsetof(struct settings, pool_min), 0,
	  SETTINGS_POOL_MAX, 0 },
	{ "pool_max", KIND_COUNT, offsetof(struct settings, pool_max), 0,
	  SETTINGS_POOL_MAX, 0 },
	{ "max_connections", KIND_COUNT,
	  offsetof(struct settings, max_connections), 1, SETTINGS_CONNS_MAX,
	  SETTINGS_CONNS },
	{ "max_body", KIND_SIZE, offsetof(struct settings, max_body), 1024,
	  SETTINGS_BODY_MAX, 1024 * 1024 },
	/* Looked at once a second. */
	{ "head_timeout", KIND_TIME, offsetof(struct settings, head_timeout_ms),
	  1000, 10 * 60 * 1000, 10 * 1000 },
	{ "body_timeout", KIND_TIME, offsetof(struct settings, body_timeout_ms),
	  1000, 10 * 60 * 1000, 60 * 1000 },
	{ "idle_timeout", KIND_TIME, offsetof(struct settings, idle_timeout_ms),
	  1000, 24 * 3600 * 1000, 5 * 60 * 1000 },
	{ "drain_timeout", KIND_TIME,
	  offsetof(struct settings, drain_timeout_ms), 100,
	  SETTINGS_DRAIN_MAX_MS, 3 * 1000 },
	{ "log", KIND_LOG, offsetof(struct settings, log), 0, SETTINGS_LOG_JSON,
	  SETTINGS_LOG_TEXT },
	{ "access_log", KIND_YES, offsetof(struct settings, access_log), 0, 1,
	  0 },
	{ "cpu_time", KIND_TIME, offsetof(struct settings, cpu_time_ms), 1,
	  UNITS_TIME_MAX_MS, 0 },
	{ "output_max", KIND_SIZE, offsetof(struct settings, output_max), 1,
	  LIMITS_MAX_BYTES, 0 },
	{ "output_policy", KIND_POLICY,
	  offsetof(struct settings, output_policy), 0, OUTPUT_NUM_POLICIES - 1,
	  OUTPUT_TRUNCATE },
};

#define AGAIN "the same key again, or a blank in front of the line"
#define ORIGIN_KEY "cors_origin"

struct loading {
	struct settings settings;
	bool seen[ARRAY_SIZE(keys)];
	char last_key[INI_MAX_LINE]; /* of a profile, with its name */
	const char *name;            /* of the file */
	const char *at, *end;
	unsigned int line; /* that was read last */
	int failed;        /* -errno, with err set */
	struct err *err;
};

static uint64_t *field(struct settings *settings, size_t key)
{
	return (uint64_t *)((char *)settings + keys[key].offset);
}

void settings_init(struct settings *settings)
{
	memset(settings, 0, sizeof(*settings));
	profiles_init(&settings->profiles);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		*field(settings, i) = keys[i].standard;
}

static int refuse_line(struct loading *loading, const char *what)
{
	return err_set(loading->err, ERR_INVALID, 0, "%.120s: line %u: %s",
		       loading->name, loading->line, what);
}

/* inih's reader, as fgets(): one line with its end, or NULL. */
static char *read_line(char *str, int num, void *stream)
{
	struct loading *loading = stream;
	const char *start = loading->at;
	size_t left = (size_t)(loading->end - start);
	const char *newline = left ? memchr(start, '\n', left) : NULL;
	size_t len = newline ? (size_t)(newline - start) + 1 : left;

	if (loading->failed || len == 0)
		return NULL;
	loading->line++;
	if (len >= (size_t)num)
		loading->failed = refuse_line(loading, "too long");
	else if (memchr(start, '\0', len))
		loading->failed = refuse_line(loading, "not text");
	if (loading->failed)
		return NULL;
	memcpy(str, start, len);
	str[len] = '\0';
	loading->at += len;
	return str;
}

static int parse_word(enum kind kind, const char *value, uint64_t *ret)
{
	for (uint64_t i = 0; i < WORDS_MAX && words[kind][i]; i++) {
		if (strcmp(value, words[kind][i]) == 0) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_value(enum kind kind, const char *value, uint64_t *ret)
{
	switch (kind) {
	case KIND_COUNT:
		return units_parse_count(value, UINT64_MAX, ret);
	case KIND_SIZE:
		return units_parse_size(value, ret);
	case KIND_TIME:
		return units_parse_time(value, ret);
	default:
		return parse_word(kind, value, ret);
	}
}

/* A count of nothing, where that means: without a bound. */
static int parse_nothing(size_t key, const char *value, uint64_t *ret)
{
	if (keys[key].kind != KIND_COUNT || keys[key].min > 0 ||
	    strcmp(value, "0") != 0)
		return -EINVAL;
	*ret = 0;
	return 0;
}

static int refuse_value(struct loading *loading, size_t key, const char *value)
{
	char min[UNITS_TEXT_MAX], max[UNITS_TEXT_MAX], text[128];
	const char *what = "a whole number";
	enum kind kind = keys[key].kind;

	switch (kind) {
	case KIND_COUNT:
		(void)snprintf(min, sizeof(min), "%" PRIu64, keys[key].min);
		(void)snprintf(max, sizeof(max), "%" PRIu64, keys[key].max);
		break;
	case KIND_SIZE:
		what = "a size";
		units_format_size(keys[key].min, min);
		units_format_size(keys[key].max, max);
		break;
	case KIND_TIME:
		what = "a time";
		units_format_time(keys[key].min, min);
		units_format_time(keys[key].max, max);
		break;
	default:
		(void)snprintf(text, sizeof(text),
			       "%s = %.32s: expected %s%s%s or %s",
			       keys[key].name, value, words[kind][0],
			       words[kind][2] ? ", " : "",
			       words[kind][2] ? words[kind][1] : "",
			       words[kind][2] ? words[kind][2]
					      : words[kind][1]);
		return refuse_line(loading, text);
	}
	(void)snprintf(text, sizeof(text),
		       "%s = %.32s: expected %s from %s to %s", keys[key].name,
		       value, what, min, max);
	return refuse_line(loading, text);
}

static int take_value(struct loading *loading, size_t key, const char *value)
{
	uint64_t number;

	/* inih takes a line that begins with a blank for more of the last. */
	if (loading->seen[key])
		return refuse_line(loading, AGAIN);
	if (parse_value(keys[key].kind, value, &number) < 0 &&
	    parse_nothing(key, value, &number) < 0)
		return refuse_value(loading, key, value);
	if (number < keys[key].min || number > keys[key].max)
		return refuse_value(loading, key, value);
	*field(&loading->settings, key) = number;
	loading->seen[key] = true;
	return 0;
}

/* Exactly what a browser sends: scheme and host, maybe a port, no slash. */
static bool is_origin(const char *value)
{
	const char *host = strstr(value, "://");

	if (strlen(value) > SETTINGS_ORIGIN_MAX || !host ||
	    (strncmp(value, "http:", 5) != 0 &&
	     strncmp(value, "https:", 6) != 0))
		return false;
	host += strlen("://");
	return *host && host[strspn(host, "abcdefghijklmnopqrstuvwxyz"
					  "0123456789.-:[]")] == '\0';
}

static int take_origin(struct loading *loading, const char *value)
{
	struct settings *settings = &loading->settings;
	char text[128];

	(void)snprintf(text, sizeof(text),
		       ORIGIN_KEY " = %.32s: expected up to %d lines as "
				  "https://app.example.com, in lower case",
		       value, SETTINGS_ORIGINS_MAX);
	if (settings->num_origins == SETTINGS_ORIGINS_MAX || !is_origin(value))
		return refuse_line(loading, text);
	memcpy(settings->origin[settings->num_origins++], value,
	       strlen(value) + 1);
	return 0;
}

static int refuse_key(struct loading *loading, const char *key)
{
	char text[80];

	(void)snprintf(text, sizeof(text),
		       "unknown key '%.24s'; osbd.conf(5) has all", key);
	return refuse_line(loading, text);
}

static int take_profile(struct loading *loading, const char *section,
			const char *key, const char *value)
{
	struct err err = ERR_NULL;
	char this_key[INI_MAX_LINE];

	(void)snprintf(this_key, sizeof(this_key), "%s %s", section, key);
	if (strcmp(this_key, loading->last_key) == 0)
		return refuse_line(loading, AGAIN);
	memcpy(loading->last_key, this_key, sizeof(this_key));
	if (profiles_set(&loading->settings.profiles,
			 section + strlen(PROFILE_SECTION), key, value,
			 &err) < 0)
		return refuse_line(loading, err.msg);
	return 0;
}

/* inih's callback: 1 goes on, 0 is an error. */
static int on_key(void *user, const char *section, const char *name,
		  const char *value)
{
	struct loading *loading = user;
	size_t key = 0;

	if (strncmp(section, PROFILE_SECTION, strlen(PROFILE_SECTION)) == 0) {
		loading->failed = take_profile(loading, section, name, value);
		return loading->failed == 0;
	}
	if (strcmp(section, SECTION) != 0) {
		loading->failed =
			refuse_line(loading, "a key stands in section [" SECTION
					     "] or [" PROFILE_SECTION "NAME]");
		return 0;
	}
	if (strcmp(name, ORIGIN_KEY) == 0) {
		loading->failed = take_origin(loading, value);
		return loading->failed == 0;
	}
	while (key < ARRAY_SIZE(keys) && strcmp(name, keys[key].name) != 0)
		key++;
	loading->failed = key < ARRAY_SIZE(keys)
				  ? take_value(loading, key, value)
				  : refuse_key(loading, name);
	return loading->failed == 0;
}

int settings_parse(const char *text, size_t len, const char *name,
		   struct settings *ret_settings, struct err *err)
{
	struct loading loading = {
		.name = name,
		.at = text,
		.end = text + len,
		.err = err,
	};
	int line;

	settings_init(&loading.settings);
	line = ini_parse_stream(read_line, &loading, on_key, &loading);
	/* It goes on behind a line that is none; the first one counts. */
	if (line > 0 &&
	    (!loading.failed || (unsigned int)line < loading.line)) {
		loading.line = (unsigned int)line;
		loading.failed = refuse_line(&loading, "expected KEY = VALUE");
	}
	if (loading.failed)
		return loading.failed;
	*ret_settings = loading.settings;
	return 0;
}

int settings_load(int fd, const char *name, struct settings *ret_settings,
		  struct err *err)
{
	char *text auto_free = malloc(SETTINGS_FILE_MAX);
	size_t len;
	int r;

	if (!text)
		return err_set(err, ERR_INTERNAL, ENOMEM, "read '%.120s'",
			       name);
	r = file_read_whole(fd, text, SETTINGS_FILE_MAX, &len);
	if (r < 0)
		return err_set(err, ERR_INVALID, -r, "read '%.120s'", name);
	return settings_parse(text, len, name, ret_settings, err);
}

int settings_accounts(const struct settings *settings, bool one_caller,
		      struct account_limits *ret_limits, struct err *err)
{
	*ret_limits = (struct account_limits){
		.max_sandboxes = settings->max_sandboxes,
		.max_guarantee = settings->max_guarantee,
		.create_rate = one_caller ? 0 : settings->create_rate,
		.create_burst = settings->create_burst,
		.request_rate = one_caller ? 0 : settings->request_rate,
	};
	return account_host_memory(settings->memory_reserve,
				   &ret_limits->memory_bytes, err);
}

void settings_exec_limits(const struct settings *settings,
			  struct exec_limits *ret_limits)
{
	*ret_limits = (struct exec_limits){
		.cpu_ms = settings->cpu_time_ms,
		.output_max = settings->output_max,
		.output_policy = (uint32_t)settings->output_policy,
	};
}
