/**
 * The seventh migration: inputs of nodes that are implied are stored as their ports.
 *
 * Guarantees: rows are not rewritten, and inputs that are there stay readable. A server of the
 * version before would take ports for an input, so it can go on no longer: every statement with
 * which it claims, renews its lease, starts or commits names a column that is not there any more,
 * and fails. Its runs pass to others when its lease has run out. Leaves out: what is implied, see
 * `core/domain/ImpliedInput`.
 */

export const impliedInputs: ReadonlyArray<string> = [
  `ALTER TABLE runs RENAME COLUMN fence TO fencing_token`,
  `ALTER TABLE node_runs RENAME COLUMN input TO input_or_ports`,
]
