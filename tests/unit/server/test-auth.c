/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "server/auth.h"

static int load(const char *text, struct keys *keys, struct err *err)
{
	int fd auto_fd = memfd_create("keys", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return keys_load(fd, keys, err);
}

static void keys_belong_to_domains(void **state)
{
	struct keys keys;

	(void)state;
	assert_int_equal(load("# mine\nalice:k1\r\n\nbob:k2:with-colon\nbare",
			      &keys, NULL),
			 0);
	assert_string_equal(keys_find(&keys, "k1"), "key:alice");
	assert_string_equal(keys_find(&keys, "k2:with-colon"), "key:bob");
	assert_string_equal(keys_find(&keys, "bare"), "key:default");
	assert_null(keys_find(&keys, "k"));
	assert_null(keys_find(&keys, "k11"));
	assert_null(keys_find(&keys, ""));
	assert_null(keys_find(&keys, "alice:k1"));
	keys_deinit(&keys);
}

static void a_key_over_the_maximum_matches_none(void **state)
{
	char long_key[KEY_LEN_MAX + 100];
	struct keys keys;

	(void)state;
	memset(long_key, 'a', sizeof(long_key));
	long_key[sizeof(long_key) - 1] = '\0';
	assert_int_equal(load("x:a\n", &keys, NULL), 0);
	assert_null(keys_find(&keys, long_key));
	keys_deinit(&keys);
}

static void bad_lines_are_refused_without_showing_the_key(void **state)
{
	static const char *const bad[] = { "",
					   "# only a comment\n",
					   "a b:secret\n",
					   ":secret\n",
					   "name:\n",
					   "name:sec ret\n",
					   "name:secret\x01\n" };
	struct keys keys;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = ERR_NULL;

		assert_true(load(bad[i], &keys, &err) < 0);
		assert_null(strstr(err.msg, "secret"));
	}
}

static void a_peer_is_known_by_its_uid(void **state)
{
	char domain[DOMAIN_NAME_MAX + 1];
	char want[32];
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(auth_peer_domain(fds[0], domain), 0);
	(void)snprintf(want, sizeof(want), "uid:%u", getuid());
	assert_string_equal(domain, want);
	close_fd(&fds[0]);
	close_fd(&fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_belong_to_domains),
		cmocka_unit_test(a_key_over_the_maximum_matches_none),
		cmocka_unit_test(bad_lines_are_refused_without_showing_the_key),
		cmocka_unit_test(a_peer_is_known_by_its_uid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
