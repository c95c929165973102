/**
 * How runs are written: the commits of many runs as one statement, each with its own outcome.
 *
 * Guarantees: a commit is applied as a whole or not at all; the guard is part of the statement, so
 * whoever was fenced off writes nothing. What moves no credits pays nothing for those that do.
 * Leaves out: gathering commits.
 */
import { startKeyMillis } from "@millrace/core/domain/Idempotency"
import { demandOf } from "@millrace/core/domain/Ledger"
import type { InsufficientCredits } from "@millrace/core/ports/LedgerStore"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as Purses from "./Purses.ts"
import * as Rows from "./Rows.ts"
import * as RunCredits from "./RunCredits.ts"
import * as StartKeys from "./StartKeys.ts"

const ownedNodeRuns = Rows.owned(Rows.nodeRuns)
const ownedEvents = Rows.owned(Rows.events)

const firstBirth = 1
const firstStep = firstBirth + Rows.births.length
const firstDefinition = firstStep + Rows.steps.length
const firstNodeRun = firstDefinition + Rows.definitions.length
const firstRewritten = firstNodeRun + ownedNodeRuns.length
const firstEvent = firstRewritten + ownedNodeRuns.length
const firstCredit = firstEvent + ownedEvents.length

const copied = <Row>(table: Rows.Table<Row>, alias: string): string =>
  table.map(({ name }) => `${name} = ${alias}.${name}`).join(", ")

// A subquery that gives one value is looked up by key, where NOT EXISTS might read the whole table.
/**
 * Takes names that are free or no longer hold, in one order for every server. Who is not covered
 * takes none, and accounts are locked before names are.
 */
const namedBy = (hasCredits: boolean): string => `named AS (
  INSERT INTO start_keys AS k (account_id, key, run_id, body_hash, expires_at)
  SELECT account_id, start_key, id, body_hash, ${StartKeys.nowMillis} + ${startKeyMillis}
  FROM ${Rows.source(Rows.births, "b", firstBirth)}
  WHERE start_key IS NOT NULL AND (SELECT r.number FROM runs r WHERE r.id = b.id) IS NULL
    AND ${hasCredits ? RunCredits.isFree("b") : "true"}
  ORDER BY account_id, start_key
  ON CONFLICT (account_id, key) DO UPDATE
  SET run_id = excluded.run_id, body_hash = excluded.body_hash, expires_at = excluded.expires_at
  WHERE k.expires_at <= ${StartKeys.nowMillis}
  RETURNING k.run_id
), `

// Comparing `expected` or `few` with a text tells the planner to expect few rows, so that it looks
// rows up by their key, also in a plan that was made when the table was empty.
const statementOf = (hasCredits: boolean, hasNames: boolean): string => `
WITH ${hasCredits ? `RECURSIVE ${RunCredits.before(firstCredit)}` : ""}${
  hasNames ? namedBy(hasCredits) : ""
}created AS (
  INSERT INTO runs (${Rows.names(Rows.runs)})
  SELECT ${Rows.names(Rows.runs)} FROM ${Rows.source(Rows.births, "b", firstBirth)}
  WHERE ${hasCredits ? RunCredits.isFree("b") : "true"}
    AND ${hasNames ? "(start_key IS NULL OR b.id IN (SELECT run_id FROM named))" : "true"}
  ON CONFLICT (id) DO NOTHING
  RETURNING number, id, definition_id, account_id, workflow_id, owner, due_at, created_at, status
), advanced AS (
  UPDATE runs r
  SET ${copied(Rows.progress, "s")}, owner = CASE WHEN s.due_at IS NULL THEN r.owner END
  FROM ${Rows.source(Rows.steps, "s", firstStep)}
  WHERE s.expected = 'Existing' AND r.id = s.id AND ${Rows.isOf("r.account_id", "s.account_id")}
    AND r.fence = s.expected_fence AND r.revision = s.expected_revision
    AND r.status IN ('QUEUED', 'RUNNING')
    ${hasCredits ? `AND ${RunCredits.isFree("s")}` : ""}
  RETURNING r.number, r.id, r.status, r.owner, r.due_at, r.account_id, r.workflow_id
), applied AS (
  SELECT number, id, 'applied' AS few FROM created
  UNION ALL
  SELECT number, id, 'applied' FROM advanced
), opened AS (
  INSERT INTO open_runs (run, owner, due_at, created_at, account_id, workflow_id)
  SELECT number, owner, due_at, created_at,
    CASE WHEN owner IS NULL THEN account_id END, CASE WHEN owner IS NULL THEN workflow_id END
  FROM created WHERE status IN ('QUEUED', 'RUNNING')
), let_go AS (
  UPDATE open_runs o SET owner = NULL, due_at = a.due_at, account_id = a.account_id,
    workflow_id = a.workflow_id
  FROM advanced a
  WHERE o.run = a.number AND a.owner IS NULL AND a.status IN ('QUEUED', 'RUNNING')
), closed AS (
  DELETE FROM open_runs o USING advanced a
  WHERE o.run = a.number AND a.status IN ('COMPLETED', 'FAILED', 'CANCELED')
), defined AS (
  INSERT INTO definitions (${Rows.names(Rows.definitions)})
  SELECT ${Rows.names(Rows.definitions, "d")}
  FROM ${Rows.source(Rows.definitions, "d", firstDefinition)}
  WHERE d.id IN (SELECT definition_id FROM created)
  ON CONFLICT (id) DO NOTHING
), noted AS (
  INSERT INTO node_runs (run, ${Rows.names(Rows.nodeRuns)})
  SELECT a.number, ${Rows.names(Rows.nodeRuns, "n")}
  FROM ${Rows.source(ownedNodeRuns, "n", firstNodeRun)}
  JOIN applied a ON a.id = n.run_id
), rewritten AS (
  UPDATE node_runs n SET ${copied(Rows.nodeRuns, "w")}
  FROM ${Rows.source(ownedNodeRuns, "w", firstRewritten)}
  JOIN applied a ON a.id = w.run_id
  WHERE n.run = a.number AND n.node_id = w.node_id AND a.few = 'applied'
), told AS (
  INSERT INTO run_events (run, ${Rows.names(Rows.events)})
  SELECT a.number, ${Rows.names(Rows.events, "e")}
  FROM ${Rows.source(ownedEvents, "e", firstEvent)}
  JOIN applied a ON a.id = e.run_id
)${hasCredits ? RunCredits.after(firstCredit) + RunCredits.answer : "\nSELECT id FROM applied"}`

const [plain, withNames] = [statementOf(false, false), statementOf(false, true)]
const [withCredits, withBoth] = [statementOf(true, false), statementOf(true, true)]

const owned =
  <Row>(rowsOf: (commit: RunCommit) => ReadonlyArray<Row>) =>
  (commit: RunCommit): ReadonlyArray<Rows.Owned<Row>> =>
    rowsOf(commit).map((row) => ({ runId: commit.run.id, row }))

/** In one order for every server, so that two of them never wait for each other in a circle. */
const ordered = <A>(rows: Iterable<A>, idOf: (row: A) => string): ReadonlyArray<A> =>
  [...rows].toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))

const definitionsOf = (commits: ReadonlyArray<RunCommit>) => {
  const byId = new Map(
    commits.flatMap(({ expected }) =>
      expected._tag === "New" ? [[expected.definition.id, expected.definition] as const] : [],
    ),
  )
  return ordered(byId.values(), ({ id }) => id)
}

const parametersOf = (commits: ReadonlyArray<RunCommit>) => {
  const inOrder = ordered(commits, ({ run }) => run.id)
  const births = inOrder.filter(({ expected }) => expected._tag === "New")
  return [
    ...Rows.parameters(Rows.births, births),
    ...Rows.parameters(
      Rows.steps,
      inOrder.filter(({ expected }) => expected._tag === "Existing"),
    ),
    ...Rows.parameters(Rows.definitions, definitionsOf(births)),
    ...Rows.parameters(ownedNodeRuns, commits.flatMap(owned(({ nodeRuns }) => nodeRuns))),
    ...Rows.parameters(ownedNodeRuns, commits.flatMap(owned(({ rewritten }) => rewritten))),
    ...Rows.parameters(ownedEvents, commits.flatMap(owned(({ events }) => events))),
  ]
}

const nameOf = ({ expected, run }: RunCommit): string | undefined =>
  expected._tag === "New" && expected.startKey !== undefined
    ? JSON.stringify([run.accountId, expected.startKey.key])
    : undefined

/** Without the births whose name an earlier one of the same group takes: one row, one writer. */
const withoutTwins = (commits: ReadonlyArray<RunCommit>): ReadonlyArray<RunCommit> => {
  const taken = new Set<string>()
  return commits.filter((commit) => {
    const name = nameOf(commit)
    if (name === undefined) return true
    const isFirst = !taken.has(name)
    taken.add(name)
    return isFirst
  })
}

/** Which of two statements fits, the one without names or the one with, and what it is given. */
const choose = (commits: ReadonlyArray<RunCommit>, nameless: string, naming: string) =>
  commits.some((commit) => nameOf(commit) !== undefined)
    ? { statement: naming, sent: withoutTwins(commits) }
    : { statement: nameless, sent: commits }

/** What became of a commit; an account that is `unready` has to be settled first. */
type Answer = "applied" | "stale" | "unready" | InsufficientCredits

/** What became of a commit. */
export type Outcome = Exclude<Answer, "unready">

const answerOf = (row: RunCredits.Answered | undefined, commit: RunCommit): Answer => {
  if (row === undefined) return "stale"
  return row.outcome === "refused" ? RunCredits.refusalOf(commit, row.rest ?? 0) : row.outcome
}

const writePlain = Effect.fnUntraced(function* (
  sql: SqlClient,
  commits: ReadonlyArray<RunCommit>,
): Effect.fn.Return<ReadonlyArray<Outcome>, SqlError> {
  const { sent, statement } = choose(commits, plain, withNames)
  const rows = yield* sql.unsafe<{ readonly id: string }>(statement, parametersOf(sent))
  const applied = new Set(rows.map(({ id }) => id))
  return commits.map(({ run }) => (applied.has(Rows.text(run.id)) ? "applied" : "stale"))
})

const writeCredits = Effect.fnUntraced(function* (
  sql: SqlClient,
  commits: ReadonlyArray<RunCommit>,
  areSettled: boolean,
): Effect.fn.Return<ReadonlyArray<Answer>, SqlError> {
  const { sent, statement } = choose(commits, withCredits, withBoth)
  const rows = yield* sql.unsafe<RunCredits.Answered>(statement, [
    ...parametersOf(sent),
    ...RunCredits.parametersOf(sent, areSettled),
  ])
  const answers = new Map(rows.map((row) => [row.id, row]))
  return commits.map((commit) => answerOf(answers.get(Rows.text(commit.run.id)), commit))
})

/** Settles the accounts that these commits move credits on, and writes them in the same step. */
const writeSettled = (sql: SqlClient, commits: ReadonlyArray<RunCommit>) =>
  sql.withTransaction(
    Effect.andThen(
      Purses.settle(sql, RunCredits.accountsOf(commits)),
      writeCredits(sql, commits, true),
    ),
  )

/**
 * Those that were refused although a commit before them did not take what it was given: it turned
 * out to be stale, or to have a name that was taken meanwhile.
 */
const wronged = (commits: ReadonlyArray<RunCommit>, answers: ReadonlyArray<Answer>) => {
  const left = new Set(
    commits
      .filter(({ credits = [] }, index) => answers[index] === "stale" && demandOf(credits) > 0)
      .map(({ run }) => run.accountId),
  )
  return commits.filter(
    ({ run }, index) => typeof answers[index] === "object" && left.has(run.accountId),
  )
}

/** Applies commits of different runs, each as a whole or not at all. */
export const write: (
  sql: SqlClient,
  commits: ReadonlyArray<RunCommit>,
) => Effect.Effect<ReadonlyArray<Outcome>, SqlError> = Effect.fnUntraced(function* (sql, commits) {
  if (!commits.some(RunCredits.movesCredits)) return yield* writePlain(sql, commits)
  const answers = yield* writeCredits(sql, commits, false)
  const unready = commits.filter((_, index) => answers[index] === "unready")
  const settled = unready.length === 0 ? [] : yield* writeSettled(sql, unready)
  const byRun = new Map<string, Answer>()
  for (const [index, { run }] of unready.entries()) byRun.set(run.id, settled[index]!)
  const reached = commits.map(({ run }, index) => byRun.get(run.id) ?? answers[index]!)
  const again = wronged(commits, reached)
  const last = again.length === 0 ? [] : yield* write(sql, again)
  for (const [index, { run }] of again.entries()) byRun.set(run.id, last[index]!)
  return commits.map(({ run }, index) => byRun.get(run.id) ?? answers[index]) as Array<Outcome>
})
