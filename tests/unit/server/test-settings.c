/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/ranges.h"
#include "sandbox/account.h"
#include "sandbox/exec_limits.h"
#include "server/settings.h"

static int parse(const char *text, struct settings *settings, struct err *err)
{
	return settings_parse(text, strlen(text), "o.conf", settings, err);
}

static void refused(const char *text, const char *want)
{
	struct settings settings = { .max_body = 7 };
	struct err err = ERR_NULL;

	assert_int_equal(parse(text, &settings, &err), -EINVAL);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_string_equal(err.msg, want);
	assert_int_equal(settings.max_body, 7);
}

/* One key, alone in its file. */
static int set(const char *key, const char *value, uint64_t *ret, size_t offset)
{
	struct settings settings = { 0 };
	struct err err = ERR_NULL;
	char text[100];
	int r;

	(void)snprintf(text, sizeof(text), "[osbd]\n%s = %s\n", key, value);
	r = parse(text, &settings, &err);
	memcpy(ret, (char *)&settings + offset, sizeof(*ret));
	if (r < 0) {
		assert_non_null(strstr(err.msg, "o.conf: line 2: "));
		assert_non_null(strstr(err.msg, key));
		assert_non_null(strstr(err.msg, ": expected a"));
	}
	return r;
}

static void without_a_line_the_defaults_hold(void **state)
{
	struct settings settings, parsed;

	(void)state;
	settings_init(&settings);
	assert_int_equal(settings.max_sandboxes, 255);
	assert_int_equal(settings.max_guarantee, LIMITS_MAX_BYTES);
	assert_int_equal(settings.memory_reserve, 0);
	assert_int_equal(settings.create_rate, 100);
	assert_int_equal(settings.create_burst, 200);
	assert_int_equal(settings.request_rate, 0);
	assert_int_equal(settings.max_connections, 4096);
	assert_int_equal(settings.max_body, 1024 * 1024);
	assert_int_equal(settings.head_timeout_ms, 10 * 1000);
	assert_int_equal(settings.body_timeout_ms, 60 * 1000);
	assert_int_equal(settings.idle_timeout_ms, 300 * 1000);
	assert_int_equal(settings.drain_timeout_ms, 3000);
	assert_int_equal(settings.log, SETTINGS_LOG_TEXT);
	assert_int_equal(settings.access_log, 0);
	assert_int_equal(settings.num_origins, 0);
	assert_int_equal(parse("", &parsed, NULL), 0);
	assert_memory_equal(&settings, &parsed, sizeof(settings));
	assert_int_equal(parse("; none\n\n[osbd]\n", &parsed, NULL), 0);
	assert_memory_equal(&settings, &parsed, sizeof(settings));
}

static void every_key_has_its_bounds(void **state)
{
	static const struct {
		const char *key;
		size_t offset;
		const char *least, *below, *most, *beyond;
		uint64_t min, max;
	} rows[] = {
		{ "max_sandboxes", offsetof(struct settings, max_sandboxes),
		  "1", "0", "2048", "2049", 1, 2048 },
		{ "max_guarantee", offsetof(struct settings, max_guarantee),
		  "4Ki", "4095", "1024Ti", "1025Ti", 4096, 1ull << 50 },
		{ "memory_reserve", offsetof(struct settings, memory_reserve),
		  "1", "0", "1024Ti", "1025Ti", 1, 1ull << 50 },
		{ "create_rate", offsetof(struct settings, create_rate), "0",
		  "-1", "1m", "1000001", 0, 1000000 },
		{ "create_burst", offsetof(struct settings, create_burst), "1",
		  "0", "1m", "1000001", 1, 1000000 },
		{ "request_rate", offsetof(struct settings, request_rate), "0",
		  "00", "1m", "1000001", 0, 1000000 },
		{ "max_connections", offsetof(struct settings, max_connections),
		  "1", "0", "16384", "16385", 1, 16384 },
		{ "max_body", offsetof(struct settings, max_body), "1Ki",
		  "1023", "16Mi", "16777217", 1024, 16 << 20 },
		{ "head_timeout", offsetof(struct settings, head_timeout_ms),
		  "1000ms", "999ms", "10m", "600001ms", 1000, 600000 },
		{ "body_timeout", offsetof(struct settings, body_timeout_ms),
		  "1s", "999ms", "10m", "600001ms", 1000, 600000 },
		{ "idle_timeout", offsetof(struct settings, idle_timeout_ms),
		  "1", "999ms", "24h", "86400001ms", 1000, 86400000 },
		{ "drain_timeout", offsetof(struct settings, drain_timeout_ms),
		  "100ms", "99ms", "4s", "4001ms", 100, 4000 },
		{ "cpu_time", offsetof(struct settings, cpu_time_ms), "1ms",
		  "0", "87600h", "87601h", 1, 315360000000ull },
		{ "output_max", offsetof(struct settings, output_max), "1", "0",
		  "1024Ti", "1025Ti", 1, 1ull << 50 },
	};
	static const char *const never[] = { "",    "-1",
					     "1.",  "ten",
					     "1 2", "99999999999999999999" };
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(set(rows[i].key, rows[i].least, &value,
				     rows[i].offset),
				 0);
		assert_int_equal(value, rows[i].min);
		assert_int_equal(set(rows[i].key, rows[i].most, &value,
				     rows[i].offset),
				 0);
		assert_int_equal(value, rows[i].max);
		assert_int_equal(set(rows[i].key, rows[i].below, &value,
				     rows[i].offset),
				 -EINVAL);
		assert_int_equal(set(rows[i].key, rows[i].beyond, &value,
				     rows[i].offset),
				 -EINVAL);
		for (size_t n = 0; n < ARRAY_SIZE(never); n++)
			assert_int_equal(set(rows[i].key, never[n], &value,
					     rows[i].offset),
					 -EINVAL);
	}
}

static void output_policies_are_words(void **state)
{
	static const char *const names[] = { "truncate", "kill",
					     "back-pressure" };
	struct exec_limits limits;
	struct settings settings;
	char text[64];

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(names); i++) {
		(void)snprintf(text, sizeof(text),
			       "[osbd]\noutput_policy = %s\n", names[i]);
		assert_int_equal(parse(text, &settings, NULL), 0);
		settings_exec_limits(&settings, &limits);
		assert_int_equal(limits.output_policy, i);
		assert_int_equal(limits.output_max, 0);
		assert_int_equal(limits.cpu_ms, 0);
	}
	assert_true(parse("[osbd]\noutput_policy = drop\n", &settings, NULL) <
		    0);
	assert_true(parse("[osbd]\nlog = back-pressure\n", &settings, NULL) <
		    0);
}

static void all_keys_in_one_file_and_comments(void **state)
{
	struct settings settings;

	(void)state;
	assert_int_equal(parse("# ours\n[osbd]\nmax_sandboxes = 10 ; few\r\n"
			       "max_connections=20\nmax_body: 64k\n\n"
			       "head_timeout = 3s\nidle_timeout = 2m",
			       &settings, NULL),
			 0);
	assert_int_equal(settings.max_sandboxes, 10);
	assert_int_equal(settings.max_connections, 20);
	assert_int_equal(settings.max_body, 64000);
	assert_int_equal(settings.head_timeout_ms, 3000);
	assert_int_equal(settings.idle_timeout_ms, 120000);
}

static void a_message_names_file_line_and_what_is_allowed(void **state)
{
	(void)state;
	refused("[osbd]\n\nmax_body = 17Mi\n",
		"o.conf: line 3: max_body = 17Mi: expected a size from 1Ki to "
		"16Mi");
	refused("[osbd]\nmax_sandboxes = none\n",
		"o.conf: line 2: max_sandboxes = none: expected a whole number "
		"from 1 to 2048");
	refused("[osbd]\nhead_timeout = 0\n",
		"o.conf: line 2: head_timeout = 0: expected a time from 1s to "
		"10m");
	refused("[osbd]\nmax_bodies = 1Mi\n",
		"o.conf: line 2: unknown key 'max_bodies'; osbd.conf(5) "
		"has all");
	refused("[osbd]\nlog = xml\n",
		"o.conf: line 2: log = xml: expected text or json");
	refused("[osbd]\naccess_log = true\n",
		"o.conf: line 2: access_log = true: expected no or yes");
	refused("[osbd]\ndrain_timeout = 5s\n",
		"o.conf: line 2: drain_timeout = 5s: expected a time from 100ms to "
		"4s");
	refused("max_body = 1Mi\n",
		"o.conf: line 1: a key stands in section [osbd] or "
		"[profile NAME]");
	refused("[osbd]\nmax_body = 1Mi\n[broker]\nid_base = 1\n",
		"o.conf: line 4: a key stands in section [osbd] or "
		"[profile NAME]");
	refused("[osbd]\nmax_body\nmax_sandboxes = 0\n",
		"o.conf: line 2: expected KEY = VALUE");
	refused("[osbd\n", "o.conf: line 1: expected KEY = VALUE");
}

static void an_origin_is_what_a_browser_sends(void **state)
{
	static const char *const bad[] = {
		"*",
		"null",
		"app.example.com",
		"https://",
		"https://app.example.com/",
		"https://App.example.com",
		"file:///etc/passwd",
		"ftp://app.example.com",
		"https://a b",
	};
	struct settings settings;
	char text[200];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		(void)snprintf(text, sizeof(text), "[osbd]\ncors_origin = %s\n",
			       bad[i]);
		assert_int_equal(parse(text, &settings, NULL), -EINVAL);
	}
	assert_int_equal(parse("[osbd]\ncors_origin = https://a.example\n"
			       "cors_origin = http://localhost:3000\n",
			       &settings, NULL),
			 0);
	assert_int_equal(settings.num_origins, 2);
	assert_string_equal(settings.origin[0], "https://a.example");
	assert_string_equal(settings.origin[1], "http://localhost:3000");
}

static void no_more_than_sixteen_origins_are_taken(void **state)
{
	char text[2000] = "[osbd]\n";
	struct settings settings;

	(void)state;
	for (unsigned int i = 0; i < SETTINGS_ORIGINS_MAX; i++) {
		size_t len = strlen(text);

		(void)snprintf(text + len, sizeof(text) - len,
			       "cors_origin = https://%u.example\n", i);
	}
	assert_int_equal(parse(text, &settings, NULL), 0);
	assert_int_equal(settings.num_origins, SETTINGS_ORIGINS_MAX);
	(void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
		       "cors_origin = https://more.example\n");
	assert_int_equal(parse(text, &settings, NULL), -EINVAL);
}

static void a_key_that_stands_twice_is_refused(void **state)
{
	static const char twice[] = "the same key again, or a blank in front "
				    "of the line";
	char want[120];

	(void)state;
	(void)snprintf(want, sizeof(want), "o.conf: line 3: %s", twice);
	refused("[osbd]\nmax_body = 1Mi\nmax_body = 1Mi\n", want);
	refused("[osbd]\nmax_body = 1Mi\n  max_sandboxes = 5\n", want);
	(void)snprintf(want, sizeof(want), "o.conf: line 4: %s", twice);
	refused("[osbd]\nmax_body = 1Mi\n[osbd]\nmax_body = 2Mi\n", want);
}

static void a_line_is_never_taken_for_two(void **state)
{
	char text[400];
	struct settings settings;

	(void)state;
	(void)snprintf(text, sizeof(text), "[osbd]\n;%0197d\nmax_body = 2Ki",
		       0);
	assert_int_equal(parse(text, &settings, NULL), 0);
	assert_int_equal(settings.max_body, 2048);
	(void)snprintf(text, sizeof(text), "[osbd]\n;%0198d\n", 0);
	refused(text, "o.conf: line 2: too long");
	(void)snprintf(text, sizeof(text), "[osbd]\n;%0199dmax_body = 2Ki\n",
		       0);
	refused(text, "o.conf: line 2: too long");
}

static void a_nul_byte_hides_nothing(void **state)
{
	static const char text[] = "[osbd]\nmax_body = 2Ki\n\0max_body = 0\n";
	struct settings settings;
	struct err err = ERR_NULL;

	(void)state;
	assert_int_equal(settings_parse(text, sizeof(text) - 1, "o.conf",
					&settings, &err),
			 -EINVAL);
	assert_string_equal(err.msg, "o.conf: line 3: not text");
}

static void a_file_is_read_from_its_start_each_time(void **state)
{
	static const char text[] = "[osbd]\nmax_body = 2Ki\n";
	int fd auto_fd = memfd_create("osbd.conf", MFD_CLOEXEC);
	struct settings settings;
	struct err err = ERR_NULL;

	(void)state;
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	for (int i = 0; i < 2; i++) {
		memset(&settings, 0, sizeof(settings));
		assert_int_equal(settings_load(fd, "o.conf", &settings, NULL),
				 0);
		assert_int_equal(settings.max_body, 2048);
	}
	assert_int_equal(ftruncate(fd, SETTINGS_FILE_MAX), 0);
	assert_int_equal(settings_load(fd, "o.conf", &settings, &err), -EFBIG);
	assert_string_equal(err.msg, "read 'o.conf': File too large");
	assert_int_equal(settings_load(-1, "o.conf", &settings, NULL), -EBADF);
}

static void accounts_get_what_is_set(void **state)
{
	struct settings settings;
	struct account_limits limits;
	uint64_t memory;

	(void)state;
	assert_int_equal(parse("[osbd]\nmax_sandboxes = 7\ncreate_rate = 8\n"
			       "create_burst = 9\nrequest_rate = 10\n"
			       "max_guarantee = 1Gi\nmemory_reserve = 1Mi\n",
			       &settings, NULL),
			 0);
	assert_int_equal(settings_accounts(&settings, false, &limits, NULL), 0);
	assert_int_equal(limits.max_sandboxes, 7);
	assert_int_equal(limits.create_rate, 8);
	assert_int_equal(limits.create_burst, 9);
	assert_int_equal(limits.request_rate, 10);
	assert_int_equal(limits.max_guarantee, 1 << 30);
	assert_int_equal(account_host_memory(1 << 20, &memory, NULL), 0);
	assert_int_equal(limits.memory_bytes, memory);
	/* Who is alone has nobody to be protected from. */
	assert_int_equal(settings_accounts(&settings, true, &limits, NULL), 0);
	assert_int_equal(limits.max_sandboxes, 7);
	assert_int_equal(limits.create_rate, 0);
	assert_int_equal(limits.request_rate, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_line_the_defaults_hold),
		cmocka_unit_test(every_key_has_its_bounds),
		cmocka_unit_test(output_policies_are_words),
		cmocka_unit_test(all_keys_in_one_file_and_comments),
		cmocka_unit_test(a_message_names_file_line_and_what_is_allowed),
		cmocka_unit_test(an_origin_is_what_a_browser_sends),
		cmocka_unit_test(no_more_than_sixteen_origins_are_taken),
		cmocka_unit_test(a_key_that_stands_twice_is_refused),
		cmocka_unit_test(a_line_is_never_taken_for_two),
		cmocka_unit_test(a_nul_byte_hides_nothing),
		cmocka_unit_test(accounts_get_what_is_set),
		cmocka_unit_test(a_file_is_read_from_its_start_each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
