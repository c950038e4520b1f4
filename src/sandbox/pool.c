/* SPDX-License-Identifier: Apache-2.0 */

/*
 * #syscalls  timerfd_settime read close
 */

#include "sandbox/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/ranges.h"
#include "sandbox/broker_link.h"
#include "sandbox/id.h"
#include "sandbox/init_link.h"
#include "sandbox/spec.h"
#include "sandbox/strv.h"

/* A template that nobody has asked for so long isn't worth its minimum. */
#define FORGET_MS (10u * 60 * 1000)

/* Longer than from a create to the first output of what it was for. */
#define QUIET_MS 20

#define WARM_UID 1000 /* whom programs run as if nobody says otherwise */
#define WARM_MAX_MS 5000

static uint64_t monotonic_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* can't fail: valid clock */
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void on_quiet(void *ctx, unsigned int events)
{
	struct pools *pools = ctx;
	uint64_t times;

	(void)events;
	(void)!read(pools->timer_fd, &times, sizeof(times));
	pools_refill(pools);
}

int pools_init(struct pools *pools, const struct poller *poller,
	       struct broker_link *broker, int dir_fd)
{
	memset(pools, 0, sizeof(*pools));
	pools->poller = poller;
	pools->broker = broker;
	pools->dir_fd = dir_fd;
	pools->timer_fd =
		timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (pools->timer_fd < 0)
		return -errno;
	pools->timer = poller->add(poller->loop, pools->timer_fd, POLLER_READ,
				   on_quiet, pools);
	return pools->timer ? 0 : -ENOMEM;
}

/* The window moves on to now. */
static void shift(struct pool_template *t, uint64_t now_ms)
{
	uint64_t second = now_ms / 1000;

	while (t->second < second) {
		if (second - t->second > POOL_WINDOW_S)
			t->second = second - POOL_WINDOW_S;
		memmove(t->taken + 1, t->taken,
			sizeof(t->taken) - sizeof(t->taken[0]));
		t->taken[0] = 0;
		t->second++;
	}
}

static void note_taken(struct pools *pools, struct pool_template *t,
		       uint64_t now_ms)
{
	const struct itimerspec quiet = {
		.it_value.tv_nsec = QUIET_MS * 1000 * 1000,
	};

	shift(t, now_ms);
	t->taken[0]++;
	t->taken_ms = pools->taken_ms = now_ms;
	/* Can't fail: the fd and the value are valid. */
	(void)timerfd_settime(pools->timer_fd, 0, &quiet, NULL);
}

void pools_set(struct pools *pools, unsigned int min, unsigned int max)
{
	pools->min = min < max ? min : max;
	pools->max = max;
}

/* What a sandbox must be made like to serve @spec. */
static struct limits template_limits(const struct spec *spec)
{
	struct limits limits = spec->limits;

	limits.memory_bytes = LIMITS_MAX_BYTES;
	limits.cpu_milli = (limits.cpu_milli + 999) / 1000 * 1000;
	return limits;
}

static bool same_limits(const struct limits *a, const struct limits *b)
{
	return a->disk_bytes == b->disk_bytes && a->shm_bytes == b->shm_bytes &&
	       a->inodes == b->inodes && a->cpu_milli == b->cpu_milli &&
	       a->pids == b->pids && a->nofile == b->nofile;
}

/* With volumes it is its asker's alone; a disk is made in its own size. */
static bool can_be_pooled(const struct spec *spec)
{
	return spec->num_volumes == 0 &&
	       spec->limits.disk_bytes <= spec->limits.memory_bytes / 2;
}

static struct pool_template *find(struct pools *pools, const char *domain,
				  const struct spec *spec)
{
	const struct limits limits = template_limits(spec);

	for (unsigned int i = 0; i < POOL_TEMPLATES_MAX; i++) {
		struct pool_template *t = &pools->template[i];

		if (t->used && strcmp(t->domain, domain) == 0 &&
		    strcmp(t->image, spec->image) == 0 &&
		    t->strict == spec->strict &&
		    same_limits(&t->limits, &limits))
			return t;
	}
	return NULL;
}

/* Templates of a domain, and those that wait or are made for them. */
static unsigned int count(const struct pools *pools, const char *domain,
			  unsigned int *ret_num)
{
	unsigned int num_templates = 0;

	*ret_num = 0;
	for (unsigned int i = 0; i < POOL_TEMPLATES_MAX; i++) {
		const struct pool_template *t = &pools->template[i];

		if (!t->used || strcmp(t->domain, domain) != 0)
			continue;
		num_templates++;
		*ret_num += t->num;
	}
	return num_templates;
}

/* NULL when all are in use: the next second may bring one. */
static struct pool_template *learn(struct pools *pools, const char *domain,
				   const struct spec *spec)
{
	unsigned int num;

	if (count(pools, domain, &num) >= POOL_DOMAIN_TEMPLATES_MAX)
		return NULL;
	for (unsigned int i = 0; i < POOL_TEMPLATES_MAX; i++) {
		struct pool_template *t = &pools->template[i];

		if (t->used)
			continue;
		memset(t, 0, sizeof(*t));
		t->used = true;
		memcpy(t->domain, domain, strnlen(domain, DOMAIN_NAME_MAX));
		memcpy(t->image, spec->image, sizeof(t->image));
		t->limits = template_limits(spec);
		t->strict = spec->strict;
		return t;
	}
	return NULL;
}

static void set_target(const struct pools *pools, struct pool_template *t,
		       uint64_t now_ms)
{
	unsigned int sum = 0;

	shift(t, now_ms);
	for (unsigned int i = 0; i < POOL_WINDOW_S; i++)
		sum += t->taken[i];
	if (sum < pools->min && now_ms - t->taken_ms < FORGET_MS)
		sum = pools->min;
	t->target = sum < pools->max ? sum : pools->max;
}

bool pool_take(struct pools *pools, const char *domain, const struct spec *spec,
	       char ret_id[SANDBOX_ID_LEN + 1], struct init_link **ret_init)
{
	uint64_t now_ms = monotonic_ms();
	struct pool_template *t;
	struct pooled *pooled auto_free = NULL;

	if (pools->max == 0 || !can_be_pooled(spec))
		return false;
	t = find(pools, domain, spec);
	if (!t)
		t = learn(pools, domain, spec);
	if (!t)
		return false;
	note_taken(pools, t, now_ms);
	set_target(pools, t, now_ms);
	pooled = t->ready;
	if (!pooled)
		return false;
	t->ready = pooled->next;
	t->num--;
	memcpy(ret_id, pooled->id, sizeof(pooled->id));
	*ret_init = take_ptr(pooled->init);
	return true;
}

static void on_ended(void *ctx, const struct err *err)
{
	struct pools *pools = ctx;

	(void)err; /* one that is gone already is what we want */
	pools->num_ending--;
}

/* Not in its template's list any more. */
static void end(struct pools *pools, struct pooled *pooled)
{
	init_link_close(take_ptr(pooled->init));
	if (broker_destroy(pools->broker, pooled->id, on_ended, pools) == 0)
		pools->num_ending++;
	free(pooled);
}

static void drop_made(struct pooled *pooled)
{
	pooled->pools->num_making--;
	pooled->of->num--;
	end(pooled->pools, pooled);
}

static void on_warm(struct pooled *pooled)
{
	struct pools *pools = pooled->pools;
	struct pool_template *t = pooled->of;

	pools->warming = NULL;
	if (t->num > t->target) {
		drop_made(pooled);
		return;
	}
	pools->num_making--;
	pooled->next = t->ready;
	t->ready = pooled;
	pools_refill(pools);
}

static void on_warm_started(void *ctx, int32_t pid)
{
	(void)ctx;
	(void)pid;
}

static void on_warm_failed(void *ctx, enum init_stage stage, int sys)
{
	(void)stage;
	(void)sys; /* an image without it is as good */
	on_warm(ctx);
}

static void on_warm_exited(void *ctx, const struct init_exited *exited)
{
	(void)exited;
	on_warm(ctx);
}

static void on_warm_lost(void *ctx)
{
	struct pooled *pooled = ctx;

	/* Or we close it ourselves: see pools_deinit(). */
	if (pooled->pools->warming)
		drop_made(take_ptr(pooled->pools->warming));
}

static int warm(struct pooled *pooled)
{
	static const struct exec_ops ops = {
		.started = on_warm_started,
		.failed = on_warm_failed,
		.exited = on_warm_exited,
		.lost = on_warm_lost,
	};
	struct strv argv, env;
	struct exec_spec spec = {
		.uid = WARM_UID,
		.gid = WARM_UID,
		.wall_ms = WARM_MAX_MS,
		.cwd = "/",
		.argv = &argv,
		.env = &env,
	};
	int r;

	strv_init(&argv, 1, 16);
	strv_init(&env, 1, 64);
	r = strv_add(&argv, "true");
	if (r == 0)
		r = strv_set_env(&env, "PATH", "/usr/bin:/bin");
	if (r == 0)
		r = init_link_exec(pooled->init, &spec, &ops, pooled,
				   &pooled->exec, NULL);
	if (r == 0)
		pooled->pools->warming = pooled;
	strv_deinit(&argv);
	strv_deinit(&env);
	return r;
}

static void on_made(void *ctx, const struct err *err)
{
	struct pooled *pooled auto_free = ctx;
	struct pools *pools = pooled->pools;
	struct pool_template *t = pooled->of;

	/* No room, or the domain's block is full: a later tick tries again. */
	if (err) {
		pools->num_making--;
		t->target = --t->num;
		return;
	}
	if (t->num > t->target ||
	    init_link_open(pools->poller, pools->dir_fd, pooled->id,
			   &pooled->init, NULL) < 0 ||
	    warm(pooled) < 0)
		drop_made(pooled);
	(void)take_ptr(pooled);
}

static void make(struct pools *pools, struct pool_template *t)
{
	struct pooled *pooled auto_free = calloc(1, sizeof(*pooled));
	struct spec spec;

	if (!pooled || id_new(pooled->id) < 0)
		return;
	pooled->pools = pools;
	pooled->of = t;
	spec_init(&spec);
	memcpy(spec.image, t->image, sizeof(spec.image));
	spec.limits = t->limits;
	spec.strict = t->strict;
	spec.ephemeral = true;
	if (broker_create(pools->broker, pooled->id, t->domain, &spec, 0,
			  on_made, pooled) == 0) {
		pools->num_making++;
		t->num++;
		(void)take_ptr(pooled);
	}
	spec_deinit(&spec);
}

void pools_refill(struct pools *pools)
{
	bool quiet = monotonic_ms() - pools->taken_ms >= QUIET_MS;

	/* One at a time: who asks now has to wait for it. */
	for (unsigned int i = 0; i < POOL_TEMPLATES_MAX; i++) {
		struct pool_template *t = &pools->template[i];
		unsigned int num;

		if (pools->num_making > 0)
			return;
		if (!t->used || t->num >= t->target ||
		    (!quiet && t->num > t->target / 2))
			continue;
		(void)count(pools, t->domain, &num);
		if (num < pools->max)
			make(pools, t);
	}
}

bool pools_gone(struct pools *pools, const char *id)
{
	for (unsigned int i = 0; i < POOL_TEMPLATES_MAX; i++) {
		struct pool_template *t = &pools->template[i];

		for (struct pooled **at = &t->ready; *at; at = &(*at)->next) {
			struct pooled *pooled = *at;

			if (strcmp(pooled->id, id) != 0)
				continue;
			*at = pooled->next;
			t->num--;
			init_link_close(pooled->init);
			free(pooled);
			return true;
		}
	}
	return false;
}

static void shrink(struct pools *pools, struct pool_template *t)
{
	while (t->ready && t->num > t->target) {
		struct pooled *pooled = t->ready;

		t->ready = pooled->next;
		t->num--;
		end(pools, pooled);
	}
}

void pools_tick(struct pools *pools)
{
	uint64_t now_ms = monotonic_ms();

	for (unsigned int i = 0; i < POOL_TEMPLATES_MAX; i++) {
		struct pool_template *t = &pools->template[i];

		if (!t->used)
			continue;
		set_target(pools, t, now_ms);
		shrink(pools, t);
		t->used = t->num > 0 || t->target > 0;
	}
	pools_refill(pools);
}

void pools_drop(struct pools *pools)
{
	for (unsigned int i = 0; i < POOL_TEMPLATES_MAX; i++) {
		struct pool_template *t = &pools->template[i];

		t->target = 0;
		t->taken_ms = 0;
		memset(t->taken, 0, sizeof(t->taken));
		shrink(pools, t);
	}
}

unsigned int pools_count(const struct pools *pools)
{
	unsigned int num = pools->num_ending;

	for (unsigned int i = 0; i < POOL_TEMPLATES_MAX; i++)
		num += pools->template[i].num;
	return num;
}

void pools_deinit(struct pools *pools)
{
	if (!pools->poller)
		return;
	if (pools->warming) {
		struct pooled *pooled = take_ptr(pools->warming);

		init_link_close(pooled->init);
		free(pooled);
	}
	pools->poller->remove(pools->timer);
	close_fd(&pools->timer_fd);
	for (unsigned int i = 0; i < POOL_TEMPLATES_MAX; i++) {
		struct pool_template *t = &pools->template[i];

		while (t->ready) {
			struct pooled *pooled = t->ready;

			t->ready = pooled->next;
			init_link_close(pooled->init);
			free(pooled);
		}
	}
}
