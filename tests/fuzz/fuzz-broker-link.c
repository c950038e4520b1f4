/* SPDX-License-Identifier: Apache-2.0 */

/*
 * broker-link - what osb-broker says to osbd
 *
 * Input: lines, each a letter and numbers. q: ask for something. a N KIND SYS:
 * the answer to request N. g TEXT: that sandbox has gone. r BYTES: any other
 * message. e: the broker closes.
 */

#include <sys/socket.h>

#include "base/err.h"
#include "fake.h"
#include "fuzz.h"
#include "sandbox/broker_link.h"
#include "sandbox/spec.h"
#include "wire/broker_msg.h"

#define REQUESTS 16

static bool asked[REQUESTS];
static bool answered[REQUESTS];
static uint32_t tags[REQUESTS];
static unsigned int num_asked;
static struct broker_link *tested;
static bool closed;
static int peer_fd;

static void on_answer(void *ctx, const struct err *err)
{
	bool *answer = ctx;

	CHECK(!closed && !*answer && asked[answer - answered]);
	*answer = true;
	if (!err)
		return;
	CHECK(err->kind > ERR_NONE && err->kind < ERR_NUM_KINDS);
	CHECK(strnlen(err->msg, sizeof(err->msg)) < sizeof(err->msg));
}

static void on_gone(void *ctx, const char *id)
{
	(void)ctx;
	CHECK(!closed && strlen(id) <= SANDBOX_ID_LEN);
}

static void on_closed(void *ctx, const struct err *err)
{
	(void)ctx;
	CHECK(!closed && err->kind == ERR_INTERNAL);
	closed = true;
}

/* No descriptor comes here, so there can't be a file in it either. */
static void on_reload(void *ctx, int keys_fd, int config_fd)
{
	(void)ctx;
	CHECK(!closed && keys_fd < 0 && config_fd < 0);
}

static const struct broker_link_ops ops = {
	.gone = on_gone,
	.have = on_gone,
	.closed = on_closed,
	.reload = on_reload,
};

static int ask_one(unsigned int i)
{
	static const char id[] = "0123456789abcdef0123456789abcdef";
	struct spec spec auto_clean(spec_deinit);

	spec_init(&spec);
	switch (i % 4) {
	case 0:
		return broker_hello(tested, on_answer, &answered[i]);
	case 1:
		return broker_create(tested, id, "uid:0", &spec, 0, on_answer,
				     &answered[i]);
	case 2:
		return broker_destroy(tested, id, on_answer, &answered[i]);
	default:
		return broker_leave(tested, on_answer, &answered[i]);
	}
}

/* Asks and reads at the broker's end with which tag. */
static void ask(void)
{
	unsigned int i = num_asked;
	static struct broker_create msg;

	if (i == REQUESTS || closed || peer_fd < 0)
		return;
	CHECK(ask_one(i) == 0);
	CHECK(recv(peer_fd, &msg, sizeof(msg), 0) >= 8);
	tags[i] = msg.tag;
	asked[i] = true;
	num_asked++;
}

/* What the broker says goes through the socket, and one turn of the loop. */
static void say(const void *msg, size_t len)
{
	if (peer_fd < 0 || len == 0)
		return;
	(void)send(peer_fd, msg, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	fake_turn();
}

static void say_answer(char *at)
{
	struct broker_answer msg = { .op = BROKER_ANSWER };
	unsigned long which = strtoul(at, &at, 10);

	msg.tag = which < REQUESTS ? tags[which] : (uint32_t)which;
	msg.kind = (uint32_t)strtoul(at, &at, 10);
	msg.sys = (int32_t)strtol(at, &at, 10);
	memset(msg.msg, 'x', sizeof(msg.msg)); /* without an end */
	say(&msg, sizeof(msg));
}

static void act(char *line)
{
	struct broker_event event = { .op = BROKER_GONE };
	size_t len = strlen(line);

	switch (*line) {
	case 'q':
		ask();
		break;
	case 'a':
		say_answer(line + 1);
		break;
	case 'g':
		memcpy(event.id, line + 1,
		       len - 1 < sizeof(event.id) ? len - 1 : sizeof(event.id));
		say(&event, sizeof(event));
		break;
	case 'e':
		close_fd(&peer_fd);
		fake_turn();
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = { data, size };
	int fds[2];

	memset(asked, 0, sizeof(asked));
	memset(answered, 0, sizeof(answered));
	memset(tags, 0, sizeof(tags));
	num_asked = 0;
	closed = false;
	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
	CHECK(broker_link_new(&fake_poller, fds[0], &ops, NULL, &tested) == 0);
	peer_fd = fds[1];
	while (in.len && !closed) {
		const uint8_t *raw = in.p;
		char *line auto_free = fuzz_line(&in);

		if (*raw == 'r')
			say(raw + 1, (size_t)(in.p - raw) - 1);
		else
			act(line);
	}
	broker_link_free(tested);
	close_fd(&peer_fd);
	return 0;
}
