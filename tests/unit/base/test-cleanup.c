/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

static bool fd_is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void an_fd_is_closed_at_the_end_of_its_scope(void **state)
{
	int seen;

	(void)state;
	{
		int fd auto_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		assert_true(fd >= 0);
		seen = fd;
	}
	assert_false(fd_is_open(seen));
}

static void a_taken_fd_stays_open(void **state)
{
	int kept = -1;

	(void)state;
	{
		int fd auto_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		kept = take_fd(&fd);
		assert_int_equal(fd, -1);
	}
	assert_true(fd_is_open(kept));
	close_fd(&kept);
	assert_int_equal(kept, -1);
	close_fd(&kept); /* closing nothing is fine */
}

static void a_taken_pointer_is_not_freed(void **state)
{
	char *kept;

	(void)state;
	{
		char *text auto_free = strdup("kept");

		kept = take_ptr(text);
		assert_null(text);
	}
	assert_string_equal(kept, "kept");
	free(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_fd_is_closed_at_the_end_of_its_scope),
		cmocka_unit_test(a_taken_fd_stays_open),
		cmocka_unit_test(a_taken_pointer_is_not_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
