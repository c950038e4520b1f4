/* SPDX-License-Identifier: Apache-2.0 */

/*
 * record - the records, to and from the columns of their tables
 *
 * Columns are named once per table, in the order in which they are read and
 * written here. A row that doesn't fit into its struct was not written by us:
 * loading fails.
 */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/db.h"
#include "store/queue.h"
#include "store/store.h"

#define SANDBOX_COLUMNS                                             \
	"id, domain, image, message, state, ephemeral, created_us," \
	" changed_us, expires_us, memory_bytes, disk_bytes,"        \
	" shm_bytes, inodes, cpu_milli, pids, nofile,"              \
	" guarantee_bytes, profile, flags, exec_wall_ms,"           \
	" exec_cpu_ms, exec_output_max, exec_output_policy, env, metadata, entrypoint"
#define EXEC_COLUMNS                                                \
	"id, sandbox_id, command, number, uid, background, merged," \
	" truncated, started_us, finished_us, verdict, exit_code,"  \
	" signal, limits_hit, log_bytes, wall_us, cpu_us,"          \
	" peak_memory_bytes, peak_pids, num_left, left_running"
#define REQUEST_COLUMNS "domain, key, hash, sandbox_id, created_us"
#define USAGE_COLUMNS                                        \
	"domain, requests, sandboxes_created, execs_started" \
	", cpu_us, output_bytes, last_used_us"

/* A sum beyond the largest integer would become a float. */
#define ADD(column) \
	column " = min(" column " + excluded." column ", 9223372036854775807)"

const char *const record_stmts[STMT_NUM] = {
	/* Not REPLACE, which would delete the row, and its execs with it. */
	[STMT_PUT_SANDBOX] =
		"INSERT INTO sandboxes (" SANDBOX_COLUMNS ") VALUES"
		" (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
		" ON CONFLICT (id) DO UPDATE SET (" SANDBOX_COLUMNS ") ="
		" (excluded.id, excluded.domain, excluded.image,"
		"  excluded.message, excluded.state, excluded.ephemeral,"
		"  excluded.created_us, excluded.changed_us,"
		"  excluded.expires_us, excluded.memory_bytes,"
		"  excluded.disk_bytes, excluded.shm_bytes, excluded.inodes,"
		"  excluded.cpu_milli, excluded.pids, excluded.nofile,"
		"  excluded.guarantee_bytes, excluded.profile,"
		"  excluded.flags, excluded.exec_wall_ms,"
		"  excluded.exec_cpu_ms,"
		"  excluded.exec_output_max, excluded.exec_output_policy,"
		"  excluded.env, excluded.metadata,"
		"  excluded.entrypoint)",
	[STMT_DELETE_SANDBOX] = "DELETE FROM sandboxes WHERE id = ?",
	[STMT_PUT_EXEC] =
		"INSERT OR REPLACE INTO execs (" EXEC_COLUMNS
		") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[STMT_DELETE_EXEC] = "DELETE FROM execs WHERE id = ?",
	[STMT_PUT_REQUEST] = "INSERT OR REPLACE INTO requests (" REQUEST_COLUMNS
			     ") VALUES (?,?,?,?,?)",
	[STMT_DELETE_REQUEST] =
		"DELETE FROM requests WHERE domain = ? AND key = ?",
	[STMT_PRUNE_REQUESTS] = "DELETE FROM requests WHERE created_us < ?",
	[STMT_ADD_USAGE] =
		"INSERT INTO usage (" USAGE_COLUMNS ") VALUES (?,?,?,?,?,?,?)"
		" ON CONFLICT (domain) DO UPDATE SET " ADD("requests") "," ADD("sandboxes_created") "," ADD(
			"execs_started") "," ADD("cpu_us") "," ADD("output_bytes") ", last_used_us ="
										   " max(last_used_us, excluded.last_used_us)",
};

static struct value from_int(int64_t number)
{
	return (struct value){ .type = VALUE_INT, .number = number };
}

static struct value from_u64(uint64_t number)
{
	return from_int(number > INT64_MAX ? INT64_MAX : (int64_t)number);
}

static struct value from_text(const char *text)
{
	return (struct value){
		.type = VALUE_TEXT,
		.data = text ? text : "",
		.len = text ? strlen(text) : 0,
	};
}

static struct value from_bytes(const void *data, size_t len)
{
	return (struct value){ .type = VALUE_BYTES, .data = data, .len = len };
}

static struct value from_list(const struct store_bytes *bytes)
{
	return from_bytes(bytes->data, bytes->len);
}

int store_put_sandbox(struct store *store, const struct store_sandbox *sandbox,
		      store_done_fn fn, void *ctx, struct err *err)
{
	const struct limits *limits = &sandbox->limits;
	const struct value values[] = {
		from_text(sandbox->id),
		from_text(sandbox->domain),
		from_text(sandbox->image),
		from_text(sandbox->message),
		from_int(sandbox->state),
		from_int(sandbox->ephemeral),
		from_int(sandbox->created_us),
		from_int(sandbox->changed_us),
		from_int(sandbox->expires_us),
		from_u64(limits->memory_bytes),
		from_u64(limits->disk_bytes),
		from_u64(limits->shm_bytes),
		from_int(limits->inodes),
		from_int(limits->cpu_milli),
		from_int(limits->pids),
		from_int(limits->nofile),
		from_u64(sandbox->guarantee_bytes),
		from_text(sandbox->profile),
		from_int(sandbox->flags),
		from_u64(sandbox->exec_wall_ms),
		from_u64(sandbox->exec_cpu_ms),
		from_u64(sandbox->exec_output_max),
		from_int(sandbox->exec_output_policy),
		from_list(&sandbox->env),
		from_list(&sandbox->metadata),
		from_list(&sandbox->entrypoint),
	};
	const struct write write = {
		STMT_PUT_SANDBOX, values, ARRAY_SIZE(values), fn, ctx,
	};

	return queue_add(store, &write, err);
}

int store_put_exec(struct store *store, const struct store_exec *exec,
		   store_done_fn fn, void *ctx, struct err *err)
{
	const struct value values[] = {
		from_text(exec->id),        from_text(exec->sandbox_id),
		from_text(exec->command),   from_int(exec->number),
		from_int(exec->uid),        from_int(exec->background),
		from_int(exec->merged),     from_int(exec->truncated),
		from_int(exec->started_us), from_int(exec->finished_us),
		from_int(exec->verdict),    from_int(exec->exit_code),
		from_int(exec->signal),     from_int(exec->limits_hit),
		from_u64(exec->log_bytes),  from_u64(exec->wall_us),
		from_u64(exec->cpu_us),     from_u64(exec->peak_memory_bytes),
		from_int(exec->peak_pids),  from_int(exec->num_left),
		from_list(&exec->left),
	};
	const struct write write = {
		STMT_PUT_EXEC, values, ARRAY_SIZE(values), fn, ctx,
	};

	return queue_add(store, &write, err);
}

static int delete_by_id(struct store *store, enum stmt stmt, const char *id,
			store_done_fn fn, void *ctx, struct err *err)
{
	const struct value value = from_text(id);
	const struct write write = { stmt, &value, 1, fn, ctx };

	return queue_add(store, &write, err);
}

int store_delete_sandbox(struct store *store, const char *id, store_done_fn fn,
			 void *ctx, struct err *err)
{
	return delete_by_id(store, STMT_DELETE_SANDBOX, id, fn, ctx, err);
}

int store_delete_exec(struct store *store, const char *id, store_done_fn fn,
		      void *ctx, struct err *err)
{
	return delete_by_id(store, STMT_DELETE_EXEC, id, fn, ctx, err);
}

int store_put_request(struct store *store, const struct store_request *request,
		      store_done_fn fn, void *ctx, struct err *err)
{
	const struct value values[] = {
		from_text(request->domain),
		from_text(request->key),
		from_bytes(request->hash, sizeof(request->hash)),
		from_text(request->sandbox_id),
		from_int(request->created_us),
	};
	const struct write write = {
		STMT_PUT_REQUEST, values, ARRAY_SIZE(values), fn, ctx,
	};

	return queue_add(store, &write, err);
}

int store_delete_request(struct store *store, const char *domain,
			 const char *key, store_done_fn fn, void *ctx,
			 struct err *err)
{
	const struct value values[] = { from_text(domain), from_text(key) };
	const struct write write = {
		STMT_DELETE_REQUEST, values, ARRAY_SIZE(values), fn, ctx,
	};

	return queue_add(store, &write, err);
}

int store_prune_requests(struct store *store, int64_t before_us,
			 store_done_fn fn, void *ctx, struct err *err)
{
	const struct value value = from_int(before_us);
	const struct write write = { STMT_PRUNE_REQUESTS, &value, 1, fn, ctx };

	return queue_add(store, &write, err);
}

int store_add_usage(struct store *store, const struct store_usage *delta,
		    store_done_fn fn, void *ctx, struct err *err)
{
	const struct value values[] = {
		from_text(delta->domain),
		from_u64(delta->requests),
		from_u64(delta->sandboxes_created),
		from_u64(delta->execs_started),
		from_u64(delta->cpu_us),
		from_u64(delta->output_bytes),
		from_int(delta->last_used_us),
	};
	const struct write write = {
		STMT_ADD_USAGE, values, ARRAY_SIZE(values), fn, ctx,
	};

	return queue_add(store, &write, err);
}

/* Not in the middle of a character. */
static struct value from_long_text(const char *text)
{
	struct value value = from_text(text);
	const char *data = value.data;

	if (value.len <= STORE_AUDIT_MAX)
		return value;
	value.len = STORE_AUDIT_MAX;
	while (value.len > STORE_AUDIT_MAX - 3 &&
	       ((unsigned char)data[value.len] & 0xc0) == 0x80)
		value.len--;
	return value;
}

int store_audit(struct store *store, const struct store_audit *audit,
		store_done_fn fn, void *ctx, struct err *err)
{
	const struct value values[] = {
		from_int(audit->time_us),
		from_long_text(audit->domain),
		from_long_text(audit->request_id),
		from_long_text(audit->action),
		from_long_text(audit->object),
		from_long_text(audit->outcome),
		from_long_text(audit->detail),
	};
	const struct write write = {
		STMT_AUDIT, values, ARRAY_SIZE(values), fn, ctx,
	};

	assert(!audit->action || strncmp(audit->action, "audit.", 6) != 0);
	return queue_add(store, &write, err);
}

/* Loading: one function per table reads a row and passes it on. */

union record_fn {
	store_sandbox_fn sandbox;
	store_exec_fn exec;
	store_request_fn request;
	store_usage_fn usage;
};

struct loading {
	const char *text;
	/* Returns what the caller's function does, if the row isn't bad. */
	int (*pass)(const struct loading *loading, struct row *row);
	union record_fn fn;
	void *ctx;
};

static int load(struct store *store, const struct loading *loading,
		struct err *err)
{
	sqlite3 *sql = queue_sql(store);
	sqlite3_stmt *stmt auto_clean(db_stmt_freep) = NULL;
	int rc, r;

	r = db_prepare(sql, loading->text, &stmt);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "%s: load", DB_NAME);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct row row = { .stmt = stmt };

		r = loading->pass(loading, &row);
		if (row.bad)
			return err_set(
				err, ERR_INTERNAL, EUCLEAN,
				"%s: record '%.64s' makes no sense", DB_NAME,
				sqlite3_column_text(stmt, 0)
					? (const char *)
						  sqlite3_column_text(stmt, 0)
					: "");
		if (r < 0)
			return r;
	}
	if (rc != SQLITE_DONE) {
		r = db_errno(sql, rc);
		return err_set(err, ERR_INTERNAL, -r, "%s: load", DB_NAME);
	}
	return 0;
}

/* Strings that don't end with a NUL would run into what follows them. */
static void read_list(struct row *row, struct store_bytes *ret_bytes)
{
	const char *data;

	ret_bytes->data = row_bytes(row, &ret_bytes->len);
	data = ret_bytes->data;
	if (ret_bytes->len && data[ret_bytes->len - 1] != '\0')
		row->bad = true;
}

static int pass_sandbox(const struct loading *loading, struct row *row)
{
	struct store_sandbox sandbox = { .state = 0 };
	struct limits *limits = &sandbox.limits;

	row_text(row, sandbox.id, sizeof(sandbox.id));
	row_text(row, sandbox.domain, sizeof(sandbox.domain));
	row_text(row, sandbox.image, sizeof(sandbox.image));
	row_text(row, sandbox.message, sizeof(sandbox.message));
	sandbox.state = row_u32(row);
	sandbox.ephemeral = row_u32(row) != 0;
	sandbox.created_us = row_i64(row);
	sandbox.changed_us = row_i64(row);
	sandbox.expires_us = row_i64(row);
	limits->memory_bytes = row_u64(row);
	limits->disk_bytes = row_u64(row);
	limits->shm_bytes = row_u64(row);
	limits->inodes = row_u32(row);
	limits->cpu_milli = row_u32(row);
	limits->pids = row_u32(row);
	limits->nofile = row_u32(row);
	sandbox.guarantee_bytes = row_u64(row);
	row_text(row, sandbox.profile, sizeof(sandbox.profile));
	sandbox.flags = row_u32(row);
	sandbox.exec_wall_ms = row_u64(row);
	sandbox.exec_cpu_ms = row_u64(row);
	sandbox.exec_output_max = row_u64(row);
	sandbox.exec_output_policy = row_u32(row);
	read_list(row, &sandbox.env);
	read_list(row, &sandbox.metadata);
	read_list(row, &sandbox.entrypoint);
	return row->bad ? 0 : loading->fn.sandbox(loading->ctx, &sandbox);
}

static int pass_exec(const struct loading *loading, struct row *row)
{
	struct store_exec exec = { .number = 0 };

	row_text(row, exec.id, sizeof(exec.id));
	row_text(row, exec.sandbox_id, sizeof(exec.sandbox_id));
	exec.command = row_str(row);
	exec.number = row_u32(row);
	exec.uid = row_u32(row);
	exec.background = row_u32(row) != 0;
	exec.merged = row_u32(row) != 0;
	exec.truncated = row_u32(row) != 0;
	exec.started_us = row_i64(row);
	exec.finished_us = row_i64(row);
	exec.verdict = row_u32(row);
	exec.exit_code = row_i32(row);
	exec.signal = row_i32(row);
	exec.limits_hit = row_u32(row);
	exec.log_bytes = row_u64(row);
	exec.wall_us = row_u64(row);
	exec.cpu_us = row_u64(row);
	exec.peak_memory_bytes = row_u64(row);
	exec.peak_pids = row_u32(row);
	exec.num_left = row_u32(row);
	read_list(row, &exec.left);
	return row->bad ? 0 : loading->fn.exec(loading->ctx, &exec);
}

static int pass_request(const struct loading *loading, struct row *row)
{
	struct store_request request = { .created_us = 0 };

	row_text(row, request.domain, sizeof(request.domain));
	row_text(row, request.key, sizeof(request.key));
	row_hash(row, request.hash, sizeof(request.hash));
	row_text(row, request.sandbox_id, sizeof(request.sandbox_id));
	request.created_us = row_i64(row);
	return row->bad ? 0 : loading->fn.request(loading->ctx, &request);
}

static int pass_usage(const struct loading *loading, struct row *row)
{
	struct store_usage usage = { .requests = 0 };

	row_text(row, usage.domain, sizeof(usage.domain));
	usage.requests = row_u64(row);
	usage.sandboxes_created = row_u64(row);
	usage.execs_started = row_u64(row);
	usage.cpu_us = row_u64(row);
	usage.output_bytes = row_u64(row);
	usage.last_used_us = row_i64(row);
	return row->bad ? 0 : loading->fn.usage(loading->ctx, &usage);
}

int store_each_sandbox(struct store *store, store_sandbox_fn fn, void *ctx,
		       struct err *err)
{
	const struct loading loading = {
		.text = "SELECT " SANDBOX_COLUMNS
			" FROM sandboxes ORDER BY created_us, id",
		.pass = pass_sandbox,
		.fn.sandbox = fn,
		.ctx = ctx,
	};

	return load(store, &loading, err);
}

int store_each_exec(struct store *store, store_exec_fn fn, void *ctx,
		    struct err *err)
{
	const struct loading loading = {
		.text = "SELECT " EXEC_COLUMNS
			" FROM execs ORDER BY started_us, id",
		.pass = pass_exec,
		.fn.exec = fn,
		.ctx = ctx,
	};

	return load(store, &loading, err);
}

int store_each_request(struct store *store, store_request_fn fn, void *ctx,
		       struct err *err)
{
	const struct loading loading = {
		.text = "SELECT " REQUEST_COLUMNS
			" FROM requests ORDER BY created_us, domain, key",
		.pass = pass_request,
		.fn.request = fn,
		.ctx = ctx,
	};

	return load(store, &loading, err);
}

int store_each_usage(struct store *store, store_usage_fn fn, void *ctx,
		     struct err *err)
{
	const struct loading loading = {
		.text = "SELECT " USAGE_COLUMNS " FROM usage ORDER BY domain",
		.pass = pass_usage,
		.fn.usage = fn,
		.ctx = ctx,
	};

	return load(store, &loading, err);
}
