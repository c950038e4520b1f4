/* SPDX-License-Identifier: Apache-2.0 */

/*
 * speak - what a hostile init says to osbd, or does with what it holds
 *
 * A word is an action with its changes: exited,verdict=99,len=-1,times=3
 *
 *   started, exited, failed   that message, plausible but for the changes:
 *                  fields by their names, op, exec (an offset), comm (hex),
 *                  len (of the message, absolute or by a sign), fds and gift
 *                  (how many descriptors of which kind), times
 *   write,bytes=N  to the program's stdout; 0: for ever
 *   silent         never again a word
 *   close          the connection
 *   list, grow, climb, reach   try, and report on stdout
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "hostile/hostile.h"
#include "init/init.h"

struct words {
	union {
		struct init_started started;
		struct init_failed failed;
		struct init_exited exited;
		uint8_t raw[INIT_MSG_MAX + 64];
	};
	size_t len;
	unsigned int num_fds;
	uint64_t times, bytes;
	char gift[16];
};

static void report(const struct speech *speech, const char *what,
		   const char *how, int r)
{
	char line[256];
	int n = snprintf(line, sizeof(line), "%s %s %s\n", what, how,
			 r < 0 ? strerrorname_np(-r) : "could");

	(void)!write(speech->out_fd, line, (size_t)n);
}

static const struct {
	const char *name;
	size_t offset, size;
} fields[] = {
	{ "op", offsetof(struct init_exited, op), 4 },
	{ "pid", offsetof(struct init_started, pid), 4 },
	{ "stage", offsetof(struct init_failed, stage), 4 },
	{ "sys", offsetof(struct init_failed, sys), 4 },
	{ "verdict", offsetof(struct init_exited, verdict), 4 },
	{ "exit_code", offsetof(struct init_exited, exit_code), 4 },
	{ "signal", offsetof(struct init_exited, signal), 4 },
	{ "limits", offsetof(struct init_exited, limits_hit), 4 },
	{ "wall", offsetof(struct init_exited, wall_us), 8 },
	{ "cpu", offsetof(struct init_exited, cpu_us), 8 },
	{ "peak", offsetof(struct init_exited, peak_memory_bytes), 8 },
	{ "peak_pids", offsetof(struct init_exited, peak_pids), 4 },
	{ "num_left", offsetof(struct init_exited, num_left), 4 },
	{ "left_pid", offsetof(struct init_exited, left[0].pid), 4 },
};

static void put_comm(struct words *words, const char *hex)
{
	for (size_t i = 0; i < INIT_COMM_LEN && hex[2 * i]; i++) {
		char digits[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

		words->exited.left[0].comm[i] = (char)strtoul(digits, NULL, 16);
	}
}

static void put_change(struct words *words, const char *name, const char *value)
{
	uint64_t number = strtoull(value, NULL, 0);

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (strcmp(fields[i].name, name) == 0)
			memcpy(words->raw + fields[i].offset, &number,
			       fields[i].size);
	}
	if (strcmp(name, "exec") == 0)
		words->started.exec_id += (uint32_t)number;
	else if (strcmp(name, "comm") == 0)
		put_comm(words, value);
	else if (strcmp(name, "len") == 0)
		words->len = *value == '+' || *value == '-'
				     ? words->len + number
				     : number;
	else if (strcmp(name, "fds") == 0)
		words->num_fds = (unsigned int)number;
	else if (strcmp(name, "times") == 0)
		words->times = number;
	else if (strcmp(name, "bytes") == 0)
		words->bytes = number;
	else if (strcmp(name, "gift") == 0)
		(void)snprintf(words->gift, sizeof(words->gift), "%s", value);
}

static void send_words(const struct speech *speech, const struct words *words)
{
	struct pollfd pfd = { .fd = speech->sock_fd, .events = POLLOUT };
	int gift_fd auto_fd = -1;

	if (words->num_fds && gift_open(words->gift, &gift_fd) < 0) {
		report(speech, "gift", words->gift, -errno);
		return;
	}
	for (uint64_t i = 0; i < words->times; i++) {
		int r = gift_send(speech->sock_fd, words->raw, words->len,
				  gift_fd, words->num_fds);

		if (r == -EAGAIN && poll(&pfd, 1, -1) > 0)
			continue;
		if (words->num_fds)
			report(speech, "gift", words->gift, r);
		if (r < 0) {
			(void)take_fd(&gift_fd); /* closing may take long */
			return;
		}
	}
}

/* What a descriptor leads to, and whether it can be made to grow. */
static void list_fds(const struct speech *speech)
{
	for (int fd = 0; fd < 1024; fd++) {
		char how[64];
		struct statfs fs;
		struct stat st;

		if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
			continue;
		(void)snprintf(how, sizeof(how), "%o %llx %o",
			       st.st_mode & S_IFMT,
			       (unsigned long long)fs.f_type,
			       (unsigned int)fcntl(fd, F_GETFL) & O_ACCMODE);
		report(speech, "list", how, 0);
	}
}

/* Every descriptor, again for writing: a file of the host's would grow. */
static void grow_fds(const struct speech *speech)
{
	for (int fd = 0; fd < 1024; fd++) {
		char path[32];
		struct stat st, now;
		int again_fd auto_fd = -1;
		int r;

		if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		again_fd = open(path, O_WRONLY | O_CLOEXEC);
		r = again_fd < 0 ? -errno : 0;
		if (r == 0 && ftruncate(again_fd, st.st_size + 4096) < 0)
			r = -errno;
		/* A cgroup's file takes it and stays as it is. */
		if (r == 0 &&
		    (fstat(again_fd, &now) < 0 || now.st_size == st.st_size))
			r = -ENOSPC;
		report(speech, "grow", path, r);
	}
}

static void climb_to(const struct speech *speech, int dir_fd, const char *path,
		     const char *value)
{
	int fd auto_fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : 0;

	if (r == 0 && write(fd, value, strlen(value)) < 0)
		r = -errno;
	report(speech, "climb", path, r);
}

/* Out of the cgroups, or beyond their limits, by what was delegated. */
static void climb(const struct speech *speech)
{
	const struct init *init = speech->init;
	static const char *const files[] = {
		"pids.max",
		"tasks",
		"cgroup.procs",
		"../cgroup.procs",
		"../tasks",
		"../pids.max",
		"../../cgroup.procs",
		"../../tasks",
		"../../../tasks",
		"notify_on_release",
		"../../release_agent",
	};
	const struct rlimit more = { 1u << 20, 1u << 20 };
	struct rlimit now;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *value = strstr(files[i], "max") ? "max" : "0";

		/* Moving within the own sandbox is what init is for. */
		if (i != 1)
			climb_to(speech, init->pids_fd, files[i], value);
		if (i != 2)
			climb_to(speech, init->cgroup_fd, files[i], value);
	}
	climb_to(speech, init->memory_peak_fd, "memory.limit_in_bytes", "-1");
	report(speech, "climb", "nofile",
	       getrlimit(RLIMIT_NOFILE, &now) == 0 &&
			       now.rlim_max < more.rlim_max &&
			       setrlimit(RLIMIT_NOFILE, &more) < 0
		       ? -errno
		       : 0);
	report(speech, "climb", "pending",
	       setrlimit(RLIMIT_SIGPENDING, &more) < 0 ? -errno : 0);
}

/* As many groups as it likes: each costs the host memory. */
static void crowd_in(const struct speech *speech, const char *what, int dir_fd)
{
	char name[16];
	unsigned int num = 0;
	int r = 0;

	while (r == 0 && num < 1000) {
		(void)snprintf(name, sizeof(name), "crowd%u", num);
		r = mkdirat(dir_fd, name, 0755) < 0 ? -errno : 0;
		num += r == 0;
	}
	report(speech, "crowd", what, r);
	while (num > 0) {
		(void)snprintf(name, sizeof(name), "crowd%u", --num);
		(void)unlinkat(dir_fd, name, AT_REMOVEDIR);
	}
}

static void crowd(const struct speech *speech)
{
	const struct init *init = speech->init;

	crowd_in(speech, "v2", init->cgroup_fd);
	if (!init->unified)
		crowd_in(speech, "pids", init->pids_fd);
}

/* The own socket by the name it was bound to, and by its descriptor. */
static void reach(const struct speech *speech)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	int fd auto_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int r = 0;

	if (getsockname(speech->init->listen_fd, (struct sockaddr *)&addr,
			&len) < 0 ||
	    connect(fd, (struct sockaddr *)&addr, len) < 0)
		r = -errno;
	report(speech, "reach", "own", r);
}

static void write_out(const struct speech *speech, uint64_t bytes)
{
	static const char junk[65536];
	uint64_t sent = 0;

	while (bytes == 0 || sent < bytes) {
		ssize_t n = write(speech->out_fd, junk,
				  bytes && bytes - sent < sizeof(junk)
					  ? bytes - sent
					  : sizeof(junk));

		if (n < 0)
			return;
		sent += (uint64_t)n;
	}
}

static void act(const struct speech *speech, const char *name,
		const struct words *words)
{
	int fd = speech->sock_fd;

	if (strcmp(name, "write") == 0)
		write_out(speech, words->bytes);
	else if (strcmp(name, "list") == 0)
		list_fds(speech);
	else if (strcmp(name, "grow") == 0)
		grow_fds(speech);
	else if (strcmp(name, "climb") == 0)
		climb(speech);
	else if (strcmp(name, "crowd") == 0)
		crowd(speech);
	else if (strcmp(name, "reach") == 0)
		reach(speech);
	else if (strcmp(name, "close") == 0)
		(void)shutdown(fd, SHUT_RDWR);
	else if (strcmp(name, "silent") == 0)
		for (;;)
			(void)pause();
}

void speak(const struct speech *speech, char *word)
{
	static struct words words;
	const char *name = strsep(&word, ",");

	memset(&words, 0, sizeof(words));
	words.times = 1;
	words.started.exec_id = speech->exec_id;
	if (strcmp(name, "started") == 0) {
		words.started.op = INIT_STARTED;
		words.started.pid = 2;
		words.len = sizeof(words.started);
	} else if (strcmp(name, "failed") == 0) {
		words.failed.op = INIT_FAILED;
		words.failed.stage = INIT_STAGE_EXEC;
		words.failed.sys = ENOENT;
		words.len = sizeof(words.failed);
	} else if (strcmp(name, "exited") == 0) {
		words.exited.op = INIT_EXITED;
		words.exited.verdict = VERDICT_EXITED;
		words.len = sizeof(words.exited);
	}
	while (word) {
		char *change = strsep(&word, ",");
		char *value = strchr(change, '=');

		if (!value)
			continue;
		*value = '\0';
		put_change(&words, change, value + 1);
	}
	if (words.started.op || words.len)
		send_words(speech, &words);
	else
		act(speech, name, &words);
}
