/* SPDX-License-Identifier: Apache-2.0 */

#include "bench/stats.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint64_t stats_now_us(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

void stats_add(struct stats *stats, uint64_t us)
{
	if (stats->num < STATS_MAX)
		stats->us[stats->num++] = (uint32_t)us;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

uint32_t stats_median(struct stats *stats)
{
	if (stats->num == 0)
		return 0;
	qsort(stats->us, stats->num, sizeof(stats->us[0]), compare);
	return stats->us[stats->num / 2];
}

void stats_print(struct stats *stats, struct stats *unit)
{
	uint32_t median = stats_median(stats);
	uint32_t base = stats_median(unit);
	uint32_t p99 = stats->num ? stats->us[stats->num * 99 / 100] : 0;

	(void)printf("{\"bench\": \"%s\", \"rounds\": %u, \"median_us\": %u, "
		     "\"p99_us\": %u, \"unit_us\": %u, \"ratio\": %.3f}\n",
		     stats->name, stats->num, median, p99, base,
		     base ? (double)median / base : 0.0);
	(void)fflush(stdout);
}

/* A real fork: what any supervisor pays that isn't clever about it. */
uint64_t stats_spawn(const char *const *argv, int *ret_status)
{
	uint64_t start = stats_now_us();
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		int fd = open("/dev/null", O_RDWR);

		(void)dup2(fd, 0);
		(void)dup2(fd, 1);
		(void)execve(argv[0], (char *const *)(uintptr_t)argv, environ);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (ret_status)
		*ret_status = status;
	return stats_now_us() - start;
}
