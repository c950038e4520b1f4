/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * init - the parts of osb-init, and what they share
 *
 *   main.c      which role
 *   launcher.c  role 1: one per domain; clones sandboxes, keeps spare netns
 *   setup.c     role 2, once: from clone to a closed sandbox
 *   serve.c     role 2, then: connections, messages, deadlines, the loop
 *   request.c   what osbd may ask init to start
 *   exec.c      start one program in its cgroups
 *   output.c    a program's output, to its log
 *   reap.c      statuses and counters
 *   verdict.c   why an exec ended
 *   show.c      the sandbox's limits in place of the host's
 *
 * No heap, no stdio, no globals: all state hangs from struct init.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "init/output.h"
#include "truth/truth.h"
#include "wire/init_msg.h"
#include "wire/setup_msg.h"

/*
 * EXEC_FREE       nothing is valid but its cgroups, if made: the next exec's
 *                 are made ahead.
 * EXEC_RUNNING    the main process lives; pid and cgroup_fd are valid.
 * EXEC_SETTLING   the main process is reaped, others aren't: see reap_settle().
 * EXEC_UNSENT     all is known; result waits to be sent.
 * EXEC_SENT       ... was sent, and waits to be acknowledged.
 * EXEC_LINGERING  result acknowledged; processes left behind keep its cgroups,
 *                 and what they print is still logged.
 */
enum exec_state {
	EXEC_FREE,
	EXEC_RUNNING,
	EXEC_SETTLING,
	EXEC_UNSENT,
	EXEC_SENT,
	EXEC_LINGERING,
};

struct exec {
	enum exec_state state;
	uint32_t id; /* osbd's number */
	pid_t pid;
	bool made;         /* its cgroups exist: "e<index in the table>" */
	int cgroup_fd;     /* the v2 directory */
	int tasks_fd;      /* pids; while it starts */
	uint32_t room;     /* which of the cpu groups */
	uint32_t our_kill; /* verdict to give if we ended it, else 0 */
	uint64_t started_us;
	uint64_t deadline_us; /* CLOCK_BOOTTIME; 0: none */
	uint64_t cpu_max_us;  /* processor time; 0: any */
	uint64_t cpu_next_us; /* when it could be used up; 0: never */
	bool output_kill;     /* too much output ends it */
	uint64_t settle_next_us, settle_end_us;
	uint32_t settle_looks, settle_pids; /* to take yet; seen at most */
	bool settle_ending;                 /* all were killed */
	bool asked_to_end;  /* by SIGTERM: what it leaves behind, too */
	uint64_t oom_kills; /* counter at the start */
	struct output output;
	struct init_exited result;
};

struct init {
	/* from struct setup, for life */
	bool unified; /* one hierarchy: cgroup_fd and pids_fd are the same */
	int cgroup_fd, pids_fd; /* where an exec's directories are made */
	int room_fd
		[SETUP_ROOMS]; /* `tasks` of cpu groups; -1: each has its own */
	int memory_tasks_fd, memory_peak_fd, memory_events_fd;
	int memory_max_fd, memory_stat_fd;
	int truth_fd[TRUTH_NUM_FILES]; /* writable; inside they aren't */
	int notify_fd; /* calls that we answer; -1: the kernel does */
	int listen_fd;
	int files_fd; /* the osb-files program */
	uint32_t exec_pids, nofile;
	uint32_t cpus; /* of the host, that a program can use at once */
	bool no_root;  /* no program may be */
	uint32_t num_writable;
	char writable[SETUP_BINDS_MAX][VOLUME_PATH_MAX + 1];

	int ruleset_fd[2]; /* by enum confine_ruleset; made at first use */
	bool ruleset_made[2];

	int conn_fd, signal_fd, timer_fd;
	uint64_t life_us;  /* CLOCK_BOOTTIME; when all ends; 0: never */
	uint64_t timer_us; /* what timer_fd is set to */
	struct truth truth;
	uint64_t shown_us; /* when it was last brought up to date */
	struct exec execs[INIT_EXECS_MAX];
	uint8_t msg[INIT_MSG_MAX];
};

/** launcher_main() - role 1; argv: base uid of the block. Return: exit code */
int launcher_main(char **argv);

/**
 * init_main() - role 2: set up, then serve until killed
 * @sock_fd: where struct setup comes from
 * @files_fd: program for INIT_EXEC_FILES
 */
__attribute__((noreturn)) void init_main(int sock_fd, int files_fd);

/**
 * setup_run() - build the sandbox around the calling process
 *
 * Fills @init's descriptors. On failure *@ret_where names the step.
 * Return: 0 or -errno.
 */
int setup_run(struct init *init, int sock_fd, const char **ret_where);

/**
 * exec_start() - answer one INIT_EXEC
 * @len: bytes of it in init->msg
 * @fds: the standard streams that came along; all closed on return
 */
void exec_start(struct init *init, size_t len, int *fds, unsigned int num_fds);

/** exec_prepare() - make what the next exec needs, if it isn't there yet */
void exec_prepare(struct init *init);

/** exec_cgroup_name() - below both delegated directories */
void exec_cgroup_name(const struct init *init, const struct exec *exec,
		      char name[static 16]);

/** exec_find() - by osbd's number, until it is acknowledged; or NULL */
struct exec *exec_find(struct init *init, uint32_t id);

/** exec_kill_tree() - SIGKILL to every process of it */
void exec_kill_tree(struct exec *exec);

/** exec_end() - the same by ourselves; the first @verdict counts */
void exec_end(struct exec *exec, enum verdict verdict);

/** exec_signal_tree() - @signal to every process of it */
void exec_signal_tree(struct exec *exec, int signal);

/** reap_children() - collect whoever died; fills results */
void reap_children(struct init *init);

/**
 * reap_settle() - the result of an exec whose main process has ended
 *
 * Of who leaves others behind we wait a moment for how it goes on: a bomb has
 * lost its first process long before it has met its limit.
 */
void reap_settle(struct init *init, struct exec *exec, uint64_t now);

/** reap_linger() - drop the cgroups of execs whose last process is gone */
void reap_linger(struct init *init);

/** reap_cpu_us() - processor time of all processes of @exec so far */
uint64_t reap_cpu_us(const struct exec *exec);

/** reap_num_pids() - how many processes of @exec there are */
uint64_t reap_num_pids(const struct init *init, const struct exec *exec);

/** reap_oom_kills() - OOM kills in the payload so far */
uint64_t reap_oom_kills(const struct init *init);

/**
 * verdict_of() - the first that is true, see enum verdict
 * @our_kill: verdict of a kill of ours, or 0
 * @signal: that ended the main process, or 0
 * @exit_code: of the main process; of no meaning with a signal
 * @limits_hit: of enum limit_hit
 */
uint32_t verdict_of(uint32_t our_kill, int signal, int exit_code,
		    uint32_t limits_hit);

/** show_limits() - before a program starts: what it is shown is no older than
 * a second, and of the limits that hold now */
void show_limits(struct init *init);

/** show_running() - the same each second while one runs */
void show_running(struct init *init, uint64_t now);

/** show_next_us() - when show_running() has to be called next */
uint64_t show_next_us(const struct init *init);

/** show_open() - before the first call of show_answer() */
void show_open(struct init *init);

/** show_answer() - one sysinfo(2) or sched_getaffinity(2) of a program */
void show_answer(struct init *init);

/** serve_send() - to osbd; false when it can't take it now */
bool serve_send(struct init *init, const void *msg, size_t len);

/** serve_must_send() - who doesn't take this would wait for it for ever, or
 * not believe the next: it has to connect anew */
void serve_must_send(struct init *init, const void *msg, size_t len);

/** now_us() - CLOCK_BOOTTIME in microseconds */
uint64_t now_us(void);
