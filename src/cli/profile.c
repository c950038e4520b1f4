/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osb profile - what sandboxes can be asked for by name
 */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/jsonout.h"
#include "cli/message.h"
#include "cli/open.h"
#include "cli/options.h"
#include "osb/osb.h"

DEFINE_AUTO(struct osb_client *, osb_client_close);

struct profile_options {
	bool json;
};

static const struct option profile_option_list[] = {
	{ "--json", OPTION_FLAG, offsetof(struct profile_options, json), NULL,
	  "list, show: as JSON, for programs", NULL, NULL, 0, 0 },
	{ NULL, OPTION_FLAG, 0, NULL, NULL, NULL, NULL, 0, 0 },
};

static const struct option_table profile_table = {
	.options = profile_option_list,
	.command = "profile",
};

/* Lines "KEY = VALUE", as members of an object. */
static void put_values(struct jsonout *out, char *lines)
{
	char *rest = lines;
	char *line;

	jsonout_open(out, '{');
	while ((line = strsep(&rest, "\n")) && *line) {
		char *value = strstr(line, " = ");

		if (!value)
			continue;
		*value = '\0';
		jsonout_key(out, line);
		jsonout_string(out, value + strlen(" = "));
	}
	jsonout_close(out, '}');
}

static void put_profile(struct jsonout *out, struct osb_profile_info *info)
{
	jsonout_open(out, '{');
	jsonout_key(out, "name");
	jsonout_string(out, info->name);
	jsonout_key(out, "description");
	jsonout_string(out, info->description);
	jsonout_key(out, "values");
	put_values(out, info->values);
	jsonout_close(out, '}');
}

static void print_list(struct osb_profile_info *infos, size_t num, bool json)
{
	struct jsonout out = { .stream = stdout };

	if (json)
		jsonout_open(&out, '[');
	else
		printf("%-20s  %s\n", "PROFILE", "DESCRIPTION");
	for (size_t i = 0; i < num; i++) {
		if (json)
			put_profile(&out, &infos[i]);
		else
			printf("%-20s  %s\n", infos[i].name,
			       infos[i].description);
	}
	if (json) {
		jsonout_close(&out, ']');
		printf("\n");
	}
}

/* As a section of osbd.conf(5), which may be pasted there. */
static void print_one(struct osb_profile_info *info, bool json)
{
	struct jsonout out = { .stream = stdout };

	if (json) {
		put_profile(&out, info);
		printf("\n");
		return;
	}
	printf("[profile %s]\ndescription = %s\n%s", info->name,
	       info->description, info->values);
}

static int show(struct osb_profile_info *infos, size_t num, const char *name,
		bool json)
{
	for (size_t i = 0; i < num; i++) {
		if (strcmp(infos[i].name, name) != 0)
			continue;
		print_one(&infos[i], json);
		return 0;
	}
	return message("profile show '%s': there is none of that name: see "
		       "'osb profile list'",
		       name);
}

/* @name: the only one to show; NULL: list all. */
static int ask(const char *name, bool json)
{
	struct osb_client *client auto_clean(osb_client_closep) = NULL;
	struct osb_profile_info *infos auto_free = NULL;
	struct osb_error err;
	size_t num;

	if (open_client(&client) < 0)
		return EXIT_OSB;
	if (osb_profile_list(client, &infos, &num, &err) < 0)
		return message("profile: %s", err.message);
	if (name)
		return show(infos, num, name, json);
	print_list(infos, num, json);
	return 0;
}

/* By who will read it. Returns only when it can't. */
static int become_osbd(char *file)
{
	char path[PROGRAM_PATH_MAX];
	char check[] = "--check-config";
	char *argv[] = { path, check, file, NULL };

	open_program("osbd", path);
	(void)execv(path, argv);
	return message("start '%s': %s", path, strerrordesc_np(errno));
}

static int usage(void)
{
	return message("profile: expected osb profile list, osb profile show "
		       "NAME or osb profile check FILE");
}

static int run(int argc, char **argv)
{
	struct profile_options options = { .json = false };
	const char *verb = argc > 1 && argv[1][0] != '-' ? argv[1] : "";
	const bool has_verb = *verb != '\0';
	int next, r;

	/* Options stand behind the verb. */
	r = options_parse(&profile_table, argc - has_verb, argv + has_verb,
			  &options, &next);
	if (r == OPTIONS_E_HELP) {
		printf("Usage: osb profile list\n"
		       "       osb profile show NAME\n"
		       "       osb profile check FILE\n\n"
		       "Names for limits and walls, as osbd.conf(5) has them: "
		       "which there are, what one\nreally means, and whether a "
		       "file would be understood.\n\n");
		options_print(&profile_table);
		return 0;
	}
	if (r < 0)
		return EXIT_OSB;
	argc -= has_verb + next;
	argv += has_verb + next;
	if (strcmp(verb, "list") == 0 && argc == 0)
		return ask(NULL, options.json);
	if (strcmp(verb, "show") == 0 && argc == 1)
		return ask(argv[0], options.json);
	if (strcmp(verb, "check") == 0 && argc == 1 && !options.json)
		return become_osbd(argv[0]);
	return usage();
}

const struct command command_profile = {
	.name = "profile",
	.args = "list | show NAME | check FILE",
	.summary = "what sandboxes can be asked for by name",
	.run = run,
};
