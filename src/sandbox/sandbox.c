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

#include "base/cleanup.h"
#include "sandbox/command.h"
#include "sandbox/id.h"
#include "sandbox/keep.h"
#include "store/store.h"

#define LIFE_GRACE_MS 500

#define RETRY_US 1000000 /* between tries to destroy one that is due */

/* Somebody else who wants to know how a creation ends. */
struct sandbox_waiter {
	struct sandbox_waiter *next;
	broker_answer_fn fn;
	void *ctx;
};

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

uint32_t sandbox_end_verdict(const struct sandbox *sandbox)
{
	/* Where we are late its init ends it. */
	bool due =
		sandbox->expires_us && sandbox->expires_us <= expiry_now_us();

	if (sandbox->state == SANDBOX_STOPPING)
		return sandbox->expired ? VERDICT_EXPIRED : VERDICT_KILLED;
	return due ? VERDICT_EXPIRED : VERDICT_LOST;
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
	free(sandbox->idem_key);
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

static int charge(struct sandbox *sandbox)
{
	int r = account_charge(&sandbox->all->accounts, sandbox->domain,
			       sandbox->spec.guarantee_bytes);

	sandbox->charged = r == 0;
	return r;
}

static void release(struct sandbox *sandbox)
{
	if (sandbox->charged)
		account_release(&sandbox->all->accounts, sandbox->domain,
				sandbox->spec.guarantee_bytes);
	sandbox->charged = false;
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

	release(sandbox);
	expiry_set(&all->expiry, &sandbox->deadline, 0);
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
	sandbox->changed_us = expiry_now_us();
}

/*
 * When init ends the sandbox by itself if nobody else does: a bit late, so
 * that a renewal which came in time always wins.
 */
static uint64_t life_ms(const struct sandbox *sandbox)
{
	int64_t left_us = sandbox->expires_us - expiry_now_us();

	if (sandbox->expires_us == 0)
		return 0;
	return (uint64_t)(left_us > 0 ? left_us : 0) / 1000 + LIFE_GRACE_MS;
}

static void close_init(struct sandbox *sandbox)
{
	struct init_link *init = take_ptr(sandbox->init);

	init_link_close(init);
}

/* What nobody asked for, but the clock or the sandbox itself. */
static void audit_by_itself(const struct sandbox *sandbox, const char *action)
{
	const struct store_audit record = {
		.time_us = expiry_now_us(),
		.domain = sandbox->domain,
		.action = action,
		.object = sandbox->id,
		.outcome = "ok",
	};

	if (sandbox->all->store)
		(void)store_audit(sandbox->all->store, &record, NULL, NULL,
				  NULL);
}

static void on_due(void *ctx, struct deadline *due)
{
	struct sandbox *sandbox =
		(struct sandbox *)((char *)due -
				   offsetof(struct sandbox, deadline));

	(void)ctx;
	if (!sandbox_visible(sandbox, NULL))
		return;
	audit_by_itself(sandbox, "sandbox.expire");
	sandbox->expired = true;
	sandbox_destroy(sandbox, NULL, NULL);
}

int sandboxes_init(struct sandboxes *all, const struct sandboxes_setup *setup)
{
	int r;

	memset(all, 0, sizeof(*all));
	all->poller = setup->poller;
	all->broker = setup->broker;
	all->store = setup->store;
	all->dir_fd = setup->dir_fd;
	all->logs_fd = setup->logs_fd;
	accounts_init(&all->accounts, setup->limits);
	r = pools_init(&all->pools, setup->poller, setup->broker,
		       setup->dir_fd);
	if (r == 0)
		r = idem_init(&all->idem);
	return r < 0 ? r
		     : expiry_init(&all->expiry, setup->poller, SANDBOXES_MAX,
				   on_due, NULL);
}

static void free_waiters(struct sandbox *sandbox)
{
	struct sandbox_waiter *next;

	for (struct sandbox_waiter *w = sandbox->waiters; w; w = next) {
		next = w->next;
		free(w);
	}
	sandbox->waiters = NULL;
}

void sandboxes_deinit(struct sandboxes *all)
{
	while (all->newest) {
		free_waiters(all->newest);
		remove_record(all->newest);
	}
	pools_deinit(&all->pools);
	expiry_deinit(&all->expiry);
	accounts_deinit(&all->accounts);
	idem_deinit(&all->idem);
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

/* Calls back whoever waits for its end. */
static void tell_destroyed(struct sandbox *sandbox, const struct err *err)
{
	broker_answer_fn fn = take_ptr(sandbox->destroyed_fn);

	if (fn)
		fn(sandbox->destroyed_ctx, err);
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

/* Not before it expires. */
static void set_deadline(struct sandbox *sandbox, int64_t at_us)
{
	expiry_set(&sandbox->all->expiry, &sandbox->deadline,
		   at_us > sandbox->expires_us ? at_us : sandbox->expires_us);
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
		(void)charge(sandbox); /* room or not, it is there again */
		if (sandbox->expires_us)
			set_deadline(sandbox, expiry_now_us() + RETRY_US);
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
	release(sandbox);
	expiry_set(&sandbox->all->expiry, &sandbox->deadline, 0);
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

/* Calls back whoever waits for its creation. */
static void tell_created(struct sandbox *sandbox, const struct err *err)
{
	broker_answer_fn fn = take_ptr(sandbox->created_fn);
	struct sandbox_waiter *next;

	fn(sandbox->created_ctx, err);
	for (struct sandbox_waiter *w = take_ptr(sandbox->waiters); w;
	     w = next) {
		next = w->next;
		w->fn(w->ctx, err);
		free(w);
	}
}

/* One that never was is asked for anew by the same key. */
static void free_key(struct sandbox *sandbox)
{
	if (!sandbox->idem_key)
		return;
	idem_drop(&sandbox->all->idem, sandbox->domain, sandbox->idem_key,
		  sandbox->id);
	if (is_kept(sandbox))
		(void)store_delete_request(sandbox->all->store, sandbox->domain,
					   sandbox->idem_key, NULL, NULL, NULL);
}

/*
 * That it isn't just being made. If this is lost, and so is the sandbox, the
 * next osbd takes it for one that nobody was told of: as good as never.
 */
static void keep_made(struct sandbox *sandbox)
{
	struct store_sandbox record;

	if (!is_kept(sandbox))
		return;
	keep_record(sandbox, &record);
	(void)store_put_sandbox(sandbox->all->store, &record, NULL, NULL, NULL);
}

static void end_create(struct sandbox *sandbox)
{
	struct sandboxes *all = sandbox->all;
	struct err err = sandbox->wait_err;

	if (!err.kind && sandbox->doomed)
		(void)err_set(&err, ERR_CONFLICT, 0,
			      "the sandbox was deleted while being created");
	if (err.kind && !sandbox->made) {
		bool was_doomed = sandbox->doomed;

		forget(sandbox);
		free_key(sandbox);
		remove_record(sandbox);
		tell_created(sandbox, &err);
		if (was_doomed)
			tell_destroyed(sandbox, NULL);
	} else if (err.kind) {
		free_key(sandbox);
		start_destroy(sandbox);
		tell_created(sandbox, &err);
	} else {
		/* Since it was asked for, as the record says. */
		sandbox->state = SANDBOX_RUNNING;
		keep_made(sandbox);
		tell_created(sandbox, NULL);
	}
	sandbox_unref(sandbox);
	pools_refill(&all->pools); /* while the client reads */
}

static void on_created(void *ctx, const struct err *err)
{
	struct sandbox *sandbox = ctx;

	free(take_ptr(sandbox->spec.volumes)); /* the broker has them now */
	sandbox->spec.num_volumes = 0;
	sandbox->made = !err || sandbox->pooled;
	/* What waits for nobody has room that somebody asks for. */
	if (err && err->kind == ERR_QUOTA)
		pools_drop(&sandbox->all->pools);
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

static void keep_new(struct sandbox *sandbox)
{
	struct store_usage usage = { .sandboxes_created = 1 };
	struct store_sandbox record;
	struct err err = ERR_NULL;

	keep_record(sandbox, &record);
	if (store_put_sandbox(sandbox->all->store, &record, on_kept, sandbox,
			      &err) < 0)
		(void)waited(sandbox, &err); /* the broker answers later */
	memcpy(usage.domain, sandbox->domain, sizeof(usage.domain));
	usage.last_used_us = sandbox->created_us;
	(void)store_add_usage(sandbox->all->store, &usage, NULL, NULL, NULL);
}

static void on_lives(void *ctx, int r)
{
	struct sandbox *sandbox = ctx;
	struct err err = ERR_NULL;

	if (r < 0)
		(void)err_set(&err, ERR_UNAVAILABLE, -r,
			      "the sandbox ended before it was used");
	if (waited(sandbox, r < 0 ? &err : NULL))
		end_create(sandbox);
}

/* One from the pool gets what is the asker's own. */
static int claim(struct sandbox *sandbox)
{
	int r = broker_claim(sandbox->all->broker, sandbox->id,
			     &sandbox->spec.limits, on_created, sandbox);

	if (r < 0)
		return r;
	/* Who hears of it may rely on that it outlives the broker. */
	sandbox->waits++;
	init_link_life(sandbox->init, !sandbox->spec.ephemeral,
		       life_ms(sandbox), on_lives, sandbox);
	return 0;
}

static void forget_stranger(void *ctx, const struct err *err)
{
	(void)ctx;
	(void)err;
}

static void drop_pooled(struct sandbox *sandbox)
{
	close_init(sandbox);
	(void)broker_destroy(sandbox->all->broker, sandbox->id, forget_stranger,
			     NULL);
}

static int make(struct sandbox *sandbox)
{
	return broker_create(sandbox->all->broker, sandbox->id, sandbox->domain,
			     &sandbox->spec, life_ms(sandbox), on_created,
			     sandbox);
}

int sandbox_create(struct sandboxes *all, struct spec *spec, const char *domain,
		   broker_answer_fn fn, void *ctx, struct sandbox **ret_sandbox,
		   struct err *err)
{
	struct sandbox *sandbox = NULL;
	int r;

	if (all->num < SANDBOXES_MAX)
		sandbox = calloc(1, sizeof(*sandbox));
	if (sandbox)
		sandbox->pooled = pool_take(&all->pools, domain, spec,
					    sandbox->id, &sandbox->init);
	if (!sandbox || (!sandbox->pooled && id_new(sandbox->id) < 0)) {
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
	sandbox->created_us = expiry_now_us();
	sandbox->changed_us = sandbox->created_us;
	if (spec->timeout_s)
		sandbox->expires_us = sandbox->created_us +
				      (int64_t)spec->timeout_s * 1000000;
	memcpy(sandbox->domain, domain, strnlen(domain, DOMAIN_NAME_MAX));
	link_record(all, sandbox);
	expiry_set(&all->expiry, &sandbox->deadline, sandbox->expires_us);
	sandbox->waits = is_kept(sandbox) ? 2 : 1;
	r = charge(sandbox);
	if (r == 0)
		r = sandbox->pooled ? claim(sandbox) : make(sandbox);
	if (r < 0) {
		/* Like any other that nobody was told of. */
		if (sandbox->pooled)
			drop_pooled(sandbox);
		remove_record(sandbox);
		sandbox_unref(sandbox);
		return err_set(err, ERR_UNAVAILABLE, -r, "send to the broker");
	}
	if (is_kept(sandbox))
		keep_new(sandbox);
	*ret_sandbox = sandbox;
	return 0;
}

int sandbox_await(struct sandbox *sandbox, broker_answer_fn fn, void *ctx)
{
	struct sandbox_waiter *waiter = calloc(1, sizeof(*waiter));

	assert(sandbox->state == SANDBOX_PENDING);
	if (!waiter)
		return -ENOMEM;
	*waiter = (struct sandbox_waiter){ sandbox->waiters, fn, ctx };
	sandbox->waiters = waiter;
	return 0;
}

/* Who hears of the sandbox may rely on its key, too. */
static int keep_key(struct sandbox *sandbox,
		    const uint8_t digest[IDEM_DIGEST_LEN])
{
	struct store_request record = { .created_us = sandbox->created_us };
	struct err err = ERR_NULL;
	int r;

	if (!is_kept(sandbox))
		return 0;
	memcpy(record.domain, sandbox->domain, sizeof(record.domain));
	(void)snprintf(record.key, sizeof(record.key), "%s", sandbox->idem_key);
	memcpy(record.hash, digest, sizeof(record.hash));
	memcpy(record.sandbox_id, sandbox->id, sizeof(record.sandbox_id));
	sandbox->waits++;
	r = store_put_request(sandbox->all->store, &record, on_kept, sandbox,
			      &err);
	if (r < 0)
		sandbox->waits--; /* the broker hasn't answered yet */
	return r;
}

int sandbox_set_key(struct sandbox *sandbox, const char *key,
		    const uint8_t digest[IDEM_DIGEST_LEN])
{
	char *copy auto_free = strdup(key);
	int r;

	if (!copy)
		return -ENOMEM;
	r = idem_add(&sandbox->all->idem, sandbox->domain, key, digest,
		     sandbox->id, sandbox->created_us);
	if (r == 0)
		sandbox->idem_key = take_ptr(copy);
	return r < 0 ? r : keep_key(sandbox, digest);
}

int sandbox_set_expiry(struct sandbox *sandbox, int64_t expires_us,
		       struct err *err)
{
	int64_t now_us = expiry_now_us();

	if (sandbox->expires_us == 0)
		return err_set(err, ERR_CONFLICT, 0,
			       "the sandbox never expires");
	/* Due, and only not ended yet because others had their turn. */
	if (sandbox->expires_us <= now_us)
		return err_set(err, ERR_NOT_FOUND, 0, "sandbox %s has expired",
			       sandbox->id);
	if (expires_us <= now_us || expires_us > now_us + SANDBOX_EXPIRY_MAX_US)
		return err_set(err, ERR_INVALID, 0,
			       "expiresAt: must be in the future and at most "
			       "ten years ahead");
	sandbox->expires_us = expires_us;
	set_deadline(sandbox, expires_us);
	/* Before anybody hears of it: it may be the last that we do. */
	if (sandbox->state == SANDBOX_RUNNING && open_init(sandbox, err) == 0)
		init_link_life(sandbox->init, is_kept(sandbox),
			       life_ms(sandbox), NULL, NULL);
	return 0;
}

void sandbox_set_metadata(struct sandbox *sandbox, struct strv *metadata)
{
	strv_deinit(&sandbox->spec.metadata);
	sandbox->spec.metadata = *metadata;
	memset(metadata, 0, sizeof(*metadata));
}

/* Whoever waits for a change to be written down. */
struct keeping {
	broker_answer_fn fn;
	void *ctx;
};

static void on_change_kept(void *ctx, int r)
{
	struct keeping *keeping auto_free = ctx;
	struct err err = ERR_NULL;

	if (r < 0)
		store_failed(&err, r);
	keeping->fn(keeping->ctx, r < 0 ? &err : NULL);
}

void sandbox_keep(struct sandbox *sandbox, broker_answer_fn fn, void *ctx)
{
	struct keeping *keeping auto_free = NULL;
	struct store_sandbox record;
	struct err err = ERR_NULL;

	if (!is_kept(sandbox)) {
		fn(ctx, NULL);
		return;
	}
	keep_record(sandbox, &record);
	keeping = calloc(1, sizeof(*keeping));
	if (!keeping) {
		(void)err_set(&err, ERR_INTERNAL, ENOMEM, "write it down");
		fn(ctx, &err);
		return;
	}
	*keeping = (struct keeping){ fn, ctx };
	if (store_put_sandbox(sandbox->all->store, &record, on_change_kept,
			      keeping, &err) < 0)
		fn(ctx, &err);
	else
		(void)take_ptr(keeping);
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
		release(sandbox);
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

static void fail_sandbox(struct sandbox *sandbox, const char *why)
{
	struct store_sandbox record;

	(void)snprintf(sandbox->message, sizeof(sandbox->message), "%s", why);
	set_state(sandbox, SANDBOX_FAILED);
	audit_by_itself(sandbox, "sandbox.end");
	if (!is_kept(sandbox))
		return;
	keep_record(sandbox, &record);
	/* If this is lost, the next osbd finds out again. */
	(void)store_put_sandbox(sandbox->all->store, &record, NULL, NULL, NULL);
}

void sandboxes_gone(struct sandboxes *all, const char *id)
{
	struct sandbox *sandbox = find_any(all, id);

	if (pools_gone(&all->pools, id))
		return;
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
	/* Or just being made, when that osbd died. */
	sandbox->made = sandbox->state != SANDBOX_PENDING;
	if (!sandbox->made)
		sandbox->state = SANDBOX_RUNNING;
	link_record(all, sandbox);
	/* Room or not, it is there; a record of what was takes none. */
	if (sandbox->state != SANDBOX_FAILED)
		(void)charge(sandbox);
	if (sandbox->state == SANDBOX_FAILED)
		all->num_live--;
	return 0;
}

static int load_key(void *ctx, const struct store_request *record)
{
	struct sandboxes *all = ctx;
	struct sandbox *sandbox = find_any(all, record->sandbox_id);

	if (sandbox && !sandbox->idem_key)
		sandbox->idem_key = strdup(record->key);
	return idem_add(&all->idem, record->domain, record->key, record->hash,
			record->sandbox_id, record->created_us);
}

int sandboxes_load(struct sandboxes *all, struct err *err)
{
	int r = 0;

	if (all->store)
		r = store_each_sandbox(all->store, load_one, all, err);
	if (r == 0 && all->store)
		r = store_each_request(all->store, load_key, all, err);
	return r < 0 ? r : commands_load(all, err);
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
		if (s->missing && !s->made) {
			free_key(s);
			forget(s);
			remove_record(s);
			continue;
		}
		if (s->missing && s->state == SANDBOX_RUNNING) {
			fail_sandbox(s,
				     "the sandbox ended while nobody looked");
			release(s);
		}
		s->missing = false;
		commands_take_up(s);
		sandbox_warm(s); /* what osbd's end has left in it ends */
		/* Last: what is due goes as soon as the loop turns. */
		expiry_set(&all->expiry, &s->deadline, s->expires_us);
	}
}

void sandbox_unkeep(struct sandbox *sandbox)
{
	struct err err = ERR_NULL;

	/* One that is going needs no link, which nobody would close. */
	if (!is_kept(sandbox) || !sandbox_visible(sandbox, NULL))
		return;
	forget(sandbox);
	sandbox->spec.ephemeral = true;
	/* Else the next osbd ends it, which won't know it. */
	if (open_init(sandbox, &err) == 0)
		init_link_life(sandbox->init, false, life_ms(sandbox), NULL,
			       NULL);
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
