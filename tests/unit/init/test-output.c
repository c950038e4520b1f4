/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "init/output.h"
#include "wire/init_msg.h"

static struct {
	char log_path[64], index_path[64];
	int write_fd[OUTPUT_STREAMS]; /* the program's */
	struct output output;
} own;

static int make_file(char *path, size_t size)
{
	int fd;

	(void)snprintf(path, size, "/tmp/osb-unit-XXXXXX");
	fd = mkostemp(path, O_APPEND | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void begin(uint64_t max, bool indexed)
{
	int fds[2] = { make_file(own.log_path, sizeof(own.log_path)), -1 };

	if (indexed)
		fds[1] = make_file(own.index_path, sizeof(own.index_path));
	assert_int_equal(output_open(&own.output, fds, max, own.write_fd), 0);
	assert_int_equal(fds[0], -1);
	assert_int_equal(fds[1], -1);
}

static int setup(void **state)
{
	(void)state;
	memset(&own, 0, sizeof(own));
	own.write_fd[0] = own.write_fd[1] = -1;
	output_init(&own.output);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	output_close(&own.output);
	for (unsigned int i = 0; i < OUTPUT_STREAMS; i++)
		if (own.write_fd[i] >= 0)
			(void)close(own.write_fd[i]);
	(void)unlink(own.log_path);
	if (own.index_path[0])
		(void)unlink(own.index_path);
	return 0;
}

static void say(unsigned int i, const char *text)
{
	assert_int_equal(write(own.write_fd[i], text, strlen(text)),
			 strlen(text));
}

static void say_and_pump(unsigned int i, const char *text)
{
	say(i, text);
	output_pump(&own.output, i, 1);
}

static size_t read_all(const char *path, void *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, buf, size);

	assert_true(fd >= 0 && n >= 0);
	(void)close(fd);
	return (size_t)n;
}

static void check_log(const char *want)
{
	char got[4096] = "";

	assert_int_equal(read_all(own.log_path, got, sizeof(got)),
			 strlen(want));
	assert_string_equal(got, want);
	assert_int_equal(own.output.bytes, strlen(want));
}

static void check_index(const uint64_t *want, size_t num)
{
	uint64_t got[16];

	assert_int_equal(read_all(own.index_path, got, sizeof(got)),
			 num * sizeof(*want));
	assert_memory_equal(got, want, num * sizeof(*want));
}

static void two_streams_in_their_order(void **state)
{
	static const uint64_t marks[] = { 4 | INIT_INDEX_STDERR, 7,
					  9 | INIT_INDEX_STDERR };

	(void)state;
	begin(1000, true);
	say_and_pump(0, "ab");
	say_and_pump(0, "cd");
	say_and_pump(1, "xyz");
	say_and_pump(0, "ef");
	say_and_pump(1, "!");
	check_log("abcdxyzef!");
	check_index(marks, 3);
	assert_true(own.output.grew);
	assert_false(own.output.truncated);
	assert_int_equal(own.output.later_us, 0);
}

static void without_an_index_they_share_a_pipe(void **state)
{
	(void)state;
	begin(1000, false);
	assert_int_equal(own.output.pipe_fd[1], -1);
	say(0, "a");
	say(1, "b");
	say(0, "c");
	output_pump(&own.output, 0, 1);
	check_log("abc");
}

static void nothing_to_read_is_no_end(void **state)
{
	(void)state;
	begin(1000, true);
	output_pump(&own.output, 0, 1);
	assert_true(own.output.pipe_fd[0] >= 0);
	assert_false(own.output.grew);
	say_and_pump(0, "a");
	check_log("a");
}

static void at_its_end_a_pipe_is_closed(void **state)
{
	(void)state;
	begin(1000, true);
	say(0, "last");
	(void)close(own.write_fd[0]);
	own.write_fd[0] = -1;
	output_pump(&own.output, 0, 1);
	output_pump(&own.output, 0, 1);
	assert_int_equal(own.output.pipe_fd[0], -1);
	say_and_pump(1, "on");
	check_log("laston");
}

static void it_stops_at_the_maximum(void **state)
{
	(void)state;
	begin(10, true);
	say_and_pump(0, "12345678");
	assert_false(own.output.truncated);
	say_and_pump(0, "9abcdef");
	assert_true(own.output.truncated);
	check_log("123456789a");
	own.output.grew = false;
	say_and_pump(0, "more");
	say_and_pump(1, "more");
	check_log("123456789a");
	assert_false(own.output.grew);
	/* The program may go on, but not make init busy. */
	say(0, "x");
	output_pump(&own.output, 0, 5000);
	assert_true(own.output.later_us > 5000);
}

static void the_maximum_itself_is_not_over_it(void **state)
{
	(void)state;
	begin(4, true);
	say_and_pump(0, "1234");
	assert_false(own.output.truncated);
	say_and_pump(0, "5");
	assert_true(own.output.truncated);
}

static void an_index_has_its_share(void **state)
{
	char index[16384];
	unsigned int i;

	(void)state;
	begin(65536, true);
	for (i = 0; i < 5000 && !own.output.truncated; i++)
		say_and_pump(i % 2, "x");
	/* 65536 / 8 bytes of marks are 1024 of them. */
	assert_true(own.output.truncated);
	assert_int_equal(own.output.bytes, 1025);
	assert_int_equal(read_all(own.index_path, index, sizeof(index)), 8192);
	/* No byte behind a mark that is missing. */
	say_and_pump(0, "more");
	assert_int_equal(own.output.bytes, 1025);
}

/* A few bytes may come from both streams, although marks are larger. */
static void a_small_log_has_an_index_that_is_large_enough(void **state)
{
	(void)state;
	begin(6, true);
	for (unsigned int i = 0; i < 6; i++)
		say_and_pump(i % 2, "x");
	assert_int_equal(own.output.bytes, 6);
	assert_false(own.output.truncated);
	say_and_pump(0, "x");
	assert_true(own.output.truncated);
}

static void a_full_log_can_make_its_program_wait(void **state)
{
	(void)state;
	begin(4, true);
	own.output.wait = true;
	assert_true(output_wants(&own.output, 0));
	say_and_pump(0, "123");
	assert_true(output_wants(&own.output, 0));
	say_and_pump(1, "4");
	assert_false(own.output.truncated);
	assert_false(output_wants(&own.output, 0));
	assert_false(output_wants(&own.output, 1));
	/* At its end it is told that there was more. */
	say(1, "5");
	output_drain(&own.output);
	assert_true(own.output.truncated);
	assert_int_equal(own.output.bytes, 4);
}

static void a_full_log_is_read_on_where_the_rest_is_dropped(void **state)
{
	(void)state;
	begin(4, true);
	say_and_pump(0, "1234");
	assert_true(output_wants(&own.output, 0));
	assert_true(output_wants(&own.output, 1));
}

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A file that can't grow is what a full disk looks like. */
static void a_full_disk_truncates(void **state)
{
	(void)state;
	begin(1000, true);
	say_and_pump(0, "1234");
	limit_files(6);
	say_and_pump(0, "56789");
	limit_files(RLIM_INFINITY);
	check_log("123456");
	assert_true(own.output.truncated);
	/* Even when there is room again: a gap would be a lie. */
	say_and_pump(0, "more");
	check_log("123456");
}

static void a_full_disk_truncates_the_index(void **state)
{
	static const uint64_t mark = 4 | INIT_INDEX_STDERR;

	(void)state;
	begin(1000, true);
	say_and_pump(0, "1234");
	say_and_pump(1, "e");
	limit_files(sizeof(mark));
	say_and_pump(0, "5");
	limit_files(RLIM_INFINITY);
	assert_true(own.output.truncated);
	check_log("1234e");
	check_index(&mark, 1);
}

static void a_drain_takes_all_that_is_there(void **state)
{
	static char block[4096];
	static char got[1 << 20];
	size_t len = 0;

	(void)state;
	begin(1 << 20, true);
	assert_true(fcntl(own.write_fd[0], F_SETPIPE_SZ, 256 * 1024) > 0);
	assert_true(fcntl(own.write_fd[0], F_SETFL, O_NONBLOCK) == 0);
	memset(block, 'x', sizeof(block));
	while (write(own.write_fd[0], block, sizeof(block)) ==
	       (ssize_t)sizeof(block))
		len += sizeof(block);
	assert_true(len > 64 * 1024);
	say(1, "end");
	output_drain(&own.output);
	assert_int_equal(own.output.bytes, len + 3);
	assert_int_equal(read_all(own.log_path, got, sizeof(got)), len + 3);
	assert_memory_equal(got + len, "end", 3);
	/* And waits for nothing. */
	output_drain(&own.output);
}

/* Whoever else writes into the pipe can't hold init there for ever. */
static void a_drain_ends(void **state)
{
	(void)state;
	begin(1 << 20, true);
	(void)close(own.output.pipe_fd[0]);
	own.output.pipe_fd[0] = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	assert_true(own.output.pipe_fd[0] >= 0);
	output_drain(&own.output);
	assert_int_equal(own.output.bytes, 1 << 20);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(two_streams_in_their_order),
		CASE(without_an_index_they_share_a_pipe),
		CASE(nothing_to_read_is_no_end),
		CASE(at_its_end_a_pipe_is_closed),
		CASE(it_stops_at_the_maximum),
		CASE(the_maximum_itself_is_not_over_it),
		CASE(an_index_has_its_share),
		CASE(a_small_log_has_an_index_that_is_large_enough),
		CASE(a_full_log_can_make_its_program_wait),
		CASE(a_full_log_is_read_on_where_the_rest_is_dropped),
		CASE(a_full_disk_truncates),
		CASE(a_full_disk_truncates_the_index),
		CASE(a_drain_takes_all_that_is_there),
		CASE(a_drain_ends),
	};
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	(void)sigaction(SIGXFSZ, &ignore, NULL); /* a write fails instead */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
