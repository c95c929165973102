/**
 * The migration for signals to workflows, and for the waits of runs that they find.
 *
 * Guarantees: servers of the previous version continue. They write no waits, and leave those of a
 * run that they end; nobody gets a signal for such a wait.
 */

const id = `text COLLATE "C"`

export const signalTables: ReadonlyArray<string> = [
  `CREATE TABLE signal_waits (
    number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id ${id} NOT NULL,
    workflow_id ${id} NOT NULL,
    key ${id} NOT NULL,
    until int8 NOT NULL,
    filter json
  )`,
  `CREATE INDEX signal_waits_by_key ON signal_waits (workflow_id, key, number)`,
  `CREATE INDEX signal_waits_of_run ON signal_waits (run_id)`,
  // A signal that a run has keeps its row, without the payload, if its sender may repeat it.
  `CREATE TABLE workflow_signals (
    number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workflow_id ${id} NOT NULL REFERENCES workflows (id) ON DELETE CASCADE,
    id ${id} NOT NULL,
    key ${id} NOT NULL,
    is_named bool NOT NULL,
    run_id ${id},
    expires_at int8 NOT NULL,
    payload json NOT NULL
  )`,
  `CREATE UNIQUE INDEX workflow_signals_by_id ON workflow_signals (workflow_id, id)`,
  `CREATE INDEX workflow_signals_kept ON workflow_signals (workflow_id, key, number)
    WHERE run_id IS NULL`,
  `CREATE INDEX workflow_signals_by_expiry ON workflow_signals (expires_at)`,
]
