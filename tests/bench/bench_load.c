/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_load - one request, again and again, by some connections at once
 *
 * usage: bench_load NAME ADDRESS CONNECTIONS AMOUNT METHOD PATH [BODY [FILE]]
 *
 * AMOUNT is a number of requests, or of seconds with an `s` behind it. Each
 * connection is kept and sends its next request when it has its answer. FILE
 * takes all bodies of answers. Prints one JSON line; `other` counts answers
 * with another status than the first one.
 *
 * environment:
 *   OSB_BENCH_KEY       API key
 *   OSB_BENCH_PAUSE_US  to wait before each request
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/client.h"
#include "bench/stats.h"

#define CONNECTIONS_MAX 1024

struct load {
	const char *method, *path, *body;
	FILE *file;
	unsigned long sent, answered;
	unsigned long count; /* 0: until end_us */
	uint64_t end_us;
	useconds_t pause_us;
	unsigned int status;
	unsigned long other;
	struct stats *stats; /* as many as have room */
};

static void send_next(struct client *client)
{
	struct load *load = client->all->ctx;

	if (load->count ? load->sent == load->count
			: stats_now_us() >= load->end_us)
		return;
	if (load->pause_us)
		(void)usleep(load->pause_us);
	load->sent++;
	client_send(client, load->method, load->path, load->body);
}

static void on_body(struct client *client, const uint8_t *data, size_t len)
{
	struct load *load = client->all->ctx;

	if (load->file)
		(void)fwrite(data, 1, len, load->file);
}

static void on_end(struct client *client)
{
	struct load *load = client->all->ctx;

	load->answered++;
	stats_add(load->stats, stats_now_us() - client->sent_us);
	if (load->status == 0)
		load->status = client->status;
	load->other += client->status != load->status;
	if (load->file)
		(void)fputc('\n', load->file);
	send_next(client);
}

static void set_amount(struct load *load, const char *text)
{
	char *end;
	unsigned long amount = strtoul(text, &end, 10);

	if (*end == 's')
		load->end_us = stats_now_us() + amount * 1000000;
	else
		load->count = amount;
}

static void print(const char *name, unsigned int connections,
		  const struct load *load, uint64_t took_us)
{
	uint32_t median = stats_median(load->stats);
	uint32_t num = load->stats->num;

	(void)printf("{\"bench\": \"%s\", \"connections\": %u, "
		     "\"requests\": %lu, \"seconds\": %.3f, \"per_s\": %.0f, "
		     "\"median_us\": %u, \"p99_us\": %u, \"status\": %u, "
		     "\"other\": %lu}\n",
		     name, connections, load->answered, (double)took_us / 1e6,
		     (double)load->answered * 1e6 / (double)took_us, median,
		     num ? load->stats->us[num * 99 / 100] : 0, load->status,
		     load->other);
}

int main(int argc, char **argv)
{
	static struct client client[CONNECTIONS_MAX];
	static struct stats stats;
	const char *pause = getenv("OSB_BENCH_PAUSE_US");
	struct load load = { .stats = &stats };
	struct clients all;
	unsigned long num;
	uint64_t start;

	num = argc >= 7 ? strtoul(argv[3], NULL, 10) : 0;
	if (num < 1 || num > CONNECTIONS_MAX)
		return 2;
	load.method = argv[5];
	load.path = argv[6];
	load.body = argc > 7 && *argv[7] ? argv[7] : NULL;
	if (pause)
		load.pause_us = (useconds_t)strtoul(pause, NULL, 10);
	load.file = argc > 8 ? fopen(argv[8], "we") : NULL;
	clients_init(&all, argv[2]);
	all.ctx = &load;
	all.body = on_body;
	all.end = on_end;
	for (unsigned long i = 0; i < num; i++)
		client_open(&all, &client[i]);
	start = stats_now_us();
	set_amount(&load, argv[4]);
	for (unsigned long i = 0; i < num; i++)
		send_next(&client[i]);
	while (load.answered < load.sent)
		clients_wait(&all, -1);
	print(argv[1], (unsigned int)num, &load, stats_now_us() - start);
	for (unsigned long i = 0; i < num; i++)
		client_close(&client[i], false);
	return load.file && fclose(load.file) != 0;
}
