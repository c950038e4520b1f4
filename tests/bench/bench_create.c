/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_create - create until it is ready, and delete, one after another
 *
 * usage: bench_create NAME ADDRESS UNIT ROUNDS BODY
 *
 * On one connection that is kept; each round runs the unit once, too.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/client.h"
#include "bench/stats.h"

#define ID_LEN 32

struct answer {
	char body[1024];
	size_t len;
	bool complete;
};

static void on_body(struct client *client, const uint8_t *data, size_t len)
{
	struct answer *answer = client->all->ctx;

	for (size_t i = 0; i < len && answer->len + 1 < sizeof(answer->body);
	     i++)
		answer->body[answer->len++] = (char)data[i];
}

static void on_end(struct client *client)
{
	struct answer *answer = client->all->ctx;

	answer->body[answer->len] = '\0';
	answer->complete = true;
}

/* Return: microseconds. */
static uint64_t ask(struct client *client, unsigned int status,
		    const char *method, const char *path, const char *body)
{
	struct answer *answer = client->all->ctx;

	memset(answer, 0, sizeof(*answer));
	client_send(client, method, path, body);
	while (!answer->complete)
		clients_wait(client->all, -1);
	if (client->status != status) {
		(void)fprintf(stderr, "bench_create: %s %s: %u %s\n", method,
			      path, client->status, answer->body);
		exit(1);
	}
	return stats_now_us() - client->sent_us;
}

int main(int argc, char **argv)
{
	static struct stats unit, created, deleted;
	char name[2][128], path[64 + ID_LEN];
	struct answer answer;
	struct clients all;
	struct client client;

	if (argc != 6)
		return 2;
	(void)snprintf(name[0], sizeof(name[0]), "%s: create", argv[1]);
	(void)snprintf(name[1], sizeof(name[1]), "%s: delete", argv[1]);
	created.name = name[0];
	deleted.name = name[1];
	clients_init(&all, argv[2]);
	all.ctx = &answer;
	all.body = on_body;
	all.end = on_end;
	client_open(&all, &client);
	for (long round = strtol(argv[4], NULL, 10); round > 0; round--) {
		const char *const unit_argv[] = { argv[3], NULL };

		stats_add(&unit, stats_spawn(unit_argv, NULL));
		stats_add(&created,
			  ask(&client, 202, "POST", "/v1/sandboxes", argv[5]));
		(void)snprintf(path, sizeof(path), "/v1/sandboxes/%.*s", ID_LEN,
			       answer.body + strlen("{\"id\":\""));
		stats_add(&deleted, ask(&client, 204, "DELETE", path, NULL));
	}
	client_close(&client, false);
	stats_print(&created, &unit);
	stats_print(&deleted, &unit);
	return 0;
}
