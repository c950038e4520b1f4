/* SPDX-License-Identifier: Apache-2.0 */

/*
 * serve - the life of a sandbox's first process after setup
 *
 * One loop over four descriptors: the listening socket, osbd's connection,
 * signals, and a timer for the nearest deadline. One connection at a time;
 * the newest wins, so that a restarted osbd needs no permission of a dead one.
 * A result that can't be sent (no connection, full socket) stays with its
 * exec until it can: deadlines and statuses don't depend on osbd.
 *
 * Only a peer outside this pid namespace is served: its pid reads as 0 here.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "init/init.h"
#include "wire/fdpass.h"

uint64_t now_us(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_BOOTTIME, &ts); /* can't fail: valid clock */
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

bool serve_send(struct init *init, const void *msg, size_t len)
{
	int r;

	if (init->conn_fd < 0)
		return false;
	r = fdpass_send(init->conn_fd, msg, len, NULL, 0);
	if (r < 0 && r != -EAGAIN)
		close_fd(&init->conn_fd);
	return r == 0;
}

static void send_results(struct init *init)
{
	for (unsigned int i = 0; i < INIT_EXECS_MAX; i++) {
		struct exec *exec = &init->execs[i];

		if (exec->state == EXEC_UNSENT &&
		    serve_send(init, &exec->result, sizeof(exec->result)))
			exec->state = EXEC_LINGERING;
	}
}

static bool any_unsent(const struct init *init)
{
	for (unsigned int i = 0; i < INIT_EXECS_MAX; i++) {
		if (init->execs[i].state == EXEC_UNSENT)
			return true;
	}
	return false;
}

static void accept_newest(struct init *init)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);
	int fd auto_fd = accept4(init->listen_fd, NULL, NULL,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 ||
	    cred.pid != 0)
		return;
	close_fd(&init->conn_fd);
	init->conn_fd = take_fd(&fd);
	send_results(init);
}

static void kill_exec(struct init *init, const struct init_kill *msg)
{
	struct exec *exec = exec_find(init, msg->exec_id);

	if (!exec || exec->state != EXEC_RUNNING || msg->signal < 0 ||
	    msg->signal > SIGRTMAX)
		return;
	switch (msg->how) {
	case INIT_KILL_TREE:
		exec->our_kill = VERDICT_KILLED;
		exec_kill_tree(exec);
		break;
	case INIT_KILL_MAIN:
		(void)kill(exec->pid, msg->signal); /* it may just be dead */
		break;
	case INIT_KILL_TERM_TREE:
		/* What it does about any other signal is its own decision. */
		if (msg->signal == SIGKILL)
			exec->our_kill = VERDICT_KILLED;
		exec_signal_tree(exec, msg->signal);
		break;
	default:
		break;
	}
}

static void receive(struct init *init)
{
	struct fdset fds auto_clean(fdset_close) = FDSET_NULL;
	const uint32_t *op = (const void *)init->msg;
	size_t len;
	int r;

	r = fdpass_recv(init->conn_fd, init->msg, sizeof(init->msg), 0, &len,
			&fds);
	if (r == -EAGAIN || r == -EMSGSIZE || r == -EBADMSG)
		return;
	if (r < 0 || len == 0) {
		close_fd(&init->conn_fd);
		return;
	}
	if (len >= sizeof(*op) && *op == INIT_EXEC) {
		exec_start(init, len, fds.fd, fds.num);
		fds.num = 0;
	} else if (len == sizeof(struct init_kill) && *op == INIT_KILL) {
		kill_exec(init, (const void *)init->msg);
	}
}

/* Ends whatever is over its time; arms the timer for the next. */
static void check_deadlines(struct init *init)
{
	struct itimerspec spec = { 0 };
	uint64_t now = now_us();
	uint64_t next = 0;

	for (unsigned int i = 0; i < INIT_EXECS_MAX; i++) {
		struct exec *exec = &init->execs[i];

		if (exec->state != EXEC_RUNNING || !exec->deadline_us)
			continue;
		if (exec->deadline_us <= now) {
			if (!exec->our_kill)
				exec->our_kill = VERDICT_WALL_TIMEOUT;
			exec->deadline_us = 0;
			exec_kill_tree(exec);
		} else if (!next || exec->deadline_us < next) {
			next = exec->deadline_us;
		}
	}
	spec.it_value.tv_sec = (time_t)(next / 1000000);
	spec.it_value.tv_nsec = (long)(next % 1000000) * 1000;
	(void)timerfd_settime(init->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

static void drain(int fd)
{
	char buf[512];

	while (read(fd, buf, sizeof(buf)) > 0)
		continue;
}

static void serve(struct init *init)
{
	bool had_deadline = false;

	for (;;) {
		struct pollfd pfds[4] = {
			{ .fd = init->listen_fd, .events = POLLIN },
			{ .fd = init->signal_fd, .events = POLLIN },
			{ .fd = init->timer_fd, .events = POLLIN },
			{ .fd = init->conn_fd, .events = POLLIN },
		};

		/* Who connects will soon want to run something. */
		if (init->conn_fd >= 0)
			exec_prepare(init);
		if (any_unsent(init))
			pfds[3].events |= POLLOUT;
		if (poll(pfds, ARRAY_SIZE(pfds), -1) < 0) {
			if (errno == EINTR)
				continue;
			_exit(1); /* better lost than spinning */
		}
		if (pfds[3].revents & (POLLIN | POLLHUP | POLLERR)) {
			receive(init);
			had_deadline = true;
		}
		if (pfds[3].revents & POLLOUT)
			send_results(init);
		if (pfds[0].revents)
			accept_newest(init);
		if (pfds[2].revents)
			drain(init->timer_fd);
		if (pfds[1].revents) {
			drain(init->signal_fd);
			reap_children(init);
		}
		if (had_deadline || pfds[2].revents)
			check_deadlines(init);
		had_deadline = false;
		reap_linger(init);
	}
}

static int open_events(struct init *init)
{
	sigset_t chld;

	(void)sigemptyset(&chld);
	(void)sigaddset(&chld, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &chld, NULL) < 0)
		return -errno;
	init->signal_fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	init->timer_fd =
		timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	return init->signal_fd < 0 || init->timer_fd < 0 ? -errno : 0;
}

/* The launcher's other descriptors are none of ours. */
static int close_inherited(int sock_fd)
{
	if (dup3(sock_fd, LAUNCHER_FD_BROKER, O_CLOEXEC) < 0 ||
	    fcntl(LAUNCHER_FD_FILES, F_SETFD, FD_CLOEXEC) < 0 ||
	    close_range(LAUNCHER_FD_FILES + 1, ~0u, 0) < 0)
		_exit(1);
	return LAUNCHER_FD_BROKER;
}

void init_main(int sock_fd, int files_fd)
{
	static struct init init; /* zero, and touched only where used */
	struct setup_answer answer = { 0 };
	const char *where = "close descriptors";
	int r;

	sock_fd = close_inherited(sock_fd);
	init.conn_fd = -1;
	init.files_fd = files_fd;
	r = setup_run(&init, sock_fd, &where);
	if (r == 0)
		r = open_events(&init);
	answer.sys = -r;
	(void)snprintf(answer.where, sizeof(answer.where), "%s", where);
	if (fdpass_send(sock_fd, &answer, sizeof(answer), NULL, 0) < 0 || r < 0)
		_exit(1);
	close_fd(&sock_fd);
	serve(&init);
	__builtin_unreachable();
}
