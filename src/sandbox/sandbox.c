/* SPDX-License-Identifier: Apache-2.0 */

/*
 * sandbox - state machine of the records
 *
 *	create ─▶ PENDING ─▶ RUNNING ─▶ STOPPING ─▶ (no record)
 *	             │          └▶ FAILED ─▶ (no record)
 *	             └▶ (no record, if the broker refuses)
 *
 * Purpose:    know every sandbox of this osbd and move it through its life.
 * Process:    osbd.
 * Ownership:  the list holds one reference to each record; whoever keeps a
 *             pointer across a callback takes another.
 * Limits:     SANDBOXES_MAX records.
 */

#include "sandbox/sandbox.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/cleanup.h"
#include "sandbox/command.h"
#include "sandbox/keep.h"
#include "store/store.h"

#define LIFE_GRACE_MS 500

static int64_t realtime_us(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts); /* can't fail: valid clock */
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static uint64_t monotonic_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* as above */
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

const char *sandbox_state_name(enum sandbox_state state)
{
	static const char *const names[] = {
		[SANDBOX_PENDING] = "Pending",
		[SANDBOX_RUNNING] = "Running",
		[SANDBOX_STOPPING] = "Stopping",
		[SANDBOX_FAILED] = "Failed",
	};
	_Static_assert(ARRAY_SIZE(names) == SANDBOX_NUM_STATES,
		       "every state has a name");

	assert(state < SANDBOX_NUM_STATES);
	return names[state];
}

void sandboxes_init(struct sandboxes *all, const struct poller *poller,
		    struct broker_link *broker, struct store *store, int dir_fd,
		    int logs_fd)
{
	memset(all, 0, sizeof(*all));
	all->poller = poller;
	all->broker = broker;
	all->store = store;
	all->dir_fd = dir_fd;
	all->logs_fd = logs_fd;
}

struct sandbox *sandbox_ref(struct sandbox *sandbox)
{
	sandbox->refs++;
	return sandbox;
}

void sandbox_unref(struct sandbox *sandbox)
{
	if (!sandbox || --sandbox->refs)
		return;
	while (sandbox->commands) {
		struct command *command = sandbox->commands;

		sandbox->commands = command->next;
		command->sandbox = NULL;
		command_unref(command);
	}
	spec_deinit(&sandbox->spec);
	free(sandbox);
}

/* Ids are random: their first digits are as good as any hash. */
static struct sandbox **bucket_of(struct sandboxes *all, const char *id)
{
	unsigned int hash = 0;

	for (unsigned int i = 0; i < 4 && id[i]; i++)
		hash = hash * 31 + (unsigned char)id[i];
	return &all->bucket[hash % SANDBOX_BUCKETS];
}

/* Whatever its state and domain. */
static struct sandbox *find_any(struct sandboxes *all, const char *id)
{
	struct sandbox *sandbox = *bucket_of(all, id);

	while (sandbox && strcmp(sandbox->id, id) != 0)
		sandbox = sandbox->next_in_bucket;
	return sandbox;
}

static void link_record(struct sandboxes *all, struct sandbox *sandbox)
{
	sandbox->older = all->newest;
	if (all->newest)
		all->newest->newer = sandbox;
	else
		all->oldest = sandbox;
	all->newest = sandbox;
	sandbox->next_in_bucket = *bucket_of(all, sandbox->id);
	*bucket_of(all, sandbox->id) = sandbox;
	all->num++;
	all->num_live++;
}

/* Out of the list, and the list's reference dropped. */
static void remove_record(struct sandbox *sandbox)
{
	struct sandboxes *all = sandbox->all;
	struct sandbox **at = bucket_of(all, sandbox->id);

	while (*at != sandbox)
		at = &(*at)->next_in_bucket;
	*at = sandbox->next_in_bucket;
	if (sandbox->newer)
		sandbox->newer->older = sandbox->older;
	else
		all->newest = sandbox->older;
	if (sandbox->older)
		sandbox->older->newer = sandbox->newer;
	else
		all->oldest = sandbox->newer;
	sandbox->newer = NULL;
	sandbox->older = NULL;
	all->num--;
	if (sandbox->state != SANDBOX_FAILED)
		all->num_live--;
	sandbox_unref(sandbox);
}

static void set_state(struct sandbox *sandbox, enum sandbox_state state)
{
	if (state == SANDBOX_FAILED && sandbox->state != SANDBOX_FAILED)
		sandbox->all->num_live--;
	else if (state != SANDBOX_FAILED && sandbox->state == SANDBOX_FAILED)
		sandbox->all->num_live++;
	sandbox->state = state;
	sandbox->changed_us = realtime_us();
}

/* The moment of the wall clock, monotonic. */
static uint64_t deadline_of(int64_t us)
{
	int64_t left_ms = (us - realtime_us()) / 1000;

	return monotonic_ms() + (uint64_t)(left_ms > 0 ? left_ms : 0);
}

/*
 * When init ends the sandbox by itself if nobody else does: a bit late, so
 * that a renewal which came in time always wins.
 */
static uint64_t life_ms(const struct sandbox *sandbox)
{
	int64_t left_us = sandbox->expires_us - realtime_us();

	if (sandbox->expires_us == 0)
		return 0;
	return (uint64_t)(left_us > 0 ? left_us : 0) / 1000 + LIFE_GRACE_MS;
}

static void close_init(struct sandbox *sandbox)
{
	struct init_link *init = take_ptr(sandbox->init);

	init_link_close(init);
}

void sandboxes_deinit(struct sandboxes *all)
{
	while (all->newest)
		remove_record(all->newest);
}

bool sandbox_visible(const struct sandbox *sandbox, const char *domain)
{
	return sandbox->state != SANDBOX_STOPPING && !sandbox->doomed &&
	       (!domain || strcmp(sandbox->domain, domain) == 0);
}

struct sandbox *sandboxes_find(struct sandboxes *all, const char *in_id,
			       const char *domain)
{
	struct sandbox *sandbox = find_any(all, in_id);

	return sandbox && sandbox_visible(sandbox, domain) ? sandbox : NULL;
}

unsigned int sandboxes_count(const struct sandboxes *all, const char *domain)
{
	unsigned int count = 0;

	for (const struct sandbox *s = all->newest; s; s = s->older)
		count += sandbox_visible(s, domain);
	return count;
}

static int new_id(char ret_id[SANDBOX_ID_LEN + 1])
{
	uint8_t random[SANDBOX_ID_LEN / 2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	for (unsigned int i = 0; i < sizeof(random); i++)
		(void)snprintf(ret_id + 2 * i, 3, "%02x", random[i]);
	return 0;
}

/* Calls back whoever waits for its end. */
static void tell_destroyed(struct sandbox *sandbox, const struct err *err)
{
	broker_answer_fn fn = take_ptr(sandbox->destroyed_fn);

	if (fn)
		fn(sandbox->destroyed_ctx, err);
}

static bool is_kept(const struct sandbox *sandbox)
{
	return sandbox->all->store && !sandbox->spec.ephemeral;
}

/* One of those that we wait for is done. Return: whether it was the last. */
static bool waited(struct sandbox *sandbox, const struct err *err)
{
	if (err && !sandbox->wait_err.kind)
		sandbox->wait_err = *err;
	assert(sandbox->waits > 0);
	return --sandbox->waits == 0;
}

static void store_failed(struct err *err, int r)
{
	(void)err_set(err, ERR_UNAVAILABLE, -r,
		      "write it down (is the disk of the state directory "
		      "full?)");
}

static void end_destroy(struct sandbox *sandbox)
{
	struct err err = sandbox->wait_err;

	/* One that ended by itself may be unknown to the broker already. */
	if (err.kind && err.kind != ERR_NOT_FOUND) {
		/* Not silently forgotten: it may still hold resources. */
		memcpy(sandbox->message, err.msg, sizeof(sandbox->message));
		set_state(sandbox, SANDBOX_FAILED);
		tell_destroyed(sandbox, &err);
		sandbox_unref(sandbox);
		return;
	}
	remove_record(sandbox);
	tell_destroyed(sandbox, NULL);
	sandbox_unref(sandbox);
}

static void on_destroyed(void *ctx, const struct err *err)
{
	struct sandbox *sandbox = ctx;

	if (waited(sandbox, err))
		end_destroy(sandbox);
}

static void on_forgotten(void *ctx, int r)
{
	struct sandbox *sandbox = ctx;
	struct err err = ERR_NULL;

	if (r < 0)
		store_failed(&err, r);
	if (waited(sandbox, r < 0 ? &err : NULL))
		end_destroy(sandbox);
}

/* Both at once; the record goes when both are done. */
static void start_destroy(struct sandbox *sandbox)
{
	struct sandboxes *all = sandbox->all;
	struct err err = ERR_NULL;
	int r;

	set_state(sandbox, SANDBOX_STOPPING);
	sandbox->doomed = false;
	sandbox->bound_to = NULL;
	sandbox->waits = is_kept(sandbox) ? 2 : 1;
	sandbox->wait_err = (struct err)ERR_NULL;
	sandbox_ref(sandbox); /* until end_destroy() */
	close_init(sandbox);
	commands_drop(sandbox);
	r = broker_destroy(all->broker, sandbox->id, on_destroyed, sandbox);
	if (r < 0)
		(void)err_set(&err, ERR_INTERNAL, -r, "send to the broker");
	if (is_kept(sandbox) &&
	    store_delete_sandbox(all->store, sandbox->id, on_forgotten, sandbox,
				 r < 0 ? NULL : &err) < 0 &&
	    waited(sandbox, &err))
		end_destroy(sandbox);
	if (r < 0 && waited(sandbox, &err))
		end_destroy(sandbox);
}

/* If this is lost, the next osbd finds out again. */
static void forget(struct sandbox *sandbox)
{
	if (is_kept(sandbox))
		(void)store_delete_sandbox(sandbox->all->store, sandbox->id,
					   NULL, NULL, NULL);
}

static void end_create(struct sandbox *sandbox)
{
	broker_answer_fn fn = take_ptr(sandbox->created_fn);
	struct err err = sandbox->wait_err;

	if (!err.kind && sandbox->doomed)
		(void)err_set(&err, ERR_CONFLICT, 0,
			      "the sandbox was deleted while being created");
	if (err.kind && !sandbox->made) {
		bool was_doomed = sandbox->doomed;

		forget(sandbox);
		remove_record(sandbox);
		fn(sandbox->created_ctx, &err);
		if (was_doomed)
			tell_destroyed(sandbox, NULL);
	} else if (err.kind) {
		start_destroy(sandbox);
		fn(sandbox->created_ctx, &err);
	} else {
		set_state(sandbox, SANDBOX_RUNNING);
		fn(sandbox->created_ctx, NULL);
	}
	sandbox_unref(sandbox);
}

static void on_created(void *ctx, const struct err *err)
{
	struct sandbox *sandbox = ctx;

	free(take_ptr(sandbox->spec.volumes)); /* the broker has them now */
	sandbox->spec.num_volumes = 0;
	sandbox->made = !err;
	if (waited(sandbox, err))
		end_create(sandbox);
}

static void on_kept(void *ctx, int r)
{
	struct sandbox *sandbox = ctx;
	struct err err = ERR_NULL;

	if (r < 0)
		store_failed(&err, r);
	if (waited(sandbox, r < 0 ? &err : NULL))
		end_create(sandbox);
}

/* In the state that it will have when its maker hears of it. */
static void keep_new(struct sandbox *sandbox)
{
	struct store_sandbox record;
	struct err err = ERR_NULL;

	keep_record(sandbox, &record);
	record.state = SANDBOX_RUNNING;
	if (store_put_sandbox(sandbox->all->store, &record, on_kept, sandbox,
			      &err) < 0)
		(void)waited(sandbox, &err); /* the broker answers later */
}

int sandbox_create(struct sandboxes *all, struct spec *spec, const char *domain,
		   broker_answer_fn fn, void *ctx, struct sandbox **ret_sandbox,
		   struct err *err)
{
	struct sandbox *sandbox = NULL;
	int r;

	if (all->num < SANDBOXES_MAX)
		sandbox = calloc(1, sizeof(*sandbox));
	if (!sandbox || new_id(sandbox->id) < 0) {
		free(sandbox);
		spec_deinit(spec);
		return err_set(err, ERR_QUOTA, 0,
			       "no more than %d sandboxes at once",
			       SANDBOXES_MAX);
	}
	sandbox->all = all;
	sandbox->refs = 2; /* the list, on_created() */
	sandbox->spec = *spec;
	sandbox->created_fn = fn;
	sandbox->created_ctx = ctx;
	sandbox->created_us = realtime_us();
	sandbox->changed_us = sandbox->created_us;
	if (spec->timeout_s) {
		sandbox->expires_us = sandbox->created_us +
				      (int64_t)spec->timeout_s * 1000000;
		sandbox->deadline_ms = monotonic_ms() + spec->timeout_s * 1000;
	}
	memcpy(sandbox->domain, domain, strnlen(domain, DOMAIN_NAME_MAX));
	link_record(all, sandbox);
	sandbox->waits = is_kept(sandbox) ? 2 : 1;
	r = broker_create(all->broker, sandbox->id, sandbox->domain,
			  &sandbox->spec, life_ms(sandbox), on_created,
			  sandbox);
	if (r < 0) {
		remove_record(sandbox);
		sandbox_unref(sandbox);
		return err_set(err, ERR_UNAVAILABLE, -r, "send to the broker");
	}
	if (is_kept(sandbox))
		keep_new(sandbox);
	*ret_sandbox = sandbox;
	return 0;
}

void sandbox_destroy(struct sandbox *sandbox, broker_answer_fn fn, void *ctx)
{
	bool waits = sandbox->destroyed_fn != NULL;

	assert(!fn || !waits); /* it can't be found twice for that */
	if (fn) {
		sandbox->destroyed_fn = fn;
		sandbox->destroyed_ctx = ctx;
	}
	switch (sandbox->state) {
	case SANDBOX_PENDING:
		sandbox->doomed = true;
		return;
	case SANDBOX_RUNNING:
	case SANDBOX_FAILED:
		start_destroy(sandbox);
		return;
	case SANDBOX_STOPPING:
	case SANDBOX_NUM_STATES:
		return;
	}
}

static int open_init(struct sandbox *sandbox, struct err *err)
{
	struct sandboxes *all = sandbox->all;

	if (sandbox->init && init_link_broken(sandbox->init))
		close_init(sandbox);
	if (sandbox->init)
		return 0;
	return init_link_open(all->poller, all->dir_fd, sandbox->id,
			      &sandbox->init, err);
}

static void fail_sandbox(struct sandbox *sandbox, const char *why)
{
	struct store_sandbox record;

	(void)snprintf(sandbox->message, sizeof(sandbox->message), "%s", why);
	set_state(sandbox, SANDBOX_FAILED);
	if (!is_kept(sandbox))
		return;
	keep_record(sandbox, &record);
	/* If this is lost, the next osbd finds out again. */
	(void)store_put_sandbox(sandbox->all->store, &record, NULL, NULL, NULL);
}

void sandboxes_gone(struct sandboxes *all, const char *id)
{
	struct sandbox *sandbox = find_any(all, id);

	/* Else an answer is on its way, which says more. */
	if (!sandbox || sandbox->state != SANDBOX_RUNNING)
		return;
	sandbox_ref(sandbox);
	fail_sandbox(sandbox, "the sandbox ended by itself");
	close_init(sandbox);
	sandbox_unref(sandbox);
}

static int load_one(void *ctx, const struct store_sandbox *record)
{
	struct sandboxes *all = ctx;
	struct sandbox *sandbox = calloc(1, sizeof(*sandbox));
	struct err err = ERR_NULL;

	if (!sandbox || keep_restore(sandbox, record, &err) < 0) {
		free(sandbox);
		return -EINVAL;
	}
	sandbox->all = all;
	sandbox->refs = 1;
	sandbox->missing = true;
	if (sandbox->expires_us)
		sandbox->deadline_ms = deadline_of(sandbox->expires_us);
	link_record(all, sandbox);
	if (sandbox->state == SANDBOX_FAILED)
		all->num_live--;
	return 0;
}

int sandboxes_load(struct sandboxes *all, struct err *err)
{
	int r = all->store ? store_each_sandbox(all->store, load_one, all, err)
			   : 0;

	return r < 0 ? r : commands_load(all, err);
}

static void forget_stranger(void *ctx, const struct err *err)
{
	(void)ctx;
	(void)err;
}

void sandboxes_there(struct sandboxes *all, const char *id)
{
	struct sandbox *sandbox = find_any(all, id);

	if (sandbox)
		sandbox->missing = false;
	else /* nobody was ever told of it */
		(void)broker_destroy(all->broker, id, forget_stranger, NULL);
}

void sandboxes_loaded(struct sandboxes *all)
{
	struct sandbox *next;

	for (struct sandbox *s = all->oldest; s; s = next) {
		next = s->newer;
		if (s->missing && s->state == SANDBOX_RUNNING)
			fail_sandbox(s,
				     "the sandbox ended while nobody looked");
		s->missing = false;
		commands_take_up(s);
	}
	sandboxes_expire(all, monotonic_ms());
}

void sandbox_unkeep(struct sandbox *sandbox)
{
	struct err err = ERR_NULL;

	if (!is_kept(sandbox))
		return;
	forget(sandbox);
	sandbox->spec.ephemeral = true;
	/* Else the next osbd ends it, which won't know it. */
	if (open_init(sandbox, &err) == 0)
		init_link_life(sandbox->init, false, life_ms(sandbox));
}

void sandboxes_expire(struct sandboxes *all, uint64_t now_ms)
{
	struct sandbox *next;

	for (struct sandbox *s = all->oldest; s; s = next) {
		next = s->newer;
		if (s->deadline_ms && s->deadline_ms <= now_ms &&
		    sandbox_visible(s, NULL))
			sandbox_destroy(s, NULL, NULL);
	}
}

void sandboxes_release(struct sandboxes *all, const void *owner)
{
	struct sandbox *next;

	for (struct sandbox *s = all->oldest; s; s = next) {
		next = s->newer;
		if (s->bound_to == owner && sandbox_visible(s, NULL))
			sandbox_destroy(s, NULL, NULL);
	}
}

int sandbox_attach(struct sandbox *sandbox, uint32_t exec_id,
		   const struct exec_ops *ops, void *ctx,
		   struct exec **ret_exec)
{
	struct err err = ERR_NULL;
	int r = open_init(sandbox, &err);

	return r < 0 ? r
		     : init_link_attach(sandbox->init, exec_id, ops, ctx,
					ret_exec, &err);
}

void sandbox_warm(struct sandbox *sandbox)
{
	if (sandbox->state == SANDBOX_RUNNING)
		(void)open_init(sandbox, NULL); /* the exec will report it */
}

int sandbox_exec(struct sandbox *sandbox, const struct exec_spec *spec,
		 const struct exec_ops *ops, void *ctx, struct exec **ret_exec,
		 struct err *err)
{
	int r;

	if (sandbox->state != SANDBOX_RUNNING)
		return err_set(err, ERR_CONFLICT, 0,
			       "the sandbox isn't running but %s",
			       sandbox_state_name(sandbox->state));
	r = open_init(sandbox, err);
	if (r < 0)
		return r;
	return init_link_exec(sandbox->init, spec, ops, ctx, ret_exec, err);
}
