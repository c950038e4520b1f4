/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "truth/truth.h"
#include "wire/setup_msg.h"

#define S 1000000ull
#define MIB (1ull << 20)

static struct truth truth;
static char buf[TRUTH_BYTES(TRUTH_CPUS_MAX)];

static const char v1_stat[] = "cache 41943040\nrss 20971520\nrss_huge 0\n"
			      "shmem 10485760\nmapped_file 1048576\n"
			      "inactive_anon 12582912\nactive_anon 18874368\n"
			      "inactive_file 20971520\nactive_file 10485760\n"
			      "unevictable 0\nhierarchical_memory_limit 1\n"
			      "total_cache 99999999999\n";
static const char v2_stat[] = "anon 20971520\nfile 41943040\nkernel 7\n"
			      "shmem 10485760\nfile_mapped 1048576\n"
			      "inactive_anon 12582912\nactive_anon 18874368\n"
			      "inactive_file 20971520\nactive_file 10485760\n"
			      "unevictable 0\nslab_reclaimable 2097152\n"
			      "slab_unreclaimable 1048576\nslab 3145728\n";

static int fresh(void **state)
{
	(void)state;
	truth_init(&truth, 1, 100 * S);
	return 0;
}

static uint64_t kb(const char *name)
{
	char line[40];
	const char *at;

	(void)snprintf(line, sizeof(line), "%s:", name);
	buf[truth_meminfo(&truth, buf, sizeof(buf))] = '\0';
	at = strncmp(buf, line, strlen(line)) == 0 ? buf : NULL;
	(void)snprintf(line, sizeof(line), "\n%s:", name);
	at = at ? at : strstr(buf, line);
	assert_non_null(at);
	at = strchr(at, ':') + 1;
	return strtoull(at, NULL, 10);
}

static void memory_is_the_limit_and_what_is_left_of_it(void **state)
{
	(void)state;
	truth_set_memory(&truth, 256 * MIB, v1_stat);
	assert_int_equal(kb("MemTotal"), 256 * 1024);
	assert_int_equal(kb("MemFree"), (256 - 60) * 1024);
	assert_int_equal(kb("MemAvailable"), (256 - 30) * 1024);
	assert_int_equal(kb("Cached"), 40 * 1024);
	assert_int_equal(kb("Shmem"), 10 * 1024);
	assert_int_equal(kb("AnonPages"), 20 * 1024);
	assert_int_equal(kb("Active"), 28 * 1024);
	assert_int_equal(kb("SwapTotal"), 0);
}

static void both_kinds_of_hierarchy_are_understood(void **state)
{
	(void)state;
	truth_set_memory(&truth, 256 * MIB, v2_stat);
	assert_int_equal(kb("MemFree"), (256 - 63) * 1024);
	assert_int_equal(kb("MemAvailable"), (256 - 63 + 32) * 1024);
	assert_int_equal(kb("Mapped"), 1024);
	assert_int_equal(kb("Slab"), 3 * 1024);
	assert_int_equal(kb("SUnreclaim"), 1024);
}

static void no_number_runs_below_zero_or_above_the_limit(void **state)
{
	(void)state;
	truth_set_memory(&truth, 16 * MIB, v2_stat); /* less than is in use */
	assert_int_equal(kb("MemFree"), 0);
	assert_int_equal(kb("MemAvailable"), 16 * 1024);
	truth_set_memory(&truth, 16 * MIB, "");
	assert_int_equal(kb("MemFree"), 16 * 1024);
	truth_set_cpu(&truth, "user_usec 99000000\n", 90 * S); /* backwards */
	buf[truth_uptime(&truth, buf, sizeof(buf))] = '\0';
	assert_int_equal(strspn(buf, "0123456789. \n"), strlen(buf));
	buf[truth_stat(&truth, buf, sizeof(buf))] = '\0';
	assert_null(strchr(buf, '-'));
}

static size_t text_of(unsigned int file)
{
	switch (file) {
	case TRUTH_MEMINFO:
		return truth_meminfo(&truth, buf, sizeof(buf));
	case TRUTH_STAT:
		return truth_stat(&truth, buf, sizeof(buf));
	case TRUTH_UPTIME:
		return truth_uptime(&truth, buf, sizeof(buf));
	default:
		return truth_loadavg(&truth, buf, sizeof(buf));
	}
}

static void busy_for(uint64_t seconds)
{
	char stat[64];

	(void)snprintf(stat, sizeof(stat), "user_usec %llu\nsystem_usec 7\n",
		       (unsigned long long)(seconds * S * truth.cpus));
	truth_set_cpu(&truth, stat, truth.since_us + seconds * S);
}

static void a_file_keeps_its_length_whatever_it_says(void **state)
{
	(void)state;
	truth_init(&truth, TRUTH_CPUS_MAX, 0);
	truth.boot_s = 1700000000;
	for (unsigned int file = 0; file < TRUTH_NUM_FILES; file++) {
		size_t len;

		truth_init(&truth, TRUTH_CPUS_MAX, 0);
		truth.boot_s = 1700000000;
		len = text_of(file);
		assert_true(len > 10 && len <= TRUTH_BYTES(TRUTH_CPUS_MAX) - 1);
		assert_int_equal(buf[len - 1], '\n');
		truth_set_memory(&truth, 1ull << 42, v2_stat);
		busy_for(100ull * 24 * 3600);
		truth.num_tasks = truth.last_pid = 4194304;
		assert_int_equal(text_of(file), len);
		assert_int_equal(buf[len - 1], '\n');
	}
}

static void a_changing_number_ends_at_a_whole_word(void **state)
{
	size_t len, num = 0;

	(void)state;
	truth_set_memory(&truth, 123456789ull << 10, v2_stat);
	len = truth_meminfo(&truth, buf, sizeof(buf));
	buf[len] = '\0';
	for (const char *p = buf; (p = strstr(p, " kB\n")); p++, num++)
		assert_int_equal((p - buf) % 8, 0);
	assert_true(num > 15);
}

static void times_add_up_to_all_processors(void **state)
{
	unsigned long long ticks[4];
	char *at = buf + 4;

	(void)state;
	truth_init(&truth, 2, 100 * S);
	truth_set_cpu(&truth,
		      "usage_usec 5\nuser_usec 3000000\n"
		      "system_usec 1000000\n",
		      110 * S);
	buf[truth_stat(&truth, buf, sizeof(buf))] = '\0';
	assert_memory_equal(buf, "cpu ", 4);
	for (size_t i = 0; i < ARRAY_SIZE(ticks); i++)
		ticks[i] = strtoull(at, &at, 10);
	assert_int_equal(ticks[0], 300);
	assert_int_equal(ticks[2], 100);
	assert_int_equal(ticks[3], 2000 - 400);
	assert_non_null(strstr(buf, "\ncpu0 "));
	assert_non_null(strstr(buf, "\ncpu1 "));
	assert_null(strstr(buf, "\ncpu2 "));
	buf[truth_uptime(&truth, buf, sizeof(buf))] = '\0';
	assert_memory_equal(buf, "10.00 16.00 ", 12);
}

static void load_comes_near_what_is_used_and_goes(void **state)
{
	char stat[64];

	(void)state;
	for (unsigned int s = 1; s <= 120; s++) {
		(void)snprintf(stat, sizeof(stat), "user_usec %llu\n", s * S);
		truth_set_cpu(&truth, stat, (100 + s) * S);
	}
	/* 1 - 1/e^2, with what is lost by rounding down each time */
	assert_in_range(truth.load[0], 0.85 * TRUTH_LOAD_ONE,
			0.87 * TRUTH_LOAD_ONE);
	assert_true(truth.load[0] > truth.load[1]);
	assert_true(truth.load[1] > truth.load[2]);
	truth_set_cpu(&truth, stat, 3600 * S);
	assert_int_equal(truth.load[0], 0);
	/* Who didn't run for years doesn't keep us busy. */
	truth_set_cpu(&truth, stat, UINT64_MAX / 2);
	assert_int_equal(truth.load[2], 0);
}

static void sysinfo_says_the_same(void **state)
{
	struct sysinfo info;
	static const char zero[sizeof(info)];

	(void)state;
	memset(&info, 0xff, sizeof(info));
	truth_set_memory(&truth, 256 * MIB, v1_stat);
	truth.num_tasks = 3;
	truth_sysinfo(&truth, 107 * S + 5, &info);
	assert_int_equal(info.totalram * info.mem_unit, 256 * MIB);
	assert_int_equal(info.freeram, 196 * MIB);
	assert_int_equal(info.uptime, 7);
	assert_int_equal(info.procs, 3);
	assert_int_equal(info.totalswap, 0);
	/* The two bytes behind `procs` go to a program, too. */
	assert_memory_equal((const char *)&info.procs + sizeof(info.procs),
			    zero, 4);
}

static void cpuinfo_ends_with_the_last_that_is_shown(void **state)
{
	char text[] = "processor\t: 0\nsiblings\t: 16\ncore id\t\t: 0\n"
		      "cpu cores\t: 8\nflags\t\t: fpu vme\n\n"
		      "processor\t: 1\nsiblings\t: 16\ncpu cores\t: 2\n\n"
		      "processor\t: 2\nsiblings\t: 16\n\n";
	char cut[] = "processor\t: 0\n\nprocessor\t: 1\nflags";

	(void)state;
	truth_cpuinfo(text, 2);
	assert_string_equal(
		text, "processor\t: 0\nsiblings\t: 2\ncore id\t\t: 0\n"
		      "cpu cores\t: 2\nflags\t\t: fpu vme\n\n"
		      "processor\t: 1\nsiblings\t: 2\ncpu cores\t: 2\n\n");
	truth_cpuinfo(cut, 2); /* a whole line is the least */
	assert_string_equal(cut, "processor\t: 0\n\nprocessor\t: 1\n");
}

static void the_lowest_processors_stay_in_a_mask(void **state)
{
	uint8_t mask[4] = { 0x00, 0xf0, 0xff, 0x01 };
	uint8_t one[1] = { 0x20 };

	(void)state;
	truth_affinity(mask, sizeof(mask), 6);
	assert_memory_equal(mask, ((uint8_t[]){ 0x00, 0xf0, 0x03, 0x00 }), 4);
	truth_affinity(mask, sizeof(mask), 1);
	assert_memory_equal(mask, ((uint8_t[]){ 0x00, 0x10, 0x00, 0x00 }), 4);
	truth_affinity(one, 1, 2); /* it chose one itself */
	assert_int_equal(one[0], 0x20);
	truth_affinity(one, 0, 1);
}

static void a_buffer_that_is_too_small_is_respected(void **state)
{
	(void)state;
	for (size_t size = 1; size < 64; size++) {
		memset(buf, '#', sizeof(buf));
		assert_true(truth_meminfo(&truth, buf, size) < size);
		assert_int_equal(buf[size], '#');
		assert_true(truth_loadavg(&truth, buf, size) < size);
		assert_int_equal(buf[size], '#');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			memory_is_the_limit_and_what_is_left_of_it, fresh),
		cmocka_unit_test_setup(both_kinds_of_hierarchy_are_understood,
				       fresh),
		cmocka_unit_test_setup(
			no_number_runs_below_zero_or_above_the_limit, fresh),
		cmocka_unit_test_setup(a_file_keeps_its_length_whatever_it_says,
				       fresh),
		cmocka_unit_test_setup(a_changing_number_ends_at_a_whole_word,
				       fresh),
		cmocka_unit_test_setup(times_add_up_to_all_processors, fresh),
		cmocka_unit_test_setup(load_comes_near_what_is_used_and_goes,
				       fresh),
		cmocka_unit_test_setup(sysinfo_says_the_same, fresh),
		cmocka_unit_test(cpuinfo_ends_with_the_last_that_is_shown),
		cmocka_unit_test_setup(the_lowest_processors_stay_in_a_mask,
				       fresh),
		cmocka_unit_test_setup(a_buffer_that_is_too_small_is_respected,
				       fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
