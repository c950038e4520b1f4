/* SPDX-License-Identifier: Apache-2.0 */

/*
 * schema - the tables, as a list of what led to them
 *
 * A migration that was released is never changed: a new one goes below it.
 * Numbers without a sign of their own are kept below 2^63. The audit log can
 * only grow: what else somebody does to it needs more than SQL through osbd.
 */

#include "store/db.h"

static const char *const migrations[] = {
	/* 1 */
	"CREATE TABLE sandboxes ("
	"  id TEXT NOT NULL PRIMARY KEY,"
	"  domain TEXT NOT NULL,"
	"  image TEXT NOT NULL,"
	"  message TEXT NOT NULL,"
	"  state INTEGER NOT NULL,"
	"  ephemeral INTEGER NOT NULL,"
	"  created_us INTEGER NOT NULL,"
	"  changed_us INTEGER NOT NULL,"
	"  expires_us INTEGER NOT NULL,"
	"  memory_bytes INTEGER NOT NULL,"
	"  disk_bytes INTEGER NOT NULL,"
	"  shm_bytes INTEGER NOT NULL,"
	"  inodes INTEGER NOT NULL,"
	"  cpu_milli INTEGER NOT NULL,"
	"  pids INTEGER NOT NULL,"
	"  nofile INTEGER NOT NULL,"
	"  guarantee_bytes INTEGER NOT NULL,"
	"  env BLOB NOT NULL,"
	"  metadata BLOB NOT NULL,"
	"  entrypoint BLOB NOT NULL"
	") STRICT;"
	"CREATE TABLE execs ("
	"  id TEXT NOT NULL PRIMARY KEY,"
	"  sandbox_id TEXT NOT NULL"
	"    REFERENCES sandboxes(id) ON DELETE CASCADE,"
	"  command TEXT NOT NULL,"
	"  number INTEGER NOT NULL,"
	"  uid INTEGER NOT NULL,"
	"  background INTEGER NOT NULL,"
	"  merged INTEGER NOT NULL,"
	"  truncated INTEGER NOT NULL,"
	"  started_us INTEGER NOT NULL,"
	"  finished_us INTEGER NOT NULL,"
	"  verdict INTEGER NOT NULL,"
	"  exit_code INTEGER NOT NULL,"
	"  signal INTEGER NOT NULL,"
	"  limits_hit INTEGER NOT NULL,"
	"  log_bytes INTEGER NOT NULL,"
	"  wall_us INTEGER NOT NULL,"
	"  cpu_us INTEGER NOT NULL,"
	"  peak_memory_bytes INTEGER NOT NULL,"
	"  peak_pids INTEGER NOT NULL"
	") STRICT;"
	"CREATE INDEX execs_of_sandbox ON execs(sandbox_id);"
	"CREATE TABLE requests ("
	"  domain TEXT NOT NULL,"
	"  key TEXT NOT NULL,"
	"  hash BLOB NOT NULL,"
	"  sandbox_id TEXT NOT NULL,"
	"  created_us INTEGER NOT NULL,"
	"  PRIMARY KEY (domain, key)"
	") STRICT, WITHOUT ROWID;"
	"CREATE INDEX requests_by_age ON requests(created_us);"
	"CREATE TABLE usage ("
	"  domain TEXT NOT NULL PRIMARY KEY,"
	"  requests INTEGER NOT NULL,"
	"  sandboxes_created INTEGER NOT NULL,"
	"  execs_started INTEGER NOT NULL,"
	"  cpu_us INTEGER NOT NULL,"
	"  output_bytes INTEGER NOT NULL,"
	"  last_used_us INTEGER NOT NULL"
	") STRICT, WITHOUT ROWID;"
	"CREATE TABLE audit ("
	"  seq INTEGER NOT NULL PRIMARY KEY,"
	"  time_us INTEGER NOT NULL,"
	"  domain TEXT NOT NULL,"
	"  request_id TEXT NOT NULL,"
	"  action TEXT NOT NULL,"
	"  object TEXT NOT NULL,"
	"  outcome TEXT NOT NULL,"
	"  detail TEXT NOT NULL,"
	"  hash BLOB NOT NULL"
	") STRICT;"
	"CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit"
	"  BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END;"
	"CREATE TRIGGER audit_is_not_shortened BEFORE DELETE ON audit"
	"  BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END;"
	"CREATE TABLE audit_head ("
	"  one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),"
	"  seq INTEGER NOT NULL,"
	"  hash BLOB NOT NULL,"
	"  mac BLOB NOT NULL"
	") STRICT;",
	/* 2 */
	"ALTER TABLE sandboxes ADD COLUMN"
	"  exec_cpu_ms INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE sandboxes ADD COLUMN"
	"  exec_output_max INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE sandboxes ADD COLUMN"
	"  exec_output_policy INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE execs ADD COLUMN num_left INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE execs ADD COLUMN left_running BLOB NOT NULL DEFAULT x'';",
};

const struct db_schema db_schema = {
	.migrations = migrations,
	.num = ARRAY_SIZE(migrations),
};
