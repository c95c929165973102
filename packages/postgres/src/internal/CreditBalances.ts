/**
 * Locks, reads and writes credit accounts with their grants, in a transaction of the caller.
 *
 * Guarantees: accounts are locked in the given order, which is the order of the runs' commits. The
 * domain computes every new balance. Leaves out: the hot path, which changes the two sums of an
 * account and does not read its grants.
 */
import type { Grant, CreditBalance, Settled } from "@millrace/core/domain/Grant"
import * as Grants from "@millrace/core/domain/Grant"
import type { AccountId } from "@millrace/core/domain/Id"
import type { CreditAccount } from "@millrace/core/domain/Ledger"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as LedgerRows from "./LedgerRows.ts"
import * as Rows from "./Rows.ts"
import { values } from "./Statements.ts"

/** A locked account, and the time at which it was locked. */
export interface LockedBalances {
  readonly number: number
  readonly balance: CreditBalance
  readonly now: Timestamp
}

const openStatement = `INSERT INTO credit_accounts (account_id, metered, posted, reserved)
  SELECT id, false, 0, 0 FROM unnest($1::text[]) AS a (id) ON CONFLICT DO NOTHING`

// `now()` would be the start of the transaction, before the wait for the lock.
const lockStatement = `
  SELECT c.number::float8 AS number, ${Rows.object(LedgerRows.accounts, "c")} AS account,
    floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
  FROM credit_accounts c WHERE c.account_id = $1 FOR UPDATE`

const grantsStatement = `
  SELECT ${Rows.object(LedgerRows.grants, "g")} AS value
  FROM credit_grants g WHERE g.account_id = $1 AND g.remaining > 0`

interface LockRow {
  readonly number: number
  readonly account: CreditAccount
  readonly now: Timestamp
}

/** The grants of an account that have credits left. */
export const grantsOf = (sql: SqlClient, account: string) =>
  values<Grant>(sql, grantsStatement, [account])

/** Locks an account. Makes the account first if there is none. */
export const lock = Effect.fnUntraced(function* (
  sql: SqlClient,
  account: string,
): Effect.fn.Return<LockedBalances, SqlError> {
  yield* sql.unsafe(openStatement, [[account]])
  const rows = yield* sql.unsafe<LockRow>(lockStatement, [account])
  const { account: locked, now, number } = rows[0]!
  return { number, now, balance: { account: locked, grants: yield* grantsOf(sql, account) } }
})

const saveAccount = `UPDATE credit_accounts c
  SET metered = s.metered, posted = s.posted, reserved = s.reserved, due_at = s.due_at
  FROM ${Rows.source(LedgerRows.accounts, "s", 1)} WHERE c.account_id = s.account_id`

const saveGrants = `${Rows.insert("credit_grants", LedgerRows.grants)}
  ON CONFLICT (account_id, id) DO UPDATE SET remaining = excluded.remaining`

const saveEntries = `INSERT INTO credit_entries (account, ${Rows.names(LedgerRows.entries)})
  SELECT $1, ${Rows.names(LedgerRows.entries)} FROM ${Rows.source(LedgerRows.entries, "e", 2)}`

/** Stores the new state of a locked account. */
export const save = Effect.fnUntraced(function* (
  sql: SqlClient,
  { number }: LockedBalances,
  { account, entries, grants }: Settled,
): Effect.fn.Return<void, SqlError> {
  yield* sql.unsafe(saveAccount, Rows.parameters(LedgerRows.accounts, [account]))
  if (grants.length > 0) {
    yield* sql.unsafe(saveGrants, Rows.parameters(LedgerRows.grants, grants))
  }
  if (entries.length > 0) {
    yield* sql.unsafe(saveEntries, [number, ...Rows.parameters(LedgerRows.entries, entries)])
  }
})

/** Locks accounts and takes back the expired grants. */
export const settle = (
  sql: SqlClient,
  accounts: ReadonlyArray<AccountId | string>,
): Effect.Effect<void, SqlError> =>
  Effect.forEach(
    accounts,
    (account) =>
      Effect.flatMap(lock(sql, account), (locked) =>
        save(sql, locked, Grants.settle(locked.balance, locked.now)),
      ),
    { discard: true },
  )
