/* SPDX-License-Identifier: Apache-2.0 */

/*
 * serve - the life of a sandbox's first process after setup
 *
 * One loop over the listening socket, osbd's connection, signals, a timer for
 * the nearest deadline, and the pipes of programs whose output is logged. One connection at a time;
 * the newest wins, so that a restarted osbd needs no permission of a dead one.
 * A result stays with its exec until an osbd has acknowledged it: deadlines
 * and statuses don't depend on one.
 *
 * Only a peer outside this pid namespace is served: its pid reads as 0 here.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/latency.h"
#include "init/init.h"
#include "wire/fdpass.h"

#define CPU_LOOK_US 2000 /* between two looks, at least */

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

void serve_must_send(struct init *init, const void *msg, size_t len)
{
	if (!serve_send(init, msg, len))
		close_fd(&init->conn_fd);
}

/* What osbd hasn't heard yet, as far as it can take it. */
static void send_news(struct init *init)
{
	for (unsigned int i = 0; i < INIT_EXECS_MAX; i++) {
		struct exec *exec = &init->execs[i];
		const struct init_head grew = { INIT_GREW, exec->id };

		if (exec->state == EXEC_RUNNING && exec->output.grew)
			exec->output.grew =
				!serve_send(init, &grew, sizeof(grew));
		if (exec->state == EXEC_UNSENT &&
		    serve_send(init, &exec->result, sizeof(exec->result)))
			exec->state = EXEC_SENT;
	}
}

static bool has_news(const struct init *init)
{
	for (unsigned int i = 0; i < INIT_EXECS_MAX; i++) {
		const struct exec *exec = &init->execs[i];

		if (exec->state == EXEC_UNSENT ||
		    (exec->state == EXEC_RUNNING && exec->output.grew))
			return true;
	}
	return false;
}

/* A new osbd knows nothing of what an earlier one was told. */
static void tell_all(struct init *init)
{
	const struct init_head synced = { .op = INIT_SYNCED };

	for (unsigned int i = 0; i < INIT_EXECS_MAX; i++) {
		struct exec *exec = &init->execs[i];
		const struct init_started started = {
			.op = INIT_STARTED,
			.exec_id = exec->id,
			.pid = exec->pid,
		};

		if (exec->state == EXEC_RUNNING || exec->state == EXEC_SETTLING)
			serve_must_send(init, &started, sizeof(started));
		else if (exec->state == EXEC_SENT)
			exec->state = EXEC_UNSENT;
	}
	send_news(init);
	serve_must_send(init, &synced, sizeof(synced));
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
	tell_all(init);
}

static void kill_exec(struct init *init, const struct init_kill *msg)
{
	struct exec *exec = exec_find(init, msg->exec_id);

	if (!exec || exec->state != EXEC_RUNNING || msg->signal < 0 ||
	    msg->signal > SIGRTMAX)
		return;
	switch (msg->how) {
	case INIT_KILL_TREE:
		exec_end(exec, VERDICT_KILLED);
		break;
	case INIT_KILL_MAIN:
		(void)kill(exec->pid, msg->signal); /* it may just be dead */
		break;
	case INIT_KILL_TERM_TREE:
		/* What it does about any other signal is its own decision. */
		if (msg->signal == SIGKILL)
			exec->our_kill = VERDICT_KILLED;
		if (msg->signal == SIGTERM)
			exec->asked_to_end = true;
		exec_signal_tree(exec, msg->signal);
		break;
	default:
		break;
	}
}

static void acknowledge(struct init *init, const struct init_head *msg)
{
	struct exec *exec = exec_find(init, msg->exec_id);

	if (exec && exec->state == EXEC_SENT)
		exec->state = EXEC_LINGERING;
}

static void set_life(struct init *init, const struct init_life *msg)
{
	const struct init_head lives = { .op = INIT_LIVES };

	if (msg->left_ms > LIFE_MAX_MS)
		return;
	init->life_us = msg->left_ms ? now_us() + msg->left_ms * 1000 : 0;
	/* Can't fail: a valid signal, or none. */
	(void)prctl(PR_SET_PDEATHSIG, msg->keep ? 0 : SIGKILL, 0, 0, 0);
	serve_must_send(init, &lives, sizeof(lives));
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
	} else if (len == sizeof(struct init_head) && *op == INIT_ACK) {
		acknowledge(init, (const void *)init->msg);
	} else if (len == sizeof(struct init_life) && *op == INIT_LIFE) {
		set_life(init, (const void *)init->msg);
	}
}

static void note_next(uint64_t *next_us, uint64_t at_us)
{
	if (at_us && (!*next_us || at_us < *next_us))
		*next_us = at_us;
}

static void set_timer(struct init *init, uint64_t at_us)
{
	struct itimerspec spec = { 0 };

	if (init->timer_us == at_us)
		return;
	init->timer_us = at_us;
	spec.it_value.tv_sec = (time_t)(at_us / 1000000);
	spec.it_value.tv_nsec = (long)(at_us % 1000000) * 1000;
	(void)timerfd_settime(init->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

/*
 * Nobody tells when a group has used so much: so we look, at the earliest
 * moment at which it could have, on all processors at once.
 */
static void check_cpu(const struct init *init, struct exec *exec, uint64_t now)
{
	uint64_t used = reap_cpu_us(exec);
	uint64_t least;

	if (used >= exec->cpu_max_us) {
		exec->cpu_next_us = 0;
		exec_end(exec, VERDICT_CPU_TIMEOUT);
		return;
	}
	least = (exec->cpu_max_us - used) / init->cpus;
	exec->cpu_next_us = now + (least > CPU_LOOK_US ? least : CPU_LOOK_US);
}

static void check_exec(const struct init *init, struct exec *exec, uint64_t now)
{
	if (exec->deadline_us && exec->deadline_us <= now) {
		exec->deadline_us = 0;
		exec_end(exec, VERDICT_WALL_TIMEOUT);
	}
	if (exec->output_kill && exec->output.truncated) {
		exec->output_kill = false; /* once */
		exec_end(exec, VERDICT_OUTPUT_LIMIT);
	}
	if (exec->cpu_next_us && exec->cpu_next_us <= now)
		check_cpu(init, exec, now);
}

/* Ends whatever is over its time; arms the timer for the next. */
static void check_deadlines(struct init *init)
{
	uint64_t now = now_us();
	uint64_t next = 0;

	if (init->life_us && init->life_us <= now)
		_exit(0); /* and the kernel ends all others with us */
	note_next(&next, init->life_us);
	for (unsigned int i = 0; i < INIT_EXECS_MAX; i++) {
		struct exec *exec = &init->execs[i];

		if (exec->state == EXEC_FREE)
			continue;
		if (exec->output.later_us > now)
			note_next(&next, exec->output.later_us);
		if (exec->state == EXEC_SETTLING && exec->settle_next_us <= now)
			reap_settle(init, exec, now);
		if (exec->state == EXEC_SETTLING)
			note_next(&next, exec->settle_next_us);
		if (exec->state != EXEC_RUNNING)
			continue;
		check_exec(init, exec, now);
		note_next(&next, exec->deadline_us);
		note_next(&next, exec->cpu_next_us);
	}
	show_running(init, now);
	note_next(&next, show_next_us(init));
	set_timer(init, next);
}

static void drain(int fd)
{
	char buf[512];

	while (read(fd, buf, sizeof(buf)) > 0)
		continue;
}

/* A pipe that somebody waits for, and where it is. */
struct source {
	struct output *output;
	unsigned int i;
};

enum {
	POLL_LISTEN,
	POLL_SIGNAL,
	POLL_TIMER,
	POLL_CONN,
	POLL_NOTIFY,
	POLL_FIXED,
	POLL_MAX = POLL_FIXED + OUTPUT_STREAMS * INIT_EXECS_MAX
};

/* Return: how many there are. */
static unsigned int list_pipes(struct init *init, struct pollfd *pfds,
			       struct source *sources)
{
	unsigned int num = POLL_FIXED;
	uint64_t now = now_us();

	for (unsigned int e = 0; e < INIT_EXECS_MAX; e++) {
		struct output *output = &init->execs[e].output;

		if (init->execs[e].state == EXEC_FREE || output->later_us > now)
			continue;
		for (unsigned int i = 0; i < OUTPUT_STREAMS; i++) {
			if (!output_wants(output, i))
				continue;
			pfds[num] = (struct pollfd){ output->pipe_fd[i], POLLIN,
						     0 };
			sources[num++] = (struct source){ output, i };
		}
	}
	return num;
}

static void list_fixed(const struct init *init, struct pollfd *pfds)
{
	pfds[POLL_LISTEN] = (struct pollfd){ init->listen_fd, POLLIN, 0 };
	pfds[POLL_SIGNAL] = (struct pollfd){ init->signal_fd, POLLIN, 0 };
	pfds[POLL_TIMER] = (struct pollfd){ init->timer_fd, POLLIN, 0 };
	pfds[POLL_CONN] = (struct pollfd){ init->conn_fd, POLLIN, 0 };
	pfds[POLL_NOTIFY] = (struct pollfd){ init->notify_fd, POLLIN, 0 };
	if (has_news(init))
		pfds[POLL_CONN].events |= POLLOUT;
}

/* One of each, so that nobody waits for who has much. */
static void serve_turn(struct init *init, const struct pollfd *pfds)
{
	if (pfds[POLL_CONN].revents & (POLLIN | POLLHUP | POLLERR))
		receive(init);
	if (pfds[POLL_LISTEN].revents)
		accept_newest(init);
	if (pfds[POLL_TIMER].revents) {
		drain(init->timer_fd);
		init->timer_us = 0; /* it is over */
	}
	if (pfds[POLL_SIGNAL].revents) {
		drain(init->signal_fd);
		reap_children(init);
	}
	if (pfds[POLL_NOTIFY].revents)
		show_answer(init);
	check_deadlines(init);
	/* Writable means mostly empty: there is room for answers. */
	if (pfds[POLL_CONN].revents & POLLOUT)
		send_news(init);
	reap_linger(init);
}

static void serve(struct init *init)
{
	static struct pollfd pfds[POLL_MAX];
	static struct source sources[POLL_MAX];

	for (;;) {
		unsigned int num = list_pipes(init, pfds, sources);

		/* Who connects will soon want to run something. */
		if (init->conn_fd >= 0)
			exec_prepare(init);
		list_fixed(init, pfds);
		if (poll(pfds, num, -1) < 0) {
			if (errno == EINTR)
				continue;
			_exit(1); /* better lost than spinning */
		}
		for (unsigned int i = POLL_FIXED; i < num; i++) {
			if (pfds[i].revents)
				output_pump(sources[i].output, sources[i].i,
					    now_us());
		}
		serve_turn(init, pfds);
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

/* Before the walls, which have an answer of their own for programs. */
static uint32_t count_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return CPU_SETSIZE; /* there are more than it holds */
	return (uint32_t)CPU_COUNT(&set);
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

	latency_prefer();
	sock_fd = close_inherited(sock_fd);
	init.conn_fd = init.notify_fd = -1;
	init.files_fd = files_fd;
	init.cpus = count_cpus();
	r = setup_run(&init, sock_fd, &where);
	if (r == 0)
		r = open_events(&init);
	show_open(&init);
	answer.sys = -r;
	(void)snprintf(answer.where, sizeof(answer.where), "%s", where);
	if (fdpass_send(sock_fd, &answer, sizeof(answer), NULL, 0) < 0 || r < 0)
		_exit(1);
	close_fd(&sock_fd);
	serve(&init);
	__builtin_unreachable();
}
