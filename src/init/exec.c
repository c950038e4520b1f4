/* SPDX-License-Identifier: Apache-2.0 */

/*
 * exec - start one program in its own cgroups
 *
 * Theory of operation. Init itself makes the cgroups, in directories that the
 * broker delegated, so no privileged process is on this path. The child is
 * cloned straight into its v2 cgroup and shares init's memory until it execs
 * (CLONE_VM|CLONE_VFORK: init sleeps meanwhile), because copying page tables
 * is what a fork costs. It runs on a stack of its own, moves itself into the
 * v1 cgroups, takes its standard streams, goes through the walls, and execs.
 * How far it came it leaves in struct start.
 *
 * v1 cgroups are joined through `tasks` and by the child itself: a write of
 * one's own thread takes no lock, while `cgroup.procs` waits for an RCU grace
 * period (5-25 ms) whenever nobody has moved for a few milliseconds.
 *
 * The child must not return, allocate, or change init's state but struct
 * start. See clone(2), vfork(2), cgroups(7).
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clone.h"
#include "base/file.h"
#include "confine/confine.h"
#include "init/init.h"
#include "init/request.h"

/* Enough for execve's path joining; the filter and glibc need little more. */
#define CHILD_STACK_BYTES (32 * 1024)

struct start {
	struct request req;
	int stdio[INIT_EXEC_FDS]; /* see request_streams() */
	int pids_tasks_fd, cpu_tasks_fd, memory_tasks_fd;
	int files_fd;
	struct confine confine;

	/* out */
	enum init_stage stage;
	int sys;
};

void exec_cgroup_name(const struct init *init, const struct exec *exec,
		      char name[static 16])
{
	(void)snprintf(name, 16, "e%u", (unsigned int)(exec - init->execs));
}

static void drop_cgroups(const struct init *init, struct exec *exec)
{
	char name[16];

	close_fd(&exec->cgroup_fd);
	close_fd(&exec->tasks_fd);
	exec_cgroup_name(init, exec, name);
	(void)unlinkat(init->cgroup_fd, name, AT_REMOVEDIR); /* best effort: */
	(void)unlinkat(init->pids_fd, name,
		       AT_REMOVEDIR); /* may be half made */
	exec->made = false;
}

static int make_cgroups(const struct init *init, struct exec *exec)
{
	char name[16], path[40];
	int r;

	if (exec->made)
		return 0;
	exec->made = true;
	exec->cgroup_fd = exec->tasks_fd = -1;
	exec_cgroup_name(init, exec, name);
	if (mkdirat(init->cgroup_fd, name, 0755) < 0 ||
	    (!init->unified && mkdirat(init->pids_fd, name, 0755) < 0))
		return -errno;
	(void)snprintf(path, sizeof(path), "%s/pids.max", name);
	r = file_write_u64_at(init->pids_fd, path, init->exec_pids);
	if (r < 0)
		return r;
	exec->cgroup_fd = openat(init->cgroup_fd, name,
				 O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (init->unified || exec->cgroup_fd < 0)
		return exec->cgroup_fd < 0 ? -errno : 0;
	(void)snprintf(path, sizeof(path), "%s/tasks", name);
	exec->tasks_fd = openat(init->pids_fd, path, O_WRONLY | O_CLOEXEC);
	return exec->tasks_fd < 0 ? -errno : 0;
}

static void take_stdio(struct start *start)
{
	start->stage = INIT_STAGE_SPAWN;
	for (int i = 0; i < 3; i++) {
		int fd = start->stdio[i];

		if (fd < 0)
			fd = open("/dev/null", i ? O_WRONLY : O_RDONLY);
		/* Init keeps 0-2 open itself, so fd is never one of them. */
		if (fd < 0 || dup2(fd, i) < 0) {
			start->sys = errno;
			_exit(127);
		}
	}
}

/* As execvp(3) does it, but without its heap and without a shell fallback. */
static int exec_in_path(char *const argv[], char *const envp[])
{
	char path[PATH_MAX];
	const char *dirs = "/usr/local/bin:/usr/bin:/bin";
	int sys = ENOENT;

	if (strchr(argv[0], '/') || argv[0][0] == '\0') {
		execve(argv[0], argv, envp);
		return errno;
	}
	for (char *const *e = envp; *e; e++) {
		if (strncmp(*e, "PATH=", 5) == 0)
			dirs = *e + 5;
	}
	while (dirs) {
		const char *colon = strchrnul(dirs, ':');
		int n = snprintf(path, sizeof(path), "%.*s/%s",
				 (int)(colon - dirs),
				 colon == dirs ? "." : dirs, argv[0]);

		/* A failed execve costs more than a look. */
		if (n > 0 && (size_t)n < sizeof(path) &&
		    access(path, F_OK) == 0) {
			execve(path, argv, envp);
			sys = errno;
		}
		dirs = *colon ? colon + 1 : NULL;
	}
	return sys;
}

/* Where all is in one hierarchy it was cloned into them. */
static int join_cgroups(const struct start *start)
{
	if (start->pids_tasks_fd < 0)
		return 0;
	if (write(start->pids_tasks_fd, "0", 1) != 1 ||
	    write(start->cpu_tasks_fd, "0", 1) != 1 ||
	    write(start->memory_tasks_fd, "0", 1) != 1)
		return -errno;
	return 0;
}

__attribute__((noreturn)) static void child(void *arg)
{
	struct start *start = arg;
	const bool files = start->req.head->flags & INIT_EXEC_FILES;
	sigset_t none;
	int r;

	start->stage = INIT_STAGE_CGROUP;
	r = join_cgroups(start);
	if (r == 0) {
		take_stdio(start);
		(void)sigemptyset(&none);
		(void)sigprocmask(SIG_SETMASK, &none, NULL);
		(void)setsid(); /* can't fail: a new pid leads no group */
		start->stage = INIT_STAGE_CONFINE;
		r = confine_exec(&start->confine);
	}
	if (r == 0) {
		/* As the user, so that permissions count. */
		start->stage = INIT_STAGE_CWD;
		r = chdir(start->req.cwd) < 0 ? -errno : 0;
	}
	if (r == 0) {
		start->stage = INIT_STAGE_EXEC;
		if (files)
			r = (int)syscall(SYS_execveat, start->files_fd, "",
					 start->req.argv, start->req.envp,
					 AT_EMPTY_PATH) < 0
				    ? -errno
				    : 0;
		else
			r = -exec_in_path(start->req.argv, start->req.envp);
	}
	start->sys = -r;
	_exit(127);
}

/* Return: the pid, or -errno; start->sys says whether it really execed. */
static pid_t spawn(const struct init *init, struct start *start,
		   const struct exec *exec)
{
	static char stack[CHILD_STACK_BYTES] __attribute__((aligned(16)));
	struct clone_args args = {
		.flags = CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.stack = (uint64_t)(uintptr_t)stack,
		.stack_size = sizeof(stack),
		.cgroup = (uint64_t)(unsigned int)exec->cgroup_fd,
	};
	long ret;

	start->pids_tasks_fd = exec->tasks_fd;
	start->cpu_tasks_fd = init->room_fd[exec->room];
	start->sys = 0;
	ret = clone_on_stack(&args, child, start);
	return (pid_t)ret; /* by raw call: negative errno already */
}

static int ruleset_of(struct init *init, uint32_t uid, int *ret_fd)
{
	enum confine_ruleset which = uid == 0 ? CONFINE_ROOT : CONFINE_USER;
	const char *writable[SETUP_BINDS_MAX];
	int r;

	if (!init->ruleset_made[which]) {
		for (uint32_t i = 0; i < init->num_writable; i++)
			writable[i] = init->writable[i];
		r = confine_ruleset_open(which, writable, init->num_writable,
					 &init->ruleset_fd[which]);
		if (r < 0)
			return r;
		init->ruleset_made[which] = true;
	}
	*ret_fd = init->ruleset_fd[which];
	return 0;
}

static struct exec *exec_alloc(struct init *init)
{
	for (unsigned int i = 0; i < INIT_EXECS_MAX; i++) {
		if (init->execs[i].state == EXEC_FREE)
			return &init->execs[i];
	}
	return NULL;
}

/* Whoever has a thousand processes has them in the other one. */
static uint32_t emptier_room(const struct init *init)
{
	uint64_t num[SETUP_ROOMS] = { 0 };

	for (unsigned int i = 0; i < INIT_EXECS_MAX; i++) {
		const struct exec *exec = &init->execs[i];

		if (exec->state != EXEC_FREE)
			num[exec->room] += reap_num_pids(init, exec);
	}
	return num[1] < num[0];
}

static void begin(const struct init *init, struct exec *exec,
		  const struct init_exec *req)
{
	exec->id = req->exec_id;
	exec->room = emptier_room(init);
	exec->our_kill = 0;
	exec->started_us = now_us();
	exec->deadline_us = 0;
	if (req->wall_ms)
		exec->deadline_us = exec->started_us + req->wall_ms * 1000;
	exec->cpu_max_us = req->cpu_ms * 1000;
	exec->cpu_next_us = req->cpu_ms ? exec->started_us : 0;
	exec->output_kill = req->flags & INIT_EXEC_LOG_KILL;
	exec->asked_to_end = false;
	exec->oom_kills = reap_oom_kills(init);
	/* The high-water mark is the sandbox's; shared by what runs at once. */
	(void)!pwrite(init->memory_peak_fd, "0", 1, 0);
}

/* Its group was made ahead, with what each exec may have at most. */
static int lower_pids(const struct init *init, const struct exec *exec,
		      uint32_t pids_max)
{
	char name[16], path[40];

	if (pids_max == 0 || pids_max >= init->exec_pids)
		return 0;
	exec_cgroup_name(init, exec, name);
	(void)snprintf(path, sizeof(path), "%s/pids.max", name);
	return file_write_u64_at(init->pids_fd, path, pids_max);
}

/* The pipes of a program whose output is logged. */
static int open_output(struct exec *exec, struct start *start)
{
	const struct init_exec *head = start->req.head;
	int r;

	if (!(head->flags & INIT_EXEC_LOG))
		return 0;
	r = output_open(&exec->output, &start->stdio[3], head->log_max,
			&start->stdio[STDOUT_FILENO]);
	exec->output.wait = head->flags & INIT_EXEC_LOG_WAIT;
	return r;
}

/* Return: 0 with exec filled, or -errno with start->stage naming where. */
static int start_program(struct init *init, struct start *start,
			 struct exec *exec)
{
	int r;

	output_init(&exec->output);
	start->stage = INIT_STAGE_CONFINE;
	r = ruleset_of(init, start->req.head->uid, &start->confine.ruleset_fd);
	if (r < 0)
		return r;
	start->stage = INIT_STAGE_CGROUP;
	r = make_cgroups(init, exec);
	if (r == 0)
		r = lower_pids(init, exec, start->req.head->pids_max);
	if (r == 0) {
		start->stage = INIT_STAGE_SPAWN;
		show_limits(init);
		begin(init, exec, start->req.head);
		r = open_output(exec, start);
	}
	if (r == 0) {
		exec->pid = spawn(init, start, exec);
		r = exec->pid < 0 ? exec->pid : -start->sys;
		if (exec->pid > 0 && start->sys)
			(void)waitpid(exec->pid, NULL, __WALL); /* it told */
	}
	if (r < 0) {
		output_close(&exec->output);
		drop_cgroups(init, exec);
	}
	close_fd(&exec->tasks_fd);
	return r;
}

void exec_prepare(struct init *init)
{
	struct exec *exec = exec_alloc(init);
	int ruleset_fd;

	/* A failure here is met again, and reported, when it matters. */
	(void)ruleset_of(init, 1000, &ruleset_fd);
	if (init->shown_us == 0)
		show_limits(init);
	if (exec && make_cgroups(init, exec) < 0)
		drop_cgroups(init, exec);
}

static int prepare(struct init *init, size_t len, int *fds,
		   unsigned int num_fds, struct start *start)
{
	int r;

	r = request_parse(init->msg, len, &start->req);
	if (r < 0)
		return r;
	if (exec_find(init, start->req.head->exec_id))
		return -EEXIST;
	if (init->no_root && (!start->req.head->uid || !start->req.head->gid)) {
		start->stage = INIT_STAGE_CREDS;
		return -EPERM;
	}
	start->memory_tasks_fd = init->memory_tasks_fd;
	start->files_fd = init->files_fd;
	start->confine.uid = start->req.head->uid;
	start->confine.gid = start->req.head->gid;
	start->confine.nofile = init->nofile;
	r = request_streams(start->req.head, fds, num_fds, start->stdio);
	for (unsigned int i = 0; r == 0 && i < num_fds; i++)
		fds[i] = -1; /* start has them now */
	return r;
}

void exec_start(struct init *init, size_t len, int *fds, unsigned int num_fds)
{
	static struct start start; /* 64 kB of pointers, touched as needed */
	struct exec *exec = exec_alloc(init);
	struct init_failed failed = { .op = INIT_FAILED };
	struct init_started started = { .op = INIT_STARTED };
	int r;

	for (unsigned int i = 0; i < INIT_EXEC_FDS; i++)
		start.stdio[i] = -1;
	start.stage = INIT_STAGE_REQUEST;
	r = exec ? prepare(init, len, fds, num_fds, &start) : -EAGAIN;
	if (r == 0)
		r = start_program(init, &start, exec);
	for (unsigned int i = 0; i < INIT_EXEC_FDS; i++)
		close_fd(&start.stdio[i]);
	for (unsigned int i = 0; i < num_fds; i++)
		close_fd(&fds[i]);
	if (len >= sizeof(struct init_exec)) {
		const struct init_exec *req = (const void *)init->msg;

		failed.exec_id = started.exec_id = req->exec_id;
	}
	if (r < 0) {
		failed.stage = start.stage;
		failed.sys = -r;
		serve_must_send(init, &failed, sizeof(failed));
		return;
	}
	exec->state = EXEC_RUNNING;
	init->truth.last_pid = (uint32_t)exec->pid;
	started.pid = exec->pid;
	serve_must_send(init, &started, sizeof(started));
}

struct exec *exec_find(struct init *init, uint32_t id)
{
	for (unsigned int i = 0; i < INIT_EXECS_MAX; i++) {
		struct exec *exec = &init->execs[i];

		if (exec->id == id && exec->state != EXEC_FREE &&
		    exec->state != EXEC_LINGERING)
			return exec;
	}
	return NULL;
}

void exec_kill_tree(struct exec *exec)
{
	(void)file_write_at(exec->cgroup_fd, "cgroup.kill", "1");
}

void exec_end(struct exec *exec, enum verdict verdict)
{
	if (!exec->our_kill)
		exec->our_kill = verdict;
	exec_kill_tree(exec);
}

void exec_signal_tree(struct exec *exec, int signal)
{
	struct numbers pids auto_clean(numbers_close) = NUMBERS_NULL;
	uint64_t pid;

	numbers_open(&pids, exec->cgroup_fd, "cgroup.procs");
	while (numbers_next(&pids, &pid)) {
		/* Never 0, 1 or a group: only numbers the kernel listed. */
		if (pid > 1)
			(void)kill((pid_t)pid, signal);
	}
}
