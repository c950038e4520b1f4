/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/options.h"

#include <errno.h>
#include <inttypes.h>
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

/* Return: 0, -EINVAL, -ERANGE: too large; of the kinds that are numbers. */
static int parse_number(const struct option *option, const char *value,
			uint64_t *ret_number)
{
	uint32_t milli;
	int r;

	switch (option->kind) {
	case OPTION_SIZE:
		return units_parse_size(value, ret_number);
	case OPTION_TIME:
		return units_parse_time(value, ret_number);
	case OPTION_COUNT:
		return units_parse_count(value, UINT32_MAX, ret_number);
	default:
		r = units_parse_cpus(value, &milli);
		if (r == 0)
			*ret_number = milli;
		return r;
	}
}

static int refuse_range(const struct option *option, const char *value,
			bool too_large)
{
	uint64_t bound = too_large ? option->max : option->min;
	char text[UNITS_TEXT_MAX];

	switch (option->kind) {
	case OPTION_SIZE:
		units_format_size(bound, text);
		break;
	case OPTION_TIME:
		units_format_time(bound, text);
		break;
	case OPTION_CPUS:
		units_format_cpus(bound, text);
		break;
	default:
		(void)snprintf(text, sizeof(text), "%" PRIu64, bound);
		break;
	}
	(void)message("%s '%s': expected at %s %s", option->name, value,
		      too_large ? "most" : "least", text);
	return -ECANCELED;
}

static int set_number(const struct option *option, void *field,
		      const char *value)
{
	uint64_t number = 0;
	uint32_t milli;
	int r = parse_number(option, value, &number);

	if (option->max > 0 && (r == -ERANGE || number > option->max))
		return refuse_range(option, value, true);
	if (r == 0 && number < option->min)
		return refuse_range(option, value, false);
	if (r < 0)
		return r;
	if (option->kind == OPTION_CPUS) {
		milli = (uint32_t)number;
		memcpy(field, &milli, sizeof(milli));
	} else {
		memcpy(field, &number, sizeof(number));
	}
	return 0;
}

static int set_value(const struct option *option, void *target,
		     const char *value)
{
	void *field = (char *)target + option->offset;

	switch (option->kind) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return 0;
	case OPTION_CUSTOM:
		return option->set(target, value);
	default:
		return set_number(option, field, value);
	}
}

/* The option that @arg names, up to its end or a '='. */
static const struct option *find_in(const struct option *list, const char *arg)
{
	size_t len = strcspn(arg, "=");

	for (const struct option *o = list; o && o->name; o++)
		if (strlen(o->name) == len && strncmp(o->name, arg, len) == 0)
			return o;
	return NULL;
}

static const struct option *find(const struct option_table *table,
				 const char *arg)
{
	const struct option *option = find_in(table->options, arg);

	return option ? option : find_in(table->also, arg);
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
	if (r == -ECANCELED)
		return -EINVAL;
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

static void print_list(const struct option *list)
{
	char left[64];

	for (const struct option *o = list; o && o->name; o++) {
		(void)snprintf(left, sizeof(left), "%s%s%s", o->name,
			       o->value ? " " : "", o->value ? o->value : "");
		printf("  %-24s %s\n", left, o->help);
	}
}

void options_print(const struct option_table *table)
{
	printf("Options:\n");
	print_list(table->options);
	print_list(table->also);
	printf("  %-24s %s\n", "--help", "this text");
}
