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
 * #syscalls  wait4 kill pidfd_open dup2 fcntl setsockopt getsockname execveat
 *            chdir umask clock_gettime setgroups setresuid setresgid
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

#include "base/address.h"
#include "base/cleanup.h"
#include "base/listener.h"
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

/* One that is told to end: a bit over the longest drain_timeout. */
#define END_MS 4200

static uint64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* can't fail */
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Out of the way of the numbers that dup2 will fill. */
static int lift(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 32);
}

static void pass(int fd, int number)
{
	if (fd >= 0 && dup2(fd, number) < 0)
		_exit(127);
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
	const char *argv[8 + 2 * LISTENERS_MAX] = { "osbd" };
	char labels[LISTENERS_MAX][ADDRESS_TEXT_MAX];
	int listeners[LISTENERS_MAX];
	char *const envp[] = { NULL };
	sigset_t none;
	int argc = 1;

	for (unsigned int i = 0; i < broker->num_listeners; i++) {
		struct address address;

		listeners[i] = lift(LISTENERS_FIRST_FD + (int)i);
		if (address_of(listeners[i], &address) < 0)
			_exit(127);
		address_format(&address, labels[i]);
		argv[argc++] = "--listen";
		argv[argc++] = labels[i];
	}
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		pass(fds[i][0], fds[i][1]);
	for (unsigned int i = 0; i < broker->num_listeners; i++)
		pass(listeners[i], OSBD_FD_LISTENERS + (int)i);
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
	bool left = front->state & (FRONT_LEAVING | FRONT_ENDING);

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

void front_ask_to_end(struct broker *broker)
{
	/* First the name: whoever comes now waits for the next broker. */
	(void)unlink(broker->options.socket_path);
	broker->front.state = FRONT_ENDING;
	broker->front.leave_by_ms = 0;
	if (broker->front.pid > 0)
		(void)kill(broker->front.pid, SIGTERM);
}

void front_reload(struct broker *broker)
{
	const int files[] = { broker->key_fd, broker->osbd_config_fd };
	struct broker_reload msg = { .op = BROKER_RELOAD };
	int fds[ARRAY_SIZE(files)];
	unsigned int num = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(files); i++) {
		if (files[i] < 0)
			continue;
		msg.files |= 1u << i; /* of enum reload_file */
		fds[num++] = files[i];
	}
	if (broker->front.sock_fd >= 0 &&
	    fdpass_send(broker->front.sock_fd, &msg, sizeof(msg), fds, num) < 0)
		front_drop(&broker->front);
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

	if (!(front->state & (FRONT_LEAVING | FRONT_ENDING)) ||
	    front->sock_fd < 0)
		return -1;
	if (front->leave_by_ms == 0)
		front->leave_by_ms =
			now +
			(front->state == FRONT_ENDING ? END_MS : LEAVE_MS);
	if (now < front->leave_by_ms)
		return (int)(front->leave_by_ms - now);
	front_drop(front);
	return -1;
}
