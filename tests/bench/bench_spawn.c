/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_spawn - whole commands, one after another in turn
 *
 * usage: bench_spawn ROUNDS UNIT NAME COMMAND [NAME COMMAND …]
 *
 * COMMAND is split at spaces; its first word is a path. Each round runs the
 * unit and every command once. A command that fails stops the whole bench:
 * a fast failure is no result.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/stats.h"

#define COMMANDS_MAX 8
#define WORDS_MAX 32

struct command {
	const char *argv[WORDS_MAX + 1];
	struct stats stats;
};

static void split(struct command *command, char *text)
{
	unsigned int num = 0;

	for (char *word = strsep(&text, " "); word && num < WORDS_MAX;
	     word = strsep(&text, " "))
		command->argv[num++] = word;
	command->argv[num] = NULL;
}

static void run_once(struct command *command)
{
	int status;
	uint64_t us = stats_spawn(command->argv, &status);

	if (status != 0) {
		(void)fprintf(stderr, "bench_spawn: %s failed: status %d\n",
			      command->stats.name, status);
		exit(1);
	}
	stats_add(&command->stats, us);
}

int main(int argc, char **argv)
{
	static struct command commands[COMMANDS_MAX];
	static struct command unit = { .stats.name = "unit" };
	unsigned int num = 0;
	long rounds;

	if (argc < 5 || argc % 2 == 0 || (argc - 3) / 2 > COMMANDS_MAX)
		return 2;
	rounds = strtol(argv[1], NULL, 10);
	split(&unit, argv[2]);
	for (int i = 3; i + 1 < argc; i += 2) {
		commands[num].stats.name = argv[i];
		split(&commands[num++], argv[i + 1]);
	}
	for (long round = 0; round < rounds; round++) {
		run_once(&unit);
		for (unsigned int i = 0; i < num; i++)
			run_once(&commands[i]);
	}
	for (unsigned int i = 0; i < num; i++)
		stats_print(&commands[i].stats, &unit.stats);
	return 0;
}
