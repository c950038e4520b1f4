/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * file_reply - what an osb-files helper says, collected and checked
 *
 * Hostile: the helper runs among the sandbox's programs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/files_msg.h"

struct range;

struct file_reply {
	struct files_reply msg; /* its text is terminated once complete */
	size_t have;            /* bytes so far */
};

/** file_reply_take() - use bytes off the front of output; returns how many */
size_t file_reply_take(struct file_reply *reply, const uint8_t *data,
		       size_t len);

/** file_reply_complete() - whole, and really a reply? */
bool file_reply_complete(const struct file_reply *reply);

/** file_reply_fits() - one that a download of @range can begin with? */
bool file_reply_fits(const struct file_reply *reply, const struct range *range);
