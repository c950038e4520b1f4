/* SPDX-License-Identifier: Apache-2.0 */

/*
 * store - the queue, and the thread that empties it
 *
 * Theory of operation. A write becomes a struct op, a copy of all it needs.
 * The thread takes whatever waits, up to BATCH_MAX, makes one transaction of
 * it, and hands the ops back; an eventfd wakes the loop, which calls the
 * callbacks. So one write alone is committed at once, and many share a commit.
 * When a transaction fails, its ops are tried once more one by one: an op
 * fails for its own reasons only.
 *
 * Process:    osbd.
 * Threading:  the loop's thread owns all ops that it counts in num_ops, but
 *             for the two lists below `lock`. The connection and what hangs
 *             from it belong to the opener until the first write, then to the
 *             thread.
 * Limits:     STORE_OPS_MAX, STORE_BYTES_MAX.
 *
 * #syscalls  futex read write close mmap munmap mprotect madvise exit
 *            rt_sigprocmask clock_gettime sched_yield getrandom rseq
 *            set_robust_list sched_getattr sched_setattr
 *
 * The last two for the thread's start, which is behind the broker's filter.
 */

#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/latency.h"
#include "store/audit.h"
#include "store/db.h"
#include "store/queue.h"

#define LOCK_NAME "osbd.lock"
#define LOCK_WAIT_MS 3000 /* for one whose broker has died, to notice and end */
#define BATCH_MAX 1024 /* so that the first needn't wait for too many others */
/* Pages of 4 KiB in the log: then it is worked into the database when there is
   nothing else to do, or in any case. */
#define LOG_PAGES_IDLE 1000
#define LOG_PAGES_MAX 16000

struct op {
	struct op *next;
	bool joined; /* with the next: both or none */
	int r;
	store_done_fn fn;
	void *ctx;
	size_t size;
	enum stmt stmt;
	unsigned int num;
	struct value values[]; /* their bytes follow */
};

struct ops {
	struct op *first, **last;
};

struct store {
	const struct poller *poller;
	struct watch *watch;
	int event_fd;
	int lock_fd; /* one osbd at a time */
	/* The loop's. */
	size_t num_ops, num_bytes;
	bool written;
	bool grouping;
	struct ops group;
	/* Both threads', below the lock. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct ops queued, done;
	bool begun, stopping;
	/* The thread's. */
	pthread_t thread;
	bool has_thread;
	sqlite3 *sql;
	sqlite3_stmt *stmts[STMT_NUM];
	sqlite3_stmt *begin, *commit;
	struct audit audit;
	int log_pages;
	int log_pages_tried; /* as many when it was last tried */
};

static void ops_init(struct ops *ops)
{
	ops->first = NULL;
	ops->last = &ops->first;
}

static void ops_add(struct ops *ops, struct op *op)
{
	op->next = NULL;
	*ops->last = op;
	ops->last = &op->next;
}

/* Empties @from. */
static void ops_move(struct ops *ops, struct ops *from)
{
	if (!from->first)
		return;
	*ops->last = from->first;
	ops->last = from->last;
	ops_init(from);
}

/* Behind the last op that is joined with this one. */
static struct op *unit_end(struct op *op)
{
	while (op->joined)
		op = op->next;
	return op->next;
}

/* The thread: transactions. */

static int run(sqlite3 *sql, sqlite3_stmt *stmt)
{
	int r = db_errno(sql, sqlite3_step(stmt));

	(void)sqlite3_reset(stmt); /* repeats the error */
	return r;
}

static int bind_value(sqlite3_stmt *stmt, int at, const struct value *value)
{
	if (value->type == VALUE_INT)
		return sqlite3_bind_int64(stmt, at, value->number);
	if (value->type == VALUE_TEXT)
		return sqlite3_bind_text(stmt, at, value->data, (int)value->len,
					 SQLITE_STATIC);
	return sqlite3_bind_blob(stmt, at, value->data, (int)value->len,
				 SQLITE_STATIC);
}

static int append_audit(struct store *store, const struct op *op)
{
	const struct store_audit record = {
		.time_us = op->values[0].number,
		.domain = op->values[1].data,
		.request_id = op->values[2].data,
		.action = op->values[3].data,
		.object = op->values[4].data,
		.outcome = op->values[5].data,
		.detail = op->values[6].data,
	};

	return audit_append(&store->audit, store->sql, &record);
}

static int run_op(struct store *store, const struct op *op)
{
	sqlite3_stmt *stmt;

	if (op->stmt == STMT_AUDIT)
		return append_audit(store, op);
	stmt = store->stmts[op->stmt];
	for (unsigned int i = 0; i < op->num; i++)
		if (bind_value(stmt, (int)i + 1, &op->values[i]) != SQLITE_OK)
			return -ENOMEM;
	return run(store->sql, stmt);
}

static void set_results(struct op *op, const struct op *end, int r)
{
	for (; op != end; op = op->next)
		op->r = r;
}

/* A group, or one op. Fails only when the whole transaction has. */
static int run_unit(struct store *store, struct op *first, struct op *end)
{
	const struct audit_head head = store->audit.head;
	bool is_group = first->joined;
	int r = 0;

	if (is_group)
		r = db_run(store->sql, "SAVEPOINT unit");
	for (struct op *op = first; r == 0 && op != end; op = op->next)
		r = run_op(store, op);
	if (r < 0 && sqlite3_get_autocommit(store->sql))
		return r;
	if (r < 0)
		store->audit.head = head;
	set_results(first, end, r);
	if (!is_group)
		return 0; /* one statement undoes itself */
	if (r < 0) {
		r = db_run(store->sql, "ROLLBACK TO unit");
		if (r < 0)
			return r;
	}
	return db_run(store->sql, "RELEASE unit");
}

static int transact(struct store *store, struct op *first, struct op *end)
{
	struct op *next;
	int r = run(store->sql, store->begin);

	for (struct op *op = first; r == 0 && op != end; op = next) {
		next = unit_end(op);
		r = run_unit(store, op, next);
	}
	if (r == 0)
		r = audit_sign(&store->audit, store->sql);
	if (r == 0)
		r = run(store->sql, store->commit);
	if (r == 0) {
		store->audit.signed_head = store->audit.head;
		return 0;
	}
	/* Often SQLite has done so already. */
	(void)db_run(store->sql, "ROLLBACK");
	store->audit.head = store->audit.signed_head;
	set_results(first, end, r);
	return r;
}

static void commit_batch(struct store *store, struct op *first)
{
	struct op *next;

	if (transact(store, first, NULL) == 0 || !unit_end(first))
		return;
	for (struct op *op = first; op; op = next) {
		next = unit_end(op);
		(void)transact(store, op, next); /* kept in op->r */
	}
}

/* What waits, but no half of a group; NULL: nothing will come any more. */
static struct op *take_batch(struct store *store)
{
	struct op *first, **end;

	(void)pthread_mutex_lock(&store->lock);
	while (!store->queued.first && !store->stopping)
		(void)pthread_cond_wait(&store->wake, &store->lock);
	first = store->queued.first;
	end = &store->queued.first;
	for (unsigned int n = 0; *end && n < BATCH_MAX; n++) {
		while ((*end)->joined)
			end = &(*end)->next;
		end = &(*end)->next;
	}
	store->queued.first = *end;
	if (!*end)
		ops_init(&store->queued);
	else
		*end = NULL;
	(void)pthread_mutex_unlock(&store->lock);
	return first;
}

static void hand_back(struct store *store, struct op *first)
{
	struct ops batch = { .first = first };

	for (batch.last = &batch.first; *batch.last;)
		batch.last = &(*batch.last)->next;
	(void)pthread_mutex_lock(&store->lock);
	ops_move(&store->done, &batch);
	(void)pthread_mutex_unlock(&store->lock);
	(void)eventfd_write(store->event_fd, 1); /* full: it will be read */
}

static bool is_waiting(struct store *store)
{
	bool waiting;

	(void)pthread_mutex_lock(&store->lock);
	waiting = store->queued.first != NULL;
	(void)pthread_mutex_unlock(&store->lock);
	return waiting;
}

static int on_commit(void *ctx, sqlite3 *sql, const char *name, int pages)
{
	struct store *store = ctx;

	(void)sql;
	(void)name;
	store->log_pages = pages;
	return SQLITE_OK;
}

/* Works the log into the database; it waits for the disk. */
static void check_log(struct store *store)
{
	int since;

	if (store->log_pages < store->log_pages_tried)
		store->log_pages_tried = 0; /* it began anew */
	since = store->log_pages - store->log_pages_tried;
	if (since < LOG_PAGES_IDLE ||
	    (since < LOG_PAGES_MAX && is_waiting(store)))
		return;
	store->log_pages_tried = store->log_pages;
	/* A full disk, or a reader: the log grows on, and we try later. */
	(void)sqlite3_wal_checkpoint_v2(store->sql, NULL,
					SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

static void *thread_main(void *arg)
{
	struct store *store = arg;
	struct op *first;

	latency_prefer();
	(void)pthread_mutex_lock(&store->lock);
	store->begun = true;
	(void)pthread_cond_signal(&store->wake);
	(void)pthread_mutex_unlock(&store->lock);
	while ((first = take_batch(store))) {
		commit_batch(store, first);
		hand_back(store, first);
		check_log(store);
	}
	(void)sqlite3_wal_checkpoint_v2(store->sql, NULL,
					SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	return NULL;
}

/* The loop. */

static void finish(struct store *store)
{
	struct ops done;
	struct op *op;

	ops_init(&done);
	(void)pthread_mutex_lock(&store->lock);
	ops_move(&done, &store->done);
	(void)pthread_mutex_unlock(&store->lock);
	while ((op = done.first)) {
		done.first = op->next;
		store->num_ops--;
		store->num_bytes -= op->size;
		if (op->fn)
			op->fn(op->ctx, op->r);
		free(op);
	}
}

static void on_event(void *ctx, unsigned int events)
{
	struct store *store = ctx;
	eventfd_t count;

	(void)events;
	(void)eventfd_read(store->event_fd, &count); /* only to be woken */
	finish(store);
}

/* One block: the op, its values, and their bytes. */
static struct op *op_new(const struct write *write, size_t size)
{
	struct op *op = malloc(size);
	uint8_t *at;

	if (!op)
		return NULL;
	*op = (struct op){
		.fn = write->fn,
		.ctx = write->ctx,
		.size = size,
		.stmt = write->stmt,
		.num = write->num,
	};
	at = (uint8_t *)&op->values[op->num];
	for (unsigned int i = 0; i < op->num; i++) {
		struct value *value = &op->values[i];

		*value = write->values[i];
		if (value->type == VALUE_INT)
			continue;
		if (value->len)
			memcpy(at, value->data, value->len);
		at[value->len] = '\0';
		value->data = at;
		at += value->len + 1;
	}
	return op;
}

static void enqueue(struct store *store, struct ops *ops)
{
	(void)pthread_mutex_lock(&store->lock);
	ops_move(&store->queued, ops);
	(void)pthread_cond_signal(&store->wake);
	(void)pthread_mutex_unlock(&store->lock);
}

int queue_add(struct store *store, const struct write *write, struct err *err)
{
	size_t size = sizeof(struct op) + write->num * sizeof(struct value);
	struct ops ops;
	struct op *op;

	for (unsigned int i = 0; i < write->num; i++) {
		if (write->values[i].len > STORE_ITEM_MAX)
			return err_set(err, ERR_TOO_LARGE, 0,
				       "too large to be stored: at most %u "
				       "bytes",
				       STORE_ITEM_MAX);
		size += write->values[i].len + 1;
	}
	if (store->num_ops == STORE_OPS_MAX ||
	    size > STORE_BYTES_MAX - store->num_bytes)
		return err_set(err, ERR_UNAVAILABLE, 0,
			       "the disk is too slow: %zu changes wait to be "
			       "stored",
			       store->num_ops);
	op = op_new(write, size);
	if (!op)
		return err_set(err, ERR_UNAVAILABLE, ENOMEM, "store a change");
	store->written = true;
	store->num_ops++;
	store->num_bytes += size;
	if (store->grouping) {
		ops_add(&store->group, op);
		return 0;
	}
	ops_init(&ops);
	ops_add(&ops, op);
	enqueue(store, &ops);
	return 0;
}

void store_group_begin(struct store *store)
{
	assert(!store->grouping);
	store->grouping = true;
}

void store_group_end(struct store *store)
{
	assert(store->grouping);
	store->grouping = false;
	for (struct op *op = store->group.first; op; op = op->next)
		op->joined = op->next != NULL;
	if (store->group.first)
		enqueue(store, &store->group);
}

struct sqlite3 *queue_sql(struct store *store)
{
	assert(!store->written);
	return store->sql;
}

/* Start and end. */

static int64_t now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now); /* can't fail */
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int lock_directory(struct store *store, struct err *err)
{
	const struct timespec tick = { .tv_nsec = 10 * 1000 * 1000 };

	store->lock_fd = open(LOCK_NAME,
			      O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (store->lock_fd < 0)
		return err_set(err, ERR_INTERNAL, errno, "open %s", LOCK_NAME);
	for (unsigned int i = 0; i < LOCK_WAIT_MS / 10; i++) {
		if (flock(store->lock_fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK)
			break;
		(void)nanosleep(&tick, NULL);
	}
	if (errno == EWOULDBLOCK)
		return err_set(err, ERR_CONFLICT, 0,
			       "another osbd uses this state directory");
	return err_set(err, ERR_INTERNAL, errno, "lock %s", LOCK_NAME);
}

static int prepare(struct store *store, struct err *err)
{
	int r;

	r = db_prepare(store->sql, "BEGIN IMMEDIATE", &store->begin);
	if (r == 0)
		r = db_prepare(store->sql, "COMMIT", &store->commit);
	for (unsigned int i = 0; r == 0 && i < STMT_NUM; i++)
		r = db_prepare(store->sql, record_stmts[i], &store->stmts[i]);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, 0, "%s: %s", DB_NAME,
			       sqlite3_errmsg(store->sql));
	(void)sqlite3_wal_hook(store->sql, on_commit, store);
	return 0;
}

/*
 * Signals are the loop's business. What libc does before the thread's first
 * line needs calls that it doesn't need afterwards: so it is waited for, before
 * anybody loads a filter.
 */
static int start_thread(struct store *store)
{
	sigset_t all, old;
	int r;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&store->thread, NULL, thread_main, store);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	store->has_thread = r == 0;
	if (r != 0)
		return -r;
	(void)pthread_mutex_lock(&store->lock);
	while (!store->begun)
		(void)pthread_cond_wait(&store->wake, &store->lock);
	(void)pthread_mutex_unlock(&store->lock);
	return 0;
}

static int watch_thread(struct store *store, const struct poller *poller)
{
	store->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (store->event_fd < 0)
		return -errno;
	if (!poller)
		return 0;
	store->poller = poller;
	store->watch = poller->add(poller->loop, store->event_fd, POLLER_READ,
				   on_event, store);
	return store->watch ? 0 : -ENOMEM;
}

static struct store *store_new(void)
{
	struct store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->event_fd = -1;
	store->lock_fd = -1;
	ops_init(&store->group);
	ops_init(&store->queued);
	ops_init(&store->done);
	(void)pthread_mutex_init(&store->lock, NULL); /* can't fail */
	(void)pthread_cond_init(&store->wake, NULL);  /* the same */
	return store;
}

static void stop_thread(struct store *store)
{
	if (!store->has_thread)
		return;
	(void)pthread_mutex_lock(&store->lock);
	store->stopping = true;
	(void)pthread_cond_signal(&store->wake);
	(void)pthread_mutex_unlock(&store->lock);
	(void)pthread_join(store->thread, NULL);
	finish(store);
}

void store_close(struct store *store)
{
	if (!store)
		return;
	assert(!store->grouping);
	if (store->watch)
		store->poller->remove(store->watch);
	stop_thread(store);
	assert(store->num_ops == 0);
	audit_close(&store->audit);
	for (unsigned int i = 0; i < STMT_NUM; i++)
		db_stmt_free(store->stmts[i]);
	db_stmt_free(store->begin);
	db_stmt_free(store->commit);
	db_close(store->sql);
	close_fd(&store->event_fd);
	close_fd(&store->lock_fd);
	(void)pthread_cond_destroy(&store->wake);
	(void)pthread_mutex_destroy(&store->lock);
	free(store);
}
DEFINE_AUTO(struct store *, store_close);

int store_open(int dir_fd, const struct poller *poller,
	       struct store **ret_store, struct err *err)
{
	struct store *store auto_clean(store_closep) = store_new();
	int r;

	if (!store)
		return err_set(err, ERR_INTERNAL, ENOMEM, "open the store");
	if (fchdir(dir_fd) < 0)
		return err_set(err, ERR_INTERNAL, errno,
			       "enter the state directory");
	r = lock_directory(store, err);
	if (r == 0)
		r = db_open(&db_schema, &store->sql, err);
	if (r == 0)
		r = audit_open(&store->audit, store->sql, now_us(), err);
	if (r == 0)
		r = prepare(store, err);
	if (r < 0)
		return r;
	r = watch_thread(store, poller);
	if (r == 0)
		r = start_thread(store);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "start its thread");
	*ret_store = take_ptr(store);
	return 0;
}
