/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/dir.h"

/* More than one buffer of names. */
#define NUM_FILES 400

static char folder[] = "/tmp/osb-test-XXXXXX";

static const char *name_of(int i, char buf[static 64])
{
	(void)snprintf(buf, 64, "%032d", i);
	return buf;
}

static int make_folder(int num_files)
{
	char name[64];
	int fd;

	memcpy(strrchr(folder, '-'), "-XXXXXX", 7);
	assert_non_null(mkdtemp(folder));
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	for (int i = 0; i < num_files; i++)
		assert_int_equal(mknodat(fd, name_of(i, name), S_IFREG | 0600,
					 0),
				 0);
	return fd;
}

static void every_entry_comes_once_and_again_from_the_start(void **state)
{
	int fd auto_fd = make_folder(NUM_FILES);
	struct dir dir;
	char name[64];

	(void)state;
	for (int round = 0; round < 2; round++) {
		int count = 0;

		dir_init(&dir, fd);
		while (dir_next(&dir, NULL))
			count++;
		assert_int_equal(count, NUM_FILES);
	}
	for (int i = 0; i < NUM_FILES; i++)
		assert_int_equal(unlinkat(fd, name_of(i, name), 0), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void types_are_told_apart(void **state)
{
	int fd auto_fd = make_folder(1);
	unsigned int files = 0, dirs = 0;
	unsigned char type;
	struct dir dir;
	char name[64];

	(void)state;
	assert_int_equal(mkdirat(fd, "d", 0700), 0);
	dir_init(&dir, fd);
	while (dir_next(&dir, &type)) {
		files += type == DT_REG;
		dirs += type == DT_DIR;
	}
	assert_int_equal(files, 1);
	assert_int_equal(dirs, 1);
	assert_int_equal(unlinkat(fd, "d", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(fd, name_of(0, name), 0), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void an_empty_folder_has_no_entry(void **state)
{
	int fd auto_fd = make_folder(0);
	struct dir dir;

	(void)state;
	dir_init(&dir, fd);
	assert_null(dir_next(&dir, NULL));
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_entry_comes_once_and_again_from_the_start),
		cmocka_unit_test(types_are_told_apart),
		cmocka_unit_test(an_empty_folder_has_no_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
