/* SPDX-License-Identifier: Apache-2.0 */

#include "server/api/file_reply.h"

#include <string.h>

#include "base/err.h"
#include "server/api/range.h"

size_t file_reply_take(struct file_reply *reply, const uint8_t *data,
		       size_t len)
{
	size_t want = sizeof(reply->msg) - reply->have;

	if (len > want)
		len = want;
	memcpy((uint8_t *)&reply->msg + reply->have, data, len);
	reply->have += len;
	if (reply->have == sizeof(reply->msg))
		reply->msg.msg[sizeof(reply->msg.msg) - 1] = '\0';
	return len;
}

bool file_reply_complete(const struct file_reply *reply)
{
	return reply->have == sizeof(reply->msg) &&
	       reply->msg.magic == FILES_REPLY_MAGIC;
}

bool file_reply_fits(const struct file_reply *reply, const struct range *range)
{
	const struct files_reply *msg = &reply->msg;

	return msg->kind == ERR_NONE && msg->size <= INT64_MAX &&
	       range->first <= msg->size &&
	       msg->length <= msg->size - range->first &&
	       msg->length <= range->length &&
	       (msg->length > 0 || range->kind == RANGE_NONE);
}
