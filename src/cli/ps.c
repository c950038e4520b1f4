/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osb ps - the sandboxes that there are, or the commands of one
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/jsonout.h"
#include "cli/message.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/ps.h"
#include "osb/osb.h"

DEFINE_AUTO(struct osb_client *, osb_client_close);

struct ps_options {
	bool json;
};

static const struct option ps_option_list[] = {
	{ "--json", OPTION_FLAG, offsetof(struct ps_options, json), NULL,
	  "print an array of objects", NULL, NULL, 0, 0 },
	{ NULL, OPTION_FLAG, 0, NULL, NULL, NULL, NULL, 0, 0 },
};

static const struct option_table ps_table = {
	.options = ps_option_list,
	.command = "ps",
};

void ps_format_span(int64_t seconds, char ret_text[PS_CELL_MAX])
{
	if (seconds < 120)
		(void)snprintf(ret_text, PS_CELL_MAX, "%" PRId64 "s",
			       seconds > 0 ? seconds : 0);
	else if (seconds < 2 * 3600)
		(void)snprintf(ret_text, PS_CELL_MAX, "%" PRId64 "m",
			       seconds / 60);
	else if (seconds < 2 * 86400)
		(void)snprintf(ret_text, PS_CELL_MAX, "%" PRId64 "h",
			       seconds / 3600);
	else
		(void)snprintf(ret_text, PS_CELL_MAX, "%" PRId64 "d",
			       seconds / 86400);
}

static void format_age(int64_t created_s, char ret_text[PS_CELL_MAX])
{
	(void)snprintf(ret_text, PS_CELL_MAX, "-");
	if (created_s)
		ps_format_span((int64_t)time(NULL) - created_s, ret_text);
}

static void format_left(int64_t expires_s, char ret_text[PS_CELL_MAX])
{
	(void)snprintf(ret_text, PS_CELL_MAX, "-");
	if (expires_s)
		ps_format_span(expires_s - (int64_t)time(NULL), ret_text);
}

/* Exact: the largest binary unit that divides it. */
static void format_size(uint64_t bytes, char ret_text[PS_CELL_MAX])
{
	static const char *const units[] = { "", "Ki", "Mi", "Gi", "Ti" };
	size_t i = 0;

	for (; i + 1 < ARRAY_SIZE(units) && bytes > 0 && bytes % 1024 == 0; i++)
		bytes /= 1024;
	if (bytes == 0)
		(void)snprintf(ret_text, PS_CELL_MAX, "-");
	else
		(void)snprintf(ret_text, PS_CELL_MAX, "%" PRIu64 "%s", bytes,
			       units[i]);
}

static void format_cpus(uint32_t milli, char ret_text[PS_CELL_MAX])
{
	if (milli == 0)
		(void)snprintf(ret_text, PS_CELL_MAX, "-");
	else if (milli % 1000 == 0)
		(void)snprintf(ret_text, PS_CELL_MAX, "%u", milli / 1000);
	else
		(void)snprintf(ret_text, PS_CELL_MAX, "%um", milli);
}

static void print_table(const struct osb_sandbox_info *infos, size_t num)
{
	static const char format[] =
		"%-32s  %-10s  %-10s  %5s  %5s  %8s  %5s  %6s  %8s\n";
	char age[PS_CELL_MAX], left[PS_CELL_MAX], memory[PS_CELL_MAX],
		cpus[PS_CELL_MAX], pids[PS_CELL_MAX], disk[PS_CELL_MAX];

	printf(format, "ID", "IMAGE", "STATE", "AGE", "LEFT", "MEMORY", "CPUS",
	       "PIDS", "DISK");
	for (size_t i = 0; i < num; i++) {
		const struct osb_sandbox_info *info = &infos[i];

		format_age(info->created_s, age);
		format_left(info->expires_s, left);
		format_size(info->limits.memory_bytes, memory);
		format_size(info->limits.disk_bytes, disk);
		format_cpus(info->limits.cpu_milli, cpus);
		(void)snprintf(pids, sizeof(pids), "%" PRIu64,
			       info->limits.pids);
		printf(format, info->id, info->image, info->state, age, left,
		       memory, cpus, info->limits.pids ? pids : "-", disk);
	}
}

static void put_limit(struct jsonout *out, const char *key, uint64_t value)
{
	if (value == 0) /* the server didn't say */
		return;
	jsonout_key(out, key);
	jsonout_u64(out, value);
}

static void print_json(const struct osb_sandbox_info *infos, size_t num)
{
	struct jsonout out = { .stream = stdout };

	jsonout_open(&out, '[');
	for (size_t i = 0; i < num; i++) {
		const struct osb_sandbox_info *info = &infos[i];

		jsonout_open(&out, '{');
		jsonout_key(&out, "id");
		jsonout_string(&out, info->id);
		jsonout_key(&out, "image");
		jsonout_string(&out, info->image);
		jsonout_key(&out, "state");
		jsonout_string(&out, info->state);
		jsonout_key(&out, "created_s");
		jsonout_u64(&out, (uint64_t)info->created_s);
		if (info->expires_s) {
			jsonout_key(&out, "expires_s");
			jsonout_u64(&out, (uint64_t)info->expires_s);
		}
		jsonout_key(&out, "limits");
		jsonout_open(&out, '{');
		put_limit(&out, "memory_bytes", info->limits.memory_bytes);
		put_limit(&out, "cpu_milli", info->limits.cpu_milli);
		put_limit(&out, "pids", info->limits.pids);
		put_limit(&out, "disk_bytes", info->limits.disk_bytes);
		put_limit(&out, "inodes", info->limits.inodes);
		put_limit(&out, "nofile", info->limits.nofile);
		put_limit(&out, "shm_bytes", info->limits.shm_bytes);
		jsonout_close(&out, '}');
		jsonout_close(&out, '}');
	}
	jsonout_close(&out, ']');
	printf("\n");
}

static int list(struct osb_client *client, bool json)
{
	struct osb_sandbox_info *infos auto_free = NULL;
	struct osb_error err;
	size_t num;

	if (osb_sandbox_list(client, &infos, &num, &err) < 0)
		return message("list sandboxes: %s", err.message);
	if (json)
		print_json(infos, num);
	else
		print_table(infos, num);
	return 0;
}

static int run(int argc, char **argv)
{
	struct osb_client *client auto_clean(osb_client_closep) = NULL;
	struct ps_options options = { false };
	int next, r;

	r = options_parse(&ps_table, argc, argv, &options, &next);
	if (r == OPTIONS_E_HELP) {
		printf("Usage: osb ps [--json] [ID]\n\n"
		       "List your sandboxes, newest first; or the commands "
		       "of one.\n\n");
		options_print(&ps_table);
		return 0;
	}
	if (r < 0)
		return EXIT_OSB;
	if (argc - next > 1)
		return message("ps '%s': expected one id at most",
			       argv[next + 1]);
	if (open_client(&client) < 0)
		return EXIT_OSB;
	if (next < argc)
		return ps_commands(client, argv[next], options.json);
	return list(client, options.json);
}

const struct command command_ps = {
	.name = "ps",
	.args = "[--json] [ID]",
	.summary = "list sandboxes, or the commands of one",
	.run = run,
};
