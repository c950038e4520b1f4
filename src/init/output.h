/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * output - from a program's pipes to the log that osbd has given for it
 *
 * The program never holds the log itself, or it could change what it printed.
 * Each byte is appended once, in the order in which init found it; which
 * stream it came from stands in the index (init_msg.h).
 */

#include <stdbool.h>
#include <stdint.h>

#define OUTPUT_STREAMS 2

struct output {
	int pipe_fd[OUTPUT_STREAMS]; /* -1: none, or at its end */
	int log_fd, index_fd;        /* -1: none */
	uint64_t bytes, max;
	uint64_t index_bytes;
	unsigned int stream; /* whose the last bytes were */
	bool wait; /* what there is no room for isn't read, to be dropped */
	bool truncated;
	bool grew;         /* since osbd was told last */
	uint64_t later_us; /* when to read on; 0: now */
};

/** output_init() - nothing is logged */
void output_init(struct output *output);

/**
 * output_open() - make the pipes
 * @fds: the log and its index (-1: both streams share a pipe); taken
 * @ret_write_fd: the program's ends, the caller's
 *
 * Return: 0 or -errno; all is closed then.
 */
int output_open(struct output *output, int fds[static 2], uint64_t max,
		int ret_write_fd[static OUTPUT_STREAMS]);

/** output_pump() - append what is in one of the pipes, at most a pipe's usual
 * content; at its end the pipe is closed */
void output_pump(struct output *output, unsigned int i, uint64_t now_us);

/** output_drain() - append what is in them now, however much is written */
void output_drain(struct output *output);

/** output_wants() - is there a pipe @i, and what comes from it to be read? */
bool output_wants(const struct output *output, unsigned int i);

void output_close(struct output *output);
