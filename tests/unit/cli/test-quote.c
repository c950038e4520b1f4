/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/quote.h"

static void check(const char *const *words, const char *want)
{
	struct buf out auto_clean(buf_deinit) = BUF_NULL;

	buf_init(&out, 4096);
	quote_words(&out, words);
	buf_add(&out, "", 1);
	assert_false(out.failed);
	assert_string_equal((const char *)buf_data(&out), want);
}

static void plain_words_stay_as_they_are(void **state)
{
	const char *const words[] = { "a-b_C.9/,:@%+", "-x", NULL };

	(void)state;
	check(words, "a-b_C.9/,:@%+ -x");
}

static void what_a_shell_would_change_is_quoted(void **state)
{
	static const struct {
		const char *word;
		const char *want;
	} table[] = {
		{ "", "''" },
		{ "a b", "'a b'" },
		{ "$x", "'$x'" },
		{ "*", "'*'" },
		{ "~", "'~'" },
		{ "A=1", "'A=1'" },
		{ "x\ny", "'x\ny'" },
		{ "#", "'#'" },
		{ "\xc3\xbc", "'\xc3\xbc'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		const char *const words[] = { table[i].word, NULL };

		check(words, table[i].want);
	}
}

static void a_single_quote_leaves_the_quotes(void **state)
{
	const char *const words[] = { "it's", "'", "''", NULL };

	(void)state;
	check(words, "'it'\\''s' ''\\''' ''\\'''\\'''");
}

static void too_much_fails_the_buffer(void **state)
{
	const char *const words[] = { "12345", "6 8", NULL };
	struct buf out auto_clean(buf_deinit) = BUF_NULL;

	(void)state;
	buf_init(&out, 8);
	quote_words(&out, words);
	assert_true(out.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_words_stay_as_they_are),
		cmocka_unit_test(what_a_shell_would_change_is_quoted),
		cmocka_unit_test(a_single_quote_leaves_the_quotes),
		cmocka_unit_test(too_much_fails_the_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
