/**
 * The ledger store. Grants expire by Effect's clock.
 *
 * Guarantees: an operator's operation is one write; an audit reads one moment. Leaves out: what
 * runs do.
 */
import * as Grants from "@millrace/core/domain/Grant"
import type { AccountId, RunId } from "@millrace/core/domain/Id"
import type { RunFacts } from "@millrace/core/domain/LedgerCheck"
import { dayMillis } from "@millrace/core/domain/Timestamp"
import type { Usage, UsageQuery, CountedRun } from "@millrace/core/domain/Usage"
import { usageOf } from "@millrace/core/domain/Usage"
import type { AuditReader, StatementQuery } from "@millrace/core/ports/LedgerStore"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { Effect, Layer } from "effect"
import type { EntryRow } from "./Books.ts"
import * as Books from "./Books.ts"
import type { Connection } from "./SqliteConnection.ts"
import { Database } from "./SqliteConnection.ts"

const statement = (db: Connection, { account, before, limit }: StatementQuery) =>
  db
    .query<EntryRow>(
      `SELECT number, entry FROM credit_entries WHERE account_id = ? AND number < ?
       ORDER BY number DESC LIMIT ?`,
      account,
      before ?? Number.MAX_SAFE_INTEGER,
      limit,
    )
    .all()
    .map(Books.entryOf)

/** The name is that of the latest run of its group: SQLite takes bare columns from there. */
const usageStatement = (
  isSome: boolean,
): string => `SELECT count(*) AS runs, max(created_at) AS createdAt, id,
    workflow_id AS workflowId, workflow_name AS workflowName, key_id AS keyId,
    sum(estimated_credits) AS estimatedCredits, sum(actual_credits) AS actualCredits
  FROM runs WHERE account_id = ? AND created_at >= ? AND created_at < ?
    ${isSome ? "AND workflow_id IN (SELECT value FROM json_each(?))" : ""}
  GROUP BY created_at / ${dayMillis}, workflow_id, workflow_name, key_id`

const usage = (db: Connection, query: UsageQuery): Usage => {
  const { account, from, until, workflows } = query
  const some = workflows === undefined ? [] : [JSON.stringify(workflows)]
  const rows = db
    .query<Omit<CountedRun, "accountId">>(
      usageStatement(workflows !== undefined),
      account,
      from,
      until,
      ...some,
    )
    .all()
  return usageOf(
    rows.map(({ workflowName, ...row }) => ({
      ...row,
      accountId: account,
      workflowName: JSON.parse(workflowName) as string,
    })),
    query,
  )
}

const accountsStatement = `SELECT account_id AS account FROM credit_accounts
  UNION SELECT account_id FROM runs WHERE estimated_credits > 0 OR actual_credits > 0`

const facts = `id, status, estimated_credits AS "estimatedCredits",
  actual_credits AS "actualCredits", start_at AS "startAt"`

const orphansStatement = `SELECT ${facts} FROM runs
  WHERE account_id = ? AND (estimated_credits > 0 OR actual_credits > 0)
    AND NOT EXISTS (SELECT 1 FROM credit_entries e WHERE e.run_id = runs.id)
  ORDER BY created_at, id`

const runFacts = ({
  actualCredits,
  estimatedCredits,
  id,
  startAt,
  status,
}: RunFacts): RunFacts => ({
  id,
  status,
  estimatedCredits,
  actualCredits,
  startAt,
})

const linesRead = 1_000

const linesStatement = `SELECT number, entry FROM credit_entries
  WHERE account_id = ? AND number > ? ORDER BY number LIMIT ${linesRead}`

const audit = (db: Connection, account: AccountId, reader: AuditReader): void => {
  const read = reader(Books.balanceOf(db, account))
  const factsOf = (run: RunId) => {
    const row = db
      .query<RunFacts>(`SELECT ${facts} FROM runs WHERE id = ? AND account_id = ?`, run, account)
      .first()
    return row === undefined ? null : runFacts(row)
  }
  for (let after: number | undefined = 0; after !== undefined;) {
    const rows: ReadonlyArray<EntryRow> = db.query<EntryRow>(linesStatement, account, after).all()
    for (const row of rows) {
      const entry = Books.entryOf(row)
      read({ entry, run: entry.runId === null ? null : factsOf(entry.runId) })
    }
    after = rows.length < linesRead ? undefined : rows.at(-1)?.number
  }
  for (const run of db.query<RunFacts>(orphansStatement, account).all()) {
    read({ entry: null, run: runFacts(run) })
  }
}

const make = (db: Connection): LedgerStore["Service"] => {
  const write = <A>(method: string, step: (now: number) => A) =>
    db.write(`LedgerStore.${method}`, step)
  const read = <A>(method: string, step: () => A) => db.read(`LedgerStore.${method}`, step)
  return LedgerStore.of({
    find: (account) => write("find", (now) => Books.settled(db, account, now)),
    grant: (request) =>
      write("grant", (now) => {
        Books.once(db, request, "grant", (balance) => Grants.grant(balance, request, now))
        return Books.grantOf(db, request.accountId, request.id)
      }),
    adjust: (adjustment) =>
      write("adjust", (now) =>
        Books.once(db, adjustment, "adjust", (balance) => Grants.adjust(balance, adjustment, now)),
      ),
    meter: (operation, metered) =>
      write("meter", (now) =>
        Books.once(db, operation, metered ? "meter" : "unmeter", (balance) =>
          Grants.meter(balance, operation, metered, now),
        ),
      ),
    statement: (query) => read("statement", () => statement(db, query)),
    usage: (query) => read("usage", () => usage(db, query)),
    accounts: read("accounts", () =>
      db
        .query<{ readonly account: AccountId }>(accountsStatement)
        .all()
        .map(({ account }) => account),
    ),
    audit: (account, reader) => read("audit", () => audit(db, account, reader)),
  })
}

/** The ledger store of a database. */
export const layer: Layer.Layer<LedgerStore, never, Database> = Layer.effect(
  LedgerStore,
  Effect.map(Database, make),
)
