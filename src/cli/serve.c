/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osb serve - a service in the foreground, for everybody who may connect
 *
 * We open the sockets and become osb-broker, which gets them as from systemd:
 * it never opens one itself. Who says that it is ready is a child, which the
 * broker reaps like any that it doesn't know; it ends when it has said so, or
 * with the broker.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/address.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/listener.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/open.h"
#include "cli/options.h"

#define DEFAULT_PORT 8080
#define READY_FD (LISTENERS_FIRST_FD + LISTENERS_MAX)
#define READY_LINE "ready\n"

/* Options that are the broker's, which checks their values. */
enum passed {
	PASSED_KEYS,
	PASSED_RUN_DIR,
	PASSED_CONFIG,
	PASSED_OSBD_CONFIG,
	PASSED_STATE_DIR,
	PASSED_NUM
};

static const char *const passed_names[] = {
	"--api-key-file", "--run-dir",   "--config",
	"--osbd-config",  "--state-dir",
};
_Static_assert(ARRAY_SIZE(passed_names) == PASSED_NUM, "each has a name");

struct serve_options {
	struct address listen[LISTENERS_MAX];
	unsigned int num;
	const char *passed[PASSED_NUM]; /* NULL: not given */
	bool keep;
};

static int set_listen(void *target, const char *value)
{
	struct serve_options *options = target;

	if (options->num == LISTENERS_MAX)
		return -EINVAL;
	return address_parse(value, DEFAULT_PORT,
			     &options->listen[options->num++]);
}

static int set_keys(void *target, const char *value)
{
	((struct serve_options *)target)->passed[PASSED_KEYS] = value;
	return 0;
}

static int set_run_dir(void *target, const char *value)
{
	((struct serve_options *)target)->passed[PASSED_RUN_DIR] = value;
	return 0;
}

static int set_config(void *target, const char *value)
{
	((struct serve_options *)target)->passed[PASSED_CONFIG] = value;
	return 0;
}

static int set_osbd_config(void *target, const char *value)
{
	((struct serve_options *)target)->passed[PASSED_OSBD_CONFIG] = value;
	return 0;
}

static int set_state_dir(void *target, const char *value)
{
	((struct serve_options *)target)->passed[PASSED_STATE_DIR] = value;
	return 0;
}

static const struct option serve_option_list[] = {
	{ "--listen", OPTION_CUSTOM, 0, "ADDR", "default 127.0.0.1:8080",
	  "up to 8 of " ADDRESS_ALLOWED, set_listen, 0, 0 },
	{ "--api-key-file", OPTION_CUSTOM, 0, "FILE", "a line NAME:KEY each",
	  NULL, set_keys, 0, 0 },
	{ "--run-dir", OPTION_CUSTOM, 0, "DIR", "default /run/opensandbox",
	  NULL, set_run_dir, 0, 0 },
	{ "--config", OPTION_CUSTOM, 0, "FILE", "see broker.conf(5)", NULL,
	  set_config, 0, 0 },
	{ "--osbd-config", OPTION_CUSTOM, 0, "FILE", "see osbd.conf(5)", NULL,
	  set_osbd_config, 0, 0 },
	{ "--state-dir", OPTION_CUSTOM, 0, "DIR", "see osb-broker(8)", NULL,
	  set_state_dir, 0, 0 },
	{ "--keep", OPTION_FLAG, offsetof(struct serve_options, keep), NULL,
	  "see osb-broker(8)", NULL, NULL, 0, 0 },
	{ NULL, OPTION_FLAG, 0, NULL, NULL, NULL, NULL, 0, 0 },
};

static const struct option_table serve_table = {
	.options = serve_option_list,
	.command = "serve",
};

/* Said here at once; osbd would say the same. */
static int check_exposure(const struct serve_options *options)
{
	char text[ADDRESS_TEXT_MAX];

	for (unsigned int i = 0;
	     i < options->num && !options->passed[PASSED_KEYS]; i++) {
		if (address_is_loopback(&options->listen[i]))
			continue;
		address_format(&options->listen[i], text);
		(void)message("--listen %s: others than this machine can reach "
			      "it, which needs --api-key-file FILE",
			      text);
		return -EPERM;
	}
	return 0;
}

/* Opens number @number, wherever it was free; the broker wants them in a row. */
static int open_one(const struct address *address, int number, int *ret_fd)
{
	struct err err = ERR_NULL;
	int fd auto_fd = -1;
	int r;

	r = address_is_tcp(address)
		    ? listener_tcp(address, &fd, &err)
		    : listener_unix(address->addr.local.sun_path, 0660, &fd,
				    &err);
	if (r < 0) {
		(void)message("--listen: %s", err.msg);
		return r;
	}
	*ret_fd = fcntl(fd, F_DUPFD_CLOEXEC, READY_FD + 1 + number);
	if (*ret_fd < 0) {
		(void)message("--listen: %s", strerror(errno));
		return -errno;
	}
	return 0;
}

/* Puts it where the convention wants it, to stay over an exec. */
static int place(int fd, int number)
{
	if (dup2(fd, number) < 0) {
		(void)message("serve: %s", strerror(errno));
		return -errno;
	}
	return 0;
}

/* "http://127.0.0.1:8080, unix:/run/x": with the port that it got. */
static void describe(unsigned int num, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (unsigned int i = 0; i < num && len < size; i++) {
		struct address address;
		char one[ADDRESS_TEXT_MAX];

		if (address_of(LISTENERS_FIRST_FD + (int)i, &address) < 0)
			continue;
		address_format(&address, one);
		len += (size_t)snprintf(text + len, size - len, "%s%s%s",
					len ? ", " : "",
					address_is_tcp(&address) ? "http://"
								 : "",
					one);
	}
}

static void announce(int ready_fd, unsigned int num)
{
	char text[LISTENERS_MAX * (ADDRESS_TEXT_MAX + 16)];
	char line[sizeof(READY_LINE)] = "";
	size_t len = 0;
	ssize_t n = 1;

	describe(num, text, sizeof(text));
	/* A service's sockets are the broker's alone. */
	(void)close_range(LISTENERS_FIRST_FD, LISTENERS_FIRST_FD + num - 1, 0);
	while (n > 0 && len < sizeof(line) - 1) {
		n = read(ready_fd, line + len, sizeof(line) - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (strcmp(line, READY_LINE) == 0) /* else it says itself why not */
		(void)message("serving on %s", text);
}

/* Leaves the end that the broker writes to at READY_FD. */
static int start_announcing(unsigned int num)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		(void)close(ends[1]);
		announce(ends[0], num);
		_exit(0);
	}
	/* The broker, which we become, reaps it. */
	return pid < 0 || dup2(ends[1], READY_FD) < 0 ? -errno : 0;
}

static int open_sockets(const struct serve_options *options)
{
	int fds[LISTENERS_MAX];
	int r;

	(void)umask(0); /* modes are given in full */
	for (unsigned int i = 0; i < options->num; i++) {
		r = open_one(&options->listen[i], (int)i, &fds[i]);
		if (r < 0)
			return r;
	}
	for (unsigned int i = 0; i < options->num; i++) {
		r = place(fds[i], LISTENERS_FIRST_FD + (int)i);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Pass the sockets on as systemd would; it stays the same process. */
static int set_environment(unsigned int num)
{
	char pid[16], count[16];

	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	(void)snprintf(count, sizeof(count), "%u", num);
	return setenv("LISTEN_PID", pid, 1) < 0 ||
			       setenv("LISTEN_FDS", count, 1) < 0
		       ? -errno
		       : 0;
}

static int become_broker(const struct serve_options *options)
{
	const char *args[2 * PASSED_NUM + 5] = { "osb-broker" };
	char path[PROGRAM_PATH_MAX];
	char ready[16];
	size_t num = 1;
	int r;

	open_program("osb-broker", path);
	if (open_sockets(options) < 0)
		return EXIT_OSB;
	r = start_announcing(options->num);
	if (r == 0)
		r = set_environment(options->num);
	if (r < 0)
		return message("serve: %s", strerror(-r));
	for (size_t i = 0; i < PASSED_NUM; i++) {
		if (!options->passed[i])
			continue;
		args[num++] = passed_names[i];
		args[num++] = options->passed[i];
	}
	(void)snprintf(ready, sizeof(ready), "%d", READY_FD);
	args[num++] = "--ready-fd";
	args[num++] = ready;
	if (options->keep)
		args[num++] = "--keep";
	(void)execv(path, (char *const *)args);
	return message("serve: '%s': %s", path, strerror(errno));
}

static int run(int argc, char **argv)
{
	struct serve_options options = { .num = 0 };
	int next, r;

	r = options_parse(&serve_table, argc, argv, &options, &next);
	if (r == OPTIONS_E_HELP) {
		printf("Usage: osb serve [OPTION...]\n\n"
		       "Serve the HTTP API to others, in the foreground, until "
		       "SIGTERM. Needs root.\nADDR is " ADDRESS_ALLOWED
		       ".\n\n");
		options_print(&serve_table);
		return 0;
	}
	if (r < 0)
		return EXIT_OSB;
	if (next < argc)
		return message("serve '%s': expected no argument", argv[next]);
	if (options.num == 0)
		(void)set_listen(&options, "127.0.0.1");
	if (check_exposure(&options) < 0)
		return EXIT_OSB;
	return become_broker(&options);
}

const struct command command_serve = {
	.name = "serve",
	.args = "[OPTION...]",
	.summary = "serve the HTTP API to others",
	.run = run,
};
