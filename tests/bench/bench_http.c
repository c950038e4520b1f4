/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_http - create to first output, through the HTTP API
 *
 * usage: bench_http SOCKET UNIT ROUNDS [HOW]
 *
 * A client that is already running and connects per round, as an agent does:
 * create, run a shell's `echo`, until its first byte is there; the sandbox is
 * ended outside the measured time. Then nothing for a while: agents think, and
 * pools fill. Beside it the same shell by plain fork and exec, which is what
 * no sandbox can be faster than.
 */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/stats.h"
#include "osb/osb.h"

#define PAUSE_US 40000

static const char *const shell_argv[] = { "/bin/sh", "-c", "echo x", NULL };

static void fail(const char *what, const struct osb_error *err)
{
	(void)fprintf(stderr, "bench_http: %s: %s\n", what, err->message);
	exit(1);
}

static void on_output(void *ctx, enum osb_stream stream, const void *data,
		      size_t len)
{
	uint64_t *first_us = ctx;

	(void)stream;
	(void)data;
	if (len && *first_us == 0)
		*first_us = stats_now_us();
}

/* Return: when the first byte of output came. */
static uint64_t run_echo(struct osb_client *client, const char *id)
{
	uint64_t first_us = 0;
	const struct osb_exec_spec spec = {
		.argv = shell_argv,
		.bind = true,
		.on_output = on_output,
		.ctx = &first_us,
	};
	struct osb_exec *exec;
	struct osb_error err;
	int r;

	if (osb_exec_start(client, id, &spec, &exec, &err) < 0)
		fail("exec", &err);
	do {
		struct pollfd pfd = { .fd = osb_exec_fd(exec),
				      .events = osb_exec_events(exec) };

		(void)poll(&pfd, 1, -1);
		r = osb_exec_process(exec, pfd.revents, &err);
	} while (r == 0);
	if (r < 0 || first_us == 0)
		fail("exec", &err);
	osb_exec_free(exec);
	return first_us;
}

static void run_round(const struct osb_client_options *options,
		      struct stats *created, struct stats *output)
{
	struct osb_client *client;
	char id[OSB_ID_MAX + 1];
	struct osb_error err;
	uint64_t start;

	if (osb_client_open(options, &client, &err) < 0)
		fail("connect", &err);
	start = stats_now_us();
	if (osb_sandbox_create(client, NULL, id, &err) < 0)
		fail("create", &err);
	stats_add(created, stats_now_us() - start);
	stats_add(output, run_echo(client, id) - start);
	osb_client_close(client);
}

int main(int argc, char **argv)
{
	static struct stats unit = { .name = "unit" };
	static struct stats shell = { .name = "the same shell, plainly" };
	static struct stats created, output;
	struct osb_client_options options = { 0 };
	char created_name[64], output_name[64];
	const char *how = argc > 4 ? argv[4] : "";

	if (argc < 4 || argc > 5)
		return 2;
	(void)snprintf(created_name, sizeof(created_name), "http create%s",
		       how);
	(void)snprintf(output_name, sizeof(output_name),
		       "http create to first output%s", how);
	created.name = created_name;
	output.name = output_name;
	options.socket_path = argv[1];
	for (long round = strtol(argv[3], NULL, 10); round > 0; round--) {
		const char *const unit_argv[] = { argv[2], NULL };

		stats_add(&unit, stats_spawn(unit_argv, NULL));
		stats_add(&shell, stats_spawn(shell_argv, NULL));
		run_round(&options, &created, &output);
		(void)usleep(PAUSE_US);
	}
	stats_print(&created, &unit);
	stats_print(&output, &unit);
	stats_print(&shell, &unit);
	return 0;
}
