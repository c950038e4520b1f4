/* SPDX-License-Identifier: Apache-2.0 */

/*
 * pump - carry bytes and signals between our caller and a running exec
 *
 *	stdin ──▶ exec        read only while the exec has room
 *	exec  ──▶ stdout/err  the socket is read only while neither waits
 *	signals ──▶ exec      INT, TERM, HUP, unless our caller ignores them
 *
 * One poll loop, constant memory, both directions at once: an endless stdin
 * and an endless stdout don't wait for each other.
 *
 * A signal travels behind the stdin that was sent before it, and the server
 * stops reading while the program doesn't read its stdin. So after a signal
 * no more stdin is sent until the server has read it all; if it hasn't after
 * SIGNAL_WAIT_MS, the program is stuck in front of our signal: we leave, and
 * the sandbox ends with our connection.
 */

#include "cli/pump.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/output.h"
#include "osb/osb.h"

#define STDIN_CHUNK (64u * 1024)
#define STDIN_LEAST 4096 /* less room than this isn't worth a read */
#define SIGNAL_WAIT_MS 1000
#define SIGNAL_CHECK_MS 50

enum {
	POLL_EXEC,
	POLL_STDIN,
	POLL_STDOUT,
	POLL_STDERR,
	POLL_SIGNAL,
	POLL_NUM
};

struct pump {
	struct osb_exec *exec;
	struct output *output;
	int signal_fd;
	bool stdin_open;
	bool done; /* the verdict is there */
	unsigned int num_interrupts;
	int last_signal;
	uint64_t signal_until_ms; /* 0: none is under way */
	uint8_t chunk[STDIN_CHUNK];
};

static uint64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* can't fail */
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* An ignored signal (nohup, background jobs) stays ignored: not forwarded. */
static int open_signals(void)
{
	static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action;
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
		if (sigaction(forwarded[i], NULL, &action) == 0 &&
		    action.sa_handler != SIG_IGN)
			sigaddset(&set, forwarded[i]);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	(void)sigprocmask(SIG_BLOCK, &set, NULL); /* can't fail */
	return fd;
}

/* A second SIGINT means business: end it with all its descendants. */
static void forward(struct pump *pump, int number)
{
	char name[16];

	if (number == SIGINT && ++pump->num_interrupts > 1) {
		(void)osb_exec_kill(pump->exec);
	} else {
		(void)snprintf(name, sizeof(name), "SIG%s",
			       sigabbrev_np(number));
		(void)osb_exec_signal(pump->exec, name);
	}
	pump->last_signal = number;
	pump->signal_until_ms = now_ms() + SIGNAL_WAIT_MS;
}

static void take_signals(struct pump *pump)
{
	struct signalfd_siginfo info;

	while (read(pump->signal_fd, &info, sizeof(info)) == sizeof(info))
		forward(pump, (int)info.ssi_signo);
}

/*
 * Is the last signal still on its way?
 * Return: 0, or PUMP_E_SIGNAL when it has been for too long.
 */
static int check_signal(struct pump *pump)
{
	int unread = 0;

	if (pump->signal_until_ms == 0)
		return 0;
	if (pump->done) /* nothing but our own reader holds us up */
		return PUMP_E_SIGNAL;
	if (osb_exec_unsent(pump->exec) == 0 &&
	    ioctl(osb_exec_fd(pump->exec), SIOCOUTQ, &unread) == 0 &&
	    unread == 0)
		pump->signal_until_ms = 0;
	else if (now_ms() >= pump->signal_until_ms)
		return PUMP_E_SIGNAL;
	return 0;
}

/* poll(2) said that there is something, so this read doesn't wait. */
static void take_stdin(struct pump *pump)
{
	size_t room = osb_exec_room(pump->exec);
	ssize_t n;

	if (room > sizeof(pump->chunk))
		room = sizeof(pump->chunk);
	n = read(STDIN_FILENO, pump->chunk, room);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && osb_exec_write(pump->exec, pump->chunk, (size_t)n) == 0)
		return;
	/* EOF; a read error, such as EIO of a terminal that is gone, ends the
	   program's input too. */
	(void)osb_exec_write_eof(pump->exec);
	pump->stdin_open = false;
}

static bool wants_stdin(const struct pump *pump)
{
	return pump->stdin_open && !pump->done && pump->signal_until_ms == 0 &&
	       osb_exec_room(pump->exec) >= STDIN_LEAST;
}

/* A negative fd is passed over by poll(2). */
static void fill_poll(const struct pump *pump, struct pollfd fds[POLL_NUM])
{
	const struct sink *sinks = pump->output->sinks;
	short events = osb_exec_events(pump->exec);

	fds[POLL_EXEC] = (struct pollfd){
		.fd = events && !pump->done ? osb_exec_fd(pump->exec) : -1,
		.events = events,
	};
	fds[POLL_STDIN] = (struct pollfd){
		.fd = wants_stdin(pump) ? STDIN_FILENO : -1,
		.events = POLLIN,
	};
	fds[POLL_STDOUT] = (struct pollfd){
		.fd = sink_blocked(&sinks[0]) ? STDOUT_FILENO : -1,
		.events = POLLOUT,
	};
	fds[POLL_STDERR] = (struct pollfd){
		.fd = sink_blocked(&sinks[1]) ? STDERR_FILENO : -1,
		.events = POLLOUT,
	};
	fds[POLL_SIGNAL] = (struct pollfd){
		.fd = pump->signal_fd,
		.events = POLLIN,
	};
}

/* One turn of the loop: 0, PUMP_E_SIGNAL, or -errno with @err. */
static int turn(struct pump *pump, struct osb_error *err)
{
	struct pollfd fds[POLL_NUM];
	int r;

	fill_poll(pump, fds);
	r = poll(fds, POLL_NUM, pump->signal_until_ms ? SIGNAL_CHECK_MS : -1);
	if (r < 0) /* EINTR: a stop and continue */
		return 0;
	if (fds[POLL_SIGNAL].revents)
		take_signals(pump);
	r = check_signal(pump);
	if (r != 0)
		return r;
	if (fds[POLL_STDOUT].revents || fds[POLL_STDERR].revents)
		output_flush(pump->output);
	if (fds[POLL_EXEC].revents) {
		r = osb_exec_process(pump->exec, fds[POLL_EXEC].revents, err);
		if (r < 0)
			return r;
		pump->done = r == 1;
	}
	if (fds[POLL_STDIN].revents && !pump->done)
		take_stdin(pump);
	osb_exec_pause(pump->exec, output_blocked(pump->output));
	return 0;
}

int pump_run(struct osb_exec *exec, struct output *output, bool has_stdin,
	     int *ret_signal, struct osb_error *err)
{
	int signal_fd auto_fd = open_signals();
	struct pump pump; /* its chunk needs no zeroes */
	int r = 0;

	memset(&pump, 0, offsetof(struct pump, chunk));
	pump.exec = exec;
	pump.output = output;
	pump.signal_fd = signal_fd; /* -1 at worst: nothing is forwarded */
	pump.stdin_open = has_stdin;
	while (r == 0 && output->failed == 0 &&
	       !(pump.done && !output_blocked(output)))
		r = turn(&pump, err);
	if (r == PUMP_E_SIGNAL)
		*ret_signal = pump.last_signal;
	return r;
}
