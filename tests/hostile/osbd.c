/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osbd - one that was taken over: does to the broker what a test tells it
 *
 * The broker starts this program in osbd's place, with osbd's descriptors,
 * user and rights. It accepts one client at a time at the HTTP socket, reads
 * a command per line and answers each with a line:
 *
 *   send REQUEST     send it (see message.c); "sent", or an error's name
 *   ask REQUEST      send it and wait: "answer KIND SYS MS TEXT", "silence"
 *                    or "closed"
 *   repeat N REQUEST send it so often, and read no answer
 *   talk N REQUEST   the same, but read the answers
 *   drain MS         read for so long: "drained ANSWERS EVENTS"
 *   empty            a message of no bytes
 *   half, close      of the channel
 *   grab NAME ARG    see grab.c: "could", or an error's name
 *   filter           go behind the walls that an honest osbd serves behind
 *   exit, die        leave, or kill -9 of itself
 */

#include <errno.h>
#include <linux/filter.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "confine/confine.h"
#include "hostile/hostile.h"

#define PATIENCE_MS 4000
#define LINE_MAX_BYTES 65536

static struct message message;
static uint32_t last_tag;
static int gift_fd = -1;
static char reply[1024];

static uint64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void say(const char *what)
{
	(void)snprintf(reply, sizeof(reply), "%s\n", what);
}

static void say_errno(int r, const char *good)
{
	say(r < 0 ? strerrorname_np(-r) : good);
}

static int parse(char *words)
{
	int r = message_parse(&message, words);

	if (r == 0 && message.num_fds)
		r = gift_open(message.fd_kind, &gift_fd);
	if (message.hello.tag == 0)
		message.hello.tag = ++last_tag;
	return r;
}

static int transmit(void)
{
	return gift_send(OSBD_FD_BROKER, message.raw, message.len, gift_fd,
			 message.num_fds);
}

/*
 * So that the broker is its last holder. What it didn't take is left open, for
 * closing it would hold up us; so does closing a file of FUSE at any time.
 */
static void drop_gift(int r)
{
	if (r == 0 && strcmp(message.fd_kind, "fuse") != 0)
		close_fd(&gift_fd);
	gift_fd = -1;
}

struct heard {
	unsigned int answers, events;
	bool closed, found;
	struct broker_answer last;
};

/* Reads until an answer with that tag (0: none), or until the time is over. */
static void listen_for(uint32_t tag, uint64_t ms, struct heard *heard)
{
	struct pollfd pfd = { .fd = OSBD_FD_BROKER, .events = POLLIN };
	uint64_t end = now_ms() + ms;

	while (!heard->found && !heard->closed && now_ms() <= end &&
	       poll(&pfd, 1, (int)(end - now_ms())) > 0) {
		struct broker_answer in = { 0 };
		ssize_t n = recv(OSBD_FD_BROKER, &in, sizeof(in), MSG_DONTWAIT);

		heard->closed = n <= 0;
		heard->answers += n > 0 && in.op == BROKER_ANSWER;
		heard->events += n > 0 && in.op == BROKER_GONE;
		heard->found = in.op == BROKER_ANSWER && in.tag == tag && tag;
		heard->last = in;
	}
}

static void do_ask(char *words)
{
	struct heard heard = { 0 };
	uint64_t start = now_ms();
	int r = parse(words);

	if (r == 0)
		r = transmit();
	drop_gift(r);
	if (r < 0) {
		say_errno(r, "");
		return;
	}
	listen_for(message.hello.tag, PATIENCE_MS, &heard);
	if (!heard.found) {
		say(heard.closed ? "closed" : "silence");
		return;
	}
	heard.last.msg[sizeof(heard.last.msg) - 1] = '\0';
	(void)snprintf(reply, sizeof(reply), "answer %u %d %u %s\n",
		       heard.last.kind, heard.last.sys,
		       (unsigned int)(now_ms() - start), heard.last.msg);
}

static void do_send(char *words)
{
	int r = parse(words);

	if (r == 0)
		r = transmit();
	drop_gift(r);
	say_errno(r, "sent");
}

static void do_many(char *words, bool reads)
{
	struct heard heard = { 0 };
	unsigned long num = strtoul(strsep(&words, " "), NULL, 10);
	int r = parse(words);

	for (unsigned long i = 0; r == 0 && i < num; i++) {
		r = transmit();
		if (reads)
			listen_for(0, 0, &heard);
	}
	drop_gift(r);
	say_errno(r, "sent");
}

static void do_repeat(char *words)
{
	do_many(words, false);
}

static void do_talk(char *words)
{
	do_many(words, true);
}

static void do_drain(char *words)
{
	struct heard heard = { 0 };

	listen_for(0, strtoul(words, NULL, 10), &heard);
	(void)snprintf(reply, sizeof(reply), "drained %u %u\n", heard.answers,
		       heard.events);
}

static void do_empty(void)
{
	say_errno(gift_send(OSBD_FD_BROKER, "", 0, -1, 0), "sent");
}

static void do_half(void)
{
	say_errno(shutdown(OSBD_FD_BROKER, SHUT_WR) < 0 ? -errno : 0, "done");
}

static void do_close(void)
{
	int fd = OSBD_FD_BROKER;

	close_fd(&fd);
	say("done");
}

static void do_grab(char *words)
{
	const char *name = strsep(&words, " ");

	say_errno(grab(name, words ? words : ""), "could");
}

static struct sock_filter osbd_filter[] = {
#include "osbd_filter.h"
};

static void do_filter(void)
{
	int r = confine_files(OSBD_FD_STATE);

	if (r == 0)
		r = seccomp_load(osbd_filter, ARRAY_SIZE(osbd_filter));
	say_errno(r, "done");
}

static void do_name(char *words)
{
	say_errno(prctl(PR_SET_NAME, words, 0, 0, 0), "done");
}

static void do_exit(void)
{
	_exit(1);
}

static void do_die(void)
{
	(void)raise(SIGKILL);
}

static const struct {
	const char *name;
	void (*with)(char *words);
	void (*without)(void);
} commands[] = {
	{ "send", do_send, NULL },     { "ask", do_ask, NULL },
	{ "repeat", do_repeat, NULL }, { "talk", do_talk, NULL },
	{ "drain", do_drain, NULL },   { "grab", do_grab, NULL },
	{ "empty", NULL, do_empty },   { "half", NULL, do_half },
	{ "close", NULL, do_close },   { "filter", NULL, do_filter },
	{ "name", do_name, NULL },     { "exit", NULL, do_exit },
	{ "die", NULL, do_die },
};

static void obey(char *line)
{
	const char *name = strsep(&line, " ");

	say("unknown command");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(name, commands[i].name) != 0)
			continue;
		if (commands[i].with && line)
			commands[i].with(line);
		else if (commands[i].without)
			commands[i].without();
	}
}

static void serve(int fd)
{
	static char line[LINE_MAX_BYTES];
	size_t len = 0;
	ssize_t n;

	while ((n = recv(fd, line + len, sizeof(line) - len, 0)) > 0) {
		char *end;

		len += (size_t)n;
		end = memchr(line, '\n', len);
		if (!end)
			continue;
		*end = '\0';
		obey(line);
		(void)send(fd, reply, strlen(reply), MSG_NOSIGNAL);
		len = 0; /* whoever asks waits for the answer */
	}
}

int main(void)
{
	struct pollfd pfd = { .fd = OSBD_FD_LISTEN, .events = POLLIN };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (;;) {
		int fd auto_fd = -1;

		if (poll(&pfd, 1, -1) < 0)
			return 1;
		fd = accept4(OSBD_FD_LISTEN, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			serve(fd);
	}
}
