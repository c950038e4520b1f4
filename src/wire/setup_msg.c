/* SPDX-License-Identifier: Apache-2.0 */

#include "wire/setup_msg.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define ERRNO_MAX 4095 /* the kernel's own bound */

static bool is_terminated(const char *field, size_t size)
{
	return strnlen(field, size) < size;
}

static bool is_errno(int32_t sys)
{
	return sys >= 0 && sys <= ERRNO_MAX;
}

int setup_check(const struct setup *in_setup, size_t len, unsigned int num_fds)
{
	if (len < SETUP_BYTES(0) || in_setup->num_binds > SETUP_BINDS_MAX ||
	    len != SETUP_BYTES(in_setup->num_binds) ||
	    in_setup->fds >> SETUP_NUM_FDS ||
	    (in_setup->flags & ~(uint32_t)CREATE_FLAGS_ALL) ||
	    num_fds != (unsigned int)__builtin_popcount(in_setup->fds) +
			       in_setup->num_binds ||
	    in_setup->pids == 0 || in_setup->cpus == 0 ||
	    in_setup->cpus > TRUTH_CPUS_MAX ||
	    in_setup->life_ms > LIFE_MAX_MS ||
	    !is_terminated(in_setup->hostname, sizeof(in_setup->hostname)))
		return -EPROTO;
	for (uint32_t i = 0; i < in_setup->num_binds; i++) {
		if (in_setup->bind[i][0] != '/' ||
		    !is_terminated(in_setup->bind[i],
				   sizeof(in_setup->bind[i])))
			return -EPROTO;
	}
	return 0;
}

int setup_answer_check(const struct setup_answer *in_answer, size_t len)
{
	if (len != sizeof(*in_answer) || !is_errno(in_answer->sys) ||
	    !is_terminated(in_answer->where, sizeof(in_answer->where)))
		return -EPROTO;
	return 0;
}

int launcher_answer_check(const struct launcher_msg *in_msg, size_t len,
			  enum launcher_op op)
{
	if (len != sizeof(*in_msg) || in_msg->op != (uint32_t)op ||
	    in_msg->pid < 0 || !is_errno(in_msg->sys) ||
	    !is_terminated(in_msg->where, sizeof(in_msg->where)))
		return -EPROTO;
	return 0;
}
