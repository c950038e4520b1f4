/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/err.h"
#include "sandbox/account.h"

#define MI (1ull << 20)

static struct accounts accounts;

static const struct account_limits limits = {
	.max_sandboxes = 3,
	.max_guarantee = 100 * MI,
	.memory_bytes = 150 * MI,
	.create_rate = 10,
	.create_burst = 5,
	.request_rate = 100,
};

static int setup(void **state)
{
	(void)state;
	accounts_init(&accounts, &limits);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	accounts_deinit(&accounts);
	return 0;
}

static void full(const char *domain, uint64_t guarantee, const char *why)
{
	struct err err = ERR_NULL;

	assert_true(account_check_room(&accounts, domain, guarantee, &err) < 0);
	assert_int_equal(err.kind, ERR_QUOTA);
	assert_non_null(strstr(err.msg, why));
}

static void room(const char *domain, uint64_t guarantee)
{
	assert_int_equal(account_check_room(&accounts, domain, guarantee, NULL),
			 0);
}

static void charge(const char *domain, uint64_t guarantee)
{
	assert_int_equal(account_charge(&accounts, domain, guarantee), 0);
}

static void sandboxes_are_counted_by_domain(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		room("a", MI);
		charge("a", MI);
	}
	full("a", MI, "no more than 3 sandboxes");
	room("b", MI);
	account_release(&accounts, "a", MI);
	room("a", MI);
}

static void guarantees_are_summed_by_domain_and_host(void **state)
{
	(void)state;
	full("a", 101 * MI, "a caller has 100Mi of memory to guarantee");
	full("a", UINT64_MAX, "a caller has");
	charge("a", 90 * MI);
	room("a", 10 * MI);
	full("a", 10 * MI + 1, "of which 90Mi are taken");
	room("b", 60 * MI);
	full("b", 61 * MI, "the host has 150Mi");
	charge("b", 60 * MI);
	full("b", 1, "the host has");
	account_release(&accounts, "a", 90 * MI);
	room("b", 40 * MI);
	full("b", 41 * MI, "a caller has");
}

/* How many of @tries at one moment get a token. */
static unsigned int creates(const char *domain, uint64_t now_ms,
			    unsigned int tries)
{
	unsigned int got = 0, wait_s;

	for (unsigned int i = 0; i < tries; i++)
		got += account_may_create(&accounts, domain, now_ms, &wait_s);
	return got;
}

static void a_burst_then_the_rate(void **state)
{
	(void)state;
	assert_int_equal(creates("a", 1000, 50), 5);
	assert_int_equal(creates("a", 1099, 50), 0);
	assert_int_equal(creates("a", 1100, 50), 1);
	assert_int_equal(creates("a", 1300, 50), 2);
	assert_int_equal(creates("a", 60000, 50), 5); /* no more is saved up */
}

static void a_rate_of_one_domain_is_no_other_ones(void **state)
{
	(void)state;
	assert_int_equal(creates("a", 1000, 1000), 5);
	assert_int_equal(creates("b", 1000, 1000), 5);
}

static void it_says_when_to_come_again(void **state)
{
	unsigned int wait_s = 0;

	(void)state;
	accounts.limits.create_burst = 1;
	accounts.limits.create_rate = 1;
	assert_true(account_may_create(&accounts, "a", 1000, &wait_s));
	assert_false(account_may_create(&accounts, "a", 1000, &wait_s));
	assert_int_equal(wait_s, 1);
	assert_false(account_may_create(&accounts, "a", 1999, &wait_s));
	assert_int_equal(wait_s, 1);
	assert_true(account_may_create(&accounts, "a", 2000, &wait_s));
}

static void requests_have_a_bucket_of_their_own(void **state)
{
	unsigned int got = 0, wait_s;

	(void)state;
	assert_int_equal(creates("a", 1000, 50), 5);
	for (int i = 0; i < 500; i++)
		got += account_may_request(&accounts, "a", 1000, &wait_s);
	assert_int_equal(got, 200);
	assert_int_equal(wait_s, 1);
}

static void a_rate_of_zero_is_none(void **state)
{
	unsigned int wait_s;

	(void)state;
	accounts.limits.create_rate = 0;
	accounts.limits.request_rate = 0;
	assert_int_equal(creates("a", 1000, 5000), 5000);
	assert_true(account_may_request(&accounts, "a", 1000, &wait_s));
	assert_int_equal(accounts.num, 0);
}

static void the_highest_rate_still_counts(void **state)
{
	(void)state;
	accounts.limits.create_rate = ACCOUNT_RATE_MAX;
	accounts.limits.create_burst = ACCOUNT_RATE_MAX;
	assert_int_equal(creates("a", UINT32_MAX, ACCOUNT_RATE_MAX + 5),
			 ACCOUNT_RATE_MAX);
}

static void the_table_is_bounded_and_keeps_who_has_something(void **state)
{
	unsigned int wait_s;
	char name[32];

	(void)state;
	charge("mine", MI);
	assert_int_equal(creates("gone", 1000, 5), 5);
	for (int i = 0; i < 2 * ACCOUNTS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "uid:%d", i);
		assert_true(account_may_create(&accounts, name, 1000, &wait_s));
	}
	assert_int_equal(accounts.num, ACCOUNTS_MAX);
	assert_non_null(account_find(&accounts, "mine"));
	assert_null(account_find(&accounts, "gone"));
	account_release(&accounts, "mine", MI);
	assert_int_equal(accounts.guarantee_bytes, 0);
}

static void the_host_keeps_a_reserve(void **state)
{
	struct err err = ERR_NULL;
	struct sysinfo info;
	uint64_t bytes, total;

	(void)state;
	assert_int_equal(sysinfo(&info), 0);
	total = (uint64_t)info.totalram * info.mem_unit;
	assert_int_equal(account_host_memory(4096, &bytes, NULL), 0);
	assert_int_equal(bytes, total - 4096);
	assert_int_equal(account_host_memory(0, &bytes, NULL), 0);
	assert_true(bytes <= total - total / 10);
	assert_true(bytes >= total / 2);
	assert_true(account_host_memory(total, &bytes, &err) < 0);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_non_null(strstr(err.msg, "memory_reserve = "));
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(sandboxes_are_counted_by_domain),
		CASE(guarantees_are_summed_by_domain_and_host),
		CASE(a_burst_then_the_rate),
		CASE(a_rate_of_one_domain_is_no_other_ones),
		CASE(it_says_when_to_come_again),
		CASE(requests_have_a_bucket_of_their_own),
		CASE(a_rate_of_zero_is_none),
		CASE(the_highest_rate_still_counts),
		CASE(the_table_is_bounded_and_keeps_who_has_something),
		CASE(the_host_keeps_a_reserve),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
