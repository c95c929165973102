/**
 * The statement that writes the commits of many runs, put together of the parts that they need: a
 * group without new runs, names, preconditions, credits or deliveries pays nothing for those that
 * have them.
 *
 * Guarantees: a commit is applied as a whole or not at all; the guard is part of the statement, so
 * whoever was fenced off writes nothing. Leaves out: which commits go together, and what becomes of
 * those that were not applied.
 */
import { idempotencyKeyMillis } from "@millrace/core/domain/Idempotency"
import { isTerminal } from "@millrace/core/domain/Run"
import type { RunCommit, TakenMessage } from "@millrace/core/ports/RunStore"
import * as CurrentWorkflows from "./CurrentWorkflows.ts"
import * as DeliveryRecords from "./DeliveryRecords.ts"
import * as DeliveryRows from "./DeliveryRows.ts"
import * as Rows from "./Rows.ts"
import * as RunCredits from "./RunCredits.ts"
import * as IdempotencyKeys from "./IdempotencyKeys.ts"

type Commits = ReadonlyArray<RunCommit>

/** In one order for every server, so that two of them never wait for each other in a circle. */
const ordered = <A>(rows: Iterable<A>, idOf: (row: A) => string): ReadonlyArray<A> =>
  [...rows].toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))

const runsThat = (commits: Commits, expected: RunCommit["expected"]["_tag"]) =>
  ordered(
    commits.filter((commit) => commit.expected._tag === expected),
    ({ run }) => run.id,
  )

const definitionsOf = (commits: Commits) => {
  const byId = new Map(
    commits.flatMap(({ expected }) =>
      expected._tag === "New" ? [[expected.definition.id, expected.definition] as const] : [],
    ),
  )
  return ordered(byId.values(), ({ id }) => id)
}

const owned =
  <Row>(rowsOf: (commit: RunCommit) => ReadonlyArray<Row>) =>
  (commits: Commits): ReadonlyArray<Rows.Owned<Row>> =>
    commits.flatMap((commit) => rowsOf(commit).map((row) => ({ runId: commit.run.id, row })))

/** Rows of one kind that commits bring along. */
const rowSet = <Row>(table: Rows.Table<Row>, rowsOf: (commits: Commits) => ReadonlyArray<Row>) => ({
  width: table.length,
  source: (alias: string, first: number) => Rows.source(table, alias, first),
  parametersOf: (commits: Commits) => {
    const rows = rowsOf(commits)
    return rows.length === 0 ? undefined : Rows.parameters(table, rows)
  },
})

const clearsLosses = (commit: RunCommit): boolean =>
  commit.expected._tag === "Existing" && commit.clearsLosses === true

const ownedNodeRuns = Rows.owned(Rows.nodeRuns)

/** A run whose losses are forgotten with the commit. */
const cleared: Rows.Table<RunCommit> = [Rows.derived("id", "text", ({ run }) => run.id)]

/** Which message of a run a commit has seen last, where that matters. */
const seen: Rows.Table<RunCommit> = [
  Rows.derived("id", "text", ({ run }) => run.id),
  Rows.derived("number", "int4", (commit) => commit.seen),
]

const taken: Rows.Table<TakenMessage> = [
  ...Rows.int4s<TakenMessage>({ number: "number" }),
  ...Rows.texts<TakenMessage>({ nodeId: "taken_by" }),
]

/** The sets of rows that commits bring along, in the order of the parameters. */
const rowSets = {
  preconditions: rowSet(CurrentWorkflows.preconditions, (commits) =>
    commits.filter(CurrentWorkflows.hasPrecondition).map(({ run }) => run),
  ),
  newRuns: rowSet(Rows.newRuns, (commits) => runsThat(commits, "New")),
  definitions: rowSet(Rows.definitions, definitionsOf),
  nextRuns: rowSet(Rows.nextRuns, (commits) => runsThat(commits, "Existing")),
  cleared: rowSet(cleared, (commits) => commits.filter(clearsLosses)),
  nodeRuns: rowSet(
    ownedNodeRuns,
    owned(({ nodeRuns }) => nodeRuns),
  ),
  rewritten: rowSet(
    ownedNodeRuns,
    owned(({ rewritten }) => rewritten),
  ),
  events: rowSet(
    Rows.owned(Rows.events),
    owned(({ events }) => events),
  ),
  deliveries: rowSet(DeliveryRows.deliveries, (commits) =>
    commits.flatMap(({ deliveries }) => deliveries),
  ),
  seen: rowSet(seen, (commits) => commits.filter((commit) => commit.seen !== undefined)),
  taken: rowSet(
    Rows.owned(taken),
    owned((commit) => commit.taken ?? []),
  ),
}
type RowSet = keyof typeof rowSets
const kinds = Object.keys(rowSets) as ReadonlyArray<RowSet>

/** What makes one statement differ from another. */
type Fragment = RowSet | "names" | "credits" | "ends" | "parks"

/** A shape of statement: what it has, and where the rows of each kind come from. */
class Shape {
  readonly #fragments: ReadonlySet<Fragment>
  readonly #firsts = new Map<RowSet, number>()
  readonly firstCredit: number

  constructor(fragments: ReadonlySet<Fragment>) {
    this.#fragments = fragments
    let next = 1
    for (const kind of kinds) {
      if (!fragments.has(kind)) continue
      this.#firsts.set(kind, next)
      next += rowSets[kind].width
    }
    this.firstCredit = next
  }

  has(fragment: Fragment): boolean {
    return this.#fragments.has(fragment)
  }

  /** A source of rows in a FROM. */
  from(kind: RowSet, alias: string): string {
    return rowSets[kind].source(alias, this.#firsts.get(kind)!)
  }

  /** The condition that an account covers the run of this alias. */
  isFree(alias: string): string {
    return this.has("credits") ? RunCredits.isFree(alias) : "true"
  }

  /** The condition that the new run of this alias may be, as far as its name is not concerned. */
  mayBe(alias: string): string {
    const isMet = this.has("preconditions") ? CurrentWorkflows.isMet(`${alias}.id`) : "true"
    return `${this.isFree(alias)} AND ${isMet}`
  }
}

const copied = <Row>(table: Rows.Table<Row>, alias: string): string =>
  table.map(({ name }) => `${name} = ${alias}.${name}`).join(", ")

// A subquery that gives one value is looked up by key, where NOT EXISTS might read the whole table.
/**
 * Takes names that are free or no longer hold, in one order for every server, each for one of those
 * that ask for it. Who is refused takes none, and accounts are locked before names are.
 */
const idempotencyKeysTaken = (shape: Shape): string => `named AS (
  INSERT INTO start_keys AS k (account_id, key, run_id, body_hash, expires_at)
  SELECT DISTINCT ON (account_id, start_key)
    account_id, start_key, id, body_hash, ${IdempotencyKeys.nowMillis} + ${idempotencyKeyMillis}
  FROM ${shape.from("newRuns", "b")}
  WHERE start_key IS NOT NULL AND (SELECT r.number FROM runs r WHERE r.id = b.id) IS NULL
    AND ${shape.mayBe("b")}
  ORDER BY account_id, start_key
  ON CONFLICT (account_id, key) DO UPDATE
  SET run_id = excluded.run_id, body_hash = excluded.body_hash, expires_at = excluded.expires_at
  WHERE k.expires_at <= ${IdempotencyKeys.nowMillis}
  RETURNING k.run_id
)`

const runsCreated = (shape: Shape): string => `created AS (
  INSERT INTO runs (${Rows.names(Rows.newRunColumns)})
  SELECT ${Rows.names(Rows.newRunColumns)} FROM ${shape.from("newRuns", "b")}
  WHERE ${shape.mayBe("b")}
    AND ${shape.has("names") ? "(start_key IS NULL OR b.id IN (SELECT run_id FROM named))" : "true"}
  ON CONFLICT (id) DO NOTHING
  RETURNING number, id, definition_id, account_id, workflow_id, owner, due_at, created_at, status
), opened AS (
  INSERT INTO open_runs (run, owner, due_at, created_at, account_id, workflow_id)
  SELECT number, owner, due_at, created_at, account_id, workflow_id
  FROM created WHERE status IN ('QUEUED', 'RUNNING')
), defined AS (
  INSERT INTO definitions (${Rows.names(Rows.definitions)})
  SELECT ${Rows.names(Rows.definitions, "d")} FROM ${shape.from("definitions", "d")}
  WHERE d.id IN (SELECT definition_id FROM created)
  ON CONFLICT (id) DO NOTHING
)`

const lossesLeft = (shape: Shape): string =>
  `CASE WHEN s.id IN (SELECT c.id FROM ${shape.from("cleared", "c")}) THEN '[]' ELSE r.losses END`

const countLeft = (shape: Shape): string =>
  `CASE WHEN a.id IN (SELECT c.id FROM ${shape.from("cleared", "c")}) THEN 0 ELSE o.losses END`

/** The open runs whose losses are forgotten; those that end are none any more. */
const lossesCleared = (shape: Shape): string => `losses_cleared AS (
  UPDATE open_runs o SET losses = 0
  FROM advanced a
  WHERE o.run = a.number AND a.owner IS NOT NULL AND a.status IN ('QUEUED', 'RUNNING')
    AND a.id IN (SELECT c.id FROM ${shape.from("cleared", "c")})
)`

/** The condition that the run of `r` has no message which its commit did not see. */
const hasSeenAll = (shape: Shape): string =>
  shape.has("seen")
    ? `r.messages <= coalesce(
      (SELECT m.number FROM ${shape.from("seen", "m")} WHERE m.id = s.id), r.messages)`
    : "true"

// Comparing `expected` or `few` with a text tells the planner to expect few rows, so that it looks
// rows up by their key, also in a plan that was made when the table was empty.
const runsAdvanced = (shape: Shape): string => `advanced AS (
  UPDATE runs r
  SET ${copied(Rows.progress, "s")}, owner = CASE WHEN s.due_at IS NULL THEN r.owner END
    ${shape.has("cleared") ? `, losses = ${lossesLeft(shape)}` : ""}
  FROM ${shape.from("nextRuns", "s")}
  WHERE s.expected = 'Existing' AND r.id = s.id AND ${Rows.isOf("r.account_id", "s.account_id")}
    AND r.fence = s.expected_fence AND r.revision = s.expected_revision
    AND r.status IN ('QUEUED', 'RUNNING') AND ${shape.isFree("s")} AND ${hasSeenAll(shape)}
  RETURNING r.number, r.id, r.status, r.owner, r.due_at, r.account_id, r.workflow_id
)`

/** Nothing else may change these rows: a statement changes a row once. */
const runsParked = (shape: Shape): string => `parked AS (
  UPDATE open_runs o SET owner = NULL, due_at = a.due_at, ready_at = NULL,
    account_id = a.account_id,
    workflow_id = a.workflow_id${shape.has("cleared") ? `, losses = ${countLeft(shape)}` : ""}
  FROM advanced a
  WHERE o.run = a.number AND a.owner IS NULL AND a.status IN ('QUEUED', 'RUNNING')
)`

const runsClosed = `closed AS (
  DELETE FROM open_runs o USING advanced a
  WHERE o.run = a.number AND a.status IN ('COMPLETED', 'FAILED', 'CANCELED')
)`

const applied = (shape: Shape): string => {
  const written = [
    ...(shape.has("newRuns") ? ["created"] : []),
    ...(shape.has("nextRuns") ? ["advanced"] : []),
  ]
  const all = written.map((from) => `SELECT number, id, 'applied' AS few FROM ${from}`)
  return `applied AS (${all.join(" UNION ALL ")})`
}

const nodeRunsInserted = (shape: Shape): string => `inserted_node_runs AS (
  INSERT INTO node_runs (run, ${Rows.names(Rows.nodeRuns)})
  SELECT a.number, ${Rows.names(Rows.nodeRuns, "n")}
  FROM ${shape.from("nodeRuns", "n")} JOIN applied a ON a.id = n.run_id
)`

const nodeRunsRewritten = (shape: Shape): string => `rewritten_node_runs AS (
  UPDATE node_runs n SET ${copied(Rows.nodeRuns, "w")}
  FROM ${shape.from("rewritten", "w")} JOIN applied a ON a.id = w.run_id
  WHERE n.run = a.number AND n.node_id = w.node_id AND a.few = 'applied'
)`

const eventsInserted = (shape: Shape): string => `inserted_events AS (
  INSERT INTO run_events (run, ${Rows.names(Rows.events)})
  SELECT a.number, ${Rows.names(Rows.events, "e")}
  FROM ${shape.from("events", "e")} JOIN applied a ON a.id = e.run_id
)`

const messagesTaken = (shape: Shape): string => `taken_messages AS (
  UPDATE run_messages m SET taken_by = t.taken_by
  FROM ${shape.from("taken", "t")} JOIN applied a ON a.id = t.run_id
  WHERE m.run = a.number AND m.number = t.number AND a.few = 'applied'
)`

/** Puts deliveries on their way with the change that they tell of. */
const deliveriesInserted = (shape: Shape): string => `sent AS (
  INSERT INTO deliveries (${Rows.names(DeliveryRows.deliveries)})
  SELECT ${Rows.names(DeliveryRows.deliveries, "d")}
  FROM ${shape.from("deliveries", "d")} JOIN applied a ON a.id = d.run_id
  RETURNING ${DeliveryRecords.sentColumns}
), ${DeliveryRecords.queued}`

const textOf = (shape: Shape): string => {
  const hasCredits = shape.has("credits")
  const hasPreconditions = shape.has("preconditions")
  const parts = [
    ...(hasPreconditions ? [CurrentWorkflows.outdated(shape.from("preconditions", "d"))] : []),
    ...(hasCredits ? [RunCredits.before(shape.firstCredit, hasPreconditions)] : []),
    ...(shape.has("names") ? [idempotencyKeysTaken(shape)] : []),
    ...(shape.has("newRuns") ? [runsCreated(shape)] : []),
    ...(shape.has("nextRuns") ? [runsAdvanced(shape)] : []),
    ...(shape.has("cleared") ? [lossesCleared(shape)] : []),
    ...(shape.has("parks") ? [runsParked(shape)] : []),
    ...(shape.has("ends") ? [runsClosed] : []),
    applied(shape),
    ...(shape.has("nodeRuns") ? [nodeRunsInserted(shape)] : []),
    ...(shape.has("rewritten") ? [nodeRunsRewritten(shape)] : []),
    ...(shape.has("events") ? [eventsInserted(shape)] : []),
    ...(shape.has("deliveries") ? [deliveriesInserted(shape)] : []),
    ...(shape.has("taken") ? [messagesTaken(shape)] : []),
    ...(hasCredits ? [RunCredits.after(shape.firstCredit)] : []),
  ]
  const answer = hasCredits ? RunCredits.answer : "SELECT id FROM applied"
  return `WITH ${hasCredits ? "RECURSIVE " : ""}${parts.join(", ")} ${answer}`
}

/** Each text is put together once. */
const texts = new Map<string, string>()

const textFor = (fragments: ReadonlySet<Fragment>): string => {
  const key = [...fragments].join()
  const known = texts.get(key)
  if (known !== undefined) return known
  const text = textOf(new Shape(fragments))
  texts.set(key, text)
  return text
}

/** True for a commit that takes a name for its run. */
const isNamed = ({ expected }: RunCommit): boolean =>
  expected._tag === "New" && expected.idempotencyKey !== undefined

/** The fragments that are no rows of their own, in one order. */
const flags: ReadonlyArray<readonly [Fragment, (commit: RunCommit) => boolean]> = [
  ["names", isNamed],
  // Whether a run has an owner only its row says, not what a commit believes.
  ["parks", ({ expected, run }) => expected._tag === "Existing" && !isTerminal(run.status)],
  ["ends", ({ expected, run }) => expected._tag === "Existing" && isTerminal(run.status)],
]

/**
 * A statement for these commits, and its parameters. With credits it answers as
 * {@link RunCredits.Answered}, else with the identifiers of the runs that were written.
 */
export const compose = (
  commits: Commits,
  credits: { readonly areSettled: boolean } | undefined,
) => {
  const fragments = new Set<Fragment>()
  const parameters: Array<unknown> = []
  for (const kind of kinds) {
    const rows = rowSets[kind].parametersOf(commits)
    if (rows === undefined) continue
    fragments.add(kind)
    parameters.push(...rows)
  }
  for (const [fragment, isTrue] of flags) if (commits.some(isTrue)) fragments.add(fragment)
  if (credits !== undefined) {
    fragments.add("credits")
    parameters.push(...RunCredits.parametersOf(commits, credits.areSettled))
  }
  return { text: textFor(fragments), parameters }
}
