/**
 * The tables, as migrations that a server brings up to date when it starts.
 *
 * Guarantees: all pending migrations are applied in one transaction, or none; servers that start
 * at the same time wait for each other. Leaves out: anything that cannot run in a transaction.
 *
 * Identifiers compare byte by byte, as in JavaScript. Opaque JSON is `json`: `jsonb` refuses
 * U+0000 and lone surrogates and forgets the order of keys. Times are milliseconds since the
 * epoch. Rows of a run refer to it without a foreign key: they are only ever written by the
 * statement that writes the run, and a key would be checked for each of them.
 */
import type { StorageError } from "@millrace/core/ports/StorageError"
import { StorageError as Failure } from "@millrace/core/ports/StorageError"
import { Effect } from "effect"
import * as Migrator from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import { orStorageError } from "./Failure.ts"

const id = `text COLLATE "C"`

const keyTables = [
  `CREATE TABLE accounts (
    id ${id} PRIMARY KEY,
    name text NOT NULL,
    created_at int8 NOT NULL
  )`,
  `CREATE TABLE api_keys (
    id ${id} PRIMARY KEY,
    account_id ${id} NOT NULL REFERENCES accounts (id),
    label text NOT NULL,
    prefix text NOT NULL,
    hash bytea NOT NULL UNIQUE,
    per_minute int4 NOT NULL,
    per_day int4 NOT NULL,
    expires_at int8,
    revoked_at int8,
    created_at int8 NOT NULL
  )`,
  `CREATE INDEX api_keys_account ON api_keys (account_id)`,
  // No further index: an update that touches none stays within its page.
  `CREATE TABLE key_usage (
    key_id ${id} PRIMARY KEY REFERENCES api_keys (id),
    minute int8 NOT NULL,
    minute_used int4 NOT NULL,
    day int8 NOT NULL,
    day_used int4 NOT NULL,
    admitted bool NOT NULL
  ) WITH (fillfactor = 30)`,
]

const workflowTables = [
  `CREATE TABLE workflows (
    id ${id} PRIMARY KEY,
    account_id ${id} NOT NULL,
    name text NOT NULL,
    name_folded text NOT NULL,
    description text,
    thumbnail_url text,
    nodes json NOT NULL,
    edges json NOT NULL,
    node_count int4 NOT NULL,
    revision int4 NOT NULL,
    created_at int8 NOT NULL,
    updated_at int8 NOT NULL
  )`,
  `CREATE INDEX workflows_listing ON workflows (account_id, created_at, id)`,
]

const runTables = [
  `CREATE TABLE definitions (
    id ${id} PRIMARY KEY,
    nodes json NOT NULL,
    edges json NOT NULL
  )`,
  `CREATE TABLE runs (
    id ${id} PRIMARY KEY,
    account_id ${id} NOT NULL,
    workflow_id ${id} NOT NULL,
    workflow_name text NOT NULL,
    workflow_name_folded text NOT NULL,
    workflow_revision int4 NOT NULL,
    definition_id ${id} NOT NULL,
    execution_id text NOT NULL,
    mode text NOT NULL,
    source text NOT NULL,
    single_node_id text,
    created_at int8 NOT NULL,
    estimated_credits int8 NOT NULL,
    input_values json NOT NULL,
    input_overrides json NOT NULL,
    viewport json,
    status text NOT NULL
      CHECK (status IN ('QUEUED', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELED')),
    owner ${id},
    node_run_count int4 NOT NULL,
    sequence int4 NOT NULL,
    revision int4 NOT NULL,
    fence int4 NOT NULL,
    claims int4 NOT NULL,
    started_at int8,
    finished_at int8,
    actual_credits int8 NOT NULL,
    active json NOT NULL,
    error json,
    error_folded text,
    output json
  ) WITH (fillfactor = 70)`,
  `CREATE INDEX runs_listing ON runs (account_id, created_at, id)`,
  `CREATE INDEX runs_by_workflow ON runs (account_id, workflow_id, created_at, id)`,
  `CREATE INDEX runs_by_status ON runs (account_id, status, created_at, id)`,
  `CREATE INDEX runs_owned ON runs (owner, created_at, id)
    WHERE status IN ('QUEUED', 'RUNNING') AND owner IS NOT NULL`,
  `CREATE INDEX runs_unowned ON runs (created_at, id)
    WHERE status IN ('QUEUED', 'RUNNING') AND owner IS NULL`,
  `CREATE TABLE runners (
    id ${id} PRIMARY KEY,
    lease_until int8 NOT NULL
  ) WITH (fillfactor = 30)`,
]

const historyTables = [
  `CREATE TABLE node_runs (
    run_id ${id} NOT NULL,
    node_id ${id} NOT NULL,
    node_type text NOT NULL,
    ordinal int4 NOT NULL,
    status text NOT NULL,
    attempt int4 NOT NULL,
    credits int8 NOT NULL,
    started_at int8,
    finished_at int8,
    input json,
    output json,
    logs json,
    error json,
    PRIMARY KEY (run_id, node_id)
  )`,
  `CREATE TABLE run_events (
    run_id ${id} NOT NULL,
    workflow_id ${id} NOT NULL,
    sequence int4 NOT NULL,
    type text NOT NULL,
    at int8 NOT NULL,
    error json,
    data json NOT NULL,
    PRIMARY KEY (run_id, sequence)
  )`,
]

const all = (statements: ReadonlyArray<string>) =>
  SqlClient.use((sql) =>
    Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true }),
  )

const migrator = Migrator.make({})({
  loader: Migrator.fromRecord({
    "0001_tables": all([...keyTables, ...workflowTables, ...runTables, ...historyTables]),
  }),
  table: "millrace_migrations",
})

/** Brings the tables in the connection's schema up to date. */
export const migrate: Effect.Effect<void, StorageError, SqlClient> = SqlClient.use((sql) => {
  const alone = sql`SELECT pg_advisory_xact_lock(
    hashtext('millrace_migrations'), hashtext(current_schema()))`
  return sql.withTransaction(Effect.andThen(alone, migrator))
}).pipe(
  Effect.asVoid,
  Effect.catchTag("MigrationError", (error) =>
    Effect.fail(new Failure({ operation: "Migrations.migrate", cause: error.cause ?? error })),
  ),
  orStorageError("Migrations.migrate"),
)
