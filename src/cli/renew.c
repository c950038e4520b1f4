/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osb renew - let a sandbox end at another time
 */

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/rfc3339.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/id.h"
#include "cli/message.h"
#include "cli/open.h"
#include "cli/options.h"
#include "osb/osb.h"

DEFINE_AUTO(struct osb_client *, osb_client_close);

static const struct option renew_option_list[] = {
	{ NULL, OPTION_FLAG, 0, NULL, NULL, NULL, NULL, 0, 0 },
};

static const struct option_table renew_table = {
	.options = renew_option_list,
	.command = "renew",
};

/* From now, or a moment as the API writes it. */
static int parse_when(const char *text, int64_t *ret_ms)
{
	struct timespec now;
	uint64_t ahead_ms;
	int64_t us;

	if (units_parse_time(text, &ahead_ms) == 0) {
		(void)clock_gettime(CLOCK_REALTIME, &now); /* can't fail */
		*ret_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 +
			  (int64_t)ahead_ms;
		return 0;
	}
	if (rfc3339_parse(text, &us) < 0)
		return -EINVAL;
	*ret_ms = us / 1000;
	return 0;
}

static int run(int argc, char **argv)
{
	struct osb_client *client auto_clean(osb_client_closep) = NULL;
	char id[OSB_ID_MAX + 1], unused;
	struct osb_error err;
	int64_t when_ms;
	int next, r;

	r = options_parse(&renew_table, argc, argv, &unused, &next);
	if (r == OPTIONS_E_HELP) {
		printf("Usage: osb renew ID TIME\n\n"
		       "Let a sandbox that has an end have it at another TIME: "
		       "from now on (30s, 5m, 2h)\nor a moment "
		       "(2026-01-31T12:00:00Z), sooner or later than so "
		       "far.\n");
		return 0;
	}
	if (r < 0)
		return EXIT_OSB;
	if (argc - next != 2)
		return message("renew: expected osb renew ID TIME");
	if (parse_when(argv[next + 1], &when_ms) < 0)
		return message("renew '%s': expected " UNITS_TIME_ALLOWED
			       " from now, or " RFC3339_ALLOWED,
			       argv[next + 1]);
	if (open_client(&client) < 0 ||
	    id_resolve(client, "renew", argv[next], id) < 0)
		return EXIT_OSB;
	if (osb_sandbox_renew(client, id, when_ms, &err) < 0)
		return message("renew '%s': %s", argv[next], err.message);
	return 0;
}

const struct command command_renew = {
	.name = "renew",
	.args = "ID TIME",
	.summary = "let a sandbox end at another time",
	.run = run,
};
