/* SPDX-License-Identifier: Apache-2.0 */

#include "init/request.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>

#include "base/rd.h"
#include "wire/setup_msg.h"

#define FLAGS_ALL                                                \
	(INIT_EXEC_STDIN | INIT_EXEC_STDOUT | INIT_EXEC_STDERR | \
	 INIT_EXEC_FILES | INIT_EXEC_LOG | INIT_EXEC_INDEX |     \
	 INIT_EXEC_LOG_KILL | INIT_EXEC_LOG_WAIT)

static bool check_log(const struct init_exec *head)
{
	const uint32_t direct = INIT_EXEC_STDOUT | INIT_EXEC_STDERR;
	const uint32_t policy = INIT_EXEC_LOG_KILL | INIT_EXEC_LOG_WAIT;
	const uint32_t needs_log = INIT_EXEC_INDEX | policy;

	if (!(head->flags & INIT_EXEC_LOG))
		return !(head->flags & needs_log) && head->log_max == 0;
	return !(head->flags & direct) && (head->flags & policy) != policy &&
	       head->log_max > 0 && head->log_max < INIT_INDEX_STDERR;
}

/*
 * The kernel takes an id of -1 for "leave it as it is": such a program would
 * run as init's own user, which nobody inside may ever be.
 */
static int check_head(const struct init_exec *head)
{
	if (head->argc == 0 || head->argc > INIT_ARGS_MAX ||
	    head->envc > INIT_ARGS_MAX ||
	    (head->flags & ~(uint32_t)FLAGS_ALL) || !check_log(head))
		return -EPROTO;
	if (head->uid >= SLOT_IDS || head->gid >= SLOT_IDS ||
	    head->wall_ms > INIT_WALL_MAX_MS || head->cpu_ms > INIT_WALL_MAX_MS)
		return -EINVAL;
	return 0;
}

/* NULL where the message ends too soon; rd_done() tells. */
static void take_strings(struct rd *rd, uint32_t num, char **ret_strings)
{
	for (uint32_t i = 0; i < num; i++)
		ret_strings[i] = (char *)(uintptr_t)rd_str(rd, INIT_MSG_MAX);
	ret_strings[num] = NULL;
}

int request_parse(void *in_msg, size_t len, struct request *ret_request)
{
	const struct init_exec *head = in_msg;
	struct rd rd;
	int r;

	if (len < sizeof(*head))
		return -EPROTO;
	r = check_head(head);
	if (r < 0)
		return r;
	rd_init(&rd, head + 1, len - sizeof(*head));
	ret_request->head = head;
	ret_request->cwd = rd_str(&rd, PATH_MAX - 1);
	take_strings(&rd, head->argc, ret_request->argv);
	take_strings(&rd, head->envc, ret_request->envp);
	return rd_done(&rd) ? 0 : -EPROTO;
}

int request_streams(const struct init_exec *head, const int *fds,
		    unsigned int num_fds, int ret_fds[static INIT_EXEC_FDS])
{
	static const uint32_t flags[INIT_EXEC_FDS] = {
		INIT_EXEC_STDIN, INIT_EXEC_STDOUT, INIT_EXEC_STDERR,
		INIT_EXEC_LOG,   INIT_EXEC_INDEX,
	};
	unsigned int used = 0;

	for (unsigned int i = 0; i < INIT_EXEC_FDS; i++) {
		ret_fds[i] = -1;
		if (!(head->flags & flags[i]))
			continue;
		if (used == num_fds)
			return -EPROTO;
		ret_fds[i] = fds[used++];
	}
	return used == num_fds ? 0 : -EPROTO;
}
