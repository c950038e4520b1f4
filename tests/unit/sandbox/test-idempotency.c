/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <stdio.h>
#include <string.h>

#include "sandbox/idempotency.h"

#define NOW 1000000000000ll

static struct idem idem;
static const uint8_t digest[IDEM_DIGEST_LEN] = { 1, 2, 3 };

static int setup(void **state)
{
	(void)state;
	return idem_init(&idem);
}

static int teardown(void **state)
{
	(void)state;
	idem_deinit(&idem);
	idem_deinit(&idem);
	return 0;
}

static void add(const char *domain, const char *key, const char *id,
		int64_t at_us)
{
	assert_int_equal(idem_add(&idem, domain, key, digest, id, at_us), 0);
}

static bool known(const char *domain, const char *key, int64_t now_us)
{
	return idem_find(&idem, domain, key, now_us) != NULL;
}

static void a_key_is_found_with_what_it_stands_for(void **state)
{
	const struct idem_entry *entry;

	(void)state;
	assert_false(known("a", "k", NOW));
	add("a", "k", "0123", NOW);
	entry = idem_find(&idem, "a", "k", NOW);
	assert_non_null(entry);
	assert_string_equal(entry->key, "k");
	assert_string_equal(entry->sandbox, "0123");
	assert_memory_equal(entry->digest, digest, sizeof(digest));
	assert_false(known("a", "K", NOW));
	assert_false(known("a", "kk", NOW));
}

static void a_key_is_its_domains_own(void **state)
{
	(void)state;
	add("a", "k", "1", NOW);
	assert_false(known("b", "k", NOW));
	add("b", "k", "2", NOW);
	assert_string_equal(idem_find(&idem, "a", "k", NOW)->sandbox, "1");
	assert_string_equal(idem_find(&idem, "b", "k", NOW)->sandbox, "2");
	/* Where one ends and the other begins can't be moved. */
	add("a", "bc", "3", NOW);
	assert_false(known("ab", "c", NOW));
}

static void only_its_own_sandbox_frees_a_key(void **state)
{
	(void)state;
	add("a", "k", "1", NOW);
	idem_drop(&idem, "a", "k", "2");
	assert_true(known("a", "k", NOW));
	idem_drop(&idem, "a", "k", "1");
	assert_false(known("a", "k", NOW));
	idem_drop(&idem, "a", "k", "1");
	assert_int_equal(idem.num, 0);
	assert_null(idem.domains);
}

static void a_key_lives_for_a_day(void **state)
{
	(void)state;
	add("a", "k", "1", NOW);
	add("a", "l", "1", NOW + 1);
	assert_true(known("a", "k", NOW + IDEM_LIFE_US - 1));
	assert_false(known("a", "k", NOW + IDEM_LIFE_US));
	assert_int_equal(idem.num, 1);
	/* What is too old goes when another comes. */
	add("a", "m", "1", NOW + 2 * IDEM_LIFE_US);
	assert_int_equal(idem.num, 1);
}

static void of_too_many_keys_the_domains_oldest_goes(void **state)
{
	char key[32];

	(void)state;
	add("b", "k", "1", NOW);
	for (int i = 0; i < IDEM_DOMAIN_MAX + 10; i++) {
		(void)snprintf(key, sizeof(key), "%d", i);
		add("a", key, "1", NOW + i);
	}
	assert_int_equal(idem.num, IDEM_DOMAIN_MAX + 1);
	assert_false(known("a", "9", NOW));
	assert_true(known("a", "10", NOW));
	assert_true(known("a", key, NOW));
	assert_true(known("b", "k", NOW));
}

static void of_too_many_in_all_the_largest_domain_pays(void **state)
{
	char domain[32], key[32];

	(void)state;
	add("small", "k", "1", NOW);
	for (int i = 0; idem.num < IDEM_NUM_MAX; i++) {
		(void)snprintf(domain, sizeof(domain), "d%d", i % 14);
		(void)snprintf(key, sizeof(key), "%d", i);
		add(domain, key, "1", NOW + 1 + i);
	}
	add("small", "l", "1", NOW);
	assert_int_equal(idem.num, IDEM_NUM_MAX);
	assert_true(known("small", "k", NOW));
	assert_true(known("small", "l", NOW));
}

static void what_is_a_key(void **state)
{
	char key[IDEM_KEY_MAX + 2];

	(void)state;
	assert_false(idem_key_ok(""));
	assert_false(idem_key_ok("a b"));
	assert_false(idem_key_ok("a\tb"));
	assert_false(idem_key_ok("a\x7f"));
	assert_false(idem_key_ok("a\xc3\xa4"));
	assert_true(idem_key_ok("!~\"'/\\"));
	memset(key, 'x', sizeof(key));
	key[IDEM_KEY_MAX + 1] = '\0';
	assert_false(idem_key_ok(key));
	key[IDEM_KEY_MAX] = '\0';
	assert_true(idem_key_ok(key));
	add("a", key, "1", NOW);
	assert_true(known("a", key, NOW));
}

static void the_digest_is_sha256(void **state)
{
	static const uint8_t abc[IDEM_DIGEST_LEN] = {
		0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea,
		0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
		0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c,
		0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
	};
	uint8_t is[IDEM_DIGEST_LEN];

	(void)state;
	assert_int_equal(idem_digest("abc", 3, is), 0);
	assert_memory_equal(is, abc, sizeof(is));
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_key_is_found_with_what_it_stands_for),
		CASE(a_key_is_its_domains_own),
		CASE(only_its_own_sandbox_frees_a_key),
		CASE(a_key_lives_for_a_day),
		CASE(of_too_many_keys_the_domains_oldest_goes),
		CASE(of_too_many_in_all_the_largest_domain_pays),
		CASE(what_is_a_key),
		CASE(the_digest_is_sha256),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
