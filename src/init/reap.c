/* SPDX-License-Identifier: Apache-2.0 */

/*
 * reap - why a program ended, and what it used
 *
 * Init is the parent of every orphan in the sandbox and reaps them all; only
 * the main process of an exec yields a result.
 *
 * What counts is read from the cgroups: processor time covers descendants
 * that nobody waited for; peak memory is the sandbox's since the exec began.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "init/init.h"

#define USUAL_WRITE_BYTES (1u << 20)

/* The file's text with a NUL; empty when it can't be read. */
static void read_text(int fd, char *buf, size_t size)
{
	ssize_t n = fd < 0 ? -1 : pread(fd, buf, size - 1, 0);

	buf[n > 0 ? n : 0] = '\0';
}

uint64_t reap_oom_kills(const struct init *init)
{
	char text[256];

	read_text(init->memory_events_fd, text, sizeof(text));
	return file_keyed(text, "oom_kill");
}

static void read_comm(pid_t pid, char comm[static INIT_COMM_LEN])
{
	char path[32], text[INIT_COMM_LEN + 1];

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	(void)file_read_at(AT_FDCWD, path, text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	(void)snprintf(comm, INIT_COMM_LEN, "%s", text);
}

/* Who is still in the exec's cgroup after its main process is gone. */
static void list_left(const struct exec *exec, struct init_exited *result)
{
	struct numbers pids auto_clean(numbers_close) = NUMBERS_NULL;
	uint64_t pid;

	numbers_open(&pids, exec->cgroup_fd, "cgroup.procs");
	while (numbers_next(&pids, &pid)) {
		struct init_left *left;

		if (result->num_left < INIT_LEFT_MAX) {
			left = &result->left[result->num_left];
			left->pid = (int32_t)pid;
			read_comm(left->pid, left->comm);
		}
		result->num_left++;
	}
}

static void read_pids(const struct init *init, const struct exec *exec,
		      struct init_exited *result)
{
	char name[16], path[40], text[64];

	exec_cgroup_name(init, exec, name);
	(void)snprintf(path, sizeof(path), "%s/pids.peak", name);
	(void)file_read_at(init->pids_fd, path, text, sizeof(text));
	result->peak_pids = (uint32_t)file_number(text);
	(void)snprintf(path, sizeof(path), "%s/pids.events", name);
	(void)file_read_at(init->pids_fd, path, text, sizeof(text));
	if (file_keyed(text, "max") > 0)
		result->limits_hit |= LIMIT_HIT_PIDS;
}

/*
 * Is there no room for a write of usual size? ext4 refuses one that doesn't
 * fit as a whole, so the last blocks may stay free in a full layer.
 */
static bool is_full(const struct statvfs *st)
{
	uint64_t least = st->f_blocks / 16 * st->f_frsize;

	if (least > USUAL_WRITE_BYTES)
		least = USUAL_WRITE_BYTES;
	return st->f_blocks && st->f_bavail * st->f_frsize <= least;
}

static void read_disk(struct init_exited *result)
{
	struct statvfs st;

	if (statvfs("/", &st) < 0)
		return;
	if (is_full(&st))
		result->limits_hit |= LIMIT_HIT_DISK;
	if (st.f_files && st.f_favail == 0)
		result->limits_hit |= LIMIT_HIT_INODES;
}

static void read_usage(const struct init *init, const struct exec *exec,
		       struct init_exited *result)
{
	char text[512];

	result->wall_us = now_us() - exec->started_us;
	(void)file_read_at(exec->cgroup_fd, "cpu.stat", text, sizeof(text));
	result->cpu_us = file_keyed(text, "usage_usec");
	read_text(init->memory_peak_fd, text, sizeof(text));
	result->peak_memory_bytes = file_number(text);
	if (reap_oom_kills(init) > exec->oom_kills)
		result->limits_hit |= LIMIT_HIT_MEMORY;
	read_pids(init, exec, result);
	read_disk(result);
}

static void finish(struct init *init, struct exec *exec, int status)
{
	struct init_exited *result = &exec->result;

	memset(result, 0, sizeof(*result));
	result->op = INIT_EXITED;
	result->exec_id = exec->id;
	output_drain(&exec->output);
	result->truncated = exec->output.truncated;
	read_usage(init, exec, result);
	list_left(exec, result);
	result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	result->verdict =
		verdict_of(exec->our_kill, result->signal, result->limits_hit);
	exec->pid = 0;
	exec->deadline_us = 0;
	exec->state = serve_send(init, result, sizeof(*result)) ? EXEC_SENT
								: EXEC_UNSENT;
}

void reap_children(struct init *init)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
		for (unsigned int i = 0; i < INIT_EXECS_MAX; i++) {
			struct exec *exec = &init->execs[i];

			if (exec->state == EXEC_RUNNING && exec->pid == pid)
				finish(init, exec, status);
		}
	}
}

void reap_linger(struct init *init)
{
	char name[16];

	for (unsigned int i = 0; i < INIT_EXECS_MAX; i++) {
		struct exec *exec = &init->execs[i];

		if (exec->state != EXEC_LINGERING)
			continue;
		exec_cgroup_name(init, exec, name);
		/* EBUSY: somebody was left behind; the next death asks again */
		if (unlinkat(init->cgroup_fd, name, AT_REMOVEDIR) < 0 &&
		    errno != ENOENT)
			continue;
		if (unlinkat(init->pids_fd, name, AT_REMOVEDIR) < 0 &&
		    errno != ENOENT)
			continue;
		output_drain(&exec->output); /* its last words */
		output_close(&exec->output);
		close_fd(&exec->cgroup_fd);
		exec->made = false;
		exec->state = EXEC_FREE;
	}
}
