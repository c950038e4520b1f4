/* SPDX-License-Identifier: Apache-2.0 */

/*
 * verdict - read the last message of an exec
 *
 * Hostile input. Strings are cut to their fields and lists to their maxima;
 * what decides over an exit status (kind, exit code) must be right, or the
 * verdict is refused: a made-up exit code would be worse than an error.
 */

#include "client/verdict.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "osb/osb.h"

#define EXIT_CODE_MAX 255

static int kind_from_name(const char *name, enum osb_verdict_kind *ret_kind)
{
	static const char *const names[] = {
		[OSB_EXITED] = "exited",
		[OSB_SIGNALED] = "signaled",
		[OSB_KILLED] = "killed",
		[OSB_WALL_TIMEOUT] = "wall_timeout",
		[OSB_OOM] = "oom",
		[OSB_LOST] = "lost",
		[OSB_CPU_TIMEOUT] = "cpu_timeout",
		[OSB_OUTPUT_LIMIT] = "output_limit",
		[OSB_EXPIRED] = "expired",
		[OSB_PIDS_LIMIT] = "pids_limit",
		[OSB_DISK_FULL] = "disk_full",
	};

	for (size_t i = 0; name && i < ARRAY_SIZE(names); i++) {
		if (strcmp(names[i], name) == 0) {
			*ret_kind = (enum osb_verdict_kind)i;
			return 0;
		}
	}
	return -EBADMSG;
}

/* "SIGKILL" → 9; real-time signals are written "SIGRTMIN+3". */
static int signal_from_name(const char *name)
{
	long number, offset;

	if (strncmp(name, "SIG", 3) != 0)
		return 0;
	name += 3;
	for (int i = 1; i < SIGRTMIN; i++) {
		const char *known = sigabbrev_np(i);

		if (known && strcmp(known, name) == 0)
			return i;
	}
	if (strncmp(name, "RTMIN", 5) != 0) {
		number = strtol(name, NULL, 10); /* "SIG32": it has no name */
		return number > 0 && number < NSIG ? (int)number : 0;
	}
	offset = name[5] == '+' ? strtol(name + 6, NULL, 10) : 0;
	return offset >= 0 && SIGRTMIN + offset <= SIGRTMAX
		       ? SIGRTMIN + (int)offset
		       : 0;
}

static void read_left(const json_t *array, struct osb_verdict *verdict)
{
	for (size_t i = 0; i < json_array_size(array) && i < OSB_LEFT_MAX;
	     i++) {
		const json_t *item = json_array_get(array, i);

		verdict->left[i].pid = (int64_t)client_json_u64(item, "pid");
		client_copy(verdict->left[i].name,
			    sizeof(verdict->left[i].name),
			    client_json_str(item, "name"));
		verdict->num_left = i + 1;
	}
}

static void read_limits_hit(const json_t *array, struct osb_verdict *verdict)
{
	for (size_t i = 0; i < json_array_size(array) && i < OSB_LIMITS_HIT_MAX;
	     i++) {
		client_copy(verdict->limits_hit[i],
			    sizeof(verdict->limits_hit[i]),
			    json_string_value(json_array_get(array, i)));
		verdict->num_limits_hit = i + 1;
	}
}

int verdict_from_json(const json_t *root, struct osb_verdict *ret_verdict)
{
	const json_t *exit_code = json_object_get(root, "exit_code");
	struct osb_verdict verdict = { .exit_code = -1 };
	json_int_t code;

	if (kind_from_name(client_json_str(root, "verdict"), &verdict.kind) < 0)
		return -EBADMSG;
	client_copy(verdict.name, sizeof(verdict.name),
		    client_json_str(root, "verdict"));
	if (json_is_integer(exit_code)) {
		code = json_integer_value(exit_code);
		if (code < 0 || code > EXIT_CODE_MAX)
			return -EBADMSG;
		verdict.exit_code = (int)code;
	}
	if ((verdict.kind == OSB_EXITED || verdict.kind == OSB_PIDS_LIMIT ||
	     verdict.kind == OSB_DISK_FULL) &&
	    verdict.exit_code < 0)
		return -EBADMSG; /* never make one up */
	client_copy(verdict.contest, sizeof(verdict.contest),
		    client_json_str(root, "contest"));
	client_copy(verdict.signal, sizeof(verdict.signal),
		    client_json_str(root, "signal"));
	verdict.signal_number = signal_from_name(verdict.signal);
	verdict.wall_ms = client_json_u64(root, "wall_ms");
	verdict.cpu_ms = client_json_u64(root, "cpu_ms");
	verdict.peak_memory_bytes = client_json_u64(root, "peak_memory_bytes");
	verdict.peak_pids = client_json_u64(root, "peak_pids");
	verdict.output_bytes = client_json_u64(root, "output_bytes");
	verdict.truncated = json_is_true(json_object_get(root, "truncated"));
	read_left(json_object_get(root, "left_running"), &verdict);
	read_limits_hit(json_object_get(root, "limits_hit"), &verdict);
	client_copy(verdict.message, sizeof(verdict.message),
		    client_json_str(root, "message"));
	*ret_verdict = verdict;
	return 0;
}
