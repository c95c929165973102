/**
 * Commits that start runs, send messages to other runs, or change the waits for signals to the
 * workflow: several statements in one transaction.
 *
 * Guarantees: all of a commit is written, or nothing. A commit locks the credit account first, then
 * what its waits are about, then the rows of all its runs in the order of their ids, so two commits
 * cannot deadlock. The exception is a signal that it passes on to another run; then the database
 * refuses one of the two, and it is tried again. Leaves out: other commits.
 */
import type { InsufficientCredits } from "@millrace/core/ports/LedgerStore"
import type { RunCommit, StartedRun } from "@millrace/core/ports/RunStore"
import { StaleRun } from "@millrace/core/ports/RunStore"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as Inboxes from "./Inboxes.ts"
import * as Rows from "./Rows.ts"
import * as RunCommits from "./RunCommits.ts"
import * as RunCredits from "./RunCredits.ts"
import * as Signals from "./Signals.ts"

/** True for a commit that needs more than one statement. */
export const hasOutbox = ({ messages = [], signals, starts = [] }: RunCommit): boolean =>
  messages.length > 0 || starts.length > 0 || signals !== undefined

const insertOf = ({ credits = [], definition, nodeRuns = [], run }: StartedRun): RunCommit => ({
  expected: { _tag: "New", definition },
  run,
  nodeRuns,
  rewritten: [],
  events: [],
  credits,
  deliveries: [],
})

const lock = Effect.fnUntraced(function* (
  sql: SqlClient,
  commit: RunCommit,
  inserts: ReadonlyArray<RunCommit>,
) {
  const accounts = RunCredits.accountsOf([commit, ...inserts])
  if (accounts.length > 0) {
    yield* sql`SELECT FROM credit_accounts WHERE account_id = ${accounts[0]!} FOR UPDATE`
  }
  yield* Signals.lock(sql, commit)
  const ids = [commit.run.id, ...(commit.messages ?? []).map(({ runId }) => runId)].map(Rows.text)
  yield* sql`SELECT FROM runs r JOIN unnest(${[...new Set(ids)].toSorted()}::text[]) AS w (id)
    ON r.id = w.id ORDER BY r.id FOR UPDATE OF r`
})

/** Applies a commit, starts its runs and sends its messages. */
export const write = (
  sql: SqlClient,
  commit: RunCommit,
): Effect.Effect<void, StaleRun | InsufficientCredits | SqlError> => {
  const apply = Effect.fnUntraced(function* (one: RunCommit) {
    const [outcome] = yield* RunCommits.write({ sql, written: undefined }, [one])
    if (outcome === "stale") return yield* new StaleRun({ runId: one.run.id })
    if (outcome !== "applied") return yield* outcome!
  })
  const inserts = (commit.starts ?? []).map(insertOf)
  return sql.withTransaction(
    Effect.gen(function* () {
      yield* lock(sql, commit, inserts)
      for (const one of [commit, ...inserts]) yield* apply(one)
      for (const { message, runId } of commit.messages ?? []) {
        yield* Inboxes.sendWithin(sql, commit.run.accountId, runId, message)
      }
      yield* Signals.change(sql, commit)
    }),
  )
}
