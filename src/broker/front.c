/* SPDX-License-Identifier: Apache-2.0 */

/*
 * front - osbd, the broker's unprivileged child
 *
 * osbd gets its descriptors by number (enum osbd_fd), a user of its own, no
 * capability and no way to gain one; it is executed by descriptor, so that
 * its user needs no access to where it is installed. One that breaks the
 * channel, or doesn't read what it asked for, is killed. When it dies it is
 * started again and told which sandboxes there are. Three deaths within a second of a start, and the broker gives up; at
 * once when osbd says that it can't read what somebody wrote for it.
 *
 * #syscalls  wait4 kill pidfd_open dup2 fcntl setsockopt execveat chdir
 *            umask clock_gettime setgroups setresuid setresgid
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/broker.h"
#include "confine/confine.h"
#include "wire/fdpass.h"
#include "wire/spawn.h"

#define QUICK_MS 1000
#define QUICK_DEATHS_MAX 3

/*
 * Room for a word about every sandbox at once, at a good kilobyte each of the
 * kernel's: the default holds 166, and who asks for 200 and then reads isn't
 * hostile. The kernel doubles it.
 */
static const int answers_bytes = 4 << 20;

/* An osbd that was let go has this long, or the next broker waits for it. */
#define LEAVE_MS 2000

static uint64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* can't fail */
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Out of the way of the numbers that dup2 will fill. */
static int lift(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 16);
}

static void exec_osbd(void *arg, int sock_fd)
{
	struct broker *broker = arg;
	const struct native_config *config = &broker->native.config;
	const struct broker_options *options = &broker->options;
	const int fds[][2] = {
		{ lift(sock_fd), OSBD_FD_BROKER },
		{ lift(broker->listen_fd), OSBD_FD_LISTEN },
		{ lift(broker->native.sandboxes_fd), OSBD_FD_SANDBOXES },
		{ lift(broker->key_fd), OSBD_FD_KEYS },
		{ lift(broker->osbd_config_fd), OSBD_FD_CONFIG },
		{ lift(broker->state_fd), OSBD_FD_STATE },
	};
	int exec_fd = lift(open(options->osbd_path, O_PATH | O_CLOEXEC));
	const char *argv[8] = { "osbd" };
	char *const envp[] = { NULL };
	sigset_t none;
	int argc = 1;

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (fds[i][0] >= 0 && dup2(fds[i][0], fds[i][1]) < 0)
			_exit(127);
	}
	if (options->idle_exit[0]) {
		argv[argc++] = "--idle-exit";
		argv[argc++] = options->idle_exit;
	}
	if (config->private)
		argv[argc++] = "--private";
	if (broker->key_fd >= 0)
		argv[argc++] = "--keys";
	if (broker->osbd_config_fd >= 0) {
		argv[argc++] = "--config";
		argv[argc++] = options->osbd_config;
	}
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)umask(0077);
	if (chdir("/") == 0 &&
	    confine_daemon(config->osbd_uid, config->osbd_gid) == 0)
		(void)syscall(SYS_execveat, exec_fd, "", argv, envp,
			      AT_EMPTY_PATH);
}

int front_start(struct broker *broker, struct err *err)
{
	struct front *front = &broker->front;
	pid_t pid;

	front->state = FRONT_NEW;
	front->started_ms = now_ms();
	front->leave_by_ms = 0;
	pid = spawn(SPAWN_REFUSES_FDS, exec_osbd, broker, &front->sock_fd);
	if (pid < 0)
		return err_set(err, ERR_INTERNAL, -pid, "start osbd");
	front->pid = pid;
	broker->native.front_pid = pid;
	front->pidfd = pidfd_open(pid, 0);
	if (front->pidfd < 0 ||
	    setsockopt(front->sock_fd, SOL_SOCKET, SO_SNDBUFFORCE,
		       &answers_bytes, sizeof(answers_bytes)) < 0)
		return err_set(err, ERR_INTERNAL, errno, "watch osbd");
	return 0;
}

void front_end(struct front *front)
{
	if (front->pid > 0) {
		(void)kill(front->pid, SIGKILL); /* ours, not yet reaped */
		(void)waitpid(front->pid, NULL, 0);
	}
	front->pid = 0;
	close_fd(&front->pidfd);
	close_fd(&front->sock_fd);
}

int front_died(struct broker *broker, struct err *err)
{
	struct front *front = &broker->front;
	bool left = front->state == FRONT_LEAVING;

	front_end(front);
	memset(broker->waiters, 0, sizeof(broker->waiters));
	if (left)
		return 1;
	if (front->gave_up[0])
		return err_set(err, ERR_INVALID, 0, "%s", front->gave_up);
	if (now_ms() - front->started_ms < QUICK_MS)
		front->quick_deaths++;
	else
		front->quick_deaths = 0;
	if (front->quick_deaths >= QUICK_DEATHS_MAX)
		return err_set(err, ERR_INTERNAL, 0,
			       "osbd dies as soon as it starts; see the log");
	return front_start(broker, err);
}

void front_send(struct front *front, const void *msg, size_t len)
{
	int r;

	if (front->sock_fd < 0)
		return;
	r = fdpass_send(front->sock_fd, msg, len, NULL, 0);
	if (r < 0)
		front_drop(front);
}

void front_drop(struct front *front)
{
	if (front->pid > 0)
		(void)kill(front->pid, SIGKILL); /* seen by front_died() */
	close_fd(&front->sock_fd);
}

int front_patience(struct front *front)
{
	uint64_t now = now_ms();

	if (front->state != FRONT_LEAVING || front->sock_fd < 0)
		return -1;
	if (front->leave_by_ms == 0)
		front->leave_by_ms = now + LEAVE_MS;
	if (now < front->leave_by_ms)
		return (int)(front->leave_by_ms - now);
	front_drop(front);
	return -1;
}
