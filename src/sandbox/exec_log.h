/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * exec_log - what a program has printed, in a file that outlives us
 *
 * One directory per sandbox, in it two files per exec: ID, all bytes in the
 * order in which they came, and ID.i, the index that says which stream each is
 * of (init_msg.h). Init appends to both, so what they hold is hostile: any
 * bytes, any marks. Nothing of it is ever believed beyond the files' length.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/broker_msg.h"

#define EXEC_LOG_STREAMS 2 /* stdout, stderr */
#define EXEC_LOG_MARKS 64  /* of the index, read at a time */

/* A place in a log, and how to go on from there. */
struct exec_log {
	int fd, index_fd; /* -1: no such file */
	uint64_t at;      /* the next byte, of both streams together */
	uint64_t skip[EXEC_LOG_STREAMS];
	uint8_t skipped[EXEC_LOG_STREAMS]; /* the last byte skipped of each */
	unsigned int stream;               /* that the next byte is of */
	uint64_t mark_num;                 /* of the index's next entry */
	unsigned int mark_at, num_marks;
	uint64_t marks[EXEC_LOG_MARKS];
};

/**
 * exec_log_make() - new files, for init to append to
 * @dir_fd: the logs of all sandboxes
 * @has_index: or all bytes are of one stream
 * @ret_fds: log and index, or -1
 *
 * Return: 0 or -errno; then nothing is left of them. -ENOSPC before the disk
 * is really full: others need it, too.
 */
int exec_log_make(int dir_fd, const char *sandbox_id, const char *id,
		  bool has_index, int ret_fds[static 2]);

/** exec_log_remove() - both files; fine when they aren't there */
void exec_log_remove(int dir_fd, const char *sandbox_id, const char *id);

/** exec_log_remove_all() - of a sandbox */
void exec_log_remove_all(int dir_fd, const char *sandbox_id);

/**
 * exec_log_sweep() - remove the logs of sandboxes that aren't there
 * @is_there: asked about each directory's name
 */
void exec_log_sweep(int dir_fd, bool (*is_there)(void *ctx, const char *name),
		    void *ctx);

/** exec_log_length() - bytes in it, by name; 0 when it isn't there */
uint64_t exec_log_length(int dir_fd, const char *sandbox_id, const char *id);

/** exec_log_open() - from its start. Return: 0 or -errno. */
int exec_log_open(int dir_fd, const char *sandbox_id, const char *id,
		  struct exec_log *ret_log);

void exec_log_close(struct exec_log *log);

/** exec_log_size() - bytes that are in it now, of both streams */
uint64_t exec_log_size(const struct exec_log *log);

/**
 * exec_log_skip() - pass over the first bytes of each stream
 *
 * Only before the first exec_log_next().
 */
void exec_log_skip(struct exec_log *log, const uint64_t num[static 2]);

/**
 * exec_log_next() - bytes that are all of one stream
 *
 * Return: how many; 0 when nothing more is there now.
 */
size_t exec_log_next(struct exec_log *log, void *buf, size_t size,
		     unsigned int *ret_stream);
