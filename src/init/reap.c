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

/*
 * Whoever is left is looked at again after this, once if they are no more by
 * then. A quota can stop all for most of its period: so often after they were.
 */
#define SETTLE_US 20000
#define SETTLE_LOOKS 5
#define SETTLE_MAX_US 500000

/* Those that were killed need a moment, too; somebody waits for our word. */
#define ENDING_US 1000
#define ENDING_MAX_US 150000

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

uint64_t reap_cpu_us(const struct exec *exec)
{
	char text[512];

	(void)file_read_at(exec->cgroup_fd, "cpu.stat", text, sizeof(text));
	return file_keyed(text, "usage_usec");
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

/* A number of a file of its pids group; of @key, if that isn't "". */
static uint64_t read_pids_file(const struct init *init, const struct exec *exec,
			       const char *file, const char *key)
{
	char name[16], path[40], text[64];

	exec_cgroup_name(init, exec, name);
	(void)snprintf(path, sizeof(path), "%s/%s", name, file);
	(void)file_read_at(init->pids_fd, path, text, sizeof(text));
	return *key ? file_keyed(text, key) : file_number(text);
}

uint64_t reap_num_pids(const struct init *init, const struct exec *exec)
{
	return read_pids_file(init, exec, "pids.current", "");
}

static void read_pids(const struct init *init, const struct exec *exec,
		      struct init_exited *result)
{
	result->peak_pids =
		(uint32_t)read_pids_file(init, exec, "pids.peak", "");
	if (read_pids_file(init, exec, "pids.events", "max") > 0)
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
	char text[64];

	result->cpu_us = reap_cpu_us(exec);
	read_text(init->memory_peak_fd, text, sizeof(text));
	result->peak_memory_bytes = file_number(text);
	if (reap_oom_kills(init) > exec->oom_kills)
		result->limits_hit |= LIMIT_HIT_MEMORY;
	read_pids(init, exec, result);
	read_disk(result);
}

/* One that has printed its last byte too many and ended is no better. */
static void check_output(struct exec *exec, struct init_exited *result)
{
	if (!result->truncated)
		return;
	result->limits_hit |= LIMIT_HIT_OUTPUT;
	if (exec->output_kill && !exec->our_kill)
		exec->our_kill = VERDICT_OUTPUT_LIMIT;
}

/*
 * Children may outlive an exec that ended by itself. Of one that was ended,
 * or that has tried how many there can be, nothing stays.
 */
static bool leaves_none(const struct exec *exec,
			const struct init_exited *result)
{
	return exec->our_kill || exec->asked_to_end ||
	       (result->limits_hit & LIMIT_HIT_PIDS);
}

static void finish(struct init *init, struct exec *exec)
{
	struct init_exited *result = &exec->result;

	output_drain(&exec->output);
	result->truncated = exec->output.truncated;
	read_usage(init, exec, result);
	check_output(exec, result);
	if (leaves_none(exec, result))
		exec_kill_tree(exec);
	else
		list_left(exec, result);
	result->verdict = verdict_of(exec->our_kill, result->signal,
				     result->exit_code, result->limits_hit);
	exec->state = serve_send(init, result, sizeof(*result)) ? EXEC_SENT
								: EXEC_UNSENT;
}

/* Nobody hears of the end of an exec before it is one, if it can be. */
static bool is_ending(struct exec *exec, uint64_t now)
{
	if (!exec->settle_ending) {
		exec->settle_ending = true;
		exec->settle_end_us = now + ENDING_MAX_US;
		exec_kill_tree(exec);
	}
	exec->settle_next_us = now + ENDING_US;
	return now < exec->settle_end_us;
}

/* Return: is it still to be seen what becomes of those that it left? */
static bool is_settling(const struct init *init, struct exec *exec,
			uint64_t now)
{
	uint32_t pids = (uint32_t)reap_num_pids(init, exec);
	bool first = exec->settle_end_us == 0;

	if (pids == 0)
		return false;
	if (exec->our_kill || exec->asked_to_end ||
	    read_pids_file(init, exec, "pids.events", "max") > 0)
		return is_ending(exec, now);
	if (first)
		exec->settle_end_us = now + SETTLE_MAX_US;
	if (first || pids > exec->settle_pids) {
		exec->settle_pids = pids;
		exec->settle_looks = first ? 1 : SETTLE_LOOKS;
	} else {
		exec->settle_looks--;
	}
	exec->settle_next_us = now + SETTLE_US;
	return exec->settle_looks > 0 && now < exec->settle_end_us;
}

void reap_settle(struct init *init, struct exec *exec, uint64_t now)
{
	if (!is_settling(init, exec, now))
		finish(init, exec);
}

static void end_main(struct exec *exec, int status)
{
	struct init_exited *result = &exec->result;

	memset(result, 0, sizeof(*result));
	result->op = INIT_EXITED;
	result->exec_id = exec->id;
	result->wall_us = now_us() - exec->started_us;
	result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	exec->deadline_us = exec->cpu_next_us = 0;
	exec->settle_next_us = exec->settle_end_us = 0; /* at once */
	exec->settle_ending = false;
	exec->state = EXEC_SETTLING;
}

void reap_children(struct init *init)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
		for (unsigned int i = 0; i < INIT_EXECS_MAX; i++) {
			struct exec *exec = &init->execs[i];

			if (exec->state == EXEC_RUNNING && exec->pid == pid)
				end_main(exec, status);
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
