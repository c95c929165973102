/**
 * The rows that commits send: each kind with its columns, and which commits have rows of it.
 *
 * Guarantees: rows of runs are sorted by id, so that statements lock them in one order. Leaves out:
 * the statement's text; see `CommitStatement`.
 */
import type { NodeRun, Run } from "@millrace/core/domain/Run"
import type { RunCommit, TakenMessage } from "@millrace/core/ports/RunStore"
import * as DeliveryRows from "./DeliveryRows.ts"
import * as KeyChanges from "./KeyChanges.ts"
import * as Preconditions from "./Preconditions.ts"
import * as Rows from "./Rows.ts"
import * as StoredInputs from "./StoredInputs.ts"
import * as WaitingEnds from "./WaitingEnds.ts"

/** A commit, its place among the commits of the statement, and what is known of its run. */
export interface PlacedCommit {
  readonly place: number
  readonly commit: RunCommit
  /** The number of the run's row; `null` for a new run, or if it must be looked up. */
  readonly number: number | null
  /** True if the commit changes only the columns that every step changes. */
  readonly isPlain: boolean
  /** True for a new run whose definition is not sent, because it is probably stored. */
  readonly isDefined: boolean
}

export type Commits = ReadonlyArray<PlacedCommit>

/** Rows sorted by id. All servers use the same order, so they do not deadlock. */
const ordered = <A>(rows: Iterable<A>, idOf: (row: A) => string): ReadonlyArray<A> =>
  [...rows].toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))

const runsThat = (commits: Commits, expected: RunCommit["expected"]["_tag"]): Commits =>
  ordered(
    commits.filter(({ commit }) => commit.expected._tag === expected),
    ({ commit }) => commit.run.id,
  )

const definitionsOf = (commits: Commits) => {
  const byId = new Map(
    commits.flatMap(({ commit: { expected }, isDefined }) =>
      expected._tag === "New" && !isDefined
        ? [[expected.definition.id, expected.definition] as const]
        : [],
    ),
  )
  return ordered(byId.values(), ({ id }) => id)
}

/**
 * The rows of one kind of all commits. Their columns are sent as arrays; but as values, which cost
 * Postgres less, if there is a single commit, and a commit has at most one row of this kind.
 */
const rowSet = <Row>(
  table: Rows.Table<Row>,
  rowsOf: (commits: Commits) => ReadonlyArray<Row>,
  perCommit: "one" | "many" = "one",
) => ({
  expressions: (first: number, hasSparse: boolean, isSingle: boolean) =>
    Rows.expressions(hasSparse ? table : Rows.dense(table), first, isSingle && perCommit === "one"),
  sent: (commits: Commits, isSingle: boolean) => {
    const rows = rowsOf(commits)
    return rows.length === 0 ? undefined : Rows.sent(table, rows, isSingle && perCommit === "one")
  },
})

/** The rows of a kind, each with the place of its commit. */
const placedSet = <Row>(
  table: Rows.Table<Row>,
  rowsOf: (commit: RunCommit) => ReadonlyArray<Row>,
  perCommit: "one" | "many" = "many",
) =>
  rowSet(
    Rows.placed(table),
    (commits) => {
      const rows: Array<Rows.Placed<Row>> = []
      for (const { commit, place } of commits) {
        for (const row of rowsOf(commit)) rows.push({ place, row })
      }
      return rows
    },
    perCommit,
  )

/** True for a commit that clears the losses of its run. */
export const clearsLosses = (commit: RunCommit): boolean =>
  commit.expected._tag === "Existing" && commit.clearsLosses === true

const placeOf = Rows.derived<PlacedCommit>("place", "int4", ({ place }) => place)
const ofCommit = Rows.within(({ commit }: PlacedCommit) => commit)

const newRuns: Rows.Table<PlacedCommit> = [
  placeOf,
  Rows.derived("is_defined", "bool", ({ isDefined }) => isDefined),
  ...ofCommit([Rows.derived("is_current", "bool", Preconditions.requiresCurrent), ...Rows.newRuns]),
]

/**
 * The existing runs: their ids, their expected state, and the columns that every commit changes.
 */
const steps: Rows.Table<PlacedCommit> = [
  placeOf,
  Rows.derived("number", "int8", ({ number }) => number),
  ...ofCommit([
    ...Rows.ofRun(Rows.runIds),
    Rows.derived("fence", "int4", ({ expected }) =>
      expected._tag === "New" ? null : expected.fence,
    ),
    Rows.derived("revision", "int4", ({ expected }) =>
      expected._tag === "New" ? null : expected.revision,
    ),
    ...Rows.ofRun(Rows.steps),
  ]),
]

/**
 * The other columns that a commit changes, and the last message that it has seen. These rows are
 * those of the same places in {@link steps}; they are empty for a plain commit.
 */
const changes: Rows.Table<PlacedCommit> = [
  Rows.derived("is_changed", "bool", ({ isPlain }) => !isPlain),
  ...ofCommit([
    ...Rows.ofRun(Rows.changes),
    ...Rows.sparse([
      Rows.derived<RunCommit>("seen", "int4", ({ seen }) => seen),
      Rows.derived<RunCommit>("clears_losses", "bool", (commit) => clearsLosses(commit) || null),
    ]),
  ]).map((column) => ({
    ...column,
    of: (placed: PlacedCommit) => (placed.isPlain ? null : column.of(placed)),
  })),
]

const taken: Rows.Table<TakenMessage> = [
  ...Rows.int4s<TakenMessage>({ number: "number" }),
  ...Rows.texts<TakenMessage>({ nodeId: "taken_by" }),
]

const sentOf =
  (rowsOf: (commit: RunCommit) => ReadonlyArray<NodeRun>) =>
  (commit: RunCommit): ReadonlyArray<StoredInputs.SentNodeRun> =>
    StoredInputs.sentOf(rowsOf(commit), commit.implied)

const isPlainRow = (row: NodeRun): boolean =>
  row.status === "COMPLETED" &&
  row.attempt === 1 &&
  row.credits === 0 &&
  row.largeValues === null &&
  row.logs === null &&
  row.error === null

/** The definitions that new runs do not send. */
const storedDefinitions = Rows.texts<Run>({ definitionId: "id" })

const endedRuns = (commits: Commits): ReadonlyArray<Run> =>
  commits.flatMap(({ commit }) => WaitingEnds.endedBy(commit))

/** The sets of rows of commits, in the order of the parameters. */
export const rowSets = {
  current: rowSet(Preconditions.current, Preconditions.currentRuns),
  claimed: rowSet(Preconditions.claimed, Preconditions.claimedRuns),
  newRuns: rowSet(newRuns, (commits) => runsThat(commits, "New")),
  definitions: rowSet(Rows.definitions, definitionsOf),
  stored: rowSet(storedDefinitions, (commits) =>
    Rows.distinct(
      commits.flatMap(({ commit, isDefined }) => (isDefined ? [commit.run] : [])),
      ({ definitionId }) => definitionId,
    ),
  ),
  steps: rowSet(steps, (commits) => runsThat(commits, "Existing")),
  changes: rowSet(changes, (commits) => {
    const existing = runsThat(commits, "Existing")
    return existing.some(({ isPlain }) => !isPlain) ? existing : []
  }),
  plainNodeRuns: placedSet(
    StoredInputs.sent(Rows.plainNodeRuns),
    sentOf(({ nodeRuns }) => nodeRuns.filter(isPlainRow)),
  ),
  nodeRuns: placedSet(
    StoredInputs.sent(Rows.nodeRuns),
    sentOf(({ nodeRuns }) => nodeRuns.filter((row) => !isPlainRow(row))),
  ),
  rewritten: placedSet(
    StoredInputs.sent(Rows.nodeRuns),
    sentOf(({ rewritten }) => rewritten),
  ),
  events: placedSet(Rows.events, ({ events }) => events),
  deliveries: placedSet(DeliveryRows.deliveries, ({ deliveries }) => deliveries),
  taken: placedSet(taken, (commit) => commit.taken ?? []),
  watched: rowSet(WaitingEnds.watched, (commits) => WaitingEnds.watchedBy(endedRuns(commits))),
  ended: placedSet(WaitingEnds.ended, WaitingEnds.endedBy, "one"),
  keyChanges: placedSet(KeyChanges.changes, KeyChanges.changeOf, "one"),
}
export type RowSet = keyof typeof rowSets
export const kinds = Object.keys(rowSets) as ReadonlyArray<RowSet>
