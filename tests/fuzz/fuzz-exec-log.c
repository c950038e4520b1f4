/* SPDX-License-Identifier: Apache-2.0 */

/*
 * exec-log - a log and its index, as a hostile init would write them
 *
 * Input: a byte, how many marks there are; a byte, how much is read at a time;
 * two bytes, how much of each stream is skipped; the marks, four bytes each
 * (the highest bit is the stream, the others are spread over the range); the
 * rest is the log. Half of each is written after the first reading.
 */

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "fuzz.h"
#include "sandbox/exec_log.h"
#include "wire/init_msg.h"

#define LOG_MAX 4096u
#define MARKS_MAX 255u

static const char sandbox_id[] = "0123456789abcdef0123456789abcdef";
static const char id[] = "00000000000000000000000000000001";

static struct {
	uint8_t log[LOG_MAX];
	size_t len;
	uint64_t marks[MARKS_MAX];
	size_t num_marks;
	uint64_t skip[EXEC_LOG_STREAMS];
	size_t step;
} in;

static char dir_path[] = "/tmp/fuzz-exec-log-XXXXXX";
static int dir_fd = -1;

static void remove_dir(void)
{
	exec_log_remove_all(dir_fd, sandbox_id);
	(void)rmdir(dir_path);
}

static void make_dir(void)
{
	if (dir_fd >= 0)
		return;
	CHECK(mkdtemp(dir_path));
	dir_fd = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(dir_fd >= 0 && atexit(remove_dir) == 0);
}

/* Small numbers mostly, some of them beyond everything. */
static uint64_t make_mark(uint32_t seed)
{
	uint64_t offset = seed & 0xfff;

	if (seed & 0x40000000)
		offset = UINT64_MAX >> 1 >> (seed & 63);
	return offset | (seed & 0x80000000 ? INIT_INDEX_STDERR : 0);
}

static bool read_input(const uint8_t *data, size_t size)
{
	size_t at = 4;

	if (size < at)
		return false;
	memset(&in, 0, sizeof(in));
	in.step = data[1] ? data[1] : 1;
	in.skip[0] = data[2];
	in.skip[1] = data[3];
	while (in.num_marks < data[0] && at + 4 <= size) {
		uint32_t seed;

		memcpy(&seed, data + at, sizeof(seed));
		in.marks[in.num_marks++] = make_mark(seed);
		at += sizeof(seed);
	}
	in.len = size - at < LOG_MAX ? size - at : LOG_MAX;
	memcpy(in.log, data + at, in.len);
	return true;
}

/* Every byte once and in order, but for those that were skipped. */
static size_t read_log(struct exec_log *log, bool skips)
{
	uint8_t buf[256];
	unsigned int stream = 99;
	size_t n;

	while ((n = exec_log_next(log, buf, in.step, &stream))) {
		CHECK(n <= in.step && stream < EXEC_LOG_STREAMS);
		CHECK(log->at >= n && log->at <= in.len);
		CHECK(memcmp(buf, in.log + log->at - n, n) == 0);
		CHECK(!skips || log->skip[stream] == 0);
	}
	return (size_t)log->at;
}

static void write_part(const int fds[static 2], size_t mark, size_t num_marks,
		       size_t from, size_t len)
{
	size_t bytes = num_marks * sizeof(*in.marks);

	CHECK(write(fds[1], in.marks + mark, bytes) == (ssize_t)bytes);
	CHECK(write(fds[0], in.log + from, len) == (ssize_t)len);
}

static void check_log(bool skips, size_t len)
{
	struct exec_log log;

	CHECK(exec_log_open(dir_fd, sandbox_id, id, &log) == 0);
	if (skips)
		exec_log_skip(&log, in.skip);
	CHECK(read_log(&log, skips) == len);
	CHECK(exec_log_size(&log) == len);
	exec_log_close(&log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct exec_log log;
	int fds[2];

	if (!read_input(data, size))
		return 0;
	make_dir();
	CHECK(exec_log_make(dir_fd, sandbox_id, id, true, fds) == 0);
	CHECK(exec_log_open(dir_fd, sandbox_id, id, &log) == 0);
	write_part(fds, 0, in.num_marks / 2, 0, in.len / 2);
	CHECK(read_log(&log, false) == in.len / 2);
	write_part(fds, in.num_marks / 2, in.num_marks - in.num_marks / 2,
		   in.len / 2, in.len - in.len / 2);
	CHECK(read_log(&log, false) == in.len);
	exec_log_close(&log);
	check_log(false, in.len);
	check_log(true, in.len);
	close_fd(&fds[0]);
	close_fd(&fds[1]);
	exec_log_remove(dir_fd, sandbox_id, id);
	return 0;
}
