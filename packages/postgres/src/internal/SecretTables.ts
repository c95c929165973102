/**
 * The ninth migration: the secrets of accounts.
 *
 * Guarantees: servers of the previous version continue. Leaves out: sealing.
 */

const id = `text COLLATE "C"`

export const secretTables: ReadonlyArray<string> = [
  `CREATE TABLE secrets (
    account_id ${id} NOT NULL,
    name ${id} NOT NULL,
    hosts json NOT NULL,
    sealed text NOT NULL,
    created_at int8 NOT NULL,
    updated_at int8 NOT NULL,
    last_used_at int8,
    PRIMARY KEY (account_id, name)
  )`,
]
