/**
 * Commits that start runs, send messages to other runs, or change the waits for signals to the
 * workflow: several statements in one transaction.
 *
 * Guarantees: all of a commit is written, or nothing. A commit locks the credit account first, then
 * what its waits are about, then the rows of all its runs in the order of their ids, so two commits
 * cannot deadlock. The exception is a signal that it passes on to another run; then the database
 * refuses one of the two, and it is tried again. However many runs a commit starts, they take a few
 * statements. Leaves out: other commits.
 */
import { InsufficientCredits } from "@millrace/core/ports/LedgerStore"
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

/** How many runs one statement starts at most. */
const runsPerStatement = 256

/** True for a commit that needs more than one statement. */
export const hasOutbox = ({ messages = [], signals, starts = [] }: RunCommit): boolean =>
  messages.length > 0 || starts.length > 0 || signals !== undefined

const insertOf = ({ definition, ...started }: StartedRun): RunCommit => ({
  nodeRuns: [],
  events: [],
  deliveries: [],
  ...started,
  expected: { _tag: "New", definition },
  rewritten: [],
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

type Refusal = StaleRun | InsufficientCredits

/** Applies commits in one statement, or fails with what became of the first that is refused. */
const apply = Effect.fnUntraced(function* (
  sql: SqlClient,
  commits: ReadonlyArray<RunCommit>,
): Effect.fn.Return<void, Refusal | SqlError> {
  const outcomes = yield* RunCommits.write({ sql, written: undefined }, commits)
  for (const [index, { run }] of commits.entries()) {
    const outcome = outcomes[index]!
    if (outcome === "stale") return yield* new StaleRun({ runId: run.id })
    if (outcome !== "applied") return yield* outcome
  }
})

/** Starts a run. Of what is not covered, it says which one. */
const start = (sql: SqlClient, insert: RunCommit) =>
  Effect.mapError(apply(sql, [insert]), (error) => {
    if (error._tag !== "InsufficientCredits") return error
    const { available, required } = error
    return new InsufficientCredits({ required, available, runId: insert.run.id })
  })

/**
 * Starts runs. A statement counts what each of its commits reserves, and not what the same commit
 * gives back: where it refuses one, each run is started by a statement of its own.
 */
const startAll = (
  sql: SqlClient,
  inserts: ReadonlyArray<RunCommit>,
): Effect.Effect<void, Refusal | SqlError> => {
  const oneByOne = Effect.forEach(inserts, (each) => start(sql, each), { discard: true })
  if (inserts.length < 2) return oneByOne
  const parts = Array.from({ length: Math.ceil(inserts.length / runsPerStatement) }, (_, part) =>
    inserts.slice(part * runsPerStatement, (part + 1) * runsPerStatement),
  )
  const together = Effect.forEach(parts, (part) => apply(sql, part), { discard: true })
  if (!inserts.some(RunCredits.movesCredits)) return together
  return Effect.catchTag(sql.withTransaction(together), "InsufficientCredits", () => oneByOne)
}

/** Applies a commit, starts its runs and sends its messages. */
export const write = (
  sql: SqlClient,
  commit: RunCommit,
): Effect.Effect<void, Refusal | SqlError> => {
  const inserts = (commit.starts ?? []).map(insertOf)
  return sql.withTransaction(
    Effect.gen(function* () {
      yield* lock(sql, commit, inserts)
      yield* apply(sql, [commit])
      yield* startAll(sql, inserts)
      for (const { message, runId } of commit.messages ?? []) {
        yield* Inboxes.sendWithin(sql, commit.run.accountId, runId, message)
      }
      yield* Signals.change(sql, commit)
    }),
  )
}
