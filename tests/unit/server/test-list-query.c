/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "server/api/list_query.h"

/* "k=v;" for each filter of a query; or the code of its error. */
static const char *filters(const char *raw)
{
	struct list_query query auto_clean(list_query_deinit);
	static char text[256];
	const char *code = NULL;
	const char *value;
	size_t len = 0;

	list_query_init(&query);
	if (list_query_read(&query, raw, &code, NULL) < 0)
		return code;
	text[0] = '\0';
	for (const char *key = strv_first(&query.metadata); key;
	     key = strv_next(&query.metadata, value)) {
		value = strv_next(&query.metadata, key);
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"%s=%s;", key, value);
	}
	return text;
}

static void a_filter_is_a_query_inside_a_value(void **state)
{
	(void)state;
	assert_string_equal(filters("metadata=a%3Db"), "a=b;");
	assert_string_equal(filters("metadata=a%3Db%26c%3Dd"), "a=b;c=d;");
	assert_string_equal(filters("metadata=a%3D"), "a=;");
	assert_string_equal(filters("metadata="), "");
	assert_string_equal(filters("metadata=a%3Db%3Dc"), "a=b=c;");
	assert_string_equal(filters("metadata=%26a%3Db%26"), "a=b;");
}

static void encoded_once_or_twice_it_means_the_same(void **state)
{
	(void)state;
	assert_string_equal(filters("metadata=x/y%3Db"), "x/y=b;");
	assert_string_equal(filters("metadata=x%252Fy%3Db"), "x/y=b;");
	assert_string_equal(filters("metadata=x%2Fy%3Db"), "x/y=b;");
	assert_string_equal(filters("metadata=a%3Db%2520c"), "a=b c;");
	assert_string_equal(filters("metadata=a%3Db%2Bc"), "a=b c;");
}

static void a_percent_that_encodes_nothing_is_text(void **state)
{
	(void)state;
	assert_string_equal(filters("metadata=a%3D50%25"), "a=50%;");
	assert_string_equal(filters("metadata=a%3D%25zz%2520%25"), "a=%zz %;");
	assert_string_equal(filters("metadata=a%3D%252"), "a=%2;");
	assert_string_equal(filters("metadata=a%3D%2500"), "a=%00;");
}

static void the_last_of_two_counts(void **state)
{
	(void)state;
	assert_string_equal(filters("metadata=a%3D1%26b%3D2%26a%3D3"),
			    "b=2;a=3;");
}

static void what_is_no_filter_is_refused(void **state)
{
	static const char format[] = "INVALID_METADATA_FORMAT";

	(void)state;
	assert_string_equal(filters("metadata=a"), format);
	assert_string_equal(filters("metadata=a%3Db%26c"), format);
	assert_string_equal(filters("metadata=%3Db"), format);
	assert_string_equal(filters("metadata=%zz"),
			    "SANDBOX::INVALID_PARAMETER");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_filter_is_a_query_inside_a_value),
		cmocka_unit_test(encoded_once_or_twice_it_means_the_same),
		cmocka_unit_test(a_percent_that_encodes_nothing_is_text),
		cmocka_unit_test(the_last_of_two_counts),
		cmocka_unit_test(what_is_no_filter_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
