/**
 * The migrations for triggers, and for runs that name the trigger that has started them.
 *
 * Guarantees: servers of the previous version continue. They start nothing on schedule, and a
 * workflow that they delete takes its triggers along. Those that know schedules only cannot list
 * the triggers of a workflow that has a webhook. Runs that the previous version ends start nothing,
 * because it does not know that they are followed.
 */

const id = `text COLLATE "C"`

export const triggerTables: ReadonlyArray<string> = [
  `CREATE TABLE triggers (
    id ${id} PRIMARY KEY,
    account_id ${id} NOT NULL,
    workflow_id ${id} NOT NULL REFERENCES workflows (id) ON DELETE CASCADE,
    type text NOT NULL,
    cron json,
    every_seconds int4,
    timezone text NOT NULL,
    start_at int8,
    end_at int8,
    input_values json NOT NULL,
    enabled bool NOT NULL,
    catch_up text NOT NULL,
    overlap text NOT NULL,
    jitter_seconds int4 NOT NULL,
    created_at int8 NOT NULL,
    updated_at int8 NOT NULL,
    next_at int8,
    due_at int8,
    fence int4 NOT NULL,
    last_at int8,
    last_run_id ${id},
    missed int8 NOT NULL,
    last_missed_at int8,
    last_error json
  )`,
  `CREATE INDEX triggers_of_workflow ON triggers (workflow_id, created_at, id)`,
  `CREATE INDEX triggers_due ON triggers (due_at, id) WHERE due_at IS NOT NULL`,
  // A run without a trigger has no row in the index, and nothing in its own row.
  `ALTER TABLE runs ADD COLUMN trigger_id ${id}`,
  `CREATE INDEX runs_by_trigger ON runs (account_id, trigger_id, created_at, id)
    WHERE trigger_id IS NOT NULL`,
]

/** A webhook is a trigger without times. Its address finds it only while it is switched on. */
export const webhookTriggers: ReadonlyArray<string> = [
  `ALTER TABLE triggers
    ADD COLUMN webhook json,
    ADD COLUMN address_hash text COLLATE "C",
    ALTER COLUMN timezone DROP NOT NULL,
    ALTER COLUMN catch_up DROP NOT NULL,
    ALTER COLUMN overlap DROP NOT NULL,
    ALTER COLUMN jitter_seconds DROP NOT NULL,
    ALTER COLUMN missed DROP NOT NULL`,
  `CREATE UNIQUE INDEX triggers_by_address ON triggers (address_hash)
    WHERE address_hash IS NOT NULL AND enabled`,
]

/** Accounts whose triggers are paused, or were. Servers of the previous version go on. */
export const triggerPauses: ReadonlyArray<string> = [
  `CREATE TABLE trigger_pauses (
    account_id ${id} PRIMARY KEY,
    paused_at int8 NOT NULL,
    resumed_at int8
  )`,
]

/** A webhook has one test at most, and the requests that arrived at its test address. */
export const webhookTests: ReadonlyArray<string> = [
  `CREATE TABLE webhook_tests (
    trigger_id ${id} PRIMARY KEY REFERENCES triggers (id) ON DELETE CASCADE,
    address_hash ${id} NOT NULL UNIQUE,
    expires_at int8 NOT NULL
  )`,
  `CREATE TABLE webhook_requests (
    number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    trigger_id ${id} NOT NULL REFERENCES webhook_tests (trigger_id) ON DELETE CASCADE,
    request json NOT NULL
  )`,
  `CREATE INDEX webhook_requests_of_test ON webhook_requests (trigger_id, number)`,
]

/**
 * A trigger that follows the runs of another workflow, and the ends that wait for such triggers. An
 * end has no foreign key: the statement that ends a run must not fail because a trigger has just
 * been removed.
 */
export const runEndTriggers: ReadonlyArray<string> = [
  `ALTER TABLE triggers
    ADD COLUMN watched_id ${id} REFERENCES workflows (id) ON DELETE CASCADE,
    ADD COLUMN watched_ends text,
    ADD COLUMN run_end json`,
  `CREATE INDEX triggers_by_watched ON triggers (watched_id) WHERE watched_id IS NOT NULL`,
  `CREATE TABLE run_ends (
    trigger_id ${id} NOT NULL,
    run_id ${id} NOT NULL,
    due_at int8 NOT NULL,
    fence int4 NOT NULL,
    PRIMARY KEY (trigger_id, run_id)
  )`,
  `CREATE INDEX run_ends_due ON run_ends (due_at, trigger_id, run_id)`,
  `ALTER TABLE runs ADD COLUMN after_run json`,
]
