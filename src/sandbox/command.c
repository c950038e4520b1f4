/* SPDX-License-Identifier: Apache-2.0 */

/*
 * command - from asking init to forgetting about it
 *
 * Theory of operation. Init and the store are asked at once; a client hears
 * that its command began when both have agreed, so what it knows of is
 * written down. How it ended is written down before anybody hears of it, and
 * before init is told to forget it: init keeps it until then, whoever dies.
 *
 * A program that runs although nobody could have heard of it (osbd died while
 * it asked) isn't in the store; the next osbd has it killed (init_link.c).
 *
 * Ownership:  the sandbox's list owns one reference, a command on its way to
 *             the store another.
 */

#include "sandbox/command.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "sandbox/exec_log.h"
#include "sandbox/id.h"
#include "sandbox/sandbox.h"
#include "store/store.h"

#define TERM_GRACE_MS 3000
#define OVERDUE_MS 3000

static uint64_t monotonic_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* can't fail: valid clock */
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

struct command *command_ref(struct command *command)
{
	command->refs++;
	return command;
}

void command_unref(struct command *command)
{
	if (!command || --command->refs)
		return;
	free(command->text);
	free(command->result.left);
	free(command);
}
DEFINE_AUTO(struct command *, command_unref);

bool command_running(const struct command *command)
{
	return command->state != COMMAND_ENDED;
}

static struct store *store_of(const struct command *command)
{
	const struct sandbox *sandbox = command->sandbox;

	return sandbox && !sandbox->spec.ephemeral ? sandbox->all->store : NULL;
}

/* How many there are names of. */
static size_t named(const struct command_result *result)
{
	if (!result->left)
		return 0;
	return result->num_left < INIT_LEFT_MAX ? result->num_left
						: INIT_LEFT_MAX;
}

static void make_record(const struct command *command,
			struct store_exec *ret_record)
{
	const struct command_result *result = &command->result;

	*ret_record = (struct store_exec){
		.command = command->text,
		.number = command->number,
		.uid = command->uid,
		.background = command->background,
		.merged = command->background,
		.truncated = result->truncated,
		.started_us = command->started_us,
		.finished_us = command->finished_us,
		.verdict = result->verdict,
		.exit_code = result->exit_code,
		.signal = result->signal,
		.limits_hit = result->limits_hit,
		.log_bytes = command->log_bytes,
		.wall_us = result->wall_us,
		.cpu_us = result->cpu_us,
		.peak_memory_bytes = result->peak_memory_bytes,
		.peak_pids = result->peak_pids,
		.num_left = result->num_left,
		.left = { result->left, named(result) * sizeof(*result->left) },
	};
	memcpy(ret_record->id, command->id, sizeof(command->id));
	memcpy(ret_record->sandbox_id, command->sandbox->id,
	       sizeof(ret_record->sandbox_id));
}

/* Into the list of its sandbox, which takes the caller's reference. */
static void link_command(struct sandbox *sandbox, struct command *command)
{
	command->sandbox = sandbox;
	command->next = sandbox->commands;
	sandbox->commands = command;
}

/* Out of the list, with its log; the list's reference is the caller's. */
static void unlink_command(struct command *command)
{
	struct sandbox *sandbox = command->sandbox;
	struct command **at = &sandbox->commands;

	while (*at != command)
		at = &(*at)->next;
	*at = command->next;
	exec_log_remove(sandbox->all->logs_fd, sandbox->id, command->id);
	command->sandbox = NULL;
}

void command_forget(struct command *command)
{
	struct store *store = store_of(command);

	assert(command->state == COMMAND_ENDED);
	/* If this is lost, the next osbd does it again. */
	if (store)
		(void)store_delete_exec(store, command->id, NULL, NULL, NULL);
	unlink_command(command);
	command_unref(command);
}

/* The oldest that ended go when there are too many. */
static void prune(struct sandbox *sandbox)
{
	struct command *next;
	unsigned int num = 0;
	uint64_t logs = 0;
	size_t texts = 0;

	for (struct command *c = sandbox->commands; c; c = next) {
		next = c->next;
		if (c->state != COMMAND_ENDED)
			continue;
		texts += strlen(c->text);
		logs += c->log_bytes;
		/* The last one in any case: somebody may just ask for it. */
		if (++num > 1 &&
		    (num > COMMANDS_KEPT_MAX || texts > COMMANDS_TEXTS_MAX ||
		     logs > COMMANDS_LOGS_MAX))
			command_forget(c);
	}
}

static void tell_watches(struct command *command)
{
	struct command_watch *next;

	for (struct command_watch *w = command->watches; w; w = next) {
		next = w->next; /* it may go */
		w->fn(w->ctx);
	}
}

void command_watch(struct command *command, struct command_watch *watch)
{
	watch->next = command->watches;
	command->watches = watch;
}

void command_unwatch(struct command *command, struct command_watch *watch)
{
	struct command_watch **at = &command->watches;

	while (*at && *at != watch)
		at = &(*at)->next;
	if (*at)
		*at = watch->next;
}

/* --- its log --- */

int command_open_log(struct command *command, struct exec_log *ret_log)
{
	const struct sandbox *sandbox = command->sandbox;
	int r;

	if (command->log_users == 0) {
		if (!sandbox)
			return -ENOENT;
		r = exec_log_open(sandbox->all->logs_fd, sandbox->id,
				  command->id, ret_log);
		if (r < 0)
			return r;
		command->log_fd = ret_log->fd;
		command->log_index_fd = ret_log->index_fd;
	}
	command->log_users++;
	*ret_log = (struct exec_log){
		.fd = command->log_fd,
		.index_fd = command->log_index_fd,
	};
	return 0;
}

void command_close_log(struct command *command)
{
	struct exec_log log = {
		.fd = command->log_fd,
		.index_fd = command->log_index_fd,
	};

	assert(command->log_users > 0);
	if (--command->log_users == 0)
		exec_log_close(&log);
}

/* --- its end --- */

static void on_end_kept(void *ctx, int r)
{
	struct command *command auto_clean(command_unrefp) = ctx;
	struct sandbox *sandbox = command->sandbox;

	(void)r; /* not written down: init keeps it, the next osbd asks it */
	command->state = COMMAND_ENDED;
	if (r == 0 && sandbox && sandbox->init)
		init_link_ack(sandbox->init, command->number);
	tell_watches(command);
	if (sandbox)
		prune(sandbox);
}

static void count(const struct command *command)
{
	const struct sandbox *sandbox = command->sandbox;
	struct store_usage usage = {
		.execs_started = 1,
		.cpu_us = command->result.cpu_us,
		.last_used_us = command->finished_us,
	};

	memcpy(usage.domain, sandbox->domain, sizeof(usage.domain));
	usage.output_bytes = command->log_bytes;
	sandbox->all->commands_output += usage.output_bytes;
	(void)store_add_usage(sandbox->all->store, &usage, NULL, NULL, NULL);
}

static void end_command(struct command *command,
			const struct command_result *result)
{
	struct store *store = store_of(command);
	struct store_exec record;

	command->exec = NULL;
	command->result = *result;
	command->finished_us = expiry_now_us();
	command->state = COMMAND_ENDING;
	command_ref(command); /* until on_end_kept() */
	if (command->sandbox)
		command->log_bytes =
			exec_log_length(command->sandbox->all->logs_fd,
					command->sandbox->id, command->id);
	if (store) {
		make_record(command, &record);
		count(command);
	}
	if (!store ||
	    store_put_exec(store, &record, on_end_kept, command, NULL) < 0)
		on_end_kept(command, store ? -ENOSPC : 0);
}

static void end_lost(struct command *command, const struct sandbox *sandbox)
{
	struct command_result result = {
		.verdict = sandbox_end_verdict(sandbox),
		.exit_code = -1,
	};

	if (result.verdict != VERDICT_LOST)
		result.signal = SIGKILL;
	result.wall_us = (uint64_t)(expiry_now_us() - command->started_us);
	end_command(command, &result);
}

/* --- its start --- */

static void end_start(struct command *command)
{
	const struct command_ops *ops = take_ptr(command->ops);
	struct err err = command->wait_err;

	if (err.kind) {
		if (command->exec)
			command_kill(command);
		ops->refused(command->ctx, &err);
		return;
	}
	if (command->state == COMMAND_STARTING)
		command->state = COMMAND_RUNNING;
	if (command->sandbox)
		command->sandbox->all->commands_started++;
	ops->started(command->ctx);
}

static void waited(struct command *command, const struct err *err)
{
	if (err && !command->wait_err.kind)
		command->wait_err = *err;
	assert(command->waits > 0);
	if (--command->waits == 0 && command->ops)
		end_start(command);
}

static void on_start_kept(void *ctx, int r)
{
	struct command *command auto_clean(command_unrefp) = ctx;
	struct err err = ERR_NULL;

	if (r < 0)
		(void)err_set(&err, ERR_UNAVAILABLE, -r,
			      "write the command down");
	if (command->waits > 0)
		waited(command, r < 0 ? &err : NULL);
}

static void on_started(void *ctx, int32_t pid)
{
	struct command *command = ctx;

	(void)pid;
	/* One of an earlier osbd has begun long ago. */
	if (command->waits > 0)
		waited(command, NULL);
}

/* It leaves nothing behind. */
static void drop(struct command *command)
{
	struct store *store = store_of(command);

	if (store)
		(void)store_delete_exec(store, command->id, NULL, NULL, NULL);
	command->state = COMMAND_ENDED;
	command->waits = 0;
	if (command->sandbox) {
		unlink_command(command);
		command_unref(command);
	}
}

static void on_failed(void *ctx, enum init_stage stage, int sys)
{
	struct command *command auto_clean(command_unrefp) = command_ref(ctx);
	const struct command_ops *ops = take_ptr(command->ops);

	command->exec = NULL;
	drop(command);
	if (ops)
		ops->failed(command->ctx, stage, sys);
}

/* Not even begun, as far as anybody knows. */
static void refuse_start(struct command *command)
{
	const struct command_ops *ops = take_ptr(command->ops);
	struct err err = ERR_NULL;

	(void)err_set(&err, ERR_UNAVAILABLE, 0,
		      "the sandbox ended before the command began");
	command->exec = NULL;
	drop(command);
	ops->refused(command->ctx, &err);
}

/* NULL: none, or no memory, and then their names are all that is missing. */
static struct init_left *copy_left(const void *left, size_t num)
{
	struct init_left *copy = num ? calloc(num, sizeof(*copy)) : NULL;

	if (copy)
		memcpy(copy, left, num * sizeof(*copy));
	return copy;
}

static void on_exited(void *ctx, const struct init_exited *exited)
{
	struct command *command auto_clean(command_unrefp) = command_ref(ctx);
	struct command_result result = {
		.verdict = exited->verdict,
		.exit_code = exited->exit_code,
		.signal = exited->signal,
		.limits_hit = exited->limits_hit,
		.truncated = exited->truncated,
		.wall_us = exited->wall_us,
		.cpu_us = exited->cpu_us,
		.peak_memory_bytes = exited->peak_memory_bytes,
		.peak_pids = exited->peak_pids,
		.num_left = exited->num_left,
		.left = copy_left(exited->left, exited->num_left),
	};

	/* It may be over before the store has answered. */
	end_command(command, &result);
}

static void on_lost(void *ctx)
{
	struct command *command auto_clean(command_unrefp) = command_ref(ctx);

	if (command->ops)
		refuse_start(command);
	else
		end_lost(command, command->sandbox);
}

static void on_grew(void *ctx)
{
	struct command *command auto_clean(command_unrefp) = command_ref(ctx);

	if (command->state == COMMAND_RUNNING)
		tell_watches(command);
}

static const struct exec_ops exec_ops = {
	.started = on_started,
	.failed = on_failed,
	.exited = on_exited,
	.lost = on_lost,
	.grew = on_grew,
};

static struct command *command_new(const struct command_spec *spec)
{
	struct command *command = calloc(1, sizeof(*command));

	if (!command)
		return NULL;
	command->refs = 1;
	command->text = strdup(spec->text);
	if (!command->text || id_new(command->id) < 0) {
		command_unref(command);
		return NULL;
	}
	command->background = spec->background;
	command->uid = spec->uid;
	command->started_us = expiry_now_us();
	command->wall_ms = spec->wall_ms;
	if (spec->wall_ms)
		command->overdue_ms =
			monotonic_ms() + spec->wall_ms + OVERDUE_MS;
	return command;
}

static void keep_start(struct command *command)
{
	struct store *store = store_of(command);
	struct err err = ERR_NULL;
	struct store_exec record;

	command->waits = 1;
	if (!store)
		return;
	command->waits = 2;
	make_record(command, &record);
	command_ref(command); /* until on_start_kept() */
	if (store_put_exec(store, &record, on_start_kept, command, &err) < 0) {
		command_unref(command);
		waited(command, &err); /* init answers later */
	}
}

static int ask_init(struct command *command, const struct command_spec *spec,
		    const int fds[static 2], struct err *err)
{
	static const uint32_t policies[] = {
		[OUTPUT_TRUNCATE] = 0,
		[OUTPUT_KILL] = INIT_EXEC_LOG_KILL,
		[OUTPUT_WAIT] = INIT_EXEC_LOG_WAIT,
	};
	const struct exec_limits *limits = &spec->limits;
	uint64_t output_max = limits->output_max;
	struct exec_spec exec = {
		.flags = INIT_EXEC_LOG |
			 (spec->background ? 0 : INIT_EXEC_INDEX) |
			 policies[limits->output_policy],
		.uid = spec->uid,
		.gid = spec->gid,
		.wall_ms = spec->wall_ms,
		.cwd = spec->cwd,
		.argv = spec->argv,
		.env = spec->env,
		.log_max = output_max && output_max < COMMAND_LOG_MAX
				   ? output_max
				   : COMMAND_LOG_MAX,
		.cpu_ms = limits->cpu_ms,
		.pids_max = limits->pids,
		.fds = { fds[0], fds[1] },
		.num_fds = spec->background ? 1 : 2,
	};

	return sandbox_exec(command->sandbox, &exec, &exec_ops, command,
			    &command->exec, err);
}

int command_start(struct sandbox *sandbox, const struct command_spec *spec,
		  const struct command_ops *ops, void *ctx,
		  struct command **ret_command, struct err *err)
{
	struct command *command = command_new(spec);
	int fds[2] = { -1, -1 };
	int r;

	if (!command)
		return err_set(err, ERR_INTERNAL, ENOMEM, "start a command");
	r = exec_log_make(sandbox->all->logs_fd, sandbox->id, command->id,
			  !spec->background, fds);
	if (r < 0) {
		command_unref(command);
		return err_set(err, ERR_UNAVAILABLE, -r,
			       "make a log in the state directory");
	}
	command->ops = ops;
	command->ctx = ctx;
	link_command(sandbox, command);
	r = ask_init(command, spec, fds, err);
	close_fd(&fds[0]);
	close_fd(&fds[1]);
	if (r < 0) {
		unlink_command(command);
		command_unref(command);
		return r;
	}
	command->number = exec_id(command->exec);
	keep_start(command);
	*ret_command = command;
	return 0;
}

struct command *command_find(const struct sandbox *sandbox, const char *in_id)
{
	for (struct command *c = sandbox->commands; c; c = c->next) {
		if (c->state != COMMAND_STARTING && strcmp(c->id, in_id) == 0)
			return c;
	}
	return NULL;
}

void command_interrupt(struct command *command)
{
	if (!command->exec)
		return;
	exec_kill(command->exec, INIT_KILL_TERM_TREE, SIGTERM);
	command->kill_at_ms = monotonic_ms() + TERM_GRACE_MS;
}

void command_kill(struct command *command)
{
	if (command->exec)
		exec_kill(command->exec, INIT_KILL_TREE, SIGKILL);
}

/* --- after a restart --- */

/* As they were written; what can't be is none. */
static void load_left(struct command_result *result,
		      const struct store_bytes *bytes)
{
	size_t num = bytes->len / sizeof(*result->left);

	if (num > INIT_LEFT_MAX)
		num = INIT_LEFT_MAX;
	result->left = copy_left(bytes->data, num);
	if (!result->left || num < named(result))
		result->num_left = 0;
	for (size_t i = 0; i < named(result); i++)
		result->left[i].comm[INIT_COMM_LEN - 1] = '\0';
}

static int load_one(void *ctx, const struct store_exec *record)
{
	struct sandboxes *all = ctx;
	struct sandbox *sandbox = sandboxes_find(all, record->sandbox_id, NULL);
	struct command *command;

	if (!sandbox)
		return 0; /* it is just going, and its record with it */
	command = calloc(1, sizeof(*command));
	if (!command)
		return -ENOMEM;
	command->refs = 1;
	command->text = strdup(record->command);
	if (!command->text) {
		command_unref(command);
		return -ENOMEM;
	}
	memcpy(command->id, record->id, sizeof(command->id));
	command->background = record->background;
	command->uid = record->uid;
	command->number = record->number;
	command->started_us = record->started_us;
	command->finished_us = record->finished_us;
	command->log_bytes = record->log_bytes;
	command->state = record->finished_us ? COMMAND_ENDED : COMMAND_RUNNING;
	command->result = (struct command_result){
		.verdict = record->verdict,
		.exit_code = record->exit_code,
		.signal = record->signal,
		.limits_hit = record->limits_hit,
		.truncated = record->truncated,
		.wall_us = record->wall_us,
		.cpu_us = record->cpu_us,
		.peak_memory_bytes = record->peak_memory_bytes,
		.peak_pids = record->peak_pids,
		.num_left = record->num_left,
	};
	load_left(&command->result, &record->left);
	link_command(sandbox, command);
	return 0;
}

static bool is_there(void *ctx, const char *name)
{
	return sandboxes_find(ctx, name, NULL) != NULL;
}

int commands_load(struct sandboxes *all, struct err *err)
{
	int r = all->store ? store_each_exec(all->store, load_one, all, err)
			   : 0;

	if (r == 0)
		exec_log_sweep(all->logs_fd, is_there, all);
	return r;
}

void commands_take_up(struct sandbox *sandbox)
{
	struct command *next;

	for (struct command *c = sandbox->commands; c; c = next) {
		next = c->next;
		if (c->state != COMMAND_RUNNING || c->exec)
			continue;
		if (sandbox->state != SANDBOX_RUNNING ||
		    sandbox_attach(sandbox, c->number, &exec_ops, c, &c->exec) <
			    0)
			end_lost(c, sandbox);
	}
}

void commands_drop(struct sandbox *sandbox)
{
	while (sandbox->commands) {
		struct command *command auto_clean(command_unrefp) =
			sandbox->commands;

		sandbox->commands = command->next;
		command->sandbox = NULL;
		if (command->ops)
			refuse_start(command);
		else if (command->state == COMMAND_RUNNING)
			end_lost(command, sandbox);
	}
	exec_log_remove_all(sandbox->all->logs_fd, sandbox->id);
}

unsigned int commands_count(const struct sandboxes *all)
{
	unsigned int num = 0;

	for (const struct sandbox *s = all->newest; s; s = s->older) {
		for (const struct command *c = s->commands; c; c = c->next)
			num += c->exec != NULL;
	}
	return num;
}

void commands_tick(struct sandboxes *all, uint64_t now_ms)
{
	struct sandbox *next;

	for (struct sandbox *s = all->newest; s; s = next) {
		bool overdue = false;

		next = s->older;
		for (struct command *c = s->commands; c; c = c->next) {
			if (!c->exec)
				continue;
			overdue = overdue ||
				  (c->overdue_ms && now_ms >= c->overdue_ms);
			if (c->kill_at_ms && now_ms >= c->kill_at_ms) {
				c->kill_at_ms = 0;
				command_kill(c);
			}
		}
		/* Its init can't be trusted any more. */
		if (overdue && s->state == SANDBOX_RUNNING)
			sandbox_destroy(s, NULL, NULL);
	}
}
