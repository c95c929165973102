/**
 * The eighth migration: sums of usage, the names that an account's runs have had, and indexes for
 * what tenants ask.
 *
 * Guarantees: no row is rewritten. Runs can be read meanwhile; whoever would write a run waits
 * until the sums hold all of them, which takes some seconds for a million runs. Leaves out: servers
 * of the version before, which would start runs that no sum has. The seventh migration is of the
 * same release and has shut them out.
 */
import { dayMillis } from "@millrace/core/domain/Timestamp"

const id = `text COLLATE "C"`

/** The index for parts of errors. Operators may make it, too; see the README. */
export const errorIndex = "runs_by_error"

/**
 * An index over parts of texts needs two extensions that come with Postgres. Whoever may create
 * objects in the database may create them, unless the server does not have them. The exceptions are
 * named, so that a lock which cannot be had is still an error.
 */
const errorsByText = `DO $$
DECLARE place text;
BEGIN
  CREATE EXTENSION IF NOT EXISTS pg_trgm;
  CREATE EXTENSION IF NOT EXISTS btree_gin;
  SELECT quote_ident(n.nspname) INTO place FROM pg_extension e
    JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm';
  EXECUTE 'CREATE INDEX IF NOT EXISTS ${errorIndex} ON runs USING gin (account_id, error_folded '
    || place || '.gin_trgm_ops) WHERE error_folded IS NOT NULL';
EXCEPTION
  WHEN insufficient_privilege OR undefined_file OR undefined_object OR feature_not_supported
    OR invalid_schema_name THEN NULL;
END $$`

export const growthTables: ReadonlyArray<string> = [
  `LOCK TABLE runs IN SHARE MODE`,
  // What commits add to usage. It has no key, so commits never wait for each other here. A float
  // has every whole number that an answer can have, and never overflows.
  `CREATE TABLE usage_changes (
    account_id ${id} NOT NULL,
    day int8 NOT NULL,
    workflow_id ${id} NOT NULL,
    name_folded ${id} NOT NULL,
    key_id ${id} NOT NULL,
    runs int8 NOT NULL,
    estimated_credits float8 NOT NULL,
    actual_credits float8 NOT NULL
  )`,
  `INSERT INTO usage_changes
    SELECT account_id, created_at / ${dayMillis}, workflow_id, workflow_name_folded,
      coalesce(key_id, ''), count(*), sum(estimated_credits), sum(actual_credits)
    FROM runs GROUP BY 1, 2, 3, 4, 5`,
  `CREATE INDEX usage_changes_of_account ON usage_changes (account_id, day)`,
  // The sums of what was added before. `part` says whether `id` is that of a workflow or a key.
  `CREATE TABLE usage_sums (
    account_id ${id} NOT NULL,
    part ${id} NOT NULL,
    day int8 NOT NULL,
    id ${id} NOT NULL,
    runs int8 NOT NULL,
    estimated_credits float8 NOT NULL,
    actual_credits float8 NOT NULL,
    PRIMARY KEY (account_id, part, day, id)
  ) WITH (fillfactor = 50)`,
  // The names under which a workflow was run, each with the days of its first and last run.
  `CREATE TABLE run_names (
    account_id ${id} NOT NULL,
    workflow_id ${id} NOT NULL,
    name_folded ${id} NOT NULL,
    since int8 NOT NULL,
    until int8 NOT NULL,
    PRIMARY KEY (account_id, workflow_id, name_folded)
  )`,
  `CREATE INDEX IF NOT EXISTS runs_with_error ON runs (account_id, created_at, id)
    WHERE error_folded IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS deliveries_of_account ON deliveries (account_id, created_at, id)`,
  `CREATE INDEX IF NOT EXISTS deliveries_of_account_in_trouble
    ON deliveries (account_id, created_at, id) WHERE trouble IS NOT NULL`,
  errorsByText,
]
