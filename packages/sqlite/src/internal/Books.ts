/**
 * The credits of accounts: balances, grants and entries. Commits of runs move credits here, and so
 * does the ledger store.
 *
 * Guarantees: every change of an account goes with its entries. Leaves out: the rules; see
 * `core/domain/Ledger` and `core/domain/Grant`.
 */
import type { AdminOperation, CreditBalance, Grant, Settled } from "@millrace/core/domain/Grant"
import * as Grants from "@millrace/core/domain/Grant"
import type { AccountId, RunId } from "@millrace/core/domain/Id"
import type {
  CreditAccount,
  Entry,
  HandEntryKind,
  NumberedEntry,
  RunEntry,
} from "@millrace/core/domain/Ledger"
import * as Ledger from "@millrace/core/domain/Ledger"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { InsufficientCredits } from "@millrace/core/ports/LedgerStore"
import type { Connection } from "./SqliteConnection.ts"

interface AccountRow {
  readonly metered: number
  readonly posted: number
  readonly reserved: number
  readonly due_at: number | null
}

const accountOf = (db: Connection, accountId: AccountId): CreditAccount => {
  const row = db
    .query<AccountRow>(
      `SELECT metered, posted, reserved, due_at FROM credit_accounts WHERE account_id = ?`,
      accountId,
    )
    .first()
  if (row === undefined) return Ledger.unopened(accountId)
  const { due_at: dueAt, metered, posted, reserved } = row
  return { accountId, metered: metered === 1, posted, reserved, dueAt }
}

/** An account as it is stored, with its grants that have credits left. */
export const balanceOf = (db: Connection, account: AccountId): CreditBalance => {
  const grants = db
    .query<{ readonly content: string }>(
      `SELECT content FROM credit_grants WHERE account_id = ? AND remaining > 0`,
      account,
    )
    .all()
  return {
    account: accountOf(db, account),
    grants: grants.map(({ content }) => JSON.parse(content) as Grant),
  }
}

/** The grant with an id. */
export const grantOf = (db: Connection, account: AccountId, id: string): Grant => {
  const row = db
    .query<{ readonly content: string }>(
      `SELECT content FROM credit_grants WHERE account_id = ? AND id = ?`,
      account,
      id,
    )
    .first()
  return JSON.parse(row!.content) as Grant
}

const saveAccount = (
  db: Connection,
  { accountId, dueAt, metered, posted, reserved }: CreditAccount,
): void => {
  db.run(
    `INSERT INTO credit_accounts (account_id, metered, posted, reserved, due_at)
     VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (account_id) DO UPDATE SET metered = excluded.metered, posted = excluded.posted,
       reserved = excluded.reserved, due_at = excluded.due_at`,
    accountId,
    metered ? 1 : 0,
    posted,
    reserved,
    dueAt,
  )
}

const saveGrant = (db: Connection, grant: Grant): void => {
  db.run(
    `INSERT INTO credit_grants (account_id, id, remaining, content) VALUES (?, ?, ?, ?)
     ON CONFLICT (account_id, id) DO UPDATE SET remaining = excluded.remaining,
       content = excluded.content`,
    grant.accountId,
    grant.id,
    grant.remaining,
    JSON.stringify(grant),
  )
}

const append = (db: Connection, entry: Entry): void => {
  db.run(
    `INSERT INTO credit_entries (account_id, run_id, key, entry) VALUES (?, ?, ?, ?)`,
    entry.accountId,
    entry.runId,
    entry.key,
    JSON.stringify(entry),
  )
}

const save = (db: Connection, { account, entries, grants }: Settled): void => {
  saveAccount(db, account)
  for (const grant of grants) saveGrant(db, grant)
  for (const entry of entries) append(db, entry)
}

/** An account as it is now, without its used grants. Takes back its expired grants. */
export const settled = (db: Connection, account: AccountId, now: Timestamp): CreditBalance => {
  const next = Grants.settle(balanceOf(db, account), now)
  if (next.entries.length > 0) save(db, next)
  return { account: next.account, grants: next.grants.filter(({ remaining }) => remaining > 0) }
}

/** Why the account does not cover a commit and the runs that it starts. */
export const problemOf = (
  db: Connection,
  commit: RunCommit,
  now: Timestamp,
): InsufficientCredits | undefined => {
  const { run, starts = [] } = commit
  if ([commit, ...starts].every(({ credits = [] }) => credits.length === 0)) return undefined
  const seen = accountOf(db, run.accountId)
  const isDue = Grants.isDue(seen, now)
  if (isDue) save(db, Grants.settle(balanceOf(db, run.accountId), now))
  const shortfall = Ledger.missingCredits(isDue ? accountOf(db, run.accountId) : seen, commit)
  return shortfall === undefined ? undefined : new InsufficientCredits(shortfall)
}

/** Applies the entries of a run. */
export const move = (
  db: Connection,
  account: AccountId,
  run: RunId,
  moved: ReadonlyArray<RunEntry>,
): void => {
  if (moved.length === 0) return
  saveAccount(db, Ledger.applied(accountOf(db, account), moved))
  for (const entry of moved) append(db, Ledger.entryOf(account, run, entry))
}

/** A row of `credit_entries`. */
export interface EntryRow {
  readonly number: number
  readonly entry: string
}

/** An entry from its row. */
export const entryOf = ({ entry, number }: EntryRow): NumberedEntry => ({
  ...(JSON.parse(entry) as Entry),
  number,
})

const known = (db: Connection, account: AccountId, key: string): EntryRow | undefined =>
  db
    .query<EntryRow>(
      `SELECT number, entry FROM credit_entries WHERE account_id = ? AND key = ?`,
      account,
      key,
    )
    .first()

/** Performs an operator's operation, unless its id was used before. Returns the first entry. */
export const once = (
  db: Connection,
  { accountId, id }: AdminOperation,
  kind: HandEntryKind,
  change: (balance: CreditBalance) => Settled,
): NumberedEntry => {
  const key = Ledger.keyOf(kind, null, id)
  if (known(db, accountId, key) === undefined) save(db, change(balanceOf(db, accountId)))
  return entryOf(known(db, accountId, key)!)
}
