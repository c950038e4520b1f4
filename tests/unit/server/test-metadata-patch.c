/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "sandbox/spec.h"
#include "server/api/create_body.h"
#include "server/json.h"

/* "k=v " for each pair of what a=1 b=2 becomes, in order; or the error. */
static const char *patched(const char *patch)
{
	static char text[1024];
	json_t *json auto_json = json_loads(patch, 0, NULL);
	struct spec spec auto_clean(spec_deinit);
	struct strv metadata;
	struct err err = ERR_NULL;
	const char *value;
	size_t len = 0;

	assert_non_null(json);
	spec_init(&spec);
	assert_int_equal(spec_add_metadata(&spec, "a", "1", NULL), 0);
	assert_int_equal(spec_add_metadata(&spec, "b", "2", NULL), 0);
	if (metadata_patch(json, &spec.metadata, &metadata, &err) < 0) {
		assert_int_equal(err.kind, ERR_INVALID);
		(void)snprintf(text, sizeof(text), "%s", err.msg);
		return text;
	}
	text[0] = '\0';
	for (const char *key = strv_first(&metadata); key;
	     key = strv_next(&metadata, value)) {
		value = strv_next(&metadata, key);
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"%s=%s ", key, value);
	}
	strv_deinit(&metadata);
	return text;
}

static void it_adds_replaces_and_removes(void **state)
{
	(void)state;
	assert_string_equal(patched("{}"), "a=1 b=2 ");
	assert_string_equal(patched("{\"c\": \"3\"}"), "a=1 b=2 c=3 ");
	assert_string_equal(patched("{\"a\": \"9\"}"), "a=9 b=2 ");
	assert_string_equal(patched("{\"a\": \"\"}"), "a= b=2 ");
	assert_string_equal(patched("{\"a\": null}"), "b=2 ");
	assert_string_equal(patched("{\"x\": null}"), "a=1 b=2 ");
	assert_string_equal(patched("{\"a\": null, \"b\": null}"), "");
	assert_string_equal(
		patched("{\"c\": \"3\", \"b\": null, \"a\": \"0\"}"),
		"a=0 c=3 ");
}

static void what_a_create_refuses_it_refuses(void **state)
{
	(void)state;
	assert_non_null(strstr(patched("{\"opensandbox.io/x\": \"1\"}"),
			       "are reserved"));
	assert_non_null(strstr(patched("{\"opensandbox.io/x\": null}"),
			       "are reserved"));
	assert_non_null(strstr(patched("{\"c\": 3}"), "'c': must be a string"));
	assert_non_null(strstr(patched("{\"a\": {}}"), "must be a string"));
	assert_non_null(strstr(patched("{\"-c\": \"3\"}"), "metadata '-c'"));
	assert_non_null(strstr(patched("{\"a\": \" \"}"), "metadata 'a'"));
}

static void the_sum_is_bounded(void **state)
{
	char patch[64 * 16] = "{\"a\": null, \"b\": \"2\"";
	size_t len = strlen(patch);

	(void)state;
	for (int i = 1; i < SPEC_METADATA_MAX; i++)
		len += (size_t)snprintf(patch + len, sizeof(patch) - len,
					",\"k%d\":\"\"", i);
	(void)snprintf(patch + len, sizeof(patch) - len, "}");
	assert_non_null(strstr(patched(patch), "k40= "));
	(void)snprintf(patch + len, sizeof(patch) - len, ",\"one\":\"\"}");
	assert_non_null(strstr(patched(patch), "more than 64 entries"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_adds_replaces_and_removes),
		cmocka_unit_test(what_a_create_refuses_it_refuses),
		cmocka_unit_test(the_sum_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
