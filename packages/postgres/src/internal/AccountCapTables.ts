/**
 * The fourth migration: an account may have its own cap.
 *
 * Guarantees: no account gets a cap, and no rows are rewritten. Servers of the previous version
 * continue and ignore caps. Leaves out: applying caps; see ClaimStatement.
 */

export const accountCaps: ReadonlyArray<string> = [
  `ALTER TABLE accounts ADD COLUMN runs_at_once int4`,
  // With each heartbeat, a process reads the accounts with a cap.
  `CREATE INDEX accounts_capped ON accounts (id) WHERE runs_at_once IS NOT NULL`,
]
