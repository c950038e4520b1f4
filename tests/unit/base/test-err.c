/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"

static void the_origin_gives_kind_errno_and_message(void **state)
{
	struct err err = ERR_NULL;
	int r;

	(void)state;
	r = err_set(&err, ERR_NOT_FOUND, ENOENT, "open '%s'", "/x");
	assert_int_equal(r, -ENOENT);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_int_equal(err.sys, ENOENT);
	assert_string_equal(err.msg, "open '/x': No such file or directory");
	assert_non_null(strstr(err.file, "test-err.c"));
	assert_true(err.line > 0);
}

static void without_an_errno_the_kind_gives_one(void **state)
{
	struct err err = ERR_NULL;

	(void)state;
	assert_int_equal(err_set(&err, ERR_INVALID, 0, "no"), -EINVAL);
	assert_int_equal(err.sys, 0);
	assert_string_equal(err.msg, "no");
	for (unsigned int kind = ERR_NONE + 1; kind < ERR_NUM_KINDS; kind++)
		assert_true(err_set(NULL, (enum err_kind)kind, 0, "x") < 0);
}

static void context_goes_in_front(void **state)
{
	struct err err = ERR_NULL;
	int r;

	(void)state;
	r = err_set(&err, ERR_QUOTA, 0, "table full");
	assert_int_equal(err_context(&err, r, "create sandbox '%s'", "a"), r);
	assert_string_equal(err.msg, "create sandbox 'a': table full");
	assert_int_equal(err.kind, ERR_QUOTA);
}

static void nobody_listening_is_fine(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, ERR_DENIED, EPERM, "x"), -EPERM);
	assert_int_equal(err_context(NULL, -EPERM, "y"), -EPERM);
}

static void a_long_message_is_cut_not_overrun(void **state)
{
	struct err err = ERR_NULL;
	char text[ERR_MSG_MAX * 2];

	(void)state;
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	(void)err_set(&err, ERR_INTERNAL, EIO, "%s", text);
	assert_int_equal(strlen(err.msg), ERR_MSG_MAX - 1);
	(void)err_context(&err, -EIO, "%s", text);
	assert_int_equal(strlen(err.msg), ERR_MSG_MAX - 1);
}

static void an_unknown_errno_has_a_message_too(void **state)
{
	struct err err = ERR_NULL;

	(void)state;
	assert_int_equal(err_set(&err, ERR_INTERNAL, 9999, "x"), -9999);
	assert_string_equal(err.msg, "x: unknown error");
}

static void every_kind_has_its_status(void **state)
{
	(void)state;
	assert_int_equal(err_http_status(ERR_NONE), 200);
	assert_int_equal(err_http_status(ERR_INVALID), 400);
	assert_int_equal(err_http_status(ERR_UNAUTHORIZED), 401);
	assert_int_equal(err_http_status(ERR_NOT_FOUND), 404);
	assert_int_equal(err_http_status(ERR_CONFLICT), 409);
	assert_int_equal(err_http_status(ERR_TOO_LARGE), 413);
	assert_int_equal(err_http_status(ERR_QUOTA), 429);
	assert_int_equal(err_http_status(ERR_INTERNAL), 500);
	assert_int_equal(err_http_status(ERR_UNAVAILABLE), 503);
}

static void a_peers_unknown_kind_becomes_internal(void **state)
{
	(void)state;
	assert_int_equal(err_kind_from_wire(ERR_QUOTA), ERR_QUOTA);
	assert_int_equal(err_kind_from_wire(ERR_NUM_KINDS), ERR_INTERNAL);
	assert_int_equal(err_kind_from_wire(UINT32_MAX), ERR_INTERNAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_origin_gives_kind_errno_and_message),
		cmocka_unit_test(without_an_errno_the_kind_gives_one),
		cmocka_unit_test(context_goes_in_front),
		cmocka_unit_test(nobody_listening_is_fine),
		cmocka_unit_test(a_long_message_is_cut_not_overrun),
		cmocka_unit_test(an_unknown_errno_has_a_message_too),
		cmocka_unit_test(every_kind_has_its_status),
		cmocka_unit_test(a_peers_unknown_kind_becomes_internal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
