/* SPDX-License-Identifier: Apache-2.0 */

/*
 * init - an osb-init that was taken over, as init or as launcher
 *
 * Linked from the product's own objects with --wrap for the functions below,
 * so that it is honest until told otherwise, and stands behind the same walls:
 *
 *   exec      a program named `attack` isn't started: its arguments say what
 *             osbd gets to hear instead, see speak.c
 *   setup     a writable volume at /attack-NAME changes the one answer to the
 *             broker
 *   launcher  a process called wayNNPPPPPPPP (osbd, which may call itself
 *             what it likes) changes the answer to LAUNCHER_CLONE in the way
 *             of number NN, with process PPPPPPPP
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "hostile/hostile.h"
#include "init/init.h"
#include "wire/fdpass.h"

#define WAY_MARK "way"
#define BIND_MARK "/attack-"

int __real_setup_run(struct init *init, int sock_fd, const char **ret_where);
int __wrap_setup_run(struct init *init, int sock_fd, const char **ret_where);
void __real_exec_start(struct init *init, size_t len, int *fds,
		       unsigned int num_fds);
void __wrap_exec_start(struct init *init, size_t len, int *fds,
		       unsigned int num_fds);
int __real_fdpass_recv(int sock_fd, void *msg, size_t size, int flags,
		       size_t *ret_len, struct fdset *ret_fds);
int __wrap_fdpass_recv(int sock_fd, void *msg, size_t size, int flags,
		       size_t *ret_len, struct fdset *ret_fds);
int __real_fdpass_send(int sock_fd, const void *msg, size_t len, const int *fds,
		       unsigned int num_fds);
int __wrap_fdpass_send(int sock_fd, const void *msg, size_t len, const int *fds,
		       unsigned int num_fds);

__attribute__((noreturn)) static void be_silent(void)
{
	for (;;)
		(void)pause();
}

/* --- setup --- */

static void answer_setup(int sock_fd, const char *how)
{
	struct {
		struct setup_answer good;
		char surplus[64];
	} msg = { .good = { .sys = 0 } };
	size_t len = sizeof(msg.good);
	unsigned int num_fds = 0;
	int fd auto_fd = -1;

	if (strcmp(how, "silent") == 0)
		be_silent();
	if (strcmp(how, "leave") == 0)
		_exit(0);
	if (strcmp(how, "short") == 0)
		len--;
	else if (strcmp(how, "long") == 0)
		len++;
	else if (strcmp(how, "empty") == 0)
		len = 0;
	else if (strcmp(how, "negative") == 0)
		msg.good.sys = -5;
	else if (strcmp(how, "unterminated") == 0)
		memset(msg.good.where, 'x', sizeof(msg.good.where));
	else if (strcmp(how, "gifts") == 0)
		num_fds = gift_open("null", &fd) == 0 ? 40 : 0;
	if (strcmp(how, "unterminated") == 0)
		msg.good.sys = 22;
	(void)gift_send(sock_fd, &msg, len, fd, num_fds);
}

int __wrap_setup_run(struct init *init, int sock_fd, const char **ret_where)
{
	int r = __real_setup_run(init, sock_fd, ret_where);

	for (uint32_t i = 0; r == 0 && i < init->num_writable; i++) {
		const char *path = init->writable[i];

		/* The honest answer follows, as a second one. */
		if (strncmp(path, BIND_MARK, strlen(BIND_MARK)) == 0)
			answer_setup(sock_fd, path + strlen(BIND_MARK));
	}
	return r;
}

/* --- an exec --- */

void __wrap_exec_start(struct init *init, size_t len, int *fds,
		       unsigned int num_fds)
{
	const struct init_exec *req = (const void *)init->msg;
	const char *cwd = (const char *)(init->msg + sizeof(*req));
	const char *word = cwd + strlen(cwd) + 1;
	const struct speech speech = {
		.sock_fd = init->conn_fd,
		.exec_id = req->exec_id,
		.out_fd = num_fds > 0 ? fds[num_fds > 2 ? 1 : 0] : -1,
		.init = init,
	};

	if (strcmp(word, "attack") != 0) {
		__real_exec_start(init, len, fds, num_fds);
		return;
	}
	for (uint32_t i = 1; i < req->argc; i++) {
		char copy[512];

		word += strlen(word) + 1;
		(void)snprintf(copy, sizeof(copy), "%s", word);
		speak(&speech, copy);
	}
	for (unsigned int i = 0; i < num_fds; i++)
		close_fd(&fds[i]);
}

/* --- the launcher --- */

static char way[16];

/* Is there a process with such a name? */
static void find_way(void)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;

	way[0] = '\0';
	while (dir && (entry = readdir(dir)) && way[0] == '\0') {
		char path[300], comm[sizeof(way)];

		(void)snprintf(path, sizeof(path), "/proc/%s/comm",
			       entry->d_name);
		if (file_read_at(AT_FDCWD, path, comm, sizeof(comm)) == 0 &&
		    strncmp(comm, WAY_MARK, strlen(WAY_MARK)) == 0)
			memcpy(way, comm, sizeof(way));
	}
	if (dir)
		(void)closedir(dir);
}

int __wrap_fdpass_recv(int sock_fd, void *msg, size_t size, int flags,
		       size_t *ret_len, struct fdset *ret_fds)
{
	int r = __real_fdpass_recv(sock_fd, msg, size, flags, ret_len, ret_fds);
	const struct launcher_msg *in = msg;

	if (r == 0 && *ret_len == sizeof(*in) && in->op == LAUNCHER_CLONE)
		find_way();
	return r;
}

/* Sends in place of the honest answer; true when that is all. */
static bool answer_clone(int sock_fd, const struct launcher_msg *honest,
			 unsigned long how)
{
	struct {
		struct launcher_msg msg;
		char surplus[64];
	} out = { .msg = *honest };
	size_t len = sizeof(out.msg);
	unsigned int num_fds = 0;
	int fd auto_fd = -1;
	char digits[9] = "";

	memcpy(digits, way + strlen(WAY_MARK) + 2, 8);
	if (how == 1)
		out.msg.pid = (int32_t)strtoul(digits, NULL, 16);
	else if (how == 2)
		return true; /* silence */
	else if (how == 3)
		len--;
	else if (how == 4)
		len++;
	else if (how == 5)
		out.msg.op = LAUNCHER_READY;
	else if (how == 6)
		out.msg.sys = -5;
	else if (how == 7)
		num_fds = gift_open("null", &fd) == 0 ? 40 : 0;
	else if (how == 8)
		out.msg.pid = 0;
	else if (how == 9)
		memset(out.msg.where, out.msg.sys = 5, sizeof(out.msg.where));
	else if (how == 10)
		_exit(0);
	(void)gift_send(sock_fd, &out, len, fd, num_fds);
	return how != 11; /* which answers twice */
}

int __wrap_fdpass_send(int sock_fd, const void *msg, size_t len, const int *fds,
		       unsigned int num_fds)
{
	const struct launcher_msg *out = msg;
	char digits[3] = { way[3], way[4], '\0' };

	if (len == sizeof(*out) && out->op == LAUNCHER_CLONED &&
	    sock_fd == LAUNCHER_FD_BROKER && way[0] &&
	    answer_clone(sock_fd, out, strtoul(digits, NULL, 16)))
		return 0;
	return __real_fdpass_send(sock_fd, msg, len, fds, num_fds);
}
