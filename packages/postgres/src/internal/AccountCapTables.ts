/**
 * The fourth migration: accounts may have caps of their own.
 *
 * Guarantees: no account has one by it; rows are not rewritten. Servers of the version before go on
 * beside it, and obey none. Leaves out: how caps are obeyed, see ClaimStatement.
 */

export const accountCaps: ReadonlyArray<string> = [
  `ALTER TABLE accounts ADD COLUMN runs_at_once int4`,
  // Every process asks with each heartbeat who has a cap.
  `CREATE INDEX accounts_capped ON accounts (id) WHERE runs_at_once IS NOT NULL`,
]
