/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <string.h>

#include "base/err.h"
#include "sandbox/spec.h"
#include "server/api/create_body.h"
#include "server/json.h"

#define GOOD "\"image\":{\"uri\":\"host\"},\"entrypoint\":[\"sleep\",\"9\"]"
#define FULL GOOD ",\"resourceLimits\":{\"memory\":\"64Mi\"}"

static int read_body(const char *text, struct spec *spec, bool *bound,
		     const char **code, struct err *err)
{
	json_t *body auto_json = json_loads(text, 0, NULL);

	assert_non_null(body);
	spec_init(spec);
	return create_body_read(body, spec, bound, code, err);
}

static void a_whole_body_is_read(void **state)
{
	const char *code;
	struct spec spec;
	bool bound;

	(void)state;
	assert_int_equal(
		read_body("{" FULL ",\"timeout\":60,\"env\":{\"A\":\"b\","
			  "\"N\":null},\"metadata\":{\"k\":\"v\"},"
			  "\"volumes\":[{\"name\":\"d\",\"mountPath\":\"/d\","
			  "\"readOnly\":true,\"host\":{\"path\":\"/s\"}}],"
			  "\"extensions\":{\"osb.bind\":\"connection\"},"
			  "\"unknown\":[1,2]}",
			  &spec, &bound, &code, NULL),
		0);
	assert_true(bound);
	assert_int_equal(spec.timeout_s, 60);
	assert_int_equal(spec.limits.memory_bytes, 64u << 20);
	assert_int_equal(spec.env.num, 1);
	assert_string_equal(strv_get_env(&spec.env, "A", 1), "b");
	assert_int_equal(spec.metadata.num, 2);
	assert_int_equal(spec.entrypoint.num, 2);
	assert_int_equal(spec.num_volumes, 1);
	assert_string_equal(spec.volumes[0].source, "/s");
	spec_deinit(&spec);
}

static void a_null_timeout_is_none(void **state)
{
	const char *code;
	struct spec spec;
	bool bound;

	(void)state;
	assert_int_equal(read_body("{" FULL ",\"timeout\":null}", &spec, &bound,
				   &code, NULL),
			 0);
	assert_int_equal(spec.timeout_s, 0);
	assert_false(bound);
	spec_deinit(&spec);
}

static void wrong_bodies_name_their_error(void **state)
{
	static const struct {
		const char *body, *code;
	} bad[] = {
		{ "{}", "SANDBOX::INVALID_PARAMETER" },
		{ "{\"image\":{\"uri\":\"nope\"}}", "IMAGE::NOT_FOUND" },
		{ "{\"image\":\"host\"}", "SANDBOX::INVALID_PARAMETER" },
		{ "{\"image\":{\"uri\":\"host\"}}",
		  "SANDBOX::INVALID_PARAMETER" },
		{ "{" GOOD "}", "SANDBOX::INVALID_PARAMETER" },
		{ "{" GOOD ",\"resourceLimits\":{\"cpu\":1}}",
		  "SANDBOX::INVALID_PARAMETER" },
		{ "{" FULL ",\"timeout\":\"60\"}",
		  "SANDBOX::INVALID_PARAMETER" },
		{ "{" FULL ",\"metadata\":{\"opensandbox.io/a\":\"b\"}}",
		  "SANDBOX::INVALID_METADATA_LABEL" },
		{ "{" FULL ",\"volumes\":[{\"name\":\"d\",\"mountPath\":\"/d\","
		  "\"pvc\":{\"claimName\":\"x\"}}]}",
		  "VOLUME::INVALID_VOLUME" },
		{ "{" FULL ",\"volumes\":[7]}", "VOLUME::INVALID_VOLUME" },
		{ "{" FULL ",\"networkPolicy\":{}}",
		  "SANDBOX::INVALID_PARAMETER" },
		{ "{" FULL ",\"extensions\":{\"osb.bind\":\"x\"}}",
		  "SANDBOX::INVALID_PARAMETER" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = ERR_NULL;
		const char *code = "";
		struct spec spec;
		bool bound;

		if (read_body(bad[i].body, &spec, &bound, &code, &err) >= 0)
			fail_msg("let through: %s", bad[i].body);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_true(err.msg[0]);
		assert_string_equal(code, bad[i].code);
		spec_deinit(&spec);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_body_is_read),
		cmocka_unit_test(a_null_timeout_is_none),
		cmocka_unit_test(wrong_bodies_name_their_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
