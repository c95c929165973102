/**
 * The tables of the stores, as statements.
 *
 * Documents are JSON texts, which no statement looks into: SQLite reads no JSON of more than 1,000
 * levels. A column of its own has what is searched, or changed alone. No column is read whose plain
 * text may hold U+0000, because Node 22 ends a text there. Times are milliseconds since the epoch.
 *
 * The large parts of a run that never change are in `run_heads`, so that a commit does not write
 * them again. The columns that are computed say where an open run stands: with its owner, in the
 * queue of its account, or parked; and each of these has an index that holds no other runs. Rows of
 * a run have no foreign keys: the transaction that writes the run writes them.
 */
import { priorityMillis } from "@millrace/core/domain/Limits"

const isOpen = "status IN ('QUEUED', 'RUNNING')"
const isFree = `${isOpen} AND owner IS NULL AND losses IS NULL`

const runTables = `
CREATE TABLE runs (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account_id TEXT NOT NULL,
  workflow_id TEXT NOT NULL,
  workflow_name TEXT NOT NULL, -- as JSON
  name_folded TEXT NOT NULL,
  definition_id TEXT NOT NULL,
  key_id TEXT,
  created_at INTEGER NOT NULL,
  estimated_credits INTEGER NOT NULL,
  actual_credits INTEGER NOT NULL,
  status TEXT NOT NULL,
  error_folded TEXT,
  owner TEXT,
  fence INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  messages INTEGER NOT NULL,
  losses TEXT, -- NULL: none
  due_at INTEGER,
  is_due INTEGER NOT NULL, -- 1: parked, and queued since it is due
  woken_at INTEGER, -- when a message woke it
  payload_bytes INTEGER NOT NULL,
  active TEXT NOT NULL,
  state TEXT NOT NULL,
  holder TEXT AS (CASE WHEN ${isOpen} THEN owner END),
  suspect_at INTEGER AS (CASE WHEN ${isOpen} AND losses IS NOT NULL THEN created_at END),
  queued_at INTEGER AS (CASE WHEN ${isFree} AND (due_at IS NULL OR is_due = 1)
    THEN coalesce(woken_at, due_at, created_at) END),
  parked_until INTEGER AS (CASE WHEN ${isFree} AND is_due = 0 THEN due_at END)
) STRICT;
CREATE INDEX runs_listing ON runs (account_id, created_at, id);
CREATE INDEX runs_by_workflow ON runs (account_id, workflow_id, created_at, id);
CREATE INDEX runs_by_status ON runs (account_id, status, created_at, id);
CREATE INDEX runs_held ON runs (holder, created_at, id) WHERE holder IS NOT NULL;
CREATE INDEX runs_held_of_account ON runs (account_id, workflow_id) WHERE holder IS NOT NULL;
CREATE INDEX runs_suspected ON runs (suspect_at, id) WHERE suspect_at IS NOT NULL;
CREATE INDEX runs_queued ON runs (account_id, queued_at, id, workflow_id)
  WHERE queued_at IS NOT NULL;
CREATE INDEX runs_parked ON runs (parked_until) WHERE parked_until IS NOT NULL;
CREATE TABLE run_heads (run INTEGER PRIMARY KEY, head TEXT NOT NULL) STRICT;
CREATE TABLE definitions (id TEXT PRIMARY KEY, content TEXT NOT NULL) STRICT;
CREATE TABLE node_runs (
  number INTEGER PRIMARY KEY,
  run INTEGER NOT NULL,
  node_id TEXT NOT NULL,
  sequence INTEGER,
  has_output INTEGER NOT NULL, -- 1: it was executed and put something out
  payload_bytes INTEGER NOT NULL,
  facts TEXT NOT NULL,
  payload TEXT NOT NULL,
  UNIQUE (run, node_id)
) STRICT;
CREATE TABLE run_events (
  run INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  event TEXT NOT NULL,
  PRIMARY KEY (run, sequence)
) STRICT, WITHOUT ROWID;
CREATE TABLE start_keys (
  account_id TEXT NOT NULL,
  key TEXT NOT NULL,
  run_id TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX start_keys_by_expiry ON start_keys (expires_at);
CREATE TABLE messages (
  run INTEGER NOT NULL,
  number INTEGER NOT NULL,
  id TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  taken_by TEXT,
  message TEXT NOT NULL,
  PRIMARY KEY (run, number),
  UNIQUE (run, id)
) STRICT;
-- Runners that have ended their leases, and still own runs.
CREATE TABLE ended_runners (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
`

const workflowTables = `
CREATE TABLE workflows (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  name_folded TEXT NOT NULL,
  revision INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  summary TEXT NOT NULL,
  drawing TEXT NOT NULL
) STRICT;
CREATE INDEX workflows_listing ON workflows (account_id, created_at, id);
`

const keyTables = `
CREATE TABLE accounts (
  id TEXT PRIMARY KEY,
  created_at INTEGER NOT NULL,
  runs_at_once INTEGER,
  account TEXT NOT NULL
) STRICT;
CREATE INDEX accounts_capped ON accounts (id) WHERE runs_at_once IS NOT NULL;
CREATE TABLE api_keys (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  hash BLOB NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  minute INTEGER NOT NULL,
  minute_used INTEGER NOT NULL,
  day INTEGER NOT NULL,
  day_used INTEGER NOT NULL,
  key TEXT NOT NULL
) STRICT;
CREATE INDEX api_keys_of_account ON api_keys (account_id, created_at, id);
`

const creditTables = `
CREATE TABLE credit_accounts (
  account_id TEXT PRIMARY KEY,
  metered INTEGER NOT NULL,
  posted INTEGER NOT NULL,
  reserved INTEGER NOT NULL,
  due_at INTEGER
) STRICT;
CREATE TABLE credit_grants (
  account_id TEXT NOT NULL,
  id TEXT NOT NULL,
  remaining INTEGER NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (account_id, id)
) STRICT;
CREATE INDEX credit_grants_left ON credit_grants (account_id) WHERE remaining > 0;
CREATE TABLE credit_entries (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  account_id TEXT NOT NULL,
  run_id TEXT,
  key TEXT NOT NULL,
  entry TEXT NOT NULL,
  UNIQUE (account_id, key)
) STRICT;
CREATE INDEX credit_entries_of_account ON credit_entries (account_id, number);
CREATE INDEX credit_entries_of_run ON credit_entries (run_id) WHERE run_id IS NOT NULL;
`

const deliveryTables = `
-- \`due_at\`: when it can be claimed; NULL once it has ended.
CREATE TABLE deliveries (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account_id TEXT NOT NULL,
  run_id TEXT,
  origin TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  state TEXT NOT NULL,
  due_at INTEGER,
  settled_at INTEGER,
  is_gone INTEGER NOT NULL,
  standing TEXT NOT NULL
) STRICT;
CREATE INDEX deliveries_listing ON deliveries (created_at, id);
CREATE INDEX deliveries_of_account ON deliveries (account_id, created_at, id);
CREATE INDEX deliveries_failed ON deliveries (created_at, id) WHERE state = 'FAILED';
CREATE INDEX deliveries_of_run ON deliveries (run_id, created_at, id);
CREATE INDEX deliveries_due ON deliveries (account_id, origin, due_at, id)
  WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_settled ON deliveries (settled_at) WHERE settled_at IS NOT NULL;
CREATE TABLE delivery_bodies (delivery INTEGER PRIMARY KEY, content TEXT NOT NULL) STRICT;
CREATE TABLE delivery_attempts (
  delivery INTEGER NOT NULL,
  number INTEGER NOT NULL,
  attempt TEXT NOT NULL,
  PRIMARY KEY (delivery, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE webhook_secrets (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  sealed TEXT NOT NULL,
  sealed_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER
) STRICT;
CREATE INDEX webhook_secrets_of_account ON webhook_secrets (account_id, created_at, id);
`

const secretTables = `
CREATE TABLE secrets (
  account_id TEXT NOT NULL,
  name TEXT NOT NULL,
  sealed TEXT NOT NULL,
  sealed_by TEXT NOT NULL,
  last_used_at INTEGER,
  secret TEXT NOT NULL,
  PRIMARY KEY (account_id, name)
) STRICT;
`

const valueTables = `
CREATE TABLE run_values (
  run_id TEXT NOT NULL,
  id TEXT NOT NULL,
  account_id TEXT NOT NULL,
  written_at INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (run_id, id, account_id)
) STRICT;
`

const sessionTables = `
CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  account_id TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  idle_millis INTEGER,
  last_used_at INTEGER,
  hash BLOB NOT NULL UNIQUE, -- of the token, or of the ticket
  redeem_by INTEGER, -- NULL: the token opens it
  minute INTEGER NOT NULL,
  minute_used INTEGER NOT NULL,
  session TEXT NOT NULL
) STRICT;
CREATE INDEX sessions_of_account ON sessions (account_id, created_at, id);
`

// The head of a run has its source before what a client gave, and within a text there is a
// backslash before each quote. So what is found first is the source.
const runSources = `
ALTER TABLE runs ADD COLUMN source TEXT NOT NULL DEFAULT 'api';
UPDATE runs SET source = h.source FROM (
  SELECT run, substr(rest, 1, instr(rest, '"') - 1) AS source FROM (
    SELECT run, substr(head, instr(head, '"source":"') + 10) AS rest FROM run_heads
  )
) h WHERE h.run = runs.number AND h.source <> 'api';
CREATE INDEX runs_by_source ON runs (account_id, source, created_at, id) WHERE source <> 'api';
`

const triggerTables = `
CREATE TABLE triggers (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  workflow_id TEXT NOT NULL REFERENCES workflows (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  due_at INTEGER,
  fence INTEGER NOT NULL,
  trigger TEXT NOT NULL -- the rest
) STRICT;
CREATE INDEX triggers_of_workflow ON triggers (workflow_id, created_at, id);
CREATE INDEX triggers_due ON triggers (due_at, id) WHERE due_at IS NOT NULL;
ALTER TABLE runs ADD COLUMN trigger_id TEXT;
CREATE INDEX runs_by_trigger ON runs (account_id, trigger_id, created_at, id)
  WHERE trigger_id IS NOT NULL;
`

const childRuns = `
ALTER TABLE runs ADD COLUMN parent_id TEXT;
CREATE INDEX runs_by_parent ON runs (parent_id, created_at, id) WHERE parent_id IS NOT NULL;
`

// Of children that were stored before, some have values that SQLite reads as no JSON.
const childIndex = `
ALTER TABLE runs ADD COLUMN parent_node TEXT;
ALTER TABLE runs ADD COLUMN parent_index INTEGER;
UPDATE runs SET (parent_node, parent_index) = (
  SELECT head ->> '$.parent.nodeId', head ->> '$.parent.index' FROM run_heads
  WHERE run = runs.number AND json_valid(head)
) WHERE parent_id IS NOT NULL;
CREATE INDEX runs_of_node ON runs (parent_id, parent_node, parent_index)
  WHERE parent_id IS NOT NULL;
`

// A loop takes a message for every item.
const openMessages = `
CREATE INDEX messages_open ON messages (run, number) WHERE taken_by IS NULL;
`

const triggerAddresses = `
ALTER TABLE triggers ADD COLUMN address_hash TEXT; -- of a webhook that is switched on
CREATE UNIQUE INDEX triggers_by_address ON triggers (address_hash) WHERE address_hash IS NOT NULL;
`

// A run that has ended, for each trigger that follows it and has not yet started a run for it.
const runEnds = `
ALTER TABLE triggers ADD COLUMN watched_id TEXT REFERENCES workflows (id) ON DELETE CASCADE;
CREATE INDEX triggers_by_watched ON triggers (watched_id) WHERE watched_id IS NOT NULL;
CREATE TABLE run_ends (
  trigger_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  PRIMARY KEY (trigger_id, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_ends_due ON run_ends (due_at);
`

// `place`: where a run is in the queue of its account; the lowest is first.
const runOrder = `
ALTER TABLE runs ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN start_at INTEGER;
ALTER TABLE runs ADD COLUMN place INTEGER AS (queued_at - priority * ${priorityMillis});
DROP INDEX runs_queued;
CREATE INDEX runs_queued ON runs (account_id, place, id, workflow_id) WHERE place IS NOT NULL;
`

// What may hold U+0000 is in JSON. A signal that a run has keeps its row, if its sender may
// repeat it.
const signalTables = `
CREATE TABLE signal_waits (
  number INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL,
  workflow_id TEXT NOT NULL,
  key TEXT NOT NULL,
  filter TEXT,
  until INTEGER NOT NULL
) STRICT;
CREATE INDEX signal_waits_by_key ON signal_waits (workflow_id, key, number);
CREATE INDEX signal_waits_of_run ON signal_waits (run_id);
CREATE TABLE workflow_signals (
  number INTEGER PRIMARY KEY,
  workflow_id TEXT NOT NULL REFERENCES workflows (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  key TEXT NOT NULL,
  run_id TEXT,
  expires_at INTEGER NOT NULL,
  signal TEXT NOT NULL,
  UNIQUE (workflow_id, id)
) STRICT;
CREATE INDEX workflow_signals_kept ON workflow_signals (workflow_id, key, number)
  WHERE run_id IS NULL;
CREATE INDEX workflow_signals_expired ON workflow_signals (expires_at);
`

const workflowVersions = `
ALTER TABLE workflows ADD COLUMN published INTEGER; -- NULL: starts take the draft
CREATE TABLE workflow_versions (
  workflow_id TEXT NOT NULL REFERENCES workflows (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  head TEXT NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (workflow_id, number)
) STRICT;
`

// `key_place`: where a run is among those that wait for its key; it has no `place` meanwhile.
const concurrencyKeys = `
DROP INDEX runs_queued;
ALTER TABLE runs DROP COLUMN place;
ALTER TABLE runs ADD COLUMN concurrency_key TEXT;
ALTER TABLE runs ADD COLUMN concurrency INTEGER;
ALTER TABLE runs ADD COLUMN needs_key INTEGER NOT NULL DEFAULT 0; -- 1: it waits for its key
ALTER TABLE runs ADD COLUMN place INTEGER AS (
  CASE WHEN needs_key = 0 THEN queued_at - priority * ${priorityMillis} END);
ALTER TABLE runs ADD COLUMN key_place INTEGER AS (
  CASE WHEN needs_key = 1 THEN queued_at - priority * ${priorityMillis} END);
CREATE INDEX runs_queued ON runs (account_id, place, id, workflow_id) WHERE place IS NOT NULL;
CREATE INDEX runs_keyed ON runs (account_id, workflow_id, concurrency_key, key_place, id)
  WHERE key_place IS NOT NULL;
CREATE INDEX runs_with_key ON runs (account_id, workflow_id, concurrency_key)
  WHERE concurrency_key IS NOT NULL AND needs_key = 0 AND ${isOpen};
-- Keys that may have to be given.
CREATE TABLE key_changes (
  account_id TEXT NOT NULL,
  workflow_id TEXT NOT NULL,
  concurrency_key TEXT NOT NULL,
  PRIMARY KEY (account_id, workflow_id, concurrency_key)
) STRICT, WITHOUT ROWID;
`

const triggerPauses = `
CREATE TABLE trigger_pauses (
  account_id TEXT PRIMARY KEY,
  paused_at INTEGER NOT NULL,
  resumed_at INTEGER
) STRICT;
`

// A webhook has one test at most, and the requests that arrived at its test address.
const webhookTests = `
CREATE TABLE webhook_tests (
  trigger_id TEXT PRIMARY KEY REFERENCES triggers (id) ON DELETE CASCADE,
  address_hash TEXT NOT NULL UNIQUE,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE TABLE webhook_requests (
  number INTEGER PRIMARY KEY,
  trigger_id TEXT NOT NULL REFERENCES webhook_tests (trigger_id) ON DELETE CASCADE,
  request TEXT NOT NULL
) STRICT;
CREATE INDEX webhook_requests_of_test ON webhook_requests (trigger_id, number);
`

/** The statements of each version of the tables, the first version first. */
export const versions: ReadonlyArray<string> = [
  [
    runTables,
    workflowTables,
    keyTables,
    creditTables,
    deliveryTables,
    secretTables,
    valueTables,
  ].join(""),
  sessionTables,
  runSources,
  triggerTables,
  childRuns,
  triggerAddresses,
  runEnds,
  runOrder,
  childIndex,
  signalTables,
  openMessages,
  workflowVersions,
  concurrencyKeys,
  triggerPauses,
  webhookTests,
]

/**
 * Leases are not stored in the file: whoever opens it is alone, and the leases of all others have
 * ended. So a process that only waits writes nothing.
 */
export const leases = `
CREATE TEMP TABLE leases (runner TEXT PRIMARY KEY, lease_until INTEGER NOT NULL) STRICT;
`
