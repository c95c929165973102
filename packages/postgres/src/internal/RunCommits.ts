/**
 * Writes the commits of many runs in one statement. Each commit has its own outcome.
 *
 * Guarantees: a commit is applied as a whole or not at all. Leaves out: gathering commits, and the
 * statement's text.
 */
import { amountToReserve } from "@millrace/core/domain/Ledger"
import type { InsufficientCredits } from "@millrace/core/ports/LedgerStore"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { PlacedCommit } from "./CommitRows.ts"
import * as CommitStatement from "./CommitStatement.ts"
import * as CreditBalances from "./CreditBalances.ts"
import * as Preconditions from "./Preconditions.ts"
import * as Rows from "./Rows.ts"
import * as RunCredits from "./RunCredits.ts"
import * as Statements from "./Statements.ts"
import type { WrittenRuns } from "./WrittenRuns.ts"

/** The idempotency key of a start, and its preconditions. */
const claimOf = (commit: RunCommit): string | undefined => {
  const { expected, run } = commit
  return expected._tag === "New" && expected.idempotencyKey !== undefined
    ? JSON.stringify([
        run.accountId,
        expected.idempotencyKey.key,
        Preconditions.preconditionOf(commit) ?? null,
      ])
    : undefined
}

/**
 * The commits without new runs whose idempotency key an earlier commit of the group also has. A
 * commit with another precondition stays, because it may be met if the earlier one is not.
 */
const withoutDuplicates = (commits: ReadonlyArray<RunCommit>): ReadonlyArray<RunCommit> => {
  const taken = new Set<string>()
  return commits.filter((commit) => {
    const claim = claimOf(commit)
    if (claim === undefined) return true
    const isFirst = !taken.has(claim)
    taken.add(claim)
    return isFirst
  })
}

/** The result of a commit. `unready`: its account must be settled first. */
type Answer = "applied" | "stale" | "unready" | InsufficientCredits

/** The result of a commit for its caller. */
export type Outcome = Exclude<Answer, "unready">

/** The connection, and what was written with it; that is absent in a caller's transaction. */
export interface Connection {
  readonly sql: SqlClient
  readonly written: WrittenRuns | undefined
}

const placed = (
  commits: ReadonlyArray<RunCommit>,
  written: WrittenRuns | undefined,
): ReadonlyArray<PlacedCommit> =>
  withoutDuplicates(commits).map((commit, place) => ({
    commit,
    place,
    number: written?.numberOf(commit.run) ?? null,
    isPlain: written?.isPlain(commit) ?? false,
    isDefined: written?.isDefined(commit) ?? false,
  }))

const writePlain = Effect.fnUntraced(function* (
  { sql, written }: Connection,
  commits: ReadonlyArray<RunCommit>,
): Effect.fn.Return<ReadonlyArray<Outcome>, SqlError> {
  const sent = placed(commits, written)
  const { parameters, text } = CommitStatement.compose(sent, undefined)
  const rows = yield* Statements.complete<CommitStatement.Applied>(sql, text, parameters)
  const applied = new Set<RunCommit>()
  for (const { number, owned, place } of rows) {
    const { commit } = sent[place]!
    applied.add(commit)
    written?.note(commit, number, owned)
  }
  return commits.map((commit) => (applied.has(commit) ? "applied" : "stale"))
})

const answerOf = (
  row: RunCredits.Answered | undefined,
  commit: RunCommit,
  written: WrittenRuns | undefined,
): Answer => {
  if (row === undefined) return "stale"
  if (row.outcome === "refused") return RunCredits.refusalOf(commit, row.rest)
  if (row.outcome === "applied") written?.note(commit, row.number, row.owned)
  return row.outcome
}

const writeCredits = Effect.fnUntraced(function* (
  { sql, written }: Connection,
  commits: ReadonlyArray<RunCommit>,
  areSettled: boolean,
): Effect.fn.Return<ReadonlyArray<Answer>, SqlError> {
  const { parameters, text } = CommitStatement.compose(placed(commits, written), { areSettled })
  const rows = yield* Statements.complete<RunCredits.Answered>(sql, text, parameters)
  const answers = new Map(rows.map((row) => [row.id, row]))
  return commits.map((commit) => answerOf(answers.get(Rows.text(commit.run.id)), commit, written))
})

/** Settles the accounts of these commits, and writes the commits in the same transaction. */
const writeSettled = ({ sql, written }: Connection, commits: ReadonlyArray<RunCommit>) => {
  const both = Effect.andThen(
    CreditBalances.settle(sql, RunCredits.accountsOf(commits)),
    writeCredits({ sql, written }, commits, true),
  )
  // In a transaction of the caller, that is the transaction.
  return written === undefined ? both : sql.withTransaction(both)
}

/**
 * The commits that were refused because of an earlier commit that did not use its credits: it was
 * stale, or its idempotency key was in use.
 */
const refusedForOthers = (commits: ReadonlyArray<RunCommit>, answers: ReadonlyArray<Answer>) => {
  const left = new Set(
    commits
      .filter(
        ({ credits = [] }, index) => answers[index] === "stale" && amountToReserve(credits) > 0,
      )
      .map(({ run }) => run.accountId),
  )
  return commits.filter(
    ({ run }, index) => typeof answers[index] === "object" && left.has(run.accountId),
  )
}

type Write = (
  to: Connection,
  commits: ReadonlyArray<RunCommit>,
) => Effect.Effect<ReadonlyArray<Outcome>, SqlError>

const writeOnce: Write = Effect.fnUntraced(function* (to, commits) {
  if (!commits.some(RunCredits.movesCredits)) return yield* writePlain(to, commits)
  const answers = yield* writeCredits(to, commits, false)
  const unready = commits.filter((_, index) => answers[index] === "unready")
  const settled = unready.length === 0 ? [] : yield* writeSettled(to, unready)
  const byRun = new Map<string, Answer>()
  for (const [index, { run }] of unready.entries()) byRun.set(run.id, settled[index]!)
  const reached = commits.map(({ run }, index) => byRun.get(run.id) ?? answers[index]!)
  const again = refusedForOthers(commits, reached)
  const last = again.length === 0 ? [] : yield* writeOnce(to, again)
  for (const [index, { run }] of again.entries()) byRun.set(run.id, last[index]!)
  return commits.map(({ run }, index) => byRun.get(run.id) ?? answers[index]) as Array<Outcome>
})

/**
 * Applies commits of different runs, each as a whole or not at all. A start that was refused
 * without its definition is written once more, with that.
 */
export const write: Write = Effect.fnUntraced(function* (to, commits) {
  const { written } = to
  const isDefined = commits.map((commit) => written?.isDefined(commit) === true)
  const outcomes = yield* writeOnce(to, commits)
  const refused = commits.filter((_, index) => isDefined[index] && outcomes[index] === "stale")
  if (refused.length === 0) return outcomes
  for (const commit of refused) written?.forgetDefinition(commit)
  const last = yield* writeOnce(to, refused)
  const byCommit = new Map(refused.map((commit, index) => [commit, last[index]!]))
  return commits.map((commit, index) => byCommit.get(commit) ?? outcomes[index]!)
})
