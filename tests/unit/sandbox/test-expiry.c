/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "sandbox/expiry.h"

#define NUM 500
#define HOUR_US 3600000000ll

struct world {
	struct expiry expiry;
	struct deadline deadlines[NUM];
	int64_t last_us;
	unsigned int fired;
};

static struct world world;

static void on_due(void *ctx, struct deadline *due)
{
	assert_ptr_equal(ctx, &world);
	assert_int_equal(due->place, 0);
	assert_true(due->at_us <= expiry_now_us());
	assert_true(due->at_us >= world.last_us);
	world.last_us = due->at_us;
	world.fired++;
}

static int setup(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	assert_int_equal(expiry_init(&world.expiry, &fake_poller, NUM, on_due,
				     &world),
			 0);
	srandom(1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	expiry_deinit(&world.expiry);
	expiry_deinit(&world.expiry);
	return 0;
}

static void heap_is_in_order(void)
{
	const struct expiry *e = &world.expiry;

	for (unsigned int i = 1; i <= e->num; i++) {
		assert_int_equal(e->heap[i]->place, i);
		if (i > 1)
			assert_true(e->heap[i / 2]->at_us <= e->heap[i]->at_us);
	}
	assert_int_equal(e->armed_us, e->num ? e->heap[1]->at_us : 0);
}

static void they_come_in_order_whatever_was_done_to_them(void **state)
{
	int64_t now_us = expiry_now_us();
	unsigned int set = 0;

	(void)state;
	for (unsigned int i = 0; i < 10 * NUM; i++) {
		struct deadline *d = &world.deadlines[random() % NUM];
		int64_t at_us = now_us - 1 - random() % HOUR_US;

		expiry_set(&world.expiry, d, random() % 4 ? at_us : 0);
		heap_is_in_order();
	}
	for (unsigned int i = 0; i < NUM; i++)
		set += world.deadlines[i].place != 0;
	assert_int_equal(world.expiry.num, set);
	assert_true(set > NUM / 2);
	while (world.fired < set) {
		unsigned int before = world.fired;

		fake_turn();
		assert_true(world.fired > before);
	}
	assert_int_equal(world.expiry.num, 0);
	heap_is_in_order();
}

static void none_comes_early_or_twice(void **state)
{
	struct deadline *d = world.deadlines;
	int64_t start_us = expiry_now_us();

	(void)state;
	expiry_set(&world.expiry, &d[0], start_us + 3000);
	expiry_set(&world.expiry, &d[1], start_us + HOUR_US);
	fake_turn();
	while (world.fired == 0)
		fake_turn();
	assert_true(expiry_now_us() >= start_us + 3000);
	fake_turn();
	assert_int_equal(world.fired, 1);
	assert_int_equal(world.expiry.num, 1);
	assert_int_equal(world.expiry.armed_us, start_us + HOUR_US);
}

static void one_that_was_moved_comes_at_its_new_moment(void **state)
{
	struct deadline *d = world.deadlines;
	int64_t now_us = expiry_now_us();

	(void)state;
	expiry_set(&world.expiry, &d[0], now_us - 1);
	expiry_set(&world.expiry, &d[0], now_us + HOUR_US);
	fake_turn();
	assert_int_equal(world.fired, 0);
	expiry_set(&world.expiry, &d[0], now_us - 1);
	fake_turn();
	assert_int_equal(world.fired, 1);
}

static void one_that_was_taken_away_never_comes(void **state)
{
	struct deadline *d = world.deadlines;

	(void)state;
	expiry_set(&world.expiry, &d[0], 0);
	expiry_set(&world.expiry, &d[0], 1);
	expiry_set(&world.expiry, &d[0], 0);
	fake_turn();
	assert_int_equal(world.fired, 0);
	assert_int_equal(world.expiry.num, 0);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(they_come_in_order_whatever_was_done_to_them),
		CASE(none_comes_early_or_twice),
		CASE(one_that_was_moved_comes_at_its_new_moment),
		CASE(one_that_was_taken_away_never_comes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
