/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pool - sandboxes made ahead, for whoever asks next
 *
 * What can't be changed any more decides whether one fits: its domain, image,
 * walls, disk, inodes, shm, pids, open files and the number of processors it shows:
 * a template. Memory and share of cpu are set when it is taken. A template is
 * learnt from a create that it would have served, so there is nothing to
 * describe beforehand; how many are kept ready follows how many were taken in
 * the last seconds, between two bounds.
 *
 * What is done only once in a sandbox is done before it waits: a program has
 * run in it, so that the next finds its files and the kernel's tables warm.
 *
 * Nobody was told of those that wait, so nothing of them is written down: they
 * end with osbd.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/poller.h"
#include "wire/broker_msg.h"

#define POOL_TEMPLATES_MAX 32
#define POOL_DOMAIN_TEMPLATES_MAX 8 /* so that nobody has them all */
#define POOL_WINDOW_S 10

struct broker_link;
struct init_link;
struct spec;

/* One that waits, or is being made or ended. */
struct pooled {
	struct pooled *next;
	struct pool_template *of;
	struct pools *pools;
	char id[SANDBOX_ID_LEN + 1];
	struct init_link *init; /* NULL: it is being made, or ended */
	struct exec *exec;      /* its first program */
};

struct pool_template {
	bool used;
	char domain[DOMAIN_NAME_MAX + 1];
	char image[IMAGE_NAME_MAX + 1];
	struct limits limits; /* memory: as much as there can be */
	bool strict;
	unsigned int target; /* to be ready */
	unsigned int num;    /* ready, or being made */
	struct pooled *ready;
	uint64_t second;                   /* that taken[0] is about */
	unsigned int taken[POOL_WINDOW_S]; /* a second each, the last first */
	uint64_t taken_ms;                 /* the last time */
};

/* All of them. Embedded in struct sandboxes. */
struct pools {
	const struct poller *poller;
	struct broker_link *broker;
	int dir_fd;
	unsigned int min, max; /* of a template; max 0: no pools */
	unsigned int num_making, num_ending;
	struct pooled *warming; /* the one that is being made, at its end */
	int timer_fd;           /* until nobody has taken one for a moment */
	struct watch *timer;
	uint64_t taken_ms; /* the last time, of all */
	struct pool_template template[POOL_TEMPLATES_MAX];
};

/** pools_init() - none; they begin with pools_set(). Return: 0 or -errno */
int pools_init(struct pools *pools, const struct poller *poller,
	       struct broker_link *broker, int dir_fd);

/** pools_deinit() - forget them; nothing is destroyed */
void pools_deinit(struct pools *pools);

/** pools_set() - the bounds */
void pools_set(struct pools *pools, unsigned int min, unsigned int max);

/**
 * pool_take() - one that fits @spec, and note that there was need of one
 * @ret_init: its link; the caller's
 *
 * Return: false when there is none; then it has to be made.
 */
bool pool_take(struct pools *pools, const char *domain, const struct spec *spec,
	       char ret_id[SANDBOX_ID_LEN + 1], struct init_link **ret_init);

/**
 * pools_refill() - begin with the next, if one is missing and none is made
 *
 * Where more than half are there, not before it is quiet: whoever just took one
 * is about to use it.
 */
void pools_refill(struct pools *pools);

/** pools_gone() - the broker says that it ended by itself; was it one here? */
bool pools_gone(struct pools *pools, const char *id);

/** pools_tick() - about once a second: how many, and not too many */
void pools_tick(struct pools *pools);

/** pools_drop() - end all that wait */
void pools_drop(struct pools *pools);

/** pools_count() - that exist, in whatever state */
unsigned int pools_count(const struct pools *pools);
