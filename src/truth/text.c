/* SPDX-License-Identifier: Apache-2.0 */

/*
 * text - the files of /proc that tell of a machine's size; see proc(5)
 */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "truth/truth.h"

#define TICK_US 10000u /* of USER_HZ, which is 100 everywhere */
#define TICKS 12       /* room for a number of them, and a space */

struct text {
	char *buf;
	size_t size, len;
};

static void text_init(struct text *text, char *buf, size_t size)
{
	text->buf = buf;
	text->size = size;
	text->len = 0;
}

__attribute__((format(printf, 2, 3))) static void put(struct text *text,
						      const char *format, ...)
{
	size_t room = text->size - text->len;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text->buf + text->len, room, format, args);
	va_end(args);
	text->len += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

static void pad_to(struct text *text, size_t len)
{
	if (text->len < len)
		put(text, "%*s", (int)(len - text->len), "");
}

/* Ends at the first multiple of 8 from @end on; see truth.h. */
static void put_value(struct text *text, uint64_t value, size_t end)
{
	put(text, "%*" PRIu64, (int)((end + 7) / 8 * 8 - text->len), value);
}

/* " kB" and the end of a line take 4: the first line is 4 wider than others. */
static void put_kb(struct text *text, const char *name, uint64_t bytes)
{
	size_t end = text->len + 28;

	put(text, "%s:", name);
	put_value(text, bytes / 1024, end);
	put(text, " kB\n");
}

size_t truth_meminfo(const struct truth *t, char *buf, size_t size)
{
	struct text text;

	text_init(&text, buf, size);
	put_kb(&text, "MemTotal", t->total);
	put_kb(&text, "MemFree", t->free);
	put_kb(&text, "MemAvailable", t->available);
	put_kb(&text, "Buffers", 0);
	put_kb(&text, "Cached", t->cached);
	put_kb(&text, "SwapCached", 0);
	put_kb(&text, "Active", t->active_anon + t->active_file);
	put_kb(&text, "Inactive", t->inactive_anon + t->inactive_file);
	put_kb(&text, "Active(anon)", t->active_anon);
	put_kb(&text, "Inactive(anon)", t->inactive_anon);
	put_kb(&text, "Active(file)", t->active_file);
	put_kb(&text, "Inactive(file)", t->inactive_file);
	put_kb(&text, "Unevictable", t->unevictable);
	put_kb(&text, "SwapTotal", 0);
	put_kb(&text, "SwapFree", 0);
	put_kb(&text, "AnonPages", t->anon);
	put_kb(&text, "Mapped", t->mapped);
	put_kb(&text, "Shmem", t->shmem);
	put_kb(&text, "Slab", t->slab);
	put_kb(&text, "SReclaimable", t->slab_reclaimable);
	put_kb(&text, "SUnreclaim", t->slab - t->slab_reclaimable);
	return text.len;
}

/* Time that all processors together had and nobody used. */
static uint64_t idle_us(const struct truth *t)
{
	uint64_t had = (t->now_us - t->since_us) * t->cpus;
	uint64_t used = t->user_us + t->system_us;

	return used < had ? had - used : 0;
}

/* user, nice, system, idle, and six that are always 0 */
static void put_cpu_times(struct text *text, const struct truth *t,
			  uint64_t share)
{
	put_value(text, t->user_us / TICK_US / share, text->len + TICKS);
	put(text, " 0");
	put_value(text, t->system_us / TICK_US / share, text->len + TICKS);
	put_value(text, idle_us(t) / TICK_US / share, text->len + TICKS);
	put(text, " 0 0 0 0 0 0\n");
}

size_t truth_stat(const struct truth *t, char *buf, size_t size)
{
	struct text text;

	text_init(&text, buf, size);
	put(&text, "cpu");
	put_cpu_times(&text, t, 1);
	for (uint32_t i = 0; i < t->cpus; i++) {
		put(&text, "cpu%u", i);
		put_cpu_times(&text, t, t->cpus);
	}
	put(&text, "intr 0\nctxt 0\nbtime %" PRId64 "\n", t->boot_s);
	put(&text, "processes");
	put_value(&text, t->last_pid, text.len + 8);
	put(&text, "\nprocs_running 1\nprocs_blocked 0\nsoftirq 0\n");
	return text.len;
}

static void put_seconds(struct text *text, uint64_t us)
{
	put(text, "%" PRIu64 ".%02" PRIu64, us / 1000000,
	    us / TICK_US % (1000000 / TICK_US));
}

/* Numbers that some look for at the start of the line: no spaces before. */
size_t truth_uptime(const struct truth *t, char *buf, size_t size)
{
	struct text text;

	text_init(&text, buf, size);
	put_seconds(&text, t->now_us - t->since_us);
	put(&text, " ");
	put_seconds(&text, idle_us(t));
	pad_to(&text, 47);
	put(&text, "\n");
	return text.len;
}

size_t truth_loadavg(const struct truth *t, char *buf, size_t size)
{
	struct text text;

	text_init(&text, buf, size);
	for (int i = 0; i < 3; i++) {
		uint64_t hundredths =
			(uint64_t)t->load[i] * 100 / TRUTH_LOAD_ONE;

		put(&text, "%" PRIu64 ".%02" PRIu64 " ", hundredths / 100,
		    hundredths % 100);
	}
	put(&text, "1/%u %u", t->num_tasks, t->last_pid);
	pad_to(&text, 63);
	put(&text, "\n");
	return text.len;
}

/* A line of it that counts processors: where the number is, else NULL. */
static const char *find_count(const char *line)
{
	static const char *const names[] = { "siblings\t: ", "cpu cores\t: " };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strncmp(line, names[i], strlen(names[i])) == 0)
			return line + strlen(names[i]);
	}
	return NULL;
}

/* In place: what replaces a larger number is never longer. */
void truth_cpuinfo(char *text, uint32_t cpus)
{
	char *to = text, *end;
	uint32_t num = 0;

	for (char *line = text; num < cpus; line = end + 1) {
		const char *count = find_count(line);
		char less[16];
		int n;

		end = strchr(line, '\n');
		if (!end)
			break;
		num += end == line;
		n = (int)(end + 1 - line);
		if (count && file_number(count) > cpus)
			n = (int)(count - line);
		memmove(to, line, (size_t)n);
		to += n;
		if (to[-1] == '\n')
			continue;
		n = snprintf(less, sizeof(less), "%u\n", cpus);
		memcpy(to, less, (size_t)n);
		to += n;
	}
	*to = '\0';
}
