/* SPDX-License-Identifier: Apache-2.0 */

#include "server/api/verdict.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "server/json.h"
#include "server/run.h"

static const char *const verdict_names[] = {
	[0] = "lost", /* never on the wire */
	[VERDICT_LOST] = "lost",
	[VERDICT_WALL_TIMEOUT] = "wall_timeout",
	[VERDICT_KILLED] = "killed",
	[VERDICT_OOM] = "oom",
	[VERDICT_SIGNALED] = "signaled",
	[VERDICT_EXITED] = "exited",
	[VERDICT_CPU_TIMEOUT] = "cpu_timeout",
	[VERDICT_OUTPUT_LIMIT] = "output_limit",
	[VERDICT_EXPIRED] = "expired",
	[VERDICT_PIDS_LIMIT] = "pids_limit",
	[VERDICT_DISK_FULL] = "disk_full",
};
_Static_assert(ARRAY_SIZE(verdict_names) == VERDICT_NUM,
	       "every verdict has a name");

const char *verdict_name(uint32_t verdict)
{
	return verdict_names[verdict < VERDICT_NUM ? verdict : VERDICT_LOST];
}

static const struct {
	unsigned int bit;
	const char *name;
} limit_names[] = {
	{ LIMIT_HIT_MEMORY, "memory" }, { LIMIT_HIT_PIDS, "pids" },
	{ LIMIT_HIT_DISK, "disk" },     { LIMIT_HIT_INODES, "inodes" },
	{ LIMIT_HIT_OUTPUT, "output" },
};

bool verdict_by_itself(uint32_t verdict)
{
	return verdict == VERDICT_EXITED || verdict == VERDICT_PIDS_LIMIT ||
	       verdict == VERDICT_DISK_FULL;
}

const char *verdict_signal_name(int number,
				char text[static VERDICT_SIGNAL_MAX])
{
	const char *name = sigabbrev_np(number);

	if (name)
		(void)snprintf(text, VERDICT_SIGNAL_MAX, "SIG%s", name);
	else if (number >= SIGRTMIN && number <= SIGRTMAX)
		(void)snprintf(text, VERDICT_SIGNAL_MAX, "SIGRTMIN+%d",
			       number - SIGRTMIN);
	else
		(void)snprintf(text, VERDICT_SIGNAL_MAX, "SIG%d", number);
	return text;
}

int verdict_signal_number(const char *in_name)
{
	if (strncmp(in_name, "SIG", 3) == 0)
		in_name += 3;
	for (int number = 1; number < 32; number++) {
		const char *name = sigabbrev_np(number);

		if (name && strcmp(name, in_name) == 0)
			return number;
	}
	return 0;
}

static const char *errno_text(int sys)
{
	const char *text = strerrordesc_np(sys);

	return text ? text : "unknown error";
}

void verdict_failed_text(enum init_stage stage, int sys, const char *program,
			 const char *cwd, char ret_text[VERDICT_TEXT_MAX])
{
	static const char *const doing[] = {
		[0] = "start",
		[INIT_STAGE_REQUEST] = "ask for",
		[INIT_STAGE_CGROUP] = "make cgroups for",
		[INIT_STAGE_SPAWN] = "start",
		[INIT_STAGE_CWD] = "enter the directory of",
		[INIT_STAGE_CREDS] = "set the user of",
		[INIT_STAGE_CONFINE] = "confine",
		[INIT_STAGE_EXEC] = "exec",
	};
	_Static_assert(ARRAY_SIZE(doing) == INIT_NUM_STAGES,
		       "every stage has a name");

	if (stage == INIT_STAGE_CWD) {
		(void)snprintf(ret_text, VERDICT_TEXT_MAX, "cwd '%.100s': %s",
			       cwd,
			       sys == ENOENT ? "no such directory inside"
					     : errno_text(sys));
		return;
	}
	/* The kernel says the same of a script whose interpreter isn't there. */
	(void)snprintf(ret_text, VERDICT_TEXT_MAX, "%s '%.100s': %s%s",
		       doing[stage], program, errno_text(sys),
		       stage == INIT_STAGE_EXEC && sys == ENOENT &&
				       strchr(program, '/')
			       ? " (it or its interpreter)"
			       : "");
}

/* An exit that has more to it than its status. */
static const char *why_failed(uint32_t verdict)
{
	if (verdict == VERDICT_PIDS_LIMIT)
		return ": there were as many processes as it may have";
	if (verdict == VERDICT_DISK_FULL)
		return ": its disk was full";
	return "";
}

static void verdict_ended_text(const struct init_exited *exited, bool removed,
			       char ret_text[VERDICT_TEXT_MAX])
{
	static const char *const texts[VERDICT_NUM] = {
		[VERDICT_OUTPUT_LIMIT] =
			"killed: it printed more than its limit",
		[VERDICT_KILLED] = "killed as asked for",
		[VERDICT_EXPIRED] = "killed: its sandbox's time was over",
		[VERDICT_OOM] = "killed: it needed more memory than its limit",
	};
	char name[VERDICT_SIGNAL_MAX];

	switch ((enum verdict)exited->verdict) {
	case VERDICT_WALL_TIMEOUT:
		(void)snprintf(ret_text, VERDICT_TEXT_MAX,
			       "killed: its time was over after %.1f s",
			       (double)exited->wall_us / 1e6);
		return;
	case VERDICT_CPU_TIMEOUT:
		(void)snprintf(
			ret_text, VERDICT_TEXT_MAX,
			"killed: its processor time was over after %.1f s",
			(double)exited->cpu_us / 1e6);
		return;
	case VERDICT_SIGNALED:
		(void)snprintf(ret_text, VERDICT_TEXT_MAX, "ended by %s",
			       verdict_signal_name(exited->signal, name));
		return;
	case VERDICT_EXITED:
	case VERDICT_PIDS_LIMIT:
	case VERDICT_DISK_FULL:
		(void)snprintf(ret_text, VERDICT_TEXT_MAX,
			       "exited with status %d%s", exited->exit_code,
			       why_failed(exited->verdict));
		return;
	default:
		removed = removed && exited->verdict == VERDICT_KILLED;
		(void)snprintf(ret_text, VERDICT_TEXT_MAX, "%s",
			       removed ? "killed: the sandbox was removed"
				       : texts[exited->verdict]);
		return;
	}
}

void verdict_text(const struct run_result *result, const char *program,
		  const char *cwd, char ret_text[VERDICT_TEXT_MAX])
{
	const struct init_exited *exited = &result->exited;

	if (result->outcome == RUN_FAILED) {
		verdict_failed_text(result->stage, result->sys, program, cwd,
				    ret_text);
		return;
	}
	if (result->outcome == RUN_LOST) {
		(void)snprintf(ret_text, VERDICT_TEXT_MAX,
			       "the sandbox ended before the program did");
		return;
	}
	verdict_ended_text(exited, result->removed, ret_text);
}

static void put_exited(struct json_out *json, const struct init_exited *exited)
{
	char name[32];

	if (exited->signal) {
		json_put_null(json, "exit_code");
		json_put_text(json, "signal",
			      verdict_signal_name(exited->signal, name));
	} else {
		json_put_int(json, "exit_code", exited->exit_code);
		json_put_null(json, "signal");
	}
}

void verdict_put_usage(struct json_out *json, const struct init_exited *exited,
		       uint64_t output_bytes)
{
	/* Rounded up: what ran took some time. */
	json_put_int(json, "wall_ms",
		     (int64_t)((exited->wall_us + 999) / 1000));
	json_put_int(json, "cpu_ms", (int64_t)((exited->cpu_us + 999) / 1000));
	json_put_int(json, "peak_memory_bytes",
		     (int64_t)(exited->peak_memory_bytes & INT64_MAX));
	json_put_int(json, "peak_pids", exited->peak_pids);
	json_put_int(json, "output_bytes", (int64_t)(output_bytes & INT64_MAX));
	json_put_bool(json, "truncated", exited->truncated);
	json_open(json, "left_running", '[');
	for (unsigned int i = 0; i < exited->num_left && i < INIT_LEFT_MAX;
	     i++) {
		json_open(json, NULL, '{');
		json_put_int(json, "pid", exited->left[i].pid);
		json_put_text(json, "name", exited->left[i].comm);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_open(json, "limits_hit", '[');
	for (unsigned int i = 0; i < ARRAY_SIZE(limit_names); i++)
		if (exited->limits_hit & limit_names[i].bit)
			json_put_text(json, NULL, limit_names[i].name);
	json_close(json, ']');
}

/* As a shell would: not found, or there but not executable. */
static void put_failed(struct json_out *json, const struct run_result *result)
{
	bool not_found =
		result->stage == INIT_STAGE_EXEC && result->sys == ENOENT;

	json_put_text(json, "verdict", "exited");
	json_put_int(json, "exit_code", not_found ? 127 : 126);
	json_put_null(json, "signal");
}

/* As judges of contests have it; what says nothing of the program is none. */
static const char *contest_word(const struct run_result *result)
{
	static const char *const words[VERDICT_NUM] = {
		[VERDICT_WALL_TIMEOUT] = "TLE", [VERDICT_CPU_TIMEOUT] = "TLE",
		[VERDICT_OUTPUT_LIMIT] = "OLE", [VERDICT_OOM] = "MLE",
		[VERDICT_SIGNALED] = "RE",      [VERDICT_PIDS_LIMIT] = "RE",
		[VERDICT_DISK_FULL] = "RE",
	};
	const struct init_exited *exited = &result->exited;

	if (result->outcome == RUN_FAILED)
		return "RE";
	if (result->outcome != RUN_EXITED || exited->verdict >= VERDICT_NUM)
		return NULL;
	if (exited->verdict == VERDICT_EXITED)
		return exited->exit_code == 0 ? "OK" : "RE";
	return words[exited->verdict];
}

static void put_contest(struct json_out *json, const struct run_result *result)
{
	const char *word = contest_word(result);

	if (!result->contest)
		return;
	if (word)
		json_put_text(json, "contest", word);
	else
		json_put_null(json, "contest");
}

void verdict_put_members(struct json_out *json, const struct run_result *result,
			 const char *program, const char *cwd)
{
	char text[VERDICT_TEXT_MAX];

	if (result->outcome == RUN_FAILED) {
		put_failed(json, result);
	} else if (result->outcome == RUN_EXITED) {
		json_put_text(json, "verdict",
			      verdict_name(result->exited.verdict));
		put_exited(json, &result->exited);
	} else {
		json_put_text(json, "verdict", "lost");
		json_put_null(json, "exit_code");
		json_put_null(json, "signal");
	}
	put_contest(json, result);
	verdict_put_usage(json, &result->exited, result->output_bytes);
	verdict_text(result, program, cwd, text);
	json_put_text(json, "message", text);
}

void verdict_put(struct buf *out, const struct run_result *result,
		 const char *program, const char *cwd)
{
	struct json_out json = { .buf = out };

	json_open(&json, NULL, '{');
	json_put_text(&json, "type", "verdict");
	verdict_put_members(&json, result, program, cwd);
	json_close(&json, '}');
}
