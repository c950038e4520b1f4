/* SPDX-License-Identifier: Apache-2.0 */

/*
 * verdict - why an exec ended: the first that is true
 */

#include <signal.h>

#include "init/init.h"

uint32_t verdict_of(uint32_t our_kill, int signal, int exit_code,
		    uint32_t limits_hit)
{
	if (our_kill)
		return our_kill;
	/*
	 * The kernel doesn't say whom its OOM killer chose. A main process that
	 * died of SIGKILL while the counter moved and nobody of ours sent one
	 * was it, or was killed by a neighbour in the same distress.
	 */
	if (signal == SIGKILL && (limits_hit & LIMIT_HIT_MEMORY))
		return VERDICT_OOM;
	if (signal)
		return VERDICT_SIGNALED;
	/* Who gets by with fewer processes, or less room, has not failed. */
	if (exit_code && (limits_hit & LIMIT_HIT_PIDS))
		return VERDICT_PIDS_LIMIT;
	if (exit_code && (limits_hit & (LIMIT_HIT_DISK | LIMIT_HIT_INODES)))
		return VERDICT_DISK_FULL;
	return VERDICT_EXITED;
}
