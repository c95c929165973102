/**
 * The tenth migration: large values, beside the runs that they belong to.
 *
 * Guarantees: no row is rewritten, and servers of the version before go on with the runs that have
 * no large values. Leaves out: which values are large.
 */

const id = `text COLLATE "C"`

export const valueTables: ReadonlyArray<string> = [
  `ALTER TABLE runs ADD COLUMN IF NOT EXISTS large_values json`,
  `ALTER TABLE node_runs ADD COLUMN IF NOT EXISTS large_values json`,
  // A value goes with its run, whoever removes that.
  `CREATE TABLE run_values (
    account_id ${id} NOT NULL,
    run_id ${id} NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    id ${id} NOT NULL,
    part int4 NOT NULL,
    bytes bytea NOT NULL,
    written_at int8 NOT NULL,
    PRIMARY KEY (run_id, id, part)
  )`,
  // The parts are compressed already.
  `ALTER TABLE run_values ALTER COLUMN bytes SET STORAGE EXTERNAL`,
]
