/* SPDX-License-Identifier: Apache-2.0 */

/*
 * verdict - how a program ended: from init's numbers to a client's struct
 *
 * Input: a letter. j: the JSON that a client reads. n: a line of the numbers
 * that init may report (verdict exit_code signal limits_hit wall_us cpu_us
 * num_left) and a name of what is left running; osbd makes JSON of them, and
 * the client must read the same numbers.
 */

#include <signal.h>

#include "base/buf.h"
#include "client/fail.h"
#include "client/verdict.h"
#include "fuzz.h"
#include "osb/osb.h"
#include "server/api/verdict.h"
#include "server/run.h"

#define ENDS(field) (strnlen((field), sizeof(field)) < sizeof(field))

static void check_verdict(const struct osb_verdict *verdict)
{
	CHECK(verdict->exit_code >= -1 && verdict->exit_code <= 255);
	CHECK(verdict->kind != OSB_EXITED || verdict->exit_code >= 0);
	CHECK(verdict->signal_number >= 0 && verdict->signal_number <= 64);
	CHECK(ENDS(verdict->name) && ENDS(verdict->signal));
	CHECK(ENDS(verdict->message));
	CHECK(verdict->num_left <= OSB_LEFT_MAX);
	for (size_t i = 0; i < verdict->num_left; i++)
		CHECK(ENDS(verdict->left[i].name));
	CHECK(verdict->num_limits_hit <= OSB_LIMITS_HIT_MAX);
	for (size_t i = 0; i < verdict->num_limits_hit; i++)
		CHECK(ENDS(verdict->limits_hit[i]));
}

static void read_json(const char *text)
{
	json_t *root auto_json =
		json_loadb(text, strlen(text), JSON_ALLOW_NUL, NULL);
	struct osb_verdict verdict;
	struct osb_error error;

	if (root && verdict_from_json(root, &verdict) == 0)
		check_verdict(&verdict);
	CHECK(client_fail_status(&error, 400, text, strlen(text)) < 0);
	CHECK(ENDS(error.code) && ENDS(error.message) && error.message[0]);
}

/* What init_link lets pass, and nothing else. */
static bool read_numbers(char *at, struct init_exited *ret_exited)
{
	struct init_exited exited = { .op = INIT_EXITED };

	exited.verdict = (uint32_t)strtoul(at, &at, 10);
	exited.exit_code = (int32_t)strtol(at, &at, 10);
	exited.signal = (int32_t)strtol(at, &at, 10);
	exited.limits_hit = (uint32_t)strtoul(at, &at, 10);
	exited.wall_us = strtoull(at, &at, 10);
	exited.cpu_us = strtoull(at, &at, 10);
	exited.peak_memory_bytes = exited.wall_us ^ exited.cpu_us;
	exited.num_left = (uint32_t)strtoul(at, &at, 10) % (INIT_LEFT_MAX + 1);
	*ret_exited = exited;
	return exited.verdict > VERDICT_LOST && exited.verdict < VERDICT_NUM &&
	       exited.signal >= 0 && exited.signal <= 64 &&
	       exited.exit_code >= -1 && exited.exit_code <= 255 &&
	       (exited.signal != 0) == (exited.exit_code == -1) &&
	       (exited.verdict != VERDICT_EXITED || exited.signal == 0) &&
	       (exited.verdict != VERDICT_PIDS_LIMIT || exited.signal == 0) &&
	       (exited.verdict != VERDICT_DISK_FULL || exited.signal == 0) &&
	       (exited.verdict != VERDICT_SIGNALED || exited.signal != 0) &&
	       (exited.verdict != VERDICT_OOM || exited.signal != 0);
}

static void check_same(const struct init_exited *exited,
		       const struct osb_verdict *verdict)
{
	CHECK(verdict->exit_code == exited->exit_code);
	CHECK(verdict->signal_number == exited->signal);
	CHECK(verdict->num_left == exited->num_left);
	for (size_t i = 0; i < verdict->num_left; i++)
		CHECK(verdict->left[i].pid == exited->left[i].pid);
	CHECK(verdict->num_limits_hit ==
	      (size_t)__builtin_popcount(exited->limits_hit & 31));
	if (exited->wall_us <= INT64_MAX)
		CHECK(verdict->wall_ms == (exited->wall_us + 999) / 1000);
	if (exited->cpu_us <= INT64_MAX)
		CHECK(verdict->cpu_ms == (exited->cpu_us + 999) / 1000);
}

static void send_numbers(struct fuzz *in)
{
	char *line auto_free = fuzz_line(in);
	struct buf out auto_clean(buf_deinit) = BUF_NULL;
	struct run_result result = { .outcome = RUN_EXITED };
	json_t *root auto_json = NULL;
	struct osb_verdict verdict;

	if (!read_numbers(line, &result.exited))
		return;
	for (unsigned int i = 0; i < result.exited.num_left; i++) {
		struct init_left *left = &result.exited.left[i];

		left->pid = (int32_t)i + 1;
		fuzz_fill(in, left->comm, sizeof(left->comm) - 1);
	}
	buf_init(&out, 16384);
	verdict_put(&out, &result, "program", "/");
	CHECK(!out.failed);
	root = json_loadb((const char *)buf_data(&out), buf_len(&out), 0, NULL);
	CHECK(root && verdict_from_json(root, &verdict) == 0);
	check_verdict(&verdict);
	check_same(&result.exited, &verdict);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = { data, size };
	char *text auto_free = NULL;

	if (fuzz_byte(&in) == 'n') {
		send_numbers(&in);
		return 0;
	}
	text = fuzz_text(&in);
	read_json(text);
	return 0;
}
