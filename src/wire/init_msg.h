/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * init_msg - what osbd says to a sandbox's PID 1, and what it hears back
 *
 * SEQPACKET at <run>/s/<id>.sock (see enum osbd_fd), one connection at a time: a newer one wins
 * and the older sees EOF. Init accepts only peers outside its pid namespace.
 * What init says is hostile until checked: it lives in the sandbox.
 *
 * An exec's standard streams are pipes (or sockets) that osbd makes; init
 * passes their far ends to the program and keeps none. So output reaches osbd
 * without a hop, and a full pipe stops the program, not init. osbd must read
 * what is left in its pipes after INIT_EXITED: a process left running may
 * hold them open, so EOF need not come. Such an exec ends with its osbd.
 *
 * With INIT_EXEC_LOG the pipes are init's, and what comes is appended to a
 * file of osbd's: such an exec goes on without osbd. INIT_GREW says that there
 * is more to read; the file's length is how much.
 *
 * A new connection first hears of all that init still knows: INIT_STARTED per
 * running exec, INIT_EXITED per result that nobody acknowledged, INIT_SYNCED.
 */

#include <stdint.h>

/* One message with all its strings; fits the default socket buffer. */
#define INIT_MSG_MAX (192u * 1024)
#define INIT_EXECS_MAX 128 /* at once, per sandbox */
#define INIT_ARGS_MAX 4096 /* argv and envp entries together */
#define INIT_LEFT_MAX 16   /* processes named in left_running */
#define INIT_COMM_LEN 16
#define INIT_WALL_MAX_MS (INT64_MAX / 1000) /* fits when counted in us */

enum init_op {
	INIT_EXEC = 2,    /* struct init_exec + strings + fds */
	INIT_KILL = 4,    /* struct init_kill */
	INIT_ACK = 6,     /* struct init_head: its result is kept by others */
	INIT_LIFE = 8,    /* struct init_life */
	INIT_STARTED = 1, /* struct init_started */
	INIT_FAILED = 3,  /* struct init_failed: the program never ran */
	INIT_EXITED = 5,  /* struct init_exited: the last word on an exec */
	INIT_GREW = 7,    /* struct init_head: its log has become longer */
	INIT_SYNCED = 9,  /* struct init_head, no exec: all was told */
	INIT_LIVES = 11,  /* struct init_head, no exec: answers INIT_LIFE */
};

enum init_exec_flag {
	INIT_EXEC_STDIN = 1 << 0,  /* an fd for stdin comes along, else */
	INIT_EXEC_STDOUT = 1 << 1, /* /dev/null; in this order */
	INIT_EXEC_STDERR = 1 << 2,
	INIT_EXEC_FILES = 1 << 3, /* run osb-files instead of argv[0] */
	INIT_EXEC_LOG = 1 << 4,   /* an fd to append output to comes along,
				     instead of stdout and stderr... */
	INIT_EXEC_INDEX = 1 << 5, /* ...and one for which bytes are whose; else
				     both streams are one pipe */
	INIT_EXEC_LOG_KILL = 1 << 6, /* more than log_max ends it... */
	INIT_EXEC_LOG_WAIT = 1 << 7, /* ...or isn't read: it waits to print */
};

#define INIT_EXEC_FDS 5 /* at most, in the order of their flags */

/*
 * The index is a list of these, one per change from one stream to the other:
 * the offset in the log where it begins, and in the highest bit which it is.
 * The first byte of a log is stdout's if nothing else is said.
 */
#define INIT_INDEX_STDERR (1ull << 63)

/*
 * Followed by strings, each with its NUL: cwd, then argc arguments, then envc
 * "KEY=VALUE". argv[0] without a slash is looked up in the PATH among the
 * env given, as a shell would.
 */
struct init_exec {
	uint32_t op;
	uint32_t exec_id; /* chosen by osbd; unique among running execs */
	uint32_t flags;
	uint32_t uid, gid; /* inside, below SLOT_IDS; no supplementary groups */
	uint32_t argc, envc;
	uint32_t pids_max; /* 0: what init gives each; never more than that */
	uint64_t wall_ms;  /* whole tree is killed then; 0: no limit; at most
			      INIT_WALL_MAX_MS */
	uint64_t log_max;  /* bytes; what comes beyond is dropped, unless a
			      flag says else; over 0 with INIT_EXEC_LOG, else
			      0 */
	uint64_t cpu_ms;   /* processor time of the whole tree; as wall_ms */
};

enum init_kill_how {
	INIT_KILL_TREE = 1,      /* SIGKILL to every descendant */
	INIT_KILL_MAIN = 2,      /* `signal` to the main process only */
	INIT_KILL_TERM_TREE = 3, /* `signal` to every process of the exec */
};

struct init_kill {
	uint32_t op;
	uint32_t exec_id;
	uint32_t how;
	int32_t signal;
};

struct init_head {
	uint32_t op;
	uint32_t exec_id;
};

/*
 * How long the sandbox may live. At first it ends with the broker and has no
 * other end.
 */
struct init_life {
	uint32_t op;
	uint32_t keep;    /* 1: it outlives the broker, 0: it doesn't */
	uint64_t left_ms; /* from now; 0: for ever; at most LIFE_MAX_MS */
};

struct init_started {
	uint32_t op;
	uint32_t exec_id;
	int32_t pid; /* inside */
	uint32_t reserved;
};

/* Where in the start it failed; the errno is in sys. */
enum init_stage {
	INIT_STAGE_REQUEST = 1, /* malformed, or too many execs */
	INIT_STAGE_CGROUP,
	INIT_STAGE_SPAWN,
	INIT_STAGE_CWD,
	INIT_STAGE_CREDS,
	INIT_STAGE_CONFINE,
	INIT_STAGE_EXEC, /* ENOENT: 127, EACCES and others: 126 */
	INIT_NUM_STAGES
};

struct init_failed {
	uint32_t op;
	uint32_t exec_id;
	uint32_t stage;
	int32_t sys;
};

/*
 * Why an exec ended. Of those that are true the first in this list counts; the
 * numbers are kept in osbd's records, so that none can have another meaning.
 */
enum verdict {
	VERDICT_LOST = 1,         /* init itself died: osbd's word */
	VERDICT_WALL_TIMEOUT = 2, /* our kill: the wall time was over */
	VERDICT_CPU_TIMEOUT = 7,  /* our kill: its processor time was used up */
	VERDICT_OUTPUT_LIMIT = 8, /* our kill: it printed too much */
	VERDICT_KILLED = 3,       /* our kill: somebody asked for it */
	VERDICT_EXPIRED = 9,      /* its sandbox's time was over: osbd's word */
	VERDICT_OOM = 4, /* the main process died of its memory limit */
	VERDICT_SIGNALED = 5,
	VERDICT_PIDS_LIMIT = 10, /* it failed, and had hit this limit */
	VERDICT_DISK_FULL = 11,  /* it failed, and there was no room any more */
	VERDICT_EXITED = 6,
	VERDICT_NUM = 12
};

enum limit_hit {
	LIMIT_HIT_MEMORY = 1 << 0,
	LIMIT_HIT_PIDS = 1 << 1,
	LIMIT_HIT_DISK = 1 << 2,
	LIMIT_HIT_INODES = 1 << 3,
	LIMIT_HIT_OUTPUT = 1 << 4,
};

struct init_left {
	int32_t pid;
	char comm[INIT_COMM_LEN];
};

struct init_exited {
	uint32_t op;
	uint32_t exec_id;
	uint32_t verdict;
	int32_t exit_code; /* -1 when ended by a signal */
	int32_t signal;    /* 0 when it exited */
	uint32_t limits_hit;
	uint64_t wall_us;
	uint64_t cpu_us; /* of all its processes, also those not waited for */
	uint64_t
		peak_memory_bytes; /* of the sandbox's payload since the start */
	uint32_t peak_pids;
	uint32_t num_left;  /* may exceed INIT_LEFT_MAX */
	uint32_t truncated; /* 1: there was more output than log_max */
	uint32_t reserved;
	struct init_left left[INIT_LEFT_MAX];
};
