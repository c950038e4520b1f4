/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * osb.h - the C client library of OpenSandbox
 *
 * Speaks the same HTTP API as every other client, over a unix socket or, where
 * $OPEN_SANDBOX_DOMAIN says so, by TCP. One struct osb_client is one connection; it isn't locked, so use it from one
 * thread at a time.
 *
 *	struct osb_client *client;
 *	struct osb_error err;
 *	char id[OSB_ID_MAX + 1];
 *	int r;
 *
 *	r = osb_client_open(NULL, &client, &err);
 *	if (r == 0)
 *		r = osb_sandbox_create(client, NULL, id, &err);
 *	if (r == 0)
 *		r = osb_sandbox_delete(client, id, &err);
 *	if (r < 0)
 *		fprintf(stderr, "%s\n", err.message);
 *
 * Functions that can fail return 0 or a negative errno, and fill in the error
 * if one was given. Nothing here logs, prints or touches signals; nothing
 * raises SIGPIPE.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OSB_API __attribute__((visibility("default")))

#define OSB_ID_MAX 63

struct osb_error {
	int status;        /* HTTP status of a refusal; 0: never got that far */
	int sys;           /* errno, or 0 */
	char code[64];     /* the API's code, "SANDBOX::NOT_FOUND"; or "" */
	char message[512]; /* one line for people */
};

/* ---- Connection ---------------------------------------------------------- */

struct osb_client;

/* All may be NULL or zero. Strings are copied. */
struct osb_client_options {
	/* Where osbd listens. NULL: $OSB_SOCKET, else $OPEN_SANDBOX_DOMAIN (by
	   TCP, HOST:PORT), else the service's socket if something answers
	   there, else the private one of this user. */
	const char *socket_path;
	/* Where osb-broker lies. NULL: don't start a private one when none
	   answers (never done for the service's socket). */
	const char *broker_path;
	const char *api_key;  /* for daemons that want one */
	const char *build_id; /* a private osbd of another build leaves */
};

/** osb_client_open() - connect, starting a private daemon if allowed */
OSB_API int osb_client_open(const struct osb_client_options *options,
			    struct osb_client **ret_client,
			    struct osb_error *err);

/** osb_client_close() - NULL is fine; ends sandboxes bound to it */
OSB_API void osb_client_close(struct osb_client *client);

/* ---- Sandboxes ----------------------------------------------------------- */

/* 0 means the server's default, everywhere. */
struct osb_limits {
	uint64_t memory_bytes;
	uint64_t disk_bytes;
	uint64_t shm_bytes;
	uint64_t inodes;
	uint64_t pids;
	uint64_t nofile;
	uint32_t cpu_milli; /* thousandths of a CPU */
};

struct osb_volume {
	const char *source; /* absolute, on the server's host */
	const char *target; /* absolute, in the sandbox */
	bool read_only;
};

struct osb_sandbox_spec {
	const char *image;   /* NULL: "host" */
	const char *profile; /* NULL: "code"; see osb_profile_list() */
	struct osb_limits limits;
	const struct osb_volume *volumes;
	size_t num_volumes;
	/* The sandbox lives no longer than this client's connection, however
	   that ends. */
	bool bind;
};

struct osb_sandbox_info {
	char id[OSB_ID_MAX + 1];
	char state[32];
	char image[128];
	int64_t created_s;        /* Unix time; 0: unknown */
	int64_t expires_s;        /* Unix time; 0: never */
	struct osb_limits limits; /* as far as the server says */
};

/**
 * osb_sandbox_create() - make a sandbox; it is usable on return
 * @spec: NULL for all defaults
 */
OSB_API int osb_sandbox_create(struct osb_client *client,
			       const struct osb_sandbox_spec *spec,
			       char ret_id[OSB_ID_MAX + 1],
			       struct osb_error *err);

OSB_API int osb_sandbox_get(struct osb_client *client, const char *id,
			    struct osb_sandbox_info *ret_info,
			    struct osb_error *err);

/**
 * osb_sandbox_list() - all sandboxes of the caller, newest first
 * @ret_infos: an array to be given to free(3); NULL when there is none
 */
OSB_API int osb_sandbox_list(struct osb_client *client,
			     struct osb_sandbox_info **ret_infos,
			     size_t *ret_num, struct osb_error *err);

/**
 * osb_sandbox_renew() - let it end at another moment, sooner or later
 * @expires_ms: Unix time, in milliseconds
 */
OSB_API int osb_sandbox_renew(struct osb_client *client, const char *id,
			      int64_t expires_ms, struct osb_error *err);

/** osb_sandbox_delete() - end it; nothing of it is left on return */
OSB_API int osb_sandbox_delete(struct osb_client *client, const char *id,
			       struct osb_error *err);

/* ---- Profiles ------------------------------------------------------------ */

#define OSB_PROFILE_NAME_MAX 31
#define OSB_PROFILE_TEXT_MAX 4095

/* A name for limits and walls of a sandbox, see osbd.conf(5). */
struct osb_profile_info {
	char name[OSB_PROFILE_NAME_MAX + 1];
	char description[128];
	char values[OSB_PROFILE_TEXT_MAX + 1]; /* lines "KEY = VALUE" */
};

/**
 * osb_profile_list() - all that the server knows
 * @ret_infos: an array to be given to free(3); NULL when there is none
 */
OSB_API int osb_profile_list(struct osb_client *client,
			     struct osb_profile_info **ret_infos,
			     size_t *ret_num, struct osb_error *err);

/* ---- Files --------------------------------------------------------------- */

struct osb_file_spec {
	const char *path;  /* absolute, in the sandbox; parents are made. With
			      a slash at its end: an empty directory */
	const char *owner; /* name or number; NULL: the sandbox's root */
	const char *group; /* the same */
	unsigned int mode; /* permission bits; 0: 0644 */
};

/**
 * osb_file_put() - stream @fd up to its end into a file of the sandbox
 * @fd: read from its current position; stays the caller's; -1: no content
 *
 * The file appears complete, or not at all.
 */
OSB_API int osb_file_put(struct osb_client *client, const char *id,
			 const struct osb_file_spec *spec, int fd,
			 struct osb_error *err);

/* Bytes as they come; @data is valid during the call only. 0 to go on, or a
   negative errno, which ends the call that it is given to. */
typedef int (*osb_bytes_fn)(void *ctx, const void *data, size_t len);

/**
 * osb_file_get() - a regular file of the sandbox, from its start to its end
 * @path: absolute
 *
 * Without a 0 nothing that @fn was given is the whole file.
 */
OSB_API int osb_file_get(struct osb_client *client, const char *id,
			 const char *path, osb_bytes_fn fn, void *ctx,
			 struct osb_error *err);

/* ---- Running a program --------------------------------------------------- */

struct osb_exec;

enum osb_stream {
	OSB_STDOUT = 1,
	OSB_STDERR = 2,
};

/* Output as it comes; @data is valid during the call only. */
typedef void (*osb_output_fn)(void *ctx, enum osb_stream stream,
			      const void *data, size_t len);

/* What becomes of more output than is allowed. */
enum osb_output_policy {
	OSB_OUTPUT_DEFAULT,  /* the sandbox's: truncate, as a rule */
	OSB_OUTPUT_TRUNCATE, /* it is dropped */
	OSB_OUTPUT_KILL,     /* the program is ended */
	OSB_OUTPUT_WAIT,     /* the program waits, for good, to print it */
};

/* Of one program with all that it starts. 0 means the sandbox's default. */
struct osb_exec_limits {
	uint64_t cpu_ms;     /* processor time */
	uint64_t output_max; /* bytes, of both streams */
	enum osb_output_policy output_policy;
	uint64_t pids; /* processes and threads; at most the sandbox's */
};

struct osb_exec_spec {
	const char *const *argv; /* ends with NULL */
	const char *const *env;  /* "KEY=VALUE" …, NULL; or NULL for none */
	const char *cwd;         /* NULL: the image's, /workspace */
	const char *user;        /* "sandbox", "root", "UID", "UID:GID"; NULL:
				    "sandbox" */
	uint64_t timeout_ms;     /* 0: none */
	bool has_stdin;          /* else it reads /dev/null */
	bool bind;               /* the sandbox ends with this exec */
	osb_output_fn on_output;
	void *ctx;
	struct osb_exec_limits limits;
};

enum osb_verdict_kind {
	OSB_EXITED,
	OSB_SIGNALED,
	OSB_KILLED,       /* somebody asked for it */
	OSB_WALL_TIMEOUT, /* its time was over */
	OSB_OOM,          /* it died of its memory limit */
	OSB_LOST,         /* the sandbox itself died */
	OSB_CPU_TIMEOUT,  /* its processor time was used up */
	OSB_OUTPUT_LIMIT, /* it printed too much */
	OSB_EXPIRED,      /* its sandbox's time was over */
	OSB_PIDS_LIMIT,   /* it exited and had failed, at this limit */
	OSB_DISK_FULL,    /* the same */
};

#define OSB_LEFT_MAX 16
#define OSB_LIMITS_HIT_MAX 8

struct osb_verdict {
	enum osb_verdict_kind kind;
	char name[16];     /* the kind as the API writes it */
	int exit_code;     /* -1: none, it was ended by a signal */
	char signal[16];   /* "SIGKILL"; "" when it exited */
	int signal_number; /* the same, or 0 */
	uint64_t wall_ms;
	uint64_t cpu_ms;
	uint64_t peak_memory_bytes;
	uint64_t peak_pids;
	bool truncated;
	bool started; /* false: it could not be executed; see message */
	uint64_t output_bytes; /* of both streams, that were let through */
	size_t num_left;
	struct {
		int64_t pid;
		char name[32];
	} left[OSB_LEFT_MAX]; /* processes that outlived it */
	size_t num_limits_hit;
	char limits_hit[OSB_LIMITS_HIT_MAX][16];
	char contest[4]; /* OK RE TLE MLE OLE; "": not asked for, or none */
	char message[512];
};

/**
 * osb_exec_start() - ask for a program to be run, and don't wait
 *
 * The client's connection belongs to the exec until osb_exec_free(), and is
 * closed there. Then loop over poll(2) with osb_exec_fd() and
 * osb_exec_events(), and hand what came to osb_exec_process().
 */
OSB_API int osb_exec_start(struct osb_client *client, const char *id,
			   const struct osb_exec_spec *spec,
			   struct osb_exec **ret_exec, struct osb_error *err);

/** osb_exec_free() - NULL is fine; ends the exec if it still runs */
OSB_API void osb_exec_free(struct osb_exec *exec);

OSB_API int osb_exec_fd(const struct osb_exec *exec);

/** osb_exec_events() - what to poll for: POLLIN, POLLOUT, both or neither */
OSB_API short osb_exec_events(const struct osb_exec *exec);

/**
 * osb_exec_process() - do what the socket is ready for; never blocks
 *
 * Return: 0 to go on, 1 when the verdict is there, or a negative errno.
 */
OSB_API int osb_exec_process(struct osb_exec *exec, short revents,
			     struct osb_error *err);

/**
 * osb_exec_pause() - stop or go on taking output; it stops the program too
 * once the buffers on the way are full. One more read's worth (64 KiB) may
 * still be handed out by the call in progress.
 */
OSB_API void osb_exec_pause(struct osb_exec *exec, bool paused);

/**
 * osb_exec_room() - how many bytes osb_exec_write() takes now; 0 for good when
 * the program has closed its stdin
 */
OSB_API size_t osb_exec_room(const struct osb_exec *exec);

/** osb_exec_unsent() - bytes that wait for the socket */
OSB_API size_t osb_exec_unsent(const struct osb_exec *exec);

/** osb_exec_write() - bytes for its stdin; all, or -EAGAIN */
OSB_API int osb_exec_write(struct osb_exec *exec, const void *data, size_t len);

/** osb_exec_write_eof() - the end of its stdin */
OSB_API int osb_exec_write_eof(struct osb_exec *exec);

/** osb_exec_signal() - send a signal to it and its descendants: "SIGTERM" */
OSB_API int osb_exec_signal(struct osb_exec *exec, const char *signal);

/** osb_exec_kill() - end it with all its descendants */
OSB_API int osb_exec_kill(struct osb_exec *exec);

/** osb_exec_verdict() - how it ended; NULL before osb_exec_process() said 1 */
OSB_API const struct osb_verdict *osb_exec_verdict(const struct osb_exec *exec);

/* ---- Commands: programs that go on by themselves -------------------------- */

#define OSB_COMMAND_TEXT_MAX 1024

struct osb_command_spec {
	const char *text;       /* for bash, or sh */
	const char *const *env; /* as of an exec */
	const char *cwd;        /* the same */
	const char *user;       /* the same */
	uint64_t timeout_ms;    /* 0: none */
	struct osb_exec_limits limits;
};

struct osb_command_info {
	char id[OSB_ID_MAX + 1];
	char text[OSB_COMMAND_TEXT_MAX + 1]; /* its beginning */
	bool background;
	bool running;
	int64_t started_s;          /* Unix time */
	int64_t finished_s;         /* the same; 0: it runs */
	struct osb_verdict verdict; /* unless it runs */
};

/** osb_command_start() - without stdin; its output goes to its log */
OSB_API int osb_command_start(struct osb_client *client, const char *id,
			      const struct osb_command_spec *spec,
			      char ret_command[OSB_ID_MAX + 1],
			      struct osb_error *err);

OSB_API int osb_command_get(struct osb_client *client, const char *id,
			    const char *command,
			    struct osb_command_info *ret_info,
			    struct osb_error *err);

/**
 * osb_command_list() - those of a sandbox that run or are remembered, newest
 * first
 * @ret_infos: an array to be given to free(3); NULL when there is none
 */
OSB_API int osb_command_list(struct osb_client *client, const char *id,
			     struct osb_command_info **ret_infos,
			     size_t *ret_num, struct osb_error *err);

/**
 * osb_command_log() - some of what it has printed: both streams, as they came
 * @cursor: the first byte wanted; moved on by what @fn was given, also when
 *          this fails, so that the next call goes on from there
 *
 * When the cursor didn't move there is nothing more now.
 */
OSB_API int osb_command_log(struct osb_client *client, const char *id,
			    const char *command, uint64_t *cursor,
			    osb_bytes_fn fn, void *ctx, struct osb_error *err);

/** osb_command_interrupt() - SIGTERM to all of it, SIGKILL 3 s later */
OSB_API int osb_command_interrupt(struct osb_client *client, const char *id,
				  const char *command, struct osb_error *err);

/** osb_command_delete() - kill it if it runs; forget it, with its log */
OSB_API int osb_command_delete(struct osb_client *client, const char *id,
			       const char *command, struct osb_error *err);

#ifdef __cplusplus
}
#endif
