/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osb ps ID - the commands of a sandbox
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/id.h"
#include "cli/jsonout.h"
#include "cli/message.h"
#include "cli/ps.h"
#include "cli/report.h"
#include "osb/osb.h"

#define TEXT_SHOWN 60 /* bytes */

/* A terminal isn't for the server to command. */
static void clean(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

/* "running", "exited 0", "SIGTERM", "oom" */
static void format_state(const struct osb_command_info *info,
			 char ret_text[PS_CELL_MAX])
{
	const struct osb_verdict *verdict = &info->verdict;

	if (info->running)
		(void)snprintf(ret_text, PS_CELL_MAX, "running");
	else if (verdict->kind == OSB_EXITED)
		(void)snprintf(ret_text, PS_CELL_MAX, "exited %d",
			       verdict->exit_code);
	else if (verdict->kind == OSB_SIGNALED && verdict->signal[0])
		(void)snprintf(ret_text, PS_CELL_MAX, "%s", verdict->signal);
	else
		(void)snprintf(ret_text, PS_CELL_MAX, "%s", verdict->name);
	clean(ret_text);
}

/* Its beginning, without cutting a character. */
static void format_text(const char *text, char ret_text[TEXT_SHOWN + 4])
{
	size_t len = strnlen(text, TEXT_SHOWN);
	bool cut = text[len] != '\0';

	while (cut && len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	(void)snprintf(ret_text, TEXT_SHOWN + 4, "%.*s%s", (int)len, text,
		       cut ? "..." : "");
	clean(ret_text);
}

static void print_table(const struct osb_command_info *infos, size_t num)
{
	static const char format[] = "%-32s  %-12s  %5s  %5s  %s\n";
	int64_t now = time(NULL);

	printf(format, "COMMAND", "STATE", "AGE", "TOOK", "TEXT");
	for (size_t i = 0; i < num; i++) {
		const struct osb_command_info *info = &infos[i];
		char state[PS_CELL_MAX], age[PS_CELL_MAX], took[PS_CELL_MAX];
		char text[TEXT_SHOWN + 4];

		format_state(info, state);
		format_text(info->text, text);
		ps_format_span(now - info->started_s, age);
		ps_format_span((info->running ? now : info->finished_s) -
				       info->started_s,
			       took);
		printf(format, info->id, state, age, took, text);
	}
}

static void put_verdict(struct jsonout *out,
			const struct osb_command_info *info)
{
	jsonout_key(out, "finished_s");
	jsonout_u64(out, (uint64_t)info->finished_s);
	report_put_ending(out, &info->verdict);
}

static void print_json(const struct osb_command_info *infos, size_t num)
{
	struct jsonout out = { .stream = stdout };

	jsonout_open(&out, '[');
	for (size_t i = 0; i < num; i++) {
		jsonout_open(&out, '{');
		jsonout_key(&out, "id");
		jsonout_string(&out, infos[i].id);
		jsonout_key(&out, "text");
		jsonout_string(&out, infos[i].text);
		jsonout_key(&out, "background");
		jsonout_bool(&out, infos[i].background);
		jsonout_key(&out, "running");
		jsonout_bool(&out, infos[i].running);
		jsonout_key(&out, "started_s");
		jsonout_u64(&out, (uint64_t)infos[i].started_s);
		if (!infos[i].running)
			put_verdict(&out, &infos[i]);
		jsonout_close(&out, '}');
	}
	jsonout_close(&out, ']');
	printf("\n");
}

int ps_commands(struct osb_client *client, const char *arg, bool json)
{
	struct osb_command_info *infos auto_free = NULL;
	char id[OSB_ID_MAX + 1];
	struct osb_error err;
	size_t num;

	if (id_resolve(client, "ps", arg, id) < 0)
		return EXIT_OSB;
	if (osb_command_list(client, id, &infos, &num, &err) < 0)
		return message("ps '%s': %s", arg, err.message);
	if (json)
		print_json(infos, num);
	else
		print_table(infos, num);
	return 0;
}
