/* SPDX-License-Identifier: Apache-2.0 */

/*
 * start - a private broker, on demand
 *
 * Who does what:
 *
 *	us	takes <run>/start.lock, so that of many clients that find
 *		nobody one starts a broker; tries again; forks
 *	child	setsid, forks and exits: the broker isn't our child, so its
 *		end is no SIGCHLD of a program that uses this library
 *	broker	exec'd with nothing of ours: stdin /dev/null, output to
 *		<run>/log, fd 3 to say "ready", default signals, clean
 *		environment, directory /
 *	us	waits for the line, unlocks, connects
 */

#include "client/start.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/signals.h"
#include "client/fail.h"
#include "client/lookup.h"

#define READY_FD 3
#define READY_WAIT_MS 30000
#define READY_LINE_MAX 400
#define LOG_LINE_MAX 240
#define ENV_KEPT_MAX 64
#define DEFAULT_IDLE_EXIT "60s"

/* Prepared before fork(2): the children of a program that may have threads
   call nothing but async-signal-safe functions. */
struct launch {
	const char *broker_path;
	const char *argv[16];
	char *envp[ENV_KEPT_MAX + 1];
	int null_fd;
	int log_fd;
	int ready_fd; /* write end */
};

/* The broker outlives its caller: it gets what it needs, no more. */
static bool is_kept(const char *variable)
{
	static const char *const prefixes[] = {
		"PATH=", "HOME=",   "TMPDIR=",        "TZ=",
		"XDG_",  "OSB_",    "OPENSANDBOX_",   "ASAN_OPTIONS=",
		"LANG=", "LC_ALL=", "UBSAN_OPTIONS=", "LSAN_OPTIONS=",
	};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static void pick_environment(struct launch *launch)
{
	size_t num = 0;

	for (char **p = environ; p && *p && num < ENV_KEPT_MAX; p++)
		if (is_kept(*p))
			launch->envp[num++] = *p;
	launch->envp[num] = NULL;
}

/* In the grandchild. The fds were made above 3, so dup2 can't hit one. */
static void become_broker(const struct launch *launch)
{
	if (dup2(launch->null_fd, STDIN_FILENO) < 0 ||
	    dup2(launch->log_fd, STDOUT_FILENO) < 0 ||
	    dup2(launch->log_fd, STDERR_FILENO) < 0 ||
	    dup2(launch->ready_fd, READY_FD) < 0 ||
	    close_range(READY_FD + 1, ~0u, 0) < 0 || chdir("/") < 0)
		_exit(1);
	(void)umask(022);
	execve(launch->broker_path, (char *const *)launch->argv, launch->envp);
	{
		static const char text[] = "osb-broker can't be executed\n";

		(void)!write(READY_FD, text, sizeof(text) - 1);
	}
	_exit(1);
}

static int spawn(const struct launch *launch)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		signals_reset();
		(void)setsid(); /* can't fail: a fresh child leads no group */
		pid = fork();
		if (pid == 0)
			become_broker(launch);
		_exit(pid < 0 ? 1 : 0);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0; /* SIGCHLD ignored: it is reaped for us */
	return status == 0 ? 0 : -EAGAIN;
}

/* An fd above the ones that the broker gets. */
static int open_high(const char *path, int flags, mode_t mode)
{
	int fd auto_fd = open(path, flags | O_CLOEXEC, mode);
	int high;

	if (fd < 0)
		return -errno;
	high = fcntl(fd, F_DUPFD_CLOEXEC, READY_FD + 1);
	return high < 0 ? -errno : high;
}

/* The last whole line that stands in @log behind @from; "" if none does. */
static void last_line(const char *log, off_t from, char ret_line[LOG_LINE_MAX])
{
	int fd auto_fd = open(log, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[LOG_LINE_MAX];
	struct stat st;
	ssize_t n = 0;
	char *start;

	ret_line[0] = '\0';
	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	if (st.st_size - from >= (off_t)sizeof(text))
		from = st.st_size - (off_t)sizeof(text) + 1;
	n = pread(fd, text, sizeof(text) - 1, from);
	while (n > 0 && text[n - 1] == '\n')
		n--;
	if (n <= 0)
		return;
	text[n] = '\0';
	start = strrchr(text, '\n');
	(void)snprintf(ret_line, LOG_LINE_MAX, "%s", start ? start + 1 : text);
}

static int fail_unready(const char *log, off_t from, struct osb_error *err)
{
	char line[LOG_LINE_MAX];

	last_line(log, from, line);
	if (line[0] == '\0')
		return client_fail_text(
			err, EIO,
			"osb-broker ended before it was ready; see '%s'", log);
	return client_fail_text(
		err, EIO, "osb-broker ended before it was ready: %s (see '%s')",
		line, log);
}

/* @log_from: where the new broker's part of the log begins. */
static int wait_ready(int ready_fd, const char *log, off_t log_from,
		      struct osb_error *err)
{
	struct pollfd poll_fd = { .fd = ready_fd, .events = POLLIN };
	char line[READY_LINE_MAX];
	size_t len = 0;
	ssize_t n;
	int r;

	while (len < sizeof(line) - 1 && !memchr(line, '\n', len)) {
		r = poll(&poll_fd, 1, READY_WAIT_MS);
		if (r < 0 && errno == EINTR)
			continue;
		if (r == 0)
			return client_fail_text(
				err, ETIMEDOUT,
				"osb-broker wasn't ready after %d s; see '%s'",
				READY_WAIT_MS / 1000, log);
		n = read(ready_fd, line + len, sizeof(line) - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	line[len] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (strcmp(line, "ready") == 0)
		return 0;
	if (line[0] == '\0')
		return fail_unready(log, log_from, err);
	return client_fail_text(err, EIO, "osb-broker: %s", line);
}

/* $XDG_RUNTIME_DIR may be missing for root only (no login session). */
static int make_run_dir(const struct lookup *lookup, struct osb_error *err)
{
	struct stat st;
	char parent[LOOKUP_PATH_MAX];

	if (lookup->is_default && geteuid() == 0) {
		(void)snprintf(parent, sizeof(parent), "%s", lookup->run_dir);
		*strrchr(parent, '/') = '\0';
		(void)mkdir("/run/user", 0755); /* the last mkdir tells */
		(void)mkdir(parent, 0700);
	}
	if (mkdir(lookup->run_dir, 0700) < 0 && errno != EEXIST)
		return client_fail(err, errno, "make the run directory '%s'",
				   lookup->run_dir);
	if (lstat(lookup->run_dir, &st) < 0)
		return client_fail(err, errno, "stat '%s'", lookup->run_dir);
	/* Who could rename in it could pose as our daemon. */
	if (!S_ISDIR(st.st_mode) ||
	    (st.st_uid != geteuid() && st.st_uid != 0) ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)))
		return client_fail_text(
			err, EPERM,
			"'%s' isn't a directory of ours, writable by us alone",
			lookup->run_dir);
	return 0;
}

static int take_lock(const struct lookup *lookup, struct osb_error *err)
{
	char path[LOOKUP_PATH_MAX + 16];
	int lock_fd auto_fd = -1;

	(void)snprintf(path, sizeof(path), "%s/start.lock", lookup->run_dir);
	lock_fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock_fd < 0)
		return client_fail(err, errno, "open '%s'", path);
	while (flock(lock_fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return client_fail(err, errno, "lock '%s'", path);
	return take_fd(&lock_fd);
}

static int launch_broker(const struct lookup *lookup, const char *broker_path,
			 struct osb_error *err)
{
	const char *idle_exit = secure_getenv("OSB_IDLE_EXIT");
	struct launch launch = {
		.broker_path = broker_path,
		.argv = { broker_path, "--private", "--socket",
			  lookup->socket_path, "--run-dir", lookup->run_dir,
			  "--idle-exit",
			  idle_exit ? idle_exit : DEFAULT_IDLE_EXIT,
			  "--ready-fd", "3" },
	};
	char log[LOOKUP_PATH_MAX + 16];
	int null_fd auto_fd = -1;
	int log_fd auto_fd = -1;
	int read_fd auto_fd = -1;
	int write_fd auto_fd = -1;
	struct stat log_stat = { 0 };
	int pipe_fd[2];
	int r;

	if (access(broker_path, X_OK) < 0)
		return client_fail(err, errno, "start '%s'", broker_path);
	(void)snprintf(log, sizeof(log), "%s/log", lookup->run_dir);
	null_fd = open_high("/dev/null", O_RDWR, 0);
	log_fd = open_high(log, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW,
			   0600);
	if (null_fd < 0 || log_fd < 0)
		return client_fail(err, null_fd < 0 ? -null_fd : -log_fd,
				   "open '%s'",
				   null_fd < 0 ? "/dev/null" : log);
	(void)fstat(log_fd, &log_stat); /* at worst an old line is shown */
	if (pipe2(pipe_fd, O_CLOEXEC) < 0)
		return client_fail(err, errno, "make a pipe");
	read_fd = pipe_fd[0];
	write_fd = pipe_fd[1];
	r = fcntl(write_fd, F_DUPFD_CLOEXEC, READY_FD + 1);
	if (r < 0)
		return client_fail(err, errno, "make a pipe");
	close_fd(&write_fd);
	write_fd = r;

	launch.null_fd = null_fd;
	launch.log_fd = log_fd;
	launch.ready_fd = write_fd;
	pick_environment(&launch);
	r = spawn(&launch);
	if (r < 0)
		return client_fail(err, -r, "start '%s'", broker_path);
	close_fd(&write_fd); /* so that the broker's end is seen as EOF */
	return wait_ready(read_fd, log, log_stat.st_size, err);
}

int start_broker(const struct lookup *lookup, const char *broker_path,
		 struct osb_error *err)
{
	int lock_fd auto_fd = -1;
	int sock_fd, r;

	/* Said at once, before anything is made. */
	if (geteuid() != 0)
		return client_fail_text(
			err, EPERM,
			"this needs root for now: osb-broker can't make sandboxes as user %u; use sudo",
			(unsigned int)geteuid());
	r = make_run_dir(lookup, err);
	if (r < 0)
		return r;
	lock_fd = take_lock(lookup, err);
	if (lock_fd < 0)
		return lock_fd;
	sock_fd = lookup_connect(lookup->socket_path);
	if (sock_fd >= 0) /* somebody else started it meanwhile */
		return sock_fd;
	r = launch_broker(lookup, broker_path, err);
	if (r < 0)
		return r;
	sock_fd = lookup_connect(lookup->socket_path);
	if (sock_fd < 0)
		return client_fail(err, -sock_fd, "connect to '%s'",
				   lookup->socket_path);
	return sock_fd;
}
