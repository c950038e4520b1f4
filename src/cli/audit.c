/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osb audit - does the audit log hold together?
 *
 * The reader of databases is osbd, which becomes the owner of the files
 * first: nothing of it is linked into osb.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/message.h"
#include "cli/open.h"
#include "cli/options.h"

#define STATE_DIR "/var/lib/opensandbox"

struct audit_options {
	const char *state_dir;
};

static int set_state_dir(void *target, const char *value)
{
	struct audit_options *options = target;

	if (!*value)
		return -EINVAL;
	options->state_dir = value;
	return 0;
}

static const struct option audit_option_list[] = {
	{ "--state-dir", OPTION_CUSTOM, 0, "DIR",
	  "where the daemon keeps it (" STATE_DIR ")", "a directory",
	  set_state_dir, 0, 0 },
	{ NULL, OPTION_FLAG, 0, NULL, NULL, NULL, NULL, 0, 0 },
};

static const struct option_table audit_table = {
	.options = audit_option_list,
	.command = "audit",
};

/* Returns only when it can't. */
static int become_osbd(const char *state_dir)
{
	char path[PROGRAM_PATH_MAX];
	char verify[] = "--verify-audit";
	char *argv[] = { path, verify, (char *)state_dir, NULL };

	open_program("osbd", path);
	(void)execv(path, argv);
	return message("start '%s': %s", path, strerrordesc_np(errno));
}

static int run(int argc, char **argv)
{
	struct audit_options options = { .state_dir = STATE_DIR };
	bool has_verb = argc > 1 && strcmp(argv[1], "verify") == 0;
	int next, r;

	/* Options stand behind the verb. */
	r = options_parse(&audit_table, argc - has_verb, argv + has_verb,
			  &options, &next);
	if (r == OPTIONS_E_HELP) {
		printf("Usage: osb audit verify [--state-dir DIR]\n\n"
		       "Check that no record of the audit log was changed or "
		       "removed, from the first\nto its signed head. Needs the "
		       "rights of root or of osbd's user.\n\n");
		options_print(&audit_table);
		return 0;
	}
	if (r < 0)
		return EXIT_OSB;
	if (!has_verb)
		return message("audit: expected osb audit verify [--state-dir "
			       "DIR]");
	if (argv[has_verb + next])
		return message("audit verify '%s': no argument is expected",
			       argv[has_verb + next]);
	return become_osbd(options.state_dir);
}

const struct command command_audit = {
	.name = "audit",
	.args = "verify [--state-dir DIR]",
	.summary = "check that the audit log is whole",
	.run = run,
};
