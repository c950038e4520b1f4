/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * command - what `osb NAME` does; one file each, listed in main.c
 */

/* Exit statuses of our own; any other is the program's. */
enum {
	EXIT_TIMEOUT = 124,     /* its wall time was over */
	EXIT_OSB = 125,         /* we failed, and said why on stderr */
	EXIT_KILLED = 137,      /* killed, or out of memory */
	EXIT_SIGNAL_BASE = 128, /* + the signal that ended it */
	EXIT_PIPE = 141,        /* whoever read our output is gone */
};

struct command {
	const char *name;
	const char *args;    /* behind the name, in its usage line */
	const char *summary; /* for `osb --help` */
	/* argv[0] is the command's name. Returns the exit status. */
	int (*run)(int argc, char **argv);
};

extern const struct command command_run;
extern const struct command command_exec;
extern const struct command command_ps;
extern const struct command command_logs;
extern const struct command command_kill;
extern const struct command command_cp;
extern const struct command command_renew;
extern const struct command command_rm;
extern const struct command command_profile;
extern const struct command command_audit;
extern const struct command command_serve;
extern const struct command command_version;
extern const struct command command_help;

/** command_list() - all of them, ending with NULL */
const struct command *const *command_list(void);
