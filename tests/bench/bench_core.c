/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_core - below HTTP: create, destroy and exec on the bare channels
 *
 * Started by a broker in place of osbd. The unit runs from a descriptor-less
 * path given in the key file (its first line: path of a static `true`, then
 * rounds, then sandboxes that stay alive beside).
 */

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/drive.h"
#include "bench/stats.h"

struct order {
	char unit[512];
	unsigned int rounds;
	unsigned int alive;
};

static void read_order(struct order *order)
{
	FILE *file = fdopen(OSBD_FD_KEYS, "r");

	/* NOLINTNEXTLINE(cert-err34-c): our own driver's numbers */
	if (!file || fscanf(file, "%511s %u %u", order->unit, &order->rounds,
			    &order->alive) != 3) {
		(void)fprintf(stderr, "bench_core: no orders\n");
		exit(1);
	}
}

/*
 * The bare primitive beside the unit: what the kernel takes for a process
 * with seven namespaces of its own, and nothing in them.
 */
static uint64_t clone_namespaces(void)
{
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
			 CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET |
			 CLONE_NEWCGROUP,
		.exit_signal = SIGCHLD,
	};
	uint64_t start = stats_now_us();
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(0);
	if (pid < 0) {
		perror("bench_core: clone3");
		exit(1);
	}
	(void)waitpid((pid_t)pid, NULL, 0);
	return stats_now_us() - start;
}

static void run_round(const struct order *order, struct stats *stats)
{
	static const char *const argv_true[] = { "/bin/true", NULL };
	static const char *const argv_sh[] = { "/bin/sh", "-c", ":", NULL };
	const char *const unit[] = { order->unit, NULL };
	struct broker_create spec;
	struct init_exited exited;
	uint64_t create, start;
	int init_fd;

	stats_add(&stats[0], stats_spawn(unit, NULL));
	stats_add(&stats[6], clone_namespaces());
	drive_spec(&spec);
	start = stats_now_us();
	drive_create(&spec);
	create = stats_now_us() - start;
	start = stats_now_us();
	drive_destroy(spec.id);
	stats_add(&stats[1], create);
	stats_add(&stats[2], create + stats_now_us() - start);

	drive_spec(&spec);
	spec.limits.disk_bytes = spec.limits.memory_bytes; /* on disk */
	start = stats_now_us();
	drive_create(&spec);
	create = stats_now_us() - start;
	start = stats_now_us();
	drive_destroy(spec.id);
	stats_add(&stats[7], create);
	stats_add(&stats[8], create + stats_now_us() - start);

	drive_spec(&spec);
	drive_create(&spec);
	init_fd = drive_connect(spec.id);
	start = stats_now_us();
	drive_exec(init_fd, 1000, argv_true, &exited);
	stats_add(&stats[3], stats_now_us() - start);
	start = stats_now_us();
	drive_exec(init_fd, 1000, argv_true, &exited);
	stats_add(&stats[4], stats_now_us() - start);
	start = stats_now_us();
	drive_exec(init_fd, 1000, argv_sh, &exited);
	stats_add(&stats[5], stats_now_us() - start);
	(void)close(init_fd);
	drive_destroy(spec.id);
}

int main(void)
{
	static struct stats stats[] = {
		{ .name = "unit" },
		{ .name = "broker create" },
		{ .name = "broker create+destroy" },
		{ .name = "exec dynamic true, first in its sandbox" },
		{ .name = "exec dynamic true" },
		{ .name = "exec sh -c :" },
		{ .name = "bare clone3 with seven namespaces" },
		{ .name = "broker create, layer on disk" },
		{ .name = "broker create+destroy, layer on disk" },
	};
	struct order order;

	read_order(&order);
	drive_hello();
	for (unsigned int i = 0; i < order.alive; i++) {
		struct broker_create spec;

		drive_spec(&spec);
		drive_create(&spec);
	}
	for (unsigned int i = 0; i < order.rounds; i++)
		run_round(&order, stats);
	for (size_t i = 1; i < sizeof(stats) / sizeof(stats[0]); i++)
		stats_print(&stats[i], &stats[0]);
	(void)fflush(stdout);
	for (;;)
		(void)pause(); /* or the broker would start us again */
}
