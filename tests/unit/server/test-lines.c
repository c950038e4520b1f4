/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <string.h>

#include "server/api/lines.h"

static char seen[2 * LINES_MAX];
static size_t num_lines;

static void on_line(void *ctx, const uint8_t *line, size_t len)
{
	size_t at = strlen(seen);

	(void)ctx;
	assert_true(at + len + 2 < sizeof(seen));
	memcpy(seen + at, line, len);
	seen[at + len] = '|';
	seen[at + len + 1] = '\0';
	num_lines++;
}

/* All at once, and byte by byte. */
static void check(const char *in, const char *want)
{
	for (int slow = 0; slow < 2; slow++) {
		struct lines lines;

		seen[0] = '\0';
		lines_init(&lines, 0);
		if (slow)
			for (size_t i = 0; in[i]; i++)
				lines_feed(&lines, (const uint8_t *)in + i, 1,
					   on_line, NULL);
		else
			lines_feed(&lines, (const uint8_t *)in, strlen(in),
				   on_line, NULL);
		lines_end(&lines, on_line, NULL);
		lines_deinit(&lines);
		assert_string_equal(seen, want);
	}
}

static void lines_are_cut_at_their_ends(void **state)
{
	(void)state;
	check("", "");
	check("a", "a|");
	check("a\n", "a|");
	check("a\nb", "a|b|");
	check("a\r\nb\r\n", "a|b|");
	check("a\rb", "a|b|");
	check("\n\na\n", "||a|");
	check("a\n\r\nb", "a||b|");
	check("a\r\r\nb", "a||b|");
}

static uint64_t ends[64];
static unsigned int num_ends;

static void note_end(void *ctx, const uint8_t *line, size_t len)
{
	const struct lines *lines = ctx;

	(void)line;
	(void)len;
	assert_true(num_ends < 64);
	ends[num_ends++] = lines->end;
}

/* Where each line ends; however the bytes arrive, and wherever they begin. */
static void check_ends(const char *in, const uint64_t *want, unsigned int num)
{
	for (unsigned int step = 1; step < 8; step++) {
		size_t len = strlen(in);
		struct lines lines;

		num_ends = 0;
		lines_init(&lines, 100);
		for (size_t i = 0; i < len; i += step)
			lines_feed(&lines, (const uint8_t *)in + i,
				   len - i < step ? len - i : step, note_end,
				   &lines);
		lines_end(&lines, note_end, &lines);
		lines_deinit(&lines);
		assert_int_equal(num_ends, num);
		for (unsigned int i = 0; i < num; i++)
			assert_int_equal(ends[i], 100 + want[i]);
	}
}

static void a_line_tells_where_it_ends(void **state)
{
	(void)state;
	check_ends("", NULL, 0);
	check_ends("abc", (const uint64_t[]){ 3 }, 1);
	check_ends("abc\n", (const uint64_t[]){ 4 }, 1);
	check_ends("a\nb\n\nc", (const uint64_t[]){ 2, 4, 5, 6 }, 4);
	/* A CR ends it; the LF behind may not be there yet. */
	check_ends("a\r\nb\r\n", (const uint64_t[]){ 2, 5 }, 2);
	check_ends("\r\r\n\n", (const uint64_t[]){ 1, 2, 4 }, 3);
}

static void a_part_of_a_line_tells_it_too(void **state)
{
	static uint8_t line[LINES_MAX + 10];

	(void)state;
	memset(line, 'x', sizeof(line));
	memcpy(line + LINES_MAX - 1, "\xc3\xa4", 2); /* across */
	line[sizeof(line) - 1] = '\n';
	for (size_t first = LINES_MAX - 2; first < LINES_MAX + 3; first++) {
		struct lines lines;

		num_ends = 0;
		lines_init(&lines, 0);
		lines_feed(&lines, line, first, note_end, &lines);
		lines_feed(&lines, line + first, sizeof(line) - first, note_end,
			   &lines);
		lines_deinit(&lines);
		assert_int_equal(num_ends, 2);
		assert_int_equal(ends[0], LINES_MAX - 1);
		assert_int_equal(ends[1], sizeof(line));
	}
}

static void a_huge_line_comes_in_whole_characters(void **state)
{
	struct lines lines;

	(void)state;
	num_lines = 0;
	seen[0] = '\0';
	lines_init(&lines, 0);
	lines_feed(&lines, (const uint8_t *)"x", 1, on_line, NULL);
	for (unsigned int i = 0; i < LINES_MAX / 2; i++)
		lines_feed(&lines, (const uint8_t *)"\xc3\xa4", 2, on_line,
			   NULL);
	lines_end(&lines, on_line, NULL);
	lines_deinit(&lines);
	assert_int_equal(num_lines, 2);
	/* 1 + an even number of bytes, then the rest. */
	assert_int_equal(strcspn(seen, "|"), LINES_MAX - 1);
	assert_memory_equal(seen + LINES_MAX, "\xc3\xa4|", 3);
}

/* However its bytes arrive: no part is cut off, no empty line is made up. */
static void a_line_of_the_maximum_is_one_line(void **state)
{
	static uint8_t line[LINES_MAX + 1];

	(void)state;
	memset(line, 'x', LINES_MAX);
	line[LINES_MAX] = '\n';
	for (size_t first = LINES_MAX - 1; first <= LINES_MAX + 1; first++) {
		struct lines lines;

		num_lines = 0;
		seen[0] = '\0';
		lines_init(&lines, 0);
		lines_feed(&lines, line, first, on_line, NULL);
		lines_feed(&lines, line + first, sizeof(line) - first, on_line,
			   NULL);
		lines_end(&lines, on_line, NULL);
		lines_deinit(&lines);
		assert_int_equal(num_lines, 1);
		assert_int_equal(strcspn(seen, "|"), LINES_MAX);
	}
}

static void a_character_that_was_cut_can_be_left_out(void **state)
{
	static const struct {
		const char *in, *want;
		uint64_t end;
	} cases[] = {
		{ "a\xe2\x82", "a|", 1 },
		{ "a\xe2\x82\xac", "a\xe2\x82\xac|", 4 },
		{ "\xe2", "", 0 },
		{ "a\n\xf0\x9f\x98", "a|", 2 },
		{ "a\xff", "a\xff|", 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct lines lines;

		num_lines = 0;
		seen[0] = '\0';
		lines_init(&lines, 0);
		lines_feed(&lines, (const uint8_t *)cases[i].in,
			   strlen(cases[i].in), on_line, NULL);
		lines_trim(&lines);
		lines_end(&lines, on_line, NULL);
		assert_string_equal(seen, cases[i].want);
		assert_int_equal(lines.end, cases[i].end);
		lines_deinit(&lines);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_cut_at_their_ends),
		cmocka_unit_test(a_huge_line_comes_in_whole_characters),
		cmocka_unit_test(a_line_of_the_maximum_is_one_line),
		cmocka_unit_test(a_line_tells_where_it_ends),
		cmocka_unit_test(a_part_of_a_line_tells_it_too),
		cmocka_unit_test(a_character_that_was_cut_can_be_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
