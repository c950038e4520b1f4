/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "cli/options.h"

struct target {
	uint64_t size;
	uint64_t time_ms;
	uint32_t cpu_milli;
	bool flag;
	const char *word;
};

static int set_word(void *target, const char *value)
{
	struct target *t = target;

	if (strcmp(value, "bad") == 0)
		return -EINVAL;
	t->word = value;
	return 0;
}

static const struct option list[] = {
	{ "--size", OPTION_SIZE, offsetof(struct target, size), "SIZE", "",
	  NULL, NULL, 0, 0 },
	{ "--time", OPTION_TIME, offsetof(struct target, time_ms), "TIME", "",
	  NULL, NULL, 0, 0 },
	{ "--cpus", OPTION_CPUS, offsetof(struct target, cpu_milli), "N", "",
	  NULL, NULL, 10, 4000 },
	{ "--room", OPTION_SIZE, offsetof(struct target, size), "SIZE", "",
	  NULL, NULL, 4 << 20, 1ull << 40 },
	{ "--flag", OPTION_FLAG, offsetof(struct target, flag), NULL, "", NULL,
	  NULL, 0, 0 },
	{ "--word", OPTION_CUSTOM, 0, "WORD", "", "a good word", set_word, 0,
	  0 },
	{ NULL, OPTION_FLAG, 0, NULL, NULL, NULL, NULL, 0, 0 },
};
static const struct option more[] = {
	{ "--also", OPTION_FLAG, offsetof(struct target, flag), NULL, "", NULL,
	  NULL, 0, 0 },
	{ NULL, OPTION_FLAG, 0, NULL, NULL, NULL, NULL, 0, 0 },
};
static const struct option_table table = {
	.options = list,
	.also = more,
	.command = "t",
};

/* Parses "t" and @words; keeps what is said on stderr in @ret_said. */
static int parse(char **words, struct target *target, int *ret_next,
		 char ret_said[512])
{
	int pipe_fd[2];
	int saved = dup(STDERR_FILENO);
	int argc = 0;
	ssize_t n;
	int r;

	while (words[argc])
		argc++;
	memset(target, 0, sizeof(*target));
	assert_int_equal(pipe2(pipe_fd, O_NONBLOCK), 0);
	assert_true(dup2(pipe_fd[1], STDERR_FILENO) >= 0);
	r = options_parse(&table, argc, words, target, ret_next);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	n = read(pipe_fd[0], ret_said, 511);
	ret_said[n > 0 ? n : 0] = '\0';
	(void)close(pipe_fd[0]);
	(void)close(pipe_fd[1]);
	(void)close(saved);
	return r;
}

#define WORDS(...) ((char *[]){ (char[]){ "t" }, __VA_ARGS__, NULL })
#define W(text) ((char[]){ text })

static void both_forms_are_understood(void **state)
{
	struct target t;
	char said[512];
	int next;

	(void)state;
	assert_int_equal(parse(WORDS(W("--size"), W("1Ki"), W("--time=2s"),
				     W("--flag"), W("--cpus"), W("0.5"),
				     W("--word=a=b"), W("prog"), W("--size")),
			       &t, &next, said),
			 0);
	assert_int_equal(t.size, 1024);
	assert_int_equal(t.time_ms, 2000);
	assert_int_equal(t.cpu_milli, 500);
	assert_true(t.flag);
	assert_string_equal(t.word, "a=b");
	assert_int_equal(next, 8);
	assert_string_equal(said, "");
}

static void two_dashes_end_the_options(void **state)
{
	struct target t;
	char said[512];
	int next;

	(void)state;
	assert_int_equal(parse(WORDS(W("--"), W("--size")), &t, &next, said),
			 0);
	assert_int_equal(next, 2);
	assert_int_equal(parse(WORDS(W("-")), &t, &next, said), 0);
	assert_int_equal(next, 1);
}

static void a_bad_value_is_named_in_one_line(void **state)
{
	struct target t;
	char said[512];
	int next;

	(void)state;
	assert_int_equal(parse(WORDS(W("--size"), W("12q")), &t, &next, said),
			 -EINVAL);
	assert_string_equal(said, "osb: --size '12q': expected a positive size "
				  "such as 512Mi, 512mb or 1Gi\n");
	assert_int_equal(parse(WORDS(W("--word=bad")), &t, &next, said),
			 -EINVAL);
	assert_string_equal(said, "osb: --word 'bad': expected a good word\n");
	assert_int_equal(parse(WORDS(W("--time"), W("1\n\033s")), &t, &next,
			       said),
			 -EINVAL);
	assert_non_null(strstr(said, "'1??s'"));
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

static void out_of_range_tells_the_bound(void **state)
{
	static const struct {
		char word[24];
		const char *said;
	} cases[] = {
		{ "--room=1", "osb: --room '1': expected at least 4Mi\n" },
		{ "--room=2Ti", "osb: --room '2Ti': expected at most 1Ti\n" },
		{ "--room=99999999999999Ti",
		  "osb: --room '99999999999999Ti': expected at most 1Ti\n" },
		{ "--cpus=4.5", "osb: --cpus '4.5': expected at most 4\n" },
		{ "--cpus=1m", "osb: --cpus '1m': expected at least 0.01\n" },
	};
	struct target t;
	char said[512];
	char word[24];
	int next;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memcpy(word, cases[i].word, sizeof(word));
		assert_int_equal(parse(WORDS(word), &t, &next, said), -EINVAL);
		assert_string_equal(said, cases[i].said);
	}
	assert_int_equal(parse(WORDS(W("--room=1Ti")), &t, &next, said), 0);
	assert_int_equal(parse(WORDS(W("--cpus=0.01")), &t, &next, said), 0);
}

static void what_is_not_in_the_table_is_refused(void **state)
{
	struct target t;
	char said[512];
	int next;

	(void)state;
	assert_int_equal(parse(WORDS(W("--siz"), W("1")), &t, &next, said),
			 -EINVAL);
	assert_int_equal(parse(WORDS(W("--sizes=1")), &t, &next, said),
			 -EINVAL);
	assert_int_equal(parse(WORDS(W("--flag=1")), &t, &next, said), -EINVAL);
	assert_int_equal(parse(WORDS(W("--size")), &t, &next, said), -EINVAL);
	assert_non_null(strstr(said, "a value is missing"));
	assert_int_equal(parse(WORDS(W("--help")), &t, &next, said),
			 OPTIONS_E_HELP);
}

static void the_second_list_counts_as_well(void **state)
{
	struct target t;
	char said[512];
	int next;

	(void)state;
	assert_int_equal(parse(WORDS(W("--size=1k"), W("--also")), &t, &next,
			       said),
			 0);
	assert_int_equal(t.size, 1000);
	assert_true(t.flag);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_forms_are_understood),
		cmocka_unit_test(two_dashes_end_the_options),
		cmocka_unit_test(a_bad_value_is_named_in_one_line),
		cmocka_unit_test(out_of_range_tells_the_bound),
		cmocka_unit_test(what_is_not_in_the_table_is_refused),
		cmocka_unit_test(the_second_list_counts_as_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
