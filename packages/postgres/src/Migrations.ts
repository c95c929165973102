/**
 * The migrations of the tables. A server applies them when it starts.
 *
 * Guarantees: all pending migrations are applied in one transaction, or none. Servers that start at
 * the same time wait for each other. Servers of the previous version continue, with a short pause.
 * Leaves out: changes that cannot run in a transaction.
 *
 * Identifiers are compared byte by byte, as in JavaScript. Opaque JSON has the type `json`, because
 * `jsonb` refuses U+0000 and lone surrogates and loses the order of keys. Times are milliseconds
 * since the epoch. The rows of a run have no foreign key to it: the statement that writes the run
 * also writes them, and Postgres would check a key for each row.
 */
import type { StorageError } from "@millrace/core/ports/StorageError"
import { StorageError as Failure } from "@millrace/core/ports/StorageError"
import { Effect, Schedule, Schema } from "effect"
import * as Migrator from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError } from "effect/sql/SqlError"
import { accountCaps } from "./internal/AccountCapTables.ts"
import { childIndex, childRunTables } from "./internal/ChildRunTables.ts"
import { deliveryTables } from "./internal/DeliveryTables.ts"
import { fairQueue } from "./internal/FairQueueTables.ts"
import { growthTables } from "./internal/GrowthTables.ts"
import { causeOf, orStorageError } from "./internal/DatabaseError.ts"
import { impliedInputs } from "./internal/ImpliedInputTables.ts"
import { inboxTables, openMessages } from "./internal/InboxTables.ts"
import { ownedRuns } from "./internal/OwnedRunsTables.ts"
import { concurrencyKeys, runOrder } from "./internal/RunOrderTables.ts"
import { runSources } from "./internal/RunSourceTables.ts"
import { secretTables } from "./internal/SecretTables.ts"
import { sessionTables } from "./internal/SessionTables.ts"
import {
  runEndTriggers,
  triggerPauses,
  triggerTables,
  webhookTests,
  webhookTriggers,
} from "./internal/TriggerTables.ts"
import { signalTables } from "./internal/SignalTables.ts"
import { valueTables } from "./internal/ValueTables.ts"
import { quarantineTables } from "./internal/QuarantineTables.ts"
import { workflowVersionTables } from "./internal/WorkflowVersionTables.ts"

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
  // No further index: an update that changes no indexed column stays within its page.
  `CREATE TABLE key_usage (
    key_id ${id} PRIMARY KEY REFERENCES api_keys (id),
    minute int8 NOT NULL,
    minute_used int4 NOT NULL,
    day int8 NOT NULL,
    day_used int4 NOT NULL,
    granted int4 NOT NULL,
    used_at int8 NOT NULL
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
    settings json NOT NULL,
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
    edges json NOT NULL,
    settings json NOT NULL
  )`,
  // The columns that every commit changes are together at the end, and no index has them. So an
  // update stays in its page, and its log record has only the bytes from the first to the last
  // change.
  `CREATE TABLE runs (
    number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id ${id} NOT NULL UNIQUE,
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
    key_id ${id},
    created_at int8 NOT NULL,
    estimated_credits int8 NOT NULL,
    max_credits int8,
    input_values json NOT NULL,
    input_overrides json NOT NULL,
    viewport json,
    webhook json,
    owner ${id},
    fence int4 NOT NULL,
    started_at int8,
    status text NOT NULL
      CHECK (status IN ('QUEUED', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELED')),
    held_credits int8 NOT NULL,
    actual_credits int8 NOT NULL,
    claims int4 NOT NULL,
    waiting json NOT NULL,
    active json NOT NULL,
    node_run_count int4 NOT NULL,
    attempts int4 NOT NULL,
    sequence int4 NOT NULL,
    revision int4 NOT NULL,
    due_at int8,
    finished_at int8,
    trouble text,
    error json,
    error_folded text,
    output json
  ) WITH (fillfactor = 50)`,
  `CREATE INDEX runs_listing ON runs (account_id, created_at, id)`,
  `CREATE INDEX runs_by_workflow ON runs (account_id, workflow_id, created_at, id)`,
  `CREATE INDEX runs_in_trouble ON runs (account_id, trouble, created_at, id)
    WHERE trouble IS NOT NULL`,
  // The idempotency keys of starts. The statement that writes the run also writes its key.
  `CREATE TABLE start_keys (
    account_id ${id} NOT NULL,
    key ${id} NOT NULL,
    run_id ${id} NOT NULL,
    body_hash text NOT NULL,
    expires_at int8 NOT NULL,
    PRIMARY KEY (account_id, key)
  )`,
  `CREATE INDEX start_keys_by_expiry ON start_keys (expires_at)`,
  // The runs that have not ended. A run has an owner, or is parked until it is due, or is queued.
  // Its account and workflow are set once it has had no owner.
  `CREATE TABLE open_runs (
    run int8 PRIMARY KEY,
    owner ${id},
    due_at int8,
    created_at int8 NOT NULL,
    account_id ${id},
    workflow_id ${id}
  )`,
  `CREATE INDEX open_runs_owned ON open_runs (owner, created_at, run) WHERE owner IS NOT NULL`,
  `CREATE INDEX open_runs_parked ON open_runs (due_at, run)
    WHERE owner IS NULL AND due_at IS NOT NULL`,
  `CREATE INDEX open_runs_queued ON open_runs (account_id, created_at, run)
    WHERE owner IS NULL AND due_at IS NULL`,
  `CREATE INDEX open_runs_lined_up ON open_runs (account_id, workflow_id, created_at, run)
    WHERE owner IS NULL AND due_at IS NULL`,
  `CREATE TABLE runners (
    id ${id} PRIMARY KEY,
    lease_until int8 NOT NULL
  ) WITH (fillfactor = 30)`,
]

const historyTables = [
  `CREATE TABLE node_runs (
    run int8 NOT NULL,
    ordinal int4 NOT NULL,
    attempt int4 NOT NULL,
    sequence int4,
    credits int8 NOT NULL,
    started_at int8,
    finished_at int8,
    node_id ${id} NOT NULL,
    node_type text NOT NULL,
    status text NOT NULL,
    input json,
    output json,
    logs json,
    error json,
    PRIMARY KEY (run, node_id)
  )`,
  `CREATE TABLE run_events (
    run int8 NOT NULL,
    sequence int4 NOT NULL,
    at int8 NOT NULL,
    type text NOT NULL,
    error json,
    data json NOT NULL,
    PRIMARY KEY (run, sequence)
  )`,
]

const creditTables = [
  // No further index, as for `key_usage`: every commit that moves credits changes a row.
  `CREATE TABLE credit_accounts (
    number int8 GENERATED ALWAYS AS IDENTITY,
    account_id ${id} PRIMARY KEY,
    metered bool NOT NULL,
    posted int8 NOT NULL,
    reserved int8 NOT NULL,
    due_at int8
  ) WITH (fillfactor = 30)`,
  `CREATE TABLE credit_grants (
    account_id ${id} NOT NULL,
    id ${id} NOT NULL,
    amount int8 NOT NULL,
    remaining int8 NOT NULL,
    priority int4 NOT NULL,
    expires_at int8,
    actor text NOT NULL,
    reason text NOT NULL,
    at int8 NOT NULL,
    PRIMARY KEY (account_id, id)
  )`,
  `CREATE INDEX credit_grants_left ON credit_grants (account_id) WHERE remaining > 0`,
  // A number is assigned while the account is locked, so numbers give the order of its entries.
  `CREATE TABLE credit_entries (
    number int8 GENERATED ALWAYS AS IDENTITY,
    account int8 NOT NULL,
    run int8,
    posted int8 NOT NULL,
    reserved int8 NOT NULL,
    at int8 NOT NULL,
    kind text NOT NULL,
    part ${id} NOT NULL,
    actor text,
    reason text
  )`,
  `CREATE INDEX credit_entries_of_account ON credit_entries (account, number)`,
  `CREATE UNIQUE INDEX credit_entries_of_run ON credit_entries (run, kind, part)
    WHERE run IS NOT NULL`,
  `CREATE UNIQUE INDEX credit_entries_by_hand ON credit_entries (account, kind, part)
    WHERE run IS NULL`,
]

const all = (statements: ReadonlyArray<string>) =>
  SqlClient.use((sql) =>
    Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true }),
  )

const migrations = {
  "0001_tables": all([
    ...keyTables,
    ...workflowTables,
    ...runTables,
    ...historyTables,
    ...creditTables,
    ...deliveryTables,
  ]),
  "0002_losses": all(quarantineTables),
  "0003_fair_queue": all(fairQueue),
  "0004_account_caps": all(accountCaps),
  "0005_owned_runs": all(ownedRuns),
  "0006_inboxes": all(inboxTables),
  "0007_implied_inputs": all(impliedInputs),
  "0008_growth": all(growthTables),
  "0009_secrets": all(secretTables),
  "0010_values": all(valueTables),
  "0011_sessions": all(sessionTables),
  "0012_run_sources": all(runSources),
  "0013_triggers": all(triggerTables),
  "0014_reruns": all(["ALTER TABLE runs ADD COLUMN rerun_of text"]),
  "0015_child_runs": all(childRunTables),
  "0016_inbound_webhooks": all(webhookTriggers),
  "0017_processes": all(["ALTER TABLE runners ADD COLUMN process text"]),
  "0018_run_ends": all(runEndTriggers),
  "0019_run_order": all(runOrder),
  "0020_children_of_nodes": all(childIndex),
  "0021_signals": all(signalTables),
  "0022_open_messages": all(openMessages),
  "0023_workflow_versions": all(workflowVersionTables),
  "0024_concurrency_keys": all(concurrencyKeys),
  "0025_waiting_times": all(["ALTER TABLE triggers ADD COLUMN waiting_at int8"]),
  "0026_trigger_pauses": all(triggerPauses),
  "0027_versions_of_triggers": all(["ALTER TABLE triggers ADD COLUMN version json"]),
  "0028_webhooks_of_schedules": all(["ALTER TABLE triggers ADD COLUMN run_webhook json"]),
  "0029_webhook_tests": all(webhookTests),
}

const table = "millrace_migrations"

/** How long to wait before a migration is tried again that could not get a lock. */
const againMillis = 500

/** The tables are missing, or older or newer than this version of the software. */
export class SchemaMismatch extends Schema.TaggedError<SchemaMismatch>()("SchemaMismatch", {
  found: Schema.Int,
  expected: Schema.Int,
}) {
  override get message(): string {
    const state =
      this.found === 0
        ? "The database has no tables of ours"
        : `The database has schema ${this.found}, this version needs ${this.expected}`
    const next = this.isNewer
      ? "use the version of Millrace that made it, or a later one"
      : "start once with migrations"
    return `${state}; ${next}`
  }

  /** True if a later version has made the tables. Then migrating cannot help. */
  get isNewer(): boolean {
    return this.found > this.expected
  }
}

const expected = Math.max(...Object.keys(migrations).map((key) => Number.parseInt(key, 10)))

/** The version of the tables in the connection's schema; 0 if there are none. */
const schemaOf = Effect.fnUntraced(function* (sql: SqlClient) {
  const present = yield* sql`SELECT FROM pg_tables
    WHERE tablename = ${table} AND schemaname = current_schema()`
  if (present.length === 0) return 0
  const rows = yield* sql<{ readonly id: number | null }>`
    SELECT max(migration_id)::int AS id FROM ${sql(table)}`
  return rows[0]?.id ?? 0
})

/** Fails unless the tables have exactly the version that this software needs. Sends no DDL. */
export const check: Effect.Effect<void, SchemaMismatch | StorageError, SqlClient> = SqlClient.use(
  (sql) =>
    Effect.gen(function* () {
      const found = yield* schemaOf(sql)
      if (found !== expected) return yield* new SchemaMismatch({ found, expected })
    }),
).pipe(orStorageError("Migrations.check"))

/** How a migration waits for locks of servers of the previous version. */
export interface MigrationOptions {
  /** The number of the last migration to apply. */
  readonly to: number
  /** How long a migration waits for a lock. Others that need the table wait, too. */
  readonly lockMillis: number
  /** How often the migration is tried. */
  readonly attempts: number
}

/** True if a migration could not get a lock or had a deadlock. It has written nothing. */
const isLocked = ({ cause, kind }: Migrator.MigrationError): boolean =>
  kind === "Failed" &&
  isSqlError(cause) &&
  (cause.reason._tag === "DeadlockError" || cause.reason._tag === "LockTimeoutError")

const failed = (cause: unknown) => new Failure({ operation: "Migrations.migrate", cause })

const orFailure = (attempts: number) => (error: Migrator.MigrationError) => {
  const cause = isSqlError(error.cause) ? causeOf(error.cause) : (error.cause ?? error)
  if (!isLocked(error)) return failed(cause)
  return failed(
    new Error(
      `the tables are in use: their locks were not to be had in ${attempts} attempts ` +
        `(${cause instanceof Error ? cause.message : String(cause)}). Nothing was changed; end ` +
        "long transactions, or stop servers of the version before, and start again",
    ),
  )
}

/** Applies pending migrations; see {@link migrate}. */
export const migrateWith = ({
  attempts,
  lockMillis,
  to,
}: MigrationOptions): Effect.Effect<void, SchemaMismatch | StorageError, SqlClient> => {
  const wanted = Object.entries(migrations).filter(([key]) => Number.parseInt(key, 10) <= to)
  const loader = Migrator.fromRecord(Object.fromEntries(wanted))
  return SqlClient.use((sql) => {
    const alone = sql`SELECT pg_advisory_xact_lock(
      hashtext('millrace_migrations'), hashtext(current_schema()))`
    const forward = Effect.gen(function* () {
      yield* alone
      const mismatch = new SchemaMismatch({ found: yield* schemaOf(sql), expected })
      if (mismatch.isNewer) return yield* mismatch
      // Set only now, because it is right to wait long for another server's migration.
      yield* sql`SELECT set_config('lock_timeout', ${String(lockMillis)}, true)`
      yield* Migrator.make({})({ loader, table })
    })
    return Effect.retry(sql.withTransaction(forward), {
      while: (error) => error._tag === "MigrationError" && isLocked(error),
      schedule: Schedule.spaced(againMillis),
      times: attempts - 1,
    })
  }).pipe(
    Effect.asVoid,
    Effect.catchTag("MigrationError", (error) => Effect.fail(orFailure(attempts)(error))),
    orStorageError("Migrations.migrate"),
  )
}

const current = SqlClient.use(schemaOf).pipe(orStorageError("Migrations.migrate"))

/**
 * Migrates the tables in the connection's schema. It takes locks only if they are not current. If
 * servers of the previous version use the tables, it tries again for about a minute. Fails, and
 * changes nothing, if that was not enough, or if the tables are of a later version.
 */
export const migrate: Effect.Effect<void, SchemaMismatch | StorageError, SqlClient> =
  Effect.flatMap(current, (found) =>
    found === expected
      ? Effect.void
      : migrateWith({ to: expected, lockMillis: 2_000, attempts: 25 }),
  )
