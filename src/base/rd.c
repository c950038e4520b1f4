/* SPDX-License-Identifier: Apache-2.0 */

#include "base/rd.h"

#include <string.h>

void rd_init(struct rd *rd, const void *data, size_t len)
{
	rd->p = data;
	rd->end = rd->p + len;
	rd->failed = false;
}

const void *rd_bytes(struct rd *rd, size_t len)
{
	const void *at = rd->p;

	if (rd->failed || len > (size_t)(rd->end - rd->p)) {
		rd->failed = true;
		return NULL;
	}
	rd->p += len;
	return at;
}

uint32_t rd_u32(struct rd *rd)
{
	const void *at = rd_bytes(rd, sizeof(uint32_t));
	uint32_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

uint64_t rd_u64(struct rd *rd)
{
	const void *at = rd_bytes(rd, sizeof(uint64_t));
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

const char *rd_str(struct rd *rd, size_t max)
{
	size_t left, len;

	if (rd->failed)
		return NULL;
	left = (size_t)(rd->end - rd->p);
	len = strnlen((const char *)rd->p, left);
	if (len == left || len > max) {
		rd->failed = true;
		return NULL;
	}
	return rd_bytes(rd, len + 1);
}

bool rd_done(const struct rd *rd)
{
	return !rd->failed && rd->p == rd->end;
}

void wr_init(struct wr *wr, void *data, size_t size)
{
	wr->p = data;
	wr->end = wr->p + size;
	wr->failed = false;
}

void wr_bytes(struct wr *wr, const void *data, size_t len)
{
	if (wr->failed || len > (size_t)(wr->end - wr->p)) {
		wr->failed = true;
		return;
	}
	memcpy(wr->p, data, len);
	wr->p += len;
}

void wr_u32(struct wr *wr, uint32_t value)
{
	wr_bytes(wr, &value, sizeof(value));
}

void wr_u64(struct wr *wr, uint64_t value)
{
	wr_bytes(wr, &value, sizeof(value));
}

void wr_str(struct wr *wr, const char *s)
{
	wr_bytes(wr, s, strlen(s) + 1);
}
