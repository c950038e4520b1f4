/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osbd - the unprivileged HTTP front
 *
 * Purpose:    serve the API; everything that needs privilege is asked of the
 *             broker, everything inside a sandbox of its init.
 * Process:    osbd; started and restarted by osb-broker, as a user that owns
 *             nothing but its state directory, with the descriptors of enum
 *             osbd_fd and no others.
 * Input from: clients and sandboxes: hostile. The broker: trusted.
 * Threading:  one thread, and the store's.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/latency.h"
#include "base/listener.h"
#include "base/nofile.h"
#include "base/units.h"
#include "server/audit_check.h"
#include "server/server.h"

static const char usage[] =
	"usage: osbd [--idle-exit TIME] [--private] [--keys] [--config NAME]\n"
	"            [--listen LABEL]...\n"
	"       osbd --check-config FILE [--check-keys FILE]\n"
	"       osbd --verify-audit DIR\n"
	"\n"
	"Serves HTTP without any privilege. Not for people: osb-broker starts "
	"it, with\nthe descriptors that it works on. See osb-broker --help.\n"
	"--verify-audit is what 'osb audit verify' runs.\n";

static int parse_options(int argc, char **argv,
			 struct server_options *ret_options)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--private") == 0) {
			ret_options->private = true;
		} else if (strcmp(argv[i], "--keys") == 0) {
			ret_options->has_keys = true;
		} else if (strcmp(argv[i], "--config") == 0 && i + 1 < argc) {
			ret_options->config_name = argv[++i];
		} else if (strcmp(argv[i], "--check-config") == 0 &&
			   i + 1 < argc) {
			ret_options->check_config = argv[++i];
		} else if (strcmp(argv[i], "--check-keys") == 0 &&
			   i + 1 < argc) {
			ret_options->check_keys = argv[++i];
		} else if (strcmp(argv[i], "--listen") == 0 && i + 1 < argc &&
			   ret_options->num_listeners < LISTENERS_MAX) {
			i++; /* for whoever looks with ps(1) */
			ret_options->num_listeners++;
		} else if (strcmp(argv[i], "--idle-exit") == 0 &&
			   i + 1 < argc) {
			if (units_parse_time(argv[++i],
					     &ret_options->idle_exit_ms) < 0) {
				server_log(
					"--idle-exit: '%s' isn't " UNITS_TIME_ALLOWED,
					argv[i]);
				return -EINVAL;
			}
		} else {
			server_log("unknown option '%s'; osbd is started by "
				   "osb-broker",
				   argv[i]);
			return -EINVAL;
		}
	}
	return 0;
}

/* Nothing that we didn't ask for may be here, and nobody looks inside. */
static int drop_everything(const struct server_options *options)
{
	/* Most often these aren't open. */
	if (!options->has_keys)
		(void)close(OSBD_FD_KEYS);
	if (!options->config_name)
		(void)close(OSBD_FD_CONFIG);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    close_range(OSBD_FD_LISTENERS + options->num_listeners, ~0u, 0) < 0)
		return -errno;
	return 0;
}

static int check_file(const char *path, bool is_keys, struct err *err)
{
	int fd auto_fd = -1;
	struct settings *settings auto_free = malloc(sizeof(*settings));
	struct keys keys = { .key = NULL };
	int r;

	if (!path || !*path)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || !settings)
		return err_set(err, ERR_INVALID, errno, "read '%.150s'", path);
	r = is_keys ? keys_load(fd, &keys, err)
		    : settings_load(fd, path, settings, err);
	keys_deinit(&keys);
	return r;
}

/* For a person or a script: what is wrong, on stderr. */
static int check_files(const struct server_options *options)
{
	struct err err = ERR_NULL;

	if (check_file(options->check_config, false, &err) == 0 &&
	    check_file(options->check_keys, true, &err) == 0)
		return 0;
	server_log("%s", err.msg);
	return 2;
}

int main(int argc, char **argv)
{
	struct server_options options = { .idle_exit_ms = 0 };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct server *server;
	int r;

	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		(void)fputs(usage, stdout);
		return 0;
	}
	if (argc == 3 && strcmp(argv[1], "--verify-audit") == 0)
		return audit_check_run(argv[2]);
	if (parse_options(argc, argv, &options) < 0)
		return 2;
	if (options.check_config || options.check_keys)
		return check_files(&options);
	latency_prefer();
	r = drop_everything(&options);
	if (r < 0) {
		server_log("give up privileges: %s", strerror(-r));
		return 1;
	}
	(void)nofile_raise(); /* SETTINGS_CONNS_MAX and more; fewer do, too */
	/* A pipe without a reader is an error code, not the end of us. */
	(void)sigaction(SIGPIPE, &ignore, NULL);
	server = calloc(1, sizeof(*server));
	if (!server) {
		server_log("out of memory");
		return 1;
	}
	r = server_run(server, &options);
	free(server);
	return r;
}
