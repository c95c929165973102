/**
 * The ledger store on Postgres. Grants expire by the database's clock.
 *
 * Guarantees: an operator's operation is a transaction that locks the account's row, as a commit
 * that moves credits does. An audit reads one snapshot. Leaves out: what runs do.
 */
import type { AdminOperation, Grant, CreditBalance, Settled } from "@millrace/core/domain/Grant"
import * as Grants from "@millrace/core/domain/Grant"
import type { AccountId, RunId } from "@millrace/core/domain/Id"
import type { CreditAccount, HandEntryKind, NumberedEntry } from "@millrace/core/domain/Ledger"
import { unopened } from "@millrace/core/domain/Ledger"
import type { RunFacts } from "@millrace/core/domain/LedgerCheck"
import { discrepanciesTold } from "@millrace/core/domain/Limits"
import type { StatementQuery, AuditReader } from "@millrace/core/ports/LedgerStore"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { PgTypes } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { databasePort } from "./DatabaseError.ts"
import * as LedgerRows from "./LedgerRows.ts"
import * as CreditBalances from "./CreditBalances.ts"
import * as Rows from "./Rows.ts"
import { values } from "./Statements.ts"
import { usage } from "./Usage.ts"

const entryObject = Rows.object(LedgerRows.entries, "e", "e.number")

const withGrantsLeft = ({ account, grants }: CreditBalance): CreditBalance => ({
  account,
  grants: grants.filter(({ remaining }) => remaining > 0),
})

interface PurseRow {
  readonly number: number
  readonly account: CreditAccount
  readonly now: number
}

const peekStatement = `
  SELECT c.number::float8 AS number, ${Rows.object(LedgerRows.accounts, "c")} AS account,
    floor(extract(epoch FROM now()) * 1000)::float8 AS now
  FROM credit_accounts c WHERE c.account_id = $1`

/** An account as if it were settled now. Changes nothing. */
const peek = Effect.fnUntraced(function* (sql: SqlClient, account: AccountId) {
  const rows = yield* sql.unsafe<PurseRow>(peekStatement, [Rows.text(account)])
  const row = rows[0]
  if (row === undefined) return undefined
  const grants = yield* CreditBalances.grantsOf(sql, Rows.text(account))
  return { row, settled: Grants.settle({ account: row.account, grants }, row.now) }
})

/** Settles an account, and stores that. */
const settled = Effect.fnUntraced(function* (sql: SqlClient, account: AccountId) {
  const locked = yield* CreditBalances.lock(sql, Rows.text(account))
  const next = Grants.settle(locked.balance, locked.now)
  yield* CreditBalances.save(sql, locked, next)
  return next
})

const find = Effect.fnUntraced(function* (
  sql: SqlClient,
  account: AccountId,
): Effect.fn.Return<CreditBalance, SqlError> {
  const seen = yield* peek(sql, account)
  if (seen === undefined) return { account: unopened(account), grants: [] }
  const isOver = seen.settled.entries.length > 0
  return withGrantsLeft(isOver ? yield* sql.withTransaction(settled(sql, account)) : seen.settled)
})

const knownStatement = `SELECT ${entryObject} AS entry FROM credit_entries e
  WHERE e.account = $1::int8 AND e.kind = $2 AND e.part = $3 AND e.run IS NULL`

interface EntryRow {
  readonly entry: LedgerRows.StoredEntry
  readonly run: RunId | null
}

/** Performs an operator's operation, unless its id was used before. Returns the first entry. */
const once = Effect.fnUntraced(function* (
  sql: SqlClient,
  { accountId, id }: AdminOperation,
  kind: HandEntryKind,
  change: (balance: CreditBalance, now: number) => Settled,
): Effect.fn.Return<NumberedEntry, SqlError> {
  const locked = yield* CreditBalances.lock(sql, Rows.text(accountId))
  const known = sql.unsafe<EntryRow>(knownStatement, [locked.number, kind, Rows.text(id)])
  if ((yield* known).length === 0) {
    yield* CreditBalances.save(sql, locked, change(locked.balance, locked.now))
  }
  return LedgerRows.entryOf((yield* known)[0]!.entry, accountId, null)
})

const grantStatement = `SELECT ${Rows.object(LedgerRows.grants, "g")} AS value
  FROM credit_grants g WHERE g.account_id = $1 AND g.id = $2`

const grant = Effect.fnUntraced(function* (
  sql: SqlClient,
  request: Grants.GrantRequest,
): Effect.fn.Return<Grant, SqlError> {
  const operation = { ...request, id: Rows.text(request.id) }
  yield* once(sql, operation, "grant", (balance, now) => Grants.grant(balance, operation, now))
  const parameters = [Rows.text(request.accountId), operation.id]
  const [made] = yield* values<Grant>(sql, grantStatement, parameters)
  return made!
})

const statement = Effect.fnUntraced(function* (
  sql: SqlClient,
  { account, before, limit }: StatementQuery,
): Effect.fn.Return<ReadonlyArray<NumberedEntry>, SqlError> {
  const rows = yield* sql.unsafe<EntryRow>(
    `SELECT ${entryObject} AS entry, r.id AS run
     FROM credit_accounts c JOIN credit_entries e ON e.account = c.number
     LEFT JOIN runs r ON r.number = e.run
     WHERE c.account_id = $1 AND ($2::int8 IS NULL OR e.number < $2::int8)
     ORDER BY e.number DESC LIMIT $3`,
    [Rows.text(account), before === undefined ? null : PgTypes.float8(before), limit],
  )
  return rows.map(({ entry, run }) => LedgerRows.entryOf(entry, account, run))
})

const accountsStatement = `SELECT account_id AS value FROM credit_accounts
  UNION SELECT account_id FROM runs WHERE estimated_credits > 0 OR actual_credits > 0`

/** How many lines one statement of an audit reads. */
const linesPerPage = 2_000

interface LineRow extends EntryRow {
  readonly facts: RunFacts | null
}

const runFacts = `CASE WHEN r.id IS NULL THEN NULL ELSE ${Rows.object(LedgerRows.facts, "r")} END`

/** If the run of an entry does not exist, its number replaces its id. */
const linesStatement = `
  SELECT ${entryObject} AS entry, ${runFacts} AS facts,
    coalesce(r.id, 'number ' || e.run) AS run
  FROM credit_entries e LEFT JOIN runs r ON r.number = e.run
  WHERE e.account = $1::int8 AND e.number > $2::int8 ORDER BY e.number LIMIT ${linesPerPage}`

const orphansStatement = `
  SELECT ${Rows.object(LedgerRows.facts, "r")} AS value FROM runs r
  WHERE r.account_id = $1 AND (r.estimated_credits > 0 OR r.actual_credits > 0)
    AND NOT EXISTS (SELECT FROM credit_entries e WHERE e.run = r.number OFFSET 0)
  LIMIT ${discrepanciesTold}`

/** Reads an account's entries, page by page. */
const lines = Effect.fnUntraced(function* (
  sql: SqlClient,
  account: AccountId,
  number: number,
  read: ReturnType<AuditReader>,
): Effect.fn.Return<void, SqlError> {
  let after: number | undefined = 0
  while (after !== undefined) {
    const parameters = [PgTypes.float8(number), PgTypes.float8(after)]
    const page: ReadonlyArray<LineRow> = yield* sql.unsafe<LineRow>(linesStatement, parameters)
    for (const { entry, facts, run } of page) {
      read({ entry: LedgerRows.entryOf(entry, account, run), run: facts })
    }
    after = page.length < linesPerPage ? undefined : page.at(-1)?.entry.number
  }
})

const audit = Effect.fnUntraced(function* (
  sql: SqlClient,
  account: AccountId,
  reader: AuditReader,
): Effect.fn.Return<void, SqlError> {
  yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`
  const name = Rows.text(account)
  const row = (yield* sql.unsafe<PurseRow>(peekStatement, [name]))[0]
  const grants = yield* CreditBalances.grantsOf(sql, name)
  const read = reader({ account: row?.account ?? unopened(account), grants })
  if (row !== undefined) yield* lines(sql, account, row.number, read)
  const orphans = yield* values<RunFacts>(sql, orphansStatement, [name])
  for (const run of orphans) read({ entry: null, run })
})

const make = Effect.gen(function* () {
  const sql = (yield* SqlClient).withoutTransforms()
  const alone = sql.withTransaction
  return databasePort<LedgerStore["Service"]>("LedgerStore", {
    find: (account) => find(sql, account),
    grant: (request) => alone(grant(sql, request)),
    adjust: (adjustment) => {
      const change = (balance: CreditBalance, now: number) =>
        Grants.adjust(balance, adjustment, now)
      return alone(once(sql, adjustment, "adjust", change))
    },
    meter: (operation, metered) => {
      const change = (balance: CreditBalance, now: number) =>
        Grants.meter(balance, operation, metered, now)
      return alone(once(sql, operation, metered ? "meter" : "unmeter", change))
    },
    statement: (query) => statement(sql, query),
    usage: (query) => usage(sql, query),
    accounts: values<AccountId>(sql, accountsStatement),
    audit: (account, reader) => alone(audit(sql, account, reader)),
  })
})

/** The ledger store over an existing client. The tables must exist. */
export const layer: Layer.Layer<LedgerStore, never, SqlClient> = Layer.effect(LedgerStore, make)
