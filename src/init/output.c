/* SPDX-License-Identifier: Apache-2.0 */

/*
 * #syscalls  pipe2 fcntl read write close
 */

#include "init/output.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "wire/init_msg.h"

#define CHUNK_BYTES (64u * 1024) /* of a pipe, unless somebody made it larger */
#define INDEX_SHARE 8u           /* of the log's maximum, for its index */
#define INDEX_BYTES 4096u        /* if that is more */
#define CHUNKS_MAX 16u           /* of the largest that a program can make */

/*
 * A program whose log is full may go on, but not as fast as it can: init
 * would do nothing but read for it.
 */
#define DROP_PAUSE_US 10000

void output_init(struct output *output)
{
	*output = (struct output){
		.pipe_fd = { -1, -1 },
		.log_fd = -1,
		.index_fd = -1,
	};
}

static int make_pipe(int *ret_read_fd, int *ret_write_fd)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	*ret_read_fd = fds[0];
	*ret_write_fd = fds[1];
	/* Only our end: the two are separate descriptions. */
	return fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

int output_open(struct output *output, int fds[static 2], uint64_t max,
		int ret_write_fd[static OUTPUT_STREAMS])
{
	int r;

	output_init(output);
	output->log_fd = take_fd(&fds[0]);
	output->index_fd = take_fd(&fds[1]);
	output->max = max;
	r = make_pipe(&output->pipe_fd[0], &ret_write_fd[0]);
	if (r == 0 && output->index_fd >= 0)
		r = make_pipe(&output->pipe_fd[1], &ret_write_fd[1]);
	else if (r == 0)
		r = ret_write_fd[1] =
			fcntl(ret_write_fd[0], F_DUPFD_CLOEXEC, 3);
	if (r >= 0)
		return 0;
	output_close(output);
	return r == -1 ? -errno : r;
}

/* What the disk doesn't take is as lost as what is beyond the maximum. */
static void give_up(struct output *output)
{
	output->truncated = true;
	output->max = output->bytes;
}

static uint64_t index_max(const struct output *output)
{
	uint64_t share = output->max / INDEX_SHARE;

	return share > INDEX_BYTES ? share : INDEX_BYTES;
}

static void append(struct output *output, unsigned int i, const uint8_t *data,
		   size_t len)
{
	if (len > output->max - output->bytes) {
		len = (size_t)(output->max - output->bytes);
		output->truncated = true;
	}
	if (len == 0)
		return;
	if (i != output->stream) {
		uint64_t mark = output->bytes | (i ? INIT_INDEX_STDERR : 0);

		/* However often they take turns, an index stays smaller. */
		output->index_bytes += sizeof(mark);
		if (output->index_bytes > index_max(output) ||
		    write(output->index_fd, &mark, sizeof(mark)) !=
			    (ssize_t)sizeof(mark)) {
			give_up(output);
			return;
		}
		output->stream = i;
	}
	while (len > 0) {
		ssize_t n = write(output->log_fd, data, len);

		if (n <= 0) {
			give_up(output);
			return;
		}
		output->bytes += (uint64_t)n;
		output->grew = true;
		data += n;
		len -= (size_t)n;
	}
}

/* Return: whether there may be more. */
static bool read_chunk(struct output *output, unsigned int i)
{
	static uint8_t chunk[CHUNK_BYTES];
	ssize_t n = read(output->pipe_fd[i], chunk, sizeof(chunk));

	if (n > 0)
		append(output, i, chunk, (size_t)n);
	else if (n == 0 || errno != EAGAIN)
		close_fd(&output->pipe_fd[i]);
	return n > 0;
}

void output_pump(struct output *output, unsigned int i, uint64_t now_us)
{
	output->later_us = 0;
	if (read_chunk(output, i) && output->truncated)
		output->later_us = now_us + DROP_PAUSE_US;
}

bool output_wants(const struct output *output, unsigned int i)
{
	if (output->wait && output->bytes == output->max)
		return false;
	return output->pipe_fd[i] >= 0;
}

void output_drain(struct output *output)
{
	for (unsigned int i = 0; i < OUTPUT_STREAMS; i++) {
		for (unsigned int n = 0; n < CHUNKS_MAX; n++) {
			if (output->pipe_fd[i] < 0 || !read_chunk(output, i))
				break;
		}
	}
}

void output_close(struct output *output)
{
	for (unsigned int i = 0; i < OUTPUT_STREAMS; i++)
		close_fd(&output->pipe_fd[i]);
	close_fd(&output->log_fd);
	close_fd(&output->index_fd);
}
