/**
 * The migration for sessions, and the tickets that become sessions.
 *
 * Guarantees: servers of the previous version continue. Leaves out: tokens; only hashes are stored.
 */

const id = `text COLLATE "C"`

export const sessionTables: ReadonlyArray<string> = [
  // Requests change only columns that no index has, so an update stays within its page.
  `CREATE TABLE sessions (
    id ${id} PRIMARY KEY,
    account_id ${id},
    role text NOT NULL,
    workflows json,
    created_at int8 NOT NULL,
    expires_at int8 NOT NULL,
    idle_millis int8,
    last_used_at int8,
    hash bytea NOT NULL UNIQUE,
    redeem_by int8,
    minute int8 NOT NULL DEFAULT 0,
    minute_used int4 NOT NULL DEFAULT 0
  ) WITH (fillfactor = 50)`,
  `CREATE INDEX sessions_of_account ON sessions (account_id, created_at, id)`,
  `CREATE INDEX sessions_by_expiry ON sessions (expires_at)`,
]
