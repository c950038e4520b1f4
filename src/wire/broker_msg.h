/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * broker_msg - what osbd may ask of osb-broker, over their SEQPACKET pair
 *
 * Requests are even, answers odd. Each request is one fixed struct; the
 * broker answers each with one struct broker_answer that repeats its tag, but
 * for BROKER_GIVE_UP, after which it hears no more.
 * Between them the broker may send a struct broker_event of its own accord.
 * osbd sends a *spec*: what it wants, never how. Strings are NUL-terminated
 * inside their field and zero to the field's end. No fd travels this way; the
 * other way only those of BROKER_RELOAD.
 */

#include <stdint.h>

#include "wire/limits.h"

#define SANDBOX_ID_LEN 32 /* lowercase hex of 128 random bits */
#define DOMAIN_NAME_MAX 63
#define IMAGE_NAME_MAX 127
#define VOLUMES_MAX 8
#define VOLUME_PATH_MAX 1023
#define BUILD_ID_LEN 16
#define LIFE_MAX_MS (INT64_MAX / 1000000) /* far away, and safe to count with */

/* What the broker hands osbd at its start, by number. */
enum osbd_fd {
	OSBD_FD_BROKER = 3,    /* this channel */
	OSBD_FD_LISTEN = 4,    /* listening unix socket for HTTP */
	OSBD_FD_SANDBOXES = 5, /* O_PATH directory: connect to init through
				  /proc/self/fd/5/<id>.sock, so that neither
				  the run directory's length nor its mode
				  matters */
	OSBD_FD_KEYS = 6,      /* API keys, a line each; only with --keys */
	OSBD_FD_CONFIG = 7,    /* osbd.conf; only with --config */
	OSBD_FD_STATE = 8,     /* directory of its own, to keep things in */
	OSBD_FD_LISTENERS = 9, /* the first of as many more listening sockets
				  as there are --listen, LISTENERS_MAX */
};

enum broker_op {
	BROKER_HELLO = 2,    /* first message, once: struct broker_hello */
	BROKER_CREATE = 4,   /* struct broker_create */
	BROKER_DESTROY = 6,  /* struct broker_destroy */
	BROKER_CLAIM = 12,   /* struct broker_claim */
	BROKER_LEAVE = 8,    /* osbd is idle and exits: struct broker_hello */
	BROKER_GIVE_UP = 10, /* instead of HELLO: struct broker_give_up */
	BROKER_ANSWER = 1,   /* struct broker_answer, for all of the above */
	BROKER_GONE = 3,   /* struct broker_event: a sandbox ended by itself */
	BROKER_HAVE = 5,   /* struct broker_event: one that runs already; all of
			      them come before the answer to HELLO */
	BROKER_RELOAD = 7, /* struct broker_reload: files were read anew */
};

struct broker_hello {
	uint32_t op;
	uint32_t tag;
	char build_id[BUILD_ID_LEN + 1];
};

/*
 * osbd can't serve with the files it was given, and starting it again won't
 * help. Somebody has to read why, so the broker says it before it ends.
 */
struct broker_give_up {
	uint32_t op;
	uint32_t tag;  /* 0 */
	char msg[256]; /* one line */
};

enum volume_flag {
	VOLUME_READ_ONLY = 1 << 0,
};

struct broker_volume {
	char source[VOLUME_PATH_MAX + 1]; /* absolute, on the host */
	char target[VOLUME_PATH_MAX + 1]; /* absolute, inside */
	uint32_t flags;
	uint32_t reserved; /* 0 */
};

enum create_flag {
	CREATE_KEEP = 1 << 0,   /* it outlives broker and osbd */
	CREATE_STRICT = 1 << 1, /* no program in it is root's, is run from
				   where it can write, or makes a system call
				   of confine/strict.syscalls */
};

#define CREATE_FLAGS_ALL (CREATE_KEEP | CREATE_STRICT)

struct broker_create {
	uint32_t op;
	uint32_t tag;
	char id[SANDBOX_ID_LEN + 1];      /* chosen by osbd, never used twice */
	char domain[DOMAIN_NAME_MAX + 1]; /* who pays and trusts: 1-63 of
					      [a-zA-Z0-9._:-] */
	char image[IMAGE_NAME_MAX + 1];   /* "host" */
	struct limits limits;
	uint64_t life_ms; /* it ends by itself then; 0: never */
	uint32_t flags;   /* enum create_flag */
	uint32_t num_volumes;
	struct broker_volume volumes[VOLUMES_MAX];
};

/* One that was made ahead gets the limits of who takes it. */
struct broker_claim {
	uint32_t op;
	uint32_t tag;
	char id[SANDBOX_ID_LEN + 1];
	struct limits limits; /* of these memory and cpu count, no others */
};

struct broker_destroy {
	uint32_t op;
	uint32_t tag;
	char id[SANDBOX_ID_LEN + 1];
};

/*
 * For BROKER_CREATE, kind 0 means: the sandbox runs and its init listens at
 * <id>.sock in OSBD_FD_SANDBOXES (SEQPACKET, see init_msg.h). For BROKER_DESTROY it means:
 * no process, mount or cgroup of it is left.
 */
struct broker_answer {
	uint32_t op;
	uint32_t tag;
	uint32_t kind; /* enum err_kind; 0 is success */
	int32_t sys;
	char msg[256];
};

struct broker_event {
	uint32_t op;
	uint32_t reserved; /* 0 */
	char id[SANDBOX_ID_LEN + 1];
};

enum reload_file {
	RELOAD_KEYS = 1 << 0,
	RELOAD_CONFIG = 1 << 1,
};

/* With one descriptor for each bit, in this order. */
struct broker_reload {
	uint32_t op;
	uint32_t files;
};

/* The largest message in either direction. */
#define BROKER_MSG_MAX sizeof(struct broker_create)
