/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_streams - many clients that follow commands as streams of events
 *
 * usage: bench_streams NAME ADDRESS FOLLOWERS SECONDS OSBD_PID <PATHS
 *
 * Each path is followed by FOLLOWERS clients. The command behind it prints a
 * line about once a second: a number that counts up, a blank, and the seconds
 * since 1970. So a client knows which events are missing, and how long each was
 * on its way. In the end all clients vanish at once.
 *
 * Prints one JSON line: what osbd needed, and what was late or lost.
 */

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/client.h"
#include "bench/stats.h"

#define PATHS_MAX 5000
#define CLIENTS_MAX 16384
#define SETTLE_US 3000000
#define LATE_US 1000000
#define SILENT_US 2500000 /* its last line is older: some were lost */
#define VANISH_MS 10000
#define AFTER_S 2 /* then memory is looked at again */

struct follower {
	struct client client;
	char line[512];
	size_t len;
	int64_t number; /* of the last line; -1: none yet */
	uint64_t last_us;
};

struct streams {
	uint64_t from_us, to_us; /* lines of that time count; since 1970 */
	uint64_t events, late, lost;
	uint64_t max_us;
	struct stats *stats;
};

/* Of osbd, as /proc tells it. */
struct usage {
	uint64_t cpu_us;
	long rss_kib;
	unsigned int num_fds;
};

static uint64_t realtime_us(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void read_fds(const char *pid, struct usage *usage)
{
	char path[64];
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	usage->num_fds = 0;
	while (dir && readdir(dir))
		usage->num_fds++;
	if (dir)
		(void)closedir(dir);
}

static void read_usage(const char *pid, struct usage *usage)
{
	unsigned long user, system;
	char path[64], text[1024];
	const char *rest;
	FILE *file;

	read_fds(pid, usage);
	(void)snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	file = fopen(path, "re");
	if (!file || !fgets(text, sizeof(text), file)) {
		(void)fprintf(stderr, "bench_streams: no process %s\n", pid);
		exit(1);
	}
	(void)fclose(file);
	rest = strrchr(text, ')'); /* the name may hold anything */
	/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers */
	if (!rest || sscanf(rest + 2,
			    "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu "
			    "%lu %*d %*d %*d %*d %*d %*d %*u %*u %ld",
			    &user, &system, &usage->rss_kib) != 3)
		exit(1);
	usage->cpu_us = (user + system) *
			(1000000 / (unsigned long)sysconf(_SC_CLK_TCK));
	usage->rss_kib *= sysconf(_SC_PAGESIZE) / 1024;
}

static void take_line(struct follower *follower)
{
	struct streams *streams = follower->client.all->ctx;
	const char *text = strstr(follower->line, "\"text\":\"");
	uint64_t now = realtime_us(), at;
	int64_t number;
	char *end;

	if (!text)
		return;
	number = strtoll(text + strlen("\"text\":\""), &end, 10);
	if (*end != ' ') /* a ping, or the command's id */
		return;
	at = (uint64_t)(strtod(end, NULL) * 1e6);
	if (follower->number >= 0 && number != follower->number + 1)
		streams->lost +=
			number > follower->number
				? (uint64_t)(number - follower->number - 1)
				: 1;
	follower->number = number;
	follower->last_us = at;
	if (at < streams->from_us || at >= streams->to_us)
		return;
	streams->events++;
	streams->late += now - at > LATE_US;
	if (now > at && now - at > streams->max_us)
		streams->max_us = now - at;
	/* A part of them is enough for a median. */
	if (streams->events % 16 == 0)
		stats_add(streams->stats, now > at ? now - at : 0);
}

static void on_body(struct client *client, const uint8_t *data, size_t len)
{
	struct follower *follower = (struct follower *)client;

	for (size_t i = 0; i < len; i++) {
		if (data[i] != '\n') {
			if (follower->len < sizeof(follower->line) - 1)
				follower->line[follower->len++] = (char)data[i];
			continue;
		}
		follower->line[follower->len] = '\0';
		follower->len = 0;
		take_line(follower);
	}
}

static void on_end(struct client *client)
{
	(void)fprintf(stderr, "bench_streams: a stream has ended: %u\n",
		      client->status);
	exit(1);
}

static void wait_until(struct clients *all, uint64_t until_us)
{
	uint64_t now;

	while ((now = realtime_us()) < until_us)
		clients_wait(all, (int)((until_us - now) / 1000 + 1));
}

static void follow(struct clients *all, struct follower *follower,
		   const char *path)
{
	follower->number = -1;
	client_open(all, &follower->client);
	client_send(&follower->client, "GET", path, NULL);
	clients_wait(all, 0);
}

static void listen_for(struct clients *all, double seconds, const char *pid,
		       struct usage usage[4])
{
	struct streams *streams = all->ctx;

	/* What was printed before somebody listened doesn't count. */
	wait_until(all, realtime_us() + SETTLE_US);
	streams->from_us = realtime_us();
	streams->to_us = streams->from_us + (uint64_t)(seconds * 1e6);
	read_usage(pid, &usage[1]);
	wait_until(all, streams->to_us);
	read_usage(pid, &usage[2]);
	wait_until(all, streams->to_us + LATE_US);
}

/* Return: milliseconds until osbd has no more descriptors than before. */
static unsigned int vanish(struct follower *follower, unsigned int num,
			   const char *pid, const struct usage *before)
{
	uint64_t start = stats_now_us();
	struct usage usage;
	unsigned int ms;

	for (unsigned int i = 0; i < num; i++)
		client_close(&follower[i].client, true);
	do {
		(void)usleep(5000);
		read_fds(pid, &usage);
		ms = (unsigned int)((stats_now_us() - start) / 1000);
	} while (usage.num_fds > before->num_fds && ms < VANISH_MS);
	return ms;
}

static unsigned int read_paths(char paths[PATHS_MAX][256])
{
	unsigned int num = 0;

	while (num < PATHS_MAX && fgets(paths[num], 256, stdin)) {
		paths[num][strcspn(paths[num], "\n")] = '\0';
		num++;
	}
	return num;
}

static void raise_nofile(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void print(const char *name, unsigned int num, double seconds,
		  const struct streams *streams, const struct usage usage[4])
{
	double core =
		(double)(usage[2].cpu_us - usage[1].cpu_us) / 1e6 / seconds;
	uint32_t median = stats_median(streams->stats);

	(void)printf("{\"bench\": \"%s\", \"streams\": %u, \"seconds\": %.1f, "
		     "\"events\": %" PRIu64 ", \"late\": %" PRIu64
		     ", \"lost\": %" PRIu64 ", \"median_us\": %u, "
		     "\"max_us\": %" PRIu64 ", \"osbd_core\": %.3f, ",
		     name, num, seconds, streams->events, streams->late,
		     streams->lost, median, streams->max_us, core);
	(void)printf("\"osbd_rss_kib\": [%ld, %ld, %ld], "
		     "\"osbd_fds\": [%u, %u, %u], ",
		     usage[0].rss_kib, usage[2].rss_kib, usage[3].rss_kib,
		     usage[0].num_fds, usage[2].num_fds, usage[3].num_fds);
}

int main(int argc, char **argv)
{
	static char paths[PATHS_MAX][256];
	static struct stats stats;
	struct streams streams = { .stats = &stats, .from_us = UINT64_MAX };
	struct follower *follower;
	unsigned int num, num_paths, ms;
	struct usage usage[4]; /* before, quiet, busy, after */
	struct clients all;
	double seconds;

	if (argc != 6)
		return 2;
	seconds = strtod(argv[4], NULL);
	num_paths = read_paths(paths);
	num = (unsigned int)strtoul(argv[3], NULL, 10) * num_paths;
	if (num == 0 || num > CLIENTS_MAX)
		return 2;
	follower = calloc(num, sizeof(*follower));
	if (!follower)
		return 1;
	raise_nofile();
	clients_init(&all, argv[2]);
	all.ctx = &streams;
	all.body = on_body;
	all.end = on_end;
	read_usage(argv[5], &usage[0]);
	for (unsigned int i = 0; i < num; i++)
		follow(&all, &follower[i], paths[i % num_paths]);
	listen_for(&all, seconds, argv[5], usage);
	for (unsigned int i = 0; i < num; i++)
		streams.lost += follower[i].last_us + SILENT_US < realtime_us();
	ms = vanish(follower, num, argv[5], &usage[0]);
	(void)sleep(AFTER_S);
	read_usage(argv[5], &usage[3]);
	print(argv[1], num, seconds, &streams, usage);
	(void)printf("\"vanished_ms\": %u}\n", ms);
	free(follower);
	return 0;
}
