/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/options.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "cli/message.h"

static const char *allowed_by(const struct option *option)
{
	static const char *const by_kind[] = {
		[OPTION_FLAG] = "no value",
		[OPTION_SIZE] = UNITS_SIZE_ALLOWED,
		[OPTION_CPUS] = UNITS_CPUS_ALLOWED,
		[OPTION_TIME] = UNITS_TIME_ALLOWED,
		[OPTION_COUNT] = UNITS_COUNT_ALLOWED,
		[OPTION_CUSTOM] = "another value",
	};
	_Static_assert(ARRAY_SIZE(by_kind) == OPTION_NUM_KINDS,
		       "every kind says what it allows");

	return option->allowed ? option->allowed : by_kind[option->kind];
}

static int set_value(const struct option *option, void *target,
		     const char *value)
{
	void *field = (char *)target + option->offset;

	switch (option->kind) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return 0;
	case OPTION_SIZE:
		return units_parse_size(value, field);
	case OPTION_CPUS:
		return units_parse_cpus(value, field);
	case OPTION_TIME:
		return units_parse_time(value, field);
	case OPTION_COUNT:
		return units_parse_count(value, UINT32_MAX, field);
	case OPTION_CUSTOM:
		return option->set(target, value);
	case OPTION_NUM_KINDS:
		break;
	}
	assert(false); /* all kinds are above */
	return -EINVAL;
}

/* The option that @arg names, up to its end or a '='. */
static const struct option *find(const struct option_table *table,
				 const char *arg)
{
	size_t len = strcspn(arg, "=");

	for (const struct option *o = table->options; o->name; o++)
		if (strlen(o->name) == len && strncmp(o->name, arg, len) == 0)
			return o;
	return NULL;
}

/*
 * One option with its value.
 * Return: how many arguments it took, or -EINVAL (said on stderr).
 */
static int take_option(const struct option_table *table, char **argv,
		       void *target)
{
	const struct option *option = find(table, argv[0]);
	const char *equals = strchr(argv[0], '=');
	const char *value = equals ? equals + 1 : argv[1];
	int r;

	if (!option) {
		(void)message("unknown option '%s': see 'osb %s --help'",
			      argv[0], table->command);
		return -EINVAL;
	}
	if (option->kind == OPTION_FLAG && equals) {
		(void)message("%s '%s': expected no value", option->name,
			      value);
		return -EINVAL;
	}
	if (option->kind != OPTION_FLAG && !value) {
		(void)message("%s: a value is missing: expected %s",
			      option->name, allowed_by(option));
		return -EINVAL;
	}
	r = set_value(option, target, value);
	if (r == -ENOMEM) {
		(void)message("%s '%s': out of memory", option->name, value);
		return -EINVAL;
	}
	if (r < 0) {
		(void)message("%s '%s': expected %s", option->name, value,
			      allowed_by(option));
		return -EINVAL;
	}
	return option->kind == OPTION_FLAG || equals ? 1 : 2;
}

int options_parse(const struct option_table *table, int argc, char **argv,
		  void *target, int *ret_next)
{
	int i = 1;
	int r;

	while (i < argc && argv[i][0] == '-' && argv[i][1] != '\0') {
		if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		if (strcmp(argv[i], "--help") == 0 ||
		    strcmp(argv[i], "-h") == 0)
			return OPTIONS_E_HELP;
		r = take_option(table, argv + i, target);
		if (r < 0)
			return r;
		i += r;
	}
	*ret_next = i;
	return 0;
}

void options_print(const struct option_table *table)
{
	char left[64];

	printf("Options:\n");
	for (const struct option *o = table->options; o->name; o++) {
		(void)snprintf(left, sizeof(left), "%s%s%s", o->name,
			       o->value ? " " : "", o->value ? o->value : "");
		printf("  %-24s %s\n", left, o->help);
	}
	printf("  %-24s %s\n", "--help", "this text");
}
