/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/exec_log.h"
#include "wire/init_msg.h"

#define ERR(offset) ((uint64_t)(offset) | INIT_INDEX_STDERR)
#define OUT(offset) ((uint64_t)(offset))

static const char sandbox_id[] = "0123456789abcdef0123456789abcdef";
static const char id[] = "00000000000000000000000000000001";

static struct {
	char dir[64];
	int dir_fd;
	int fds[2]; /* init's: log and index */
	struct exec_log log;
} own;

static int setup(void **state)
{
	(void)state;
	memset(&own, 0, sizeof(own));
	(void)snprintf(own.dir, sizeof(own.dir), "/tmp/osb-unit-XXXXXX");
	assert_non_null(mkdtemp(own.dir));
	own.dir_fd = open(own.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(own.dir_fd >= 0);
	assert_int_equal(exec_log_make(own.dir_fd, sandbox_id, id, true,
				       own.fds),
			 0);
	assert_int_equal(exec_log_open(own.dir_fd, sandbox_id, id, &own.log),
			 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	exec_log_close(&own.log);
	(void)close(own.fds[0]);
	(void)close(own.fds[1]);
	exec_log_remove_all(own.dir_fd, sandbox_id);
	(void)close(own.dir_fd);
	assert_int_equal(rmdir(own.dir), 0);
	return 0;
}

static void say(const char *text)
{
	assert_int_equal(write(own.fds[0], text, strlen(text)), strlen(text));
}

static void mark(uint64_t value)
{
	assert_int_equal(write(own.fds[1], &value, sizeof(value)),
			 sizeof(value));
}

/* All that is there: a letter per stream before each change. */
static void check(size_t size, const char *want)
{
	char got[4096] = "";
	unsigned int last = 9, stream;
	size_t at = 0;
	char buf[64];
	size_t n;

	while ((n = exec_log_next(&own.log, buf, size, &stream))) {
		assert_true(n <= size && at + n + 2 < sizeof(got));
		if (stream != last)
			got[at++] = stream ? 'E' : 'O';
		last = stream;
		memcpy(got + at, buf, n);
		at += n;
	}
	assert_string_equal(got, want);
}

static void without_marks_all_is_stdout(void **state)
{
	(void)state;
	check(64, "");
	say("abc");
	check(64, "Oabc");
	say("def");
	check(1, "Odef");
	check(64, "");
	assert_int_equal(exec_log_size(&own.log), 6);
}

static void pieces_are_of_one_stream(void **state)
{
	(void)state;
	say("abcdef");
	mark(ERR(2));
	mark(OUT(3));
	mark(ERR(5));
	check(64, "OabEcOdeEf");
	say("gh");
	check(64, "Egh");
	mark(OUT(8));
	say("ij");
	check(1, "Oij");
}

static void the_first_byte_may_be_of_stderr(void **state)
{
	(void)state;
	mark(ERR(0));
	say("ab");
	check(64, "Eab");
}

/* Init writes the mark first: its bytes may be there a bit later. */
static void a_mark_waits_for_its_bytes(void **state)
{
	(void)state;
	say("ab");
	mark(ERR(2));
	check(64, "Oab");
	say("cd");
	check(64, "Ecd");
}

static void more_marks_than_are_read_at_once(void **state)
{
	char want[4096] = "";

	(void)state;
	for (unsigned int i = 0; i < 5 * EXEC_LOG_MARKS; i++) {
		mark(i % 2 ? OUT(i) : ERR(i));
		say("x");
		want[2 * i] = i % 2 ? 'O' : 'E';
		want[2 * i + 1] = 'x';
	}
	check(64, want);
	assert_int_equal(own.log.at, 5 * EXEC_LOG_MARKS);
}

static void hostile_marks_lose_no_byte(void **state)
{
	(void)state;
	say("abcdefgh");
	mark(ERR(4));
	mark(OUT(2)); /* back */
	mark(ERR(4)); /* again */
	mark(ERR(6));
	mark(OUT(0));
	check(64, "OabcdEefOgh");
	mark(ERR(UINT64_MAX >> 1)); /* beyond all */
	say("ijk");
	check(64, "Oijk");
	mark(ERR(9)); /* behind that it is never reached */
	say("l");
	check(64, "Ol");
}

static void an_endless_index_holds_nobody_up(void **state)
{
	(void)state;
	assert_int_equal(ftruncate(own.fds[1], (off_t)1 << 40), 0);
	say("abc");
	check(64, "Oabc");
}

static void half_a_mark_is_none_yet(void **state)
{
	const uint64_t value = ERR(2);

	(void)state;
	say("ab");
	assert_int_equal(write(own.fds[1], &value, 3), 3);
	check(64, "Oab");
	assert_int_equal(write(own.fds[1], (const char *)&value + 3, 5), 5);
	say("cd");
	check(64, "Ecd");
}

static void a_log_that_shrinks_is_at_its_end(void **state)
{
	(void)state;
	say("abcdef");
	check(64, "Oabcdef");
	assert_int_equal(ftruncate(own.fds[0], 2), 0);
	check(64, "");
	assert_int_equal(ftruncate(own.fds[1], 0), 0);
	say("x");
	check(64, "");
}

static void begin_behind(uint64_t of_stdout, uint64_t of_stderr)
{
	const uint64_t num[2] = { of_stdout, of_stderr };

	exec_log_close(&own.log);
	assert_int_equal(exec_log_open(own.dir_fd, sandbox_id, id, &own.log),
			 0);
	exec_log_skip(&own.log, num);
}

static void each_stream_is_skipped_by_itself(void **state)
{
	(void)state;
	say("abcdefgh");
	mark(ERR(2));
	mark(OUT(4));
	mark(ERR(6));
	begin_behind(0, 0);
	check(64, "OabEcdOefEgh");
	begin_behind(1, 0);
	check(64, "ObEcdOefEgh");
	begin_behind(3, 1);
	check(64, "EdOfEgh");
	assert_int_equal(own.log.skipped[0], 'e');
	assert_int_equal(own.log.skipped[1], 'c');
	begin_behind(4, 4);
	check(64, "");
	say("i");
	check(64, "Ei");
	begin_behind(0, 100);
	check(64, "Oabef");
}

static void more_may_be_skipped_than_is_there_yet(void **state)
{
	(void)state;
	say("ab");
	begin_behind(4, 0);
	check(64, "");
	say("cd");
	check(64, "");
	assert_int_equal(own.log.skipped[0], 'd');
	say("ef");
	check(64, "Oef");
	begin_behind(UINT64_MAX, UINT64_MAX);
	check(64, "");
}

static void a_log_without_an_index_is_stdout(void **state)
{
	char path[128];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/%s/%s.i", own.dir, sandbox_id,
		       id);
	assert_int_equal(unlink(path), 0);
	begin_behind(0, 0);
	say("ab");
	check(64, "Oab");
}

static void one_that_is_there_is_not_made_again(void **state)
{
	int fds[2] = { -1, -1 };

	(void)state;
	assert_int_equal(exec_log_make(own.dir_fd, sandbox_id, id, true, fds),
			 -EEXIST);
	assert_int_equal(fds[0], -1);
}

/* As hostile as a directory of our own can be. */
static void a_link_is_not_followed(void **state)
{
	char path[128];
	struct exec_log log;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/%s/%s", own.dir, sandbox_id, id);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(exec_log_open(own.dir_fd, sandbox_id, id, &log),
			 -ELOOP);
}

static void removed_is_removed(void **state)
{
	struct exec_log log;

	(void)state;
	exec_log_remove(own.dir_fd, sandbox_id, id);
	exec_log_remove(own.dir_fd, sandbox_id, id);
	assert_int_equal(exec_log_open(own.dir_fd, sandbox_id, id, &log),
			 -ENOENT);
	/* Who has it open reads on. */
	say("ab");
	check(64, "Oab");
}

static bool is_there(void *ctx, const char *name)
{
	return strcmp(ctx, name) == 0;
}

static void a_sweep_leaves_what_is_there(void **state)
{
	static const char other[] = "ffffffffffffffffffffffffffffffff";
	struct exec_log log;
	int fds[2];

	(void)state;
	assert_int_equal(exec_log_make(own.dir_fd, other, id, true, fds), 0);
	(void)close(fds[0]);
	(void)close(fds[1]);
	exec_log_sweep(own.dir_fd, is_there, (void *)(uintptr_t)sandbox_id);
	assert_int_equal(exec_log_open(own.dir_fd, other, id, &log), -ENOENT);
	assert_int_equal(exec_log_open(own.dir_fd, sandbox_id, id, &log), 0);
	exec_log_close(&log);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(without_marks_all_is_stdout),
		CASE(pieces_are_of_one_stream),
		CASE(the_first_byte_may_be_of_stderr),
		CASE(a_mark_waits_for_its_bytes),
		CASE(more_marks_than_are_read_at_once),
		CASE(hostile_marks_lose_no_byte),
		CASE(an_endless_index_holds_nobody_up),
		CASE(half_a_mark_is_none_yet),
		CASE(a_log_that_shrinks_is_at_its_end),
		CASE(each_stream_is_skipped_by_itself),
		CASE(more_may_be_skipped_than_is_there_yet),
		CASE(a_log_without_an_index_is_stdout),
		CASE(one_that_is_there_is_not_made_again),
		CASE(a_link_is_not_followed),
		CASE(removed_is_removed),
		CASE(a_sweep_leaves_what_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
