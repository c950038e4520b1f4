/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * spec - what a client wants of a new sandbox, checked
 *
 * Filled piece by piece through the functions here, each of which refuses a
 * bad value with a message that names it and says what is allowed. Whatever
 * is in a spec is therefore valid and bounded. Walls and host paths are none
 * of its business: the broker decides about those.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/exec_limits.h"
#include "sandbox/profile.h"
#include "sandbox/strv.h"
#include "wire/broker_msg.h"
#include "wire/limits.h"

struct err;

#define SPEC_METADATA_MAX 64 /* pairs */
#define SPEC_ENV_MAX 512
#define SPEC_ARGS_MAX 512
#define SPEC_STRINGS_BYTES (64u * 1024) /* of env, and of arguments */
#define SPEC_METADATA_BYTES (SPEC_METADATA_MAX * 384u)
#define SPEC_TIMEOUT_MIN_S 60
#define SPEC_RESERVED_PREFIX "opensandbox.io/" /* of metadata */

struct spec {
	char image[IMAGE_NAME_MAX + 1];
	struct limits limits;
	uint64_t guarantee_bytes; /* of the memory, what it can count on: only
				     weighed here, so no limit of the kernel */
	struct exec_limits exec;  /* of each exec that names none; no pids */
	char profile[PROFILE_NAME_MAX + 1]; /* that it was made by; or empty */
	bool strict;                        /* CREATE_STRICT of broker_msg.h */
	bool contest;         /* verdicts have a contest's word, too */
	bool has_disk;        /* named by the client */
	bool has_shm;         /* the same */
	bool has_guarantee;   /* the same */
	uint64_t timeout_s;   /* 0: lives until destroyed */
	bool ephemeral;       /* ends with who asked for it, or with osbd */
	struct strv env;      /* KEY=VALUE */
	struct strv metadata; /* key, value, key, value ... */
	struct strv entrypoint;
	uint32_t num_volumes;
	struct broker_volume *volumes; /* owned; dropped once created */
};

/** spec_init() - defaults everywhere */
void spec_init(struct spec *spec);

void spec_deinit(struct spec *spec);

/** spec_set_image() - Return: 0, or -EINVAL: that image isn't there */
int spec_set_image(struct spec *spec, const char *in_image, struct err *err);

/** spec_set_limit() - one resourceLimits entry, both as the API names them */
int spec_set_limit(struct spec *spec, const char *in_key, const char *in_value,
		   struct err *err);

/** spec_set_timeout() - seconds, at least SPEC_TIMEOUT_MIN_S */
int spec_set_timeout(struct spec *spec, int64_t in_seconds, struct err *err);

/** spec_add_metadata() - Kubernetes label syntax; opensandbox.io/ is ours */
int spec_add_metadata(struct spec *spec, const char *in_key,
		      const char *in_value, struct err *err);

int spec_add_env(struct spec *spec, const char *in_key, const char *in_value,
		 struct err *err);

int spec_add_entrypoint(struct spec *spec, const char *in_arg, struct err *err);

/** spec_add_volume() - a host path; the broker checks it against its list */
int spec_add_volume(struct spec *spec, const char *in_source,
		    const char *in_target, bool read_only, struct err *err);

/** spec_finish() - fill in what depends on more than one value */
int spec_finish(struct spec *spec, struct err *err);

/** spec_entrypoint_idles() - would it only wait (tail -f /dev/null, sleep)? */
bool spec_entrypoint_idles(const struct spec *spec);

/** spec_label_ok() - is @key, or with it @value, a valid label? */
bool spec_label_ok(const char *key, const char *value);

/** spec_label_reserved() - a key that isn't for clients? */
bool spec_label_reserved(const char *key);

/** spec_label_get() - the value of a key in metadata, or NULL */
const char *spec_label_get(const struct strv *metadata, const char *want);
