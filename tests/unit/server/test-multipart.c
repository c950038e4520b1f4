/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <string.h>

#include "base/err.h"
#include "server/api/multipart.h"

#define TYPE "multipart/form-data; boundary=XX"

static char seen[4096];

static void see(const char *text, size_t len)
{
	size_t at = strlen(seen);

	assert_true(at + len + 1 < sizeof(seen));
	memcpy(seen + at, text, len);
	seen[at + len] = '\0';
}

static int feed(struct multipart *mp, const char *in, size_t len)
{
	size_t used = 0;

	while (used < len) {
		struct multipart_event ev;
		size_t n;

		if (multipart_next(mp, (const uint8_t *)in + used, len - used,
				   &n, &ev, NULL) < 0)
			return -1;
		used += n;
		if (ev.type == MULTIPART_PART) {
			see("<", 1);
			see(mp->name, strlen(mp->name));
			see(":", 1);
		} else if (ev.type == MULTIPART_DATA) {
			see((const char *)ev.data, ev.len);
		} else if (ev.type == MULTIPART_PART_END) {
			see(">", 1);
		} else if (ev.type == MULTIPART_END) {
			see("$", 1);
		}
	}
	return 0;
}

/* In pieces of @step bytes. */
static int run(const char *in, size_t step)
{
	struct multipart mp;
	size_t len = strlen(in);
	int r = 0;

	seen[0] = '\0';
	assert_int_equal(multipart_init(&mp, TYPE, NULL), 0);
	for (size_t i = 0; i < len && r == 0; i += step)
		r = feed(&mp, in + i, len - i < step ? len - i : step);
	multipart_deinit(&mp);
	return r;
}

#define PART(name) "Content-Disposition: form-data; name=\"" name "\"\r\n\r\n"

static void parts_come_out_whole(void **state)
{
	static const char body[] = "preamble\r\n--XX\r\nX-Other: y\r\n" PART(
		"metadata") "{}"
			    "\r\n--XX\r\n" PART(
				    "file") "a\r\n--X\r\r\n--\r\nb\r\n"
					    "\r\n--XX\r\n" PART(
						    "empty") "\r\n--XX--\r\nepilogue";

	(void)state;
	for (size_t step = 1; step < sizeof(body); step++) {
		assert_int_equal(run(body, step), 0);
		assert_string_equal(seen,
				    "<metadata:{}><file:a\r\n--X\r\r\n--\r\n"
				    "b\r\n><empty:>$");
	}
}

static void no_preamble_is_needed(void **state)
{
	(void)state;
	assert_int_equal(run("--XX\r\n" PART("a") "1\r\n--XX--", 100), 0);
	assert_string_equal(seen, "<a:1>$");
}

static void malformed_bodies_are_refused(void **state)
{
	static const char *const bad[] = {
		"--XX\r\nNo-Name: x\r\n\r\n1\r\n--XX--",
		"--XXY\r\n" PART("a") "1\r\n--XX--",
		"--XX\r\n" PART("a") "1\r\n--XXjunk",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (run(bad[i], 7) >= 0)
			fail_msg("let through: %s -> %s", bad[i], seen);
}

static void a_head_has_a_maximum(void **state)
{
	struct multipart mp;
	char junk[1000];
	int r = 0;

	(void)state;
	memset(junk, 'x', sizeof(junk));
	assert_int_equal(multipart_init(&mp, TYPE, NULL), 0);
	assert_int_equal(feed(&mp, "--XX\r\n", 6), 0);
	for (unsigned int i = 0; i < 10 && r == 0; i++)
		r = feed(&mp, junk, sizeof(junk));
	assert_int_equal(r, -1);
	multipart_deinit(&mp);
}

static void boundaries_are_found_in_the_content_type(void **state)
{
	static const struct {
		const char *type, *delimiter;
	} cases[] = {
		{ "multipart/form-data; boundary=abc", "\r\n--abc" },
		{ "multipart/form-data;boundary=\"a b\"; x=y", "\r\n--a b" },
		{ "Multipart/Form-Data; charset=utf-8; Boundary=abc ",
		  "\r\n--abc" },
		{ "multipart/form-data", NULL },
		{ "multipart/form-data; boundary=", NULL },
		{ "multipart/form-data; boundary=\"open", NULL },
		{ "multipart/form-data; xboundary=a", NULL },
		{ "application/json; boundary=a", NULL },
		{ "multipart/form-data; boundary="
		  "0123456789012345678901234567890123456789"
		  "0123456789012345678901234567890",
		  NULL },
	};
	struct multipart mp;

	(void)state;
	assert_true(multipart_init(&mp, NULL, NULL) < 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int r = multipart_init(&mp, cases[i].type, NULL);

		if ((r == 0) != (cases[i].delimiter != NULL))
			fail_msg("%s: %d", cases[i].type, r);
		if (r == 0)
			assert_string_equal(mp.delimiter, cases[i].delimiter);
		multipart_deinit(&mp);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_come_out_whole),
		cmocka_unit_test(no_preamble_is_needed),
		cmocka_unit_test(malformed_bodies_are_refused),
		cmocka_unit_test(a_head_has_a_maximum),
		cmocka_unit_test(boundaries_are_found_in_the_content_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
