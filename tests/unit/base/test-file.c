/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"

/* A folder with one empty file "x", and where it is. */
static char folder[] = "/tmp/osb-test-XXXXXX";

static int make_folder(void)
{
	int fd;

	memcpy(strrchr(folder, '-'), "-XXXXXX", 7);
	assert_non_null(mkdtemp(folder));
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(mknodat(fd, "x", S_IFREG | 0600, 0), 0);
	return fd;
}

static void clean(int *fd)
{
	(void)unlinkat(*fd, "x", 0);
	(void)rmdir(folder);
	close_fd(fd);
}

static void what_is_written_can_be_read(void **state)
{
	int fd auto_clean(clean) = make_folder();
	char text[16];

	(void)state;
	assert_int_equal(file_write_at(fd, "x", "hello"), 0);
	assert_int_equal(file_read_at(fd, "x", text, sizeof(text)), 0);
	assert_string_equal(text, "hello");
	assert_int_equal(file_write_u64_at(fd, "x", UINT64_MAX), 0);
	assert_int_equal(file_read_at(fd, "x", text, sizeof(text)), 0);
	assert_string_equal(text, "184467440737095"); /* cut, terminated */
}

static void a_missing_file_is_an_error_not_made(void **state)
{
	int fd auto_clean(clean) = make_folder();
	char text[4] = "abc";

	(void)state;
	assert_int_equal(file_write_at(fd, "y", "hello"), -ENOENT);
	assert_int_equal(file_read_at(fd, "y", text, sizeof(text)), -ENOENT);
	assert_string_equal(text, "");
}

static void keys_are_whole_words_at_the_start_of_a_line(void **state)
{
	static const char text[] = "low 0\nhigh 5\noom 7\noom_kill 12\n"
				   "oom_kill_group 3\nmax max\n";

	(void)state;
	assert_int_equal(file_keyed(text, "oom_kill"), 12);
	assert_int_equal(file_keyed(text, "oom"), 7);
	assert_int_equal(file_keyed(text, "low"), 0);
	assert_int_equal(file_keyed(text, "kill"), 0);
	assert_int_equal(file_keyed(text, "max"), 0);
	assert_int_equal(file_keyed(text, "none"), 0);
	assert_int_equal(file_keyed("", "oom"), 0);
}

static void a_number_ends_where_its_digits_end(void **state)
{
	(void)state;
	assert_int_equal(file_number("123\n"), 123);
	assert_int_equal(file_number("max"), 0);
	assert_int_equal(file_number(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_can_be_read),
		cmocka_unit_test(a_missing_file_is_an_error_not_made),
		cmocka_unit_test(keys_are_whole_words_at_the_start_of_a_line),
		cmocka_unit_test(a_number_ends_where_its_digits_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
