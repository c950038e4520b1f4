/* SPDX-License-Identifier: Apache-2.0 */

#include "sandbox/keep.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "sandbox/sandbox.h"
#include "store/store.h"

static struct store_bytes bytes_of(const struct strv *strv)
{
	return (struct store_bytes){
		.data = buf_data(&strv->bytes),
		.len = buf_len(&strv->bytes),
	};
}

void keep_record(const struct sandbox *sandbox,
		 struct store_sandbox *ret_record)
{
	const struct spec *spec = &sandbox->spec;

	*ret_record = (struct store_sandbox){
		.state = sandbox->state,
		.created_us = sandbox->created_us,
		.changed_us = sandbox->changed_us,
		.expires_us = sandbox->expires_us,
		.limits = spec->limits,
		.guarantee_bytes = spec->guarantee_bytes,
		.flags = (spec->strict ? STORE_STRICT : 0) |
			 (spec->contest ? STORE_CONTEST : 0),
		.exec_wall_ms = spec->exec.wall_ms,
		.exec_cpu_ms = spec->exec.cpu_ms,
		.exec_output_max = spec->exec.output_max,
		.exec_output_policy = spec->exec.output_policy,
		.env = bytes_of(&spec->env),
		.metadata = bytes_of(&spec->metadata),
		.entrypoint = bytes_of(&spec->entrypoint),
	};
	memcpy(ret_record->id, sandbox->id, sizeof(sandbox->id));
	memcpy(ret_record->domain, sandbox->domain, sizeof(sandbox->domain));
	memcpy(ret_record->image, spec->image, sizeof(spec->image));
	memcpy(ret_record->profile, spec->profile, sizeof(spec->profile));
	memcpy(ret_record->message, sandbox->message, sizeof(sandbox->message));
}

/* Strings end to end, each with its NUL. */
static int add_all(struct strv *strv, const struct store_bytes *in_bytes)
{
	const char *at = in_bytes->data;
	const char *end = at + in_bytes->len;

	while (at < end) {
		size_t len = strnlen(at, (size_t)(end - at));

		if (at + len == end)
			return -EINVAL;
		if (strv_add(strv, at) < 0)
			return -EINVAL;
		at += len + 1;
	}
	return 0;
}

int keep_restore(struct sandbox *sandbox, const struct store_sandbox *in_record,
		 struct err *err)
{
	struct spec *spec = &sandbox->spec;

	spec_init(spec);
	if (strlen(in_record->id) != SANDBOX_ID_LEN ||
	    in_record->state >= SANDBOX_NUM_STATES ||
	    in_record->exec_output_policy >= OUTPUT_NUM_POLICIES ||
	    add_all(&spec->env, &in_record->env) < 0 ||
	    add_all(&spec->metadata, &in_record->metadata) < 0 ||
	    spec->metadata.num % 2 != 0 ||
	    add_all(&spec->entrypoint, &in_record->entrypoint) < 0) {
		spec_deinit(spec);
		return err_set(err, ERR_INTERNAL, 0,
			       "the record of sandbox '%.32s' is damaged",
			       in_record->id);
	}
	memcpy(sandbox->id, in_record->id, sizeof(sandbox->id));
	memcpy(sandbox->domain, in_record->domain, sizeof(sandbox->domain));
	memcpy(sandbox->message, in_record->message, sizeof(sandbox->message));
	memcpy(spec->image, in_record->image, sizeof(spec->image));
	spec->limits = in_record->limits;
	spec->guarantee_bytes = in_record->guarantee_bytes;
	spec->strict = in_record->flags & STORE_STRICT;
	spec->contest = in_record->flags & STORE_CONTEST;
	memcpy(spec->profile, in_record->profile, sizeof(spec->profile));
	spec->exec = (struct exec_limits){
		.wall_ms = in_record->exec_wall_ms,
		.cpu_ms = in_record->exec_cpu_ms,
		.output_max = in_record->exec_output_max,
		.output_policy = in_record->exec_output_policy,
	};
	sandbox->state = (enum sandbox_state)in_record->state;
	sandbox->created_us = in_record->created_us;
	sandbox->changed_us = in_record->changed_us;
	sandbox->expires_us = in_record->expires_us;
	return 0;
}
