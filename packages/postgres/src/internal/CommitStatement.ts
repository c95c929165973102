/**
 * The statement that writes the commits of many runs. It has only the parts that these commits
 * need: for new runs, idempotency keys, preconditions, credits and deliveries.
 *
 * Guarantees: a commit is applied as a whole or not at all. The statement itself checks fence and
 * revision, so an outdated owner writes nothing. Leaves out: choosing the commits of a statement,
 * and handling commits that were not applied.
 */
import { idempotencyKeyMillis } from "@millrace/core/domain/Idempotency"
import { isTerminal } from "@millrace/core/domain/Run"
import type { Commits, PlacedCommit, RowSet } from "./CommitRows.ts"
import { clearsLosses, kinds, rowSets } from "./CommitRows.ts"
import * as DeliveryRecords from "./DeliveryRecords.ts"
import * as DeliveryRows from "./DeliveryRows.ts"
import * as KeyChanges from "./KeyChanges.ts"
import * as Preconditions from "./Preconditions.ts"
import * as Rows from "./Rows.ts"
import * as RunCredits from "./RunCredits.ts"
import * as IdempotencyKeys from "./IdempotencyKeys.ts"
import * as UsageChanges from "./UsageChanges.ts"
import * as WaitingEnds from "./WaitingEnds.ts"

/**
 * A part that only some statements have. A `sparse` kind sends its sparse columns, too. `single`
 * stands for a statement of one commit, which needs no joins and sums for new runs.
 */
type Fragment =
  | RowSet
  | `sparse ${RowSet}`
  | "single"
  | "names"
  | "credits"
  | "plain"
  | "ends"
  | "parks"
  | "clears"
  | "unnumbered"
  | "costs"

/** The shape of a statement: its parts, and the sources of its rows. */
class Shape {
  readonly #fragments: ReadonlySet<Fragment>
  readonly #columns = new Map<RowSet, ReadonlyMap<string, string>>()
  readonly firstCredit: number

  constructor(fragments: ReadonlySet<Fragment>) {
    this.#fragments = fragments
    const isSingle = fragments.has("single")
    let next = 1
    for (const kind of kinds) {
      if (!fragments.has(kind)) continue
      const columns = rowSets[kind].expressions(next, fragments.has(`sparse ${kind}`), isSingle)
      this.#columns.set(kind, columns)
      next += columns.size
    }
    this.firstCredit = next
  }

  has(fragment: Fragment): boolean {
    return this.#fragments.has(fragment)
  }

  #columnsOf(kind: RowSet): ReadonlyMap<string, string> {
    return this.#columns.get(kind)!
  }

  /** The columns of a table that the rows of a kind have. */
  sent<Row>(kind: RowSet, table: Rows.Table<Row>): Rows.Table<Row> {
    return table.filter(({ name }) => this.#columnsOf(kind).has(name))
  }

  /** The rows of a kind, for a FROM clause. */
  from(kind: RowSet, alias: string): string {
    return Rows.from(this.#columnsOf(kind).values(), alias)
  }

  /** The places and these columns of new runs. */
  fromNewRuns(alias: string, ...names: ReadonlyArray<string>): string {
    const columns = this.#columnsOf("newRuns")
    return Rows.from(
      ["place", ...names].map((name) => columns.get(name)!),
      alias,
    )
  }

  /** The steps, each with what it changes if any of them changes more than every step does. */
  fromSteps(alias: string): string {
    const changed = this.has("changes") ? this.#columnsOf("changes").values() : []
    return Rows.from([...this.#columnsOf("steps").values(), ...changed], alias)
  }

  get hasPreconditions(): boolean {
    return this.has("current") || this.has("claimed")
  }

  /** The condition that the account covers the commit of the run with this alias. */
  isFree(alias: string): string {
    return this.has("credits") ? RunCredits.isFree(alias) : "true"
  }

  /** The condition that the new run with this alias may be inserted, apart from its key. */
  mayBe(alias: string): string {
    const isMet = this.hasPreconditions ? Preconditions.isMet(`${alias}.id`) : "true"
    const isDefined = `(NOT ${alias}.is_defined
      OR ${alias}.definition_id IN (SELECT id FROM known_definitions))`
    return [this.isFree(alias), isMet, ...(this.has("stored") ? [isDefined] : [])].join(" AND ")
  }
}

const copied = <Row>(table: Rows.Table<Row>, alias: string): string =>
  table.map(({ name }) => `${name} = ${alias}.${name}`).join(", ")

// Postgres looks up a subquery for one value by key. For NOT EXISTS it might read the whole table.
/**
 * Stores the idempotency keys that are free or expired, each for one new run, in the same order on
 * every server. A refused commit stores no key. Accounts are locked before keys.
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

/** A definition that was stored may be missing, if the database was restored from a backup. */
const definitionsKnown = (shape: Shape): string => `known_definitions AS MATERIALIZED (
  SELECT d.id FROM ${shape.from("stored", "s")} CROSS JOIN LATERAL (
    SELECT d.id FROM definitions d WHERE d.id = s.id OFFSET 0
  ) d
)`

const runsCreated = (shape: Shape): string => {
  const names = Rows.names(shape.sent("newRuns", Rows.newRunColumns))
  const isNamed = "(start_key IS NULL OR b.id IN (SELECT run_id FROM named))"
  return `created AS (
  INSERT INTO runs (${names})
  SELECT ${names} FROM ${shape.from("newRuns", "b")}
  WHERE ${shape.mayBe("b")}${shape.has("names") ? ` AND ${isNamed}` : ""}
  ON CONFLICT (id) DO NOTHING
  RETURNING number, id, definition_id, ${KeyChanges.created}, ${UsageChanges.columns.join(", ")}
), ${KeyChanges.opened}`
}

const definitionsCreated = (shape: Shape): string => `defined AS (
  INSERT INTO definitions (${Rows.names(Rows.definitions)})
  SELECT ${Rows.names(Rows.definitions, "d")} FROM ${shape.from("definitions", "d")}
  WHERE d.id IN (SELECT definition_id FROM created)
  ON CONFLICT (id) DO NOTHING
)`

/** What commits change besides {@link Rows.steps}. A plain commit keeps the old values. */
const changesMade = (shape: Shape): string => {
  if (!shape.has("changes")) return ""
  const changed = (name: string, value = `s.${name}`): string =>
    shape.has("plain")
      ? `${name} = CASE WHEN s.is_changed THEN ${value} ELSE r.${name} END`
      : `${name} = ${value}`
  const sent = shape.sent("changes", Rows.changes)
  const hasDueAt = shape.has("sparse changes")
  const cleared = "CASE WHEN s.clears_losses THEN '[]' ELSE r.losses END"
  const made = [
    ...Rows.changes.map((each) => changed(each.name, sent.includes(each) ? undefined : "NULL")),
    ...(hasDueAt ? [changed("owner", "CASE WHEN s.due_at IS NULL THEN r.owner END")] : []),
    ...(shape.has("clears") ? [changed("losses", cleared)] : []),
  ]
  return `, ${made.join(", ")}`
}

/**
 * The condition that `r` is the row of a run, by number if all numbers are known. The id is
 * compared as well: a database that was restored from a backup assigns the same numbers again.
 */
const isRun = (shape: Shape): string =>
  shape.has("unnumbered")
    ? `r.id = s.id AND ${Rows.isOf("r.account_id", "s.account_id")}`
    : `r.number = s.number AND ${Rows.isOf("r.id", "s.id")}`

/** The columns of advanced runs that the other parts of the statement need. */
const advancedColumns = (shape: Shape): string => {
  const names = new Set([
    "number",
    "id",
    "status",
    "owner",
    ...(shape.has("parks") ? ["due_at", "account_id", "workflow_id"] : []),
    ...(shape.has("costs") ? UsageChanges.columns : []),
  ])
  return [...names].map((name) => `r.${name}`).join(", ")
}

// Comparing `place` with a sum, or `few` with a text, makes the planner expect few rows. So it
// looks up rows by key, even in a plan from when the table was empty.
const runsAdvanced = (shape: Shape): string => `advanced AS (
  UPDATE runs r
  SET ${copied(Rows.steps, "s")}, revision = r.revision + 1${changesMade(shape)}
  FROM ${shape.fromSteps("s")}
  WHERE s.place + 0 = s.place AND ${isRun(shape)} AND r.fencing_token = s.fence
    AND r.revision = s.revision AND r.status IN ('QUEUED', 'RUNNING') AND ${shape.isFree("s")}
    ${shape.has("sparse changes") ? "AND r.messages <= coalesce(s.seen, r.messages)" : ""}
  RETURNING s.place, ${advancedColumns(shape)}${shape.has("clears") ? ", s.clears_losses" : ""}
)`

/** Removes the losses of runs that do not end. */
const lossesCleared = `losses_cleared AS (
  UPDATE open_runs o SET losses = 0
  FROM advanced a
  WHERE o.run = a.number AND a.owner IS NOT NULL AND a.status IN ('QUEUED', 'RUNNING')
    AND a.clears_losses
)`

/** No other part may change these rows, because a statement can change a row only once. */
const runsParked = (shape: Shape): string => {
  const losses = ", losses = CASE WHEN a.clears_losses THEN 0 ELSE o.losses END"
  return `parked AS (
  UPDATE open_runs o SET owner = NULL, due_at = a.due_at, ready_at = NULL,
    account_id = a.account_id, workflow_id = a.workflow_id${shape.has("clears") ? losses : ""}
  FROM advanced a
  WHERE o.run = a.number AND a.owner IS NULL AND a.status IN ('QUEUED', 'RUNNING')
)`
}

const runsClosed = `closed AS (
  DELETE FROM open_runs o USING advanced a
  WHERE o.run = a.number AND a.status IN ('COMPLETED', 'FAILED', 'CANCELED')
)`

const createdOf = (shape: Shape): string => {
  // The place of a single commit is 0.
  if (shape.has("single")) return "SELECT number, id, 0, owner, 'applied' FROM created"
  return `SELECT c.number, c.id, b.place, c.owner, 'applied'
    FROM created c JOIN ${shape.fromNewRuns("b", "id")} ON b.id = c.id`
}

const applied = (shape: Shape): string => {
  const all = [
    ...(shape.has("newRuns") ? [createdOf(shape)] : []),
    ...(shape.has("steps") ? ["SELECT number, id, place, owner, 'applied' FROM advanced"] : []),
  ]
  return `applied (number, id, place, owner, few) AS (${all.join(" UNION ALL ")})`
}

/** The columns that are the same in all plain rows, and their values. */
const common = { names: "status, attempt, credits", values: "'COMPLETED', 1, 0" }

const nodeRunsInserted = (kind: "nodeRuns" | "plainNodeRuns", shape: Shape): string => {
  const isPlainKind = kind === "plainNodeRuns"
  const table = isPlainKind ? Rows.plainNodeRuns : Rows.nodeRuns
  const [names, values] = isPlainKind ? [`${common.names}, `, `${common.values}, `] : ["", ""]
  return `inserted_${isPlainKind ? "plain_" : ""}node_runs AS (
  INSERT INTO node_runs (run, ${names}${Rows.names(table)})
  SELECT a.number, ${values}${Rows.names(table, "n")}
  FROM ${shape.from(kind, "n")} JOIN applied a ON a.place = n.place
)`
}

const nodeRunsRewritten = (shape: Shape): string => `rewritten_node_runs AS (
  UPDATE node_runs n SET ${copied(Rows.nodeRuns, "w")}
  FROM ${shape.from("rewritten", "w")} JOIN applied a ON a.place = w.place
  WHERE n.run = a.number AND n.node_id = w.node_id AND a.few = 'applied'
)`

const eventsInserted = (shape: Shape): string => {
  const columns = shape.sent("events", Rows.events)
  return `inserted_events AS (
  INSERT INTO run_events (run, ${Rows.names(columns)})
  SELECT a.number, ${Rows.names(columns, "e")}
  FROM ${shape.from("events", "e")} JOIN applied a ON a.place = e.place
)`
}

const messagesTaken = (shape: Shape): string => `taken_messages AS (
  UPDATE run_messages m SET taken_by = t.taken_by
  FROM ${shape.from("taken", "t")} JOIN applied a ON a.place = t.place
  WHERE m.run = a.number AND m.number = t.number AND a.few = 'applied'
)`

/** Stores deliveries with the change that they report. */
const deliveriesInserted = (shape: Shape): string => `sent AS (
  INSERT INTO deliveries (${Rows.names(DeliveryRows.deliveries)})
  SELECT ${Rows.names(DeliveryRows.deliveries, "d")}
  FROM ${shape.from("deliveries", "d")} JOIN applied a ON a.place = d.place
  RETURNING ${DeliveryRecords.sentColumns}
), ${DeliveryRecords.queued}`

const textOf = (shape: Shape): string => {
  const hasCredits = shape.has("credits")
  const { hasPreconditions } = shape
  const parts = [
    ...(hasPreconditions ? [Preconditions.outdated(shape)] : []),
    ...(shape.has("stored") ? [definitionsKnown(shape)] : []),
    ...(hasCredits ? [RunCredits.before(shape.firstCredit, hasPreconditions)] : []),
    ...(shape.has("names") ? [idempotencyKeysTaken(shape)] : []),
    ...(shape.has("newRuns") ? [runsCreated(shape)] : []),
    ...(shape.has("definitions") ? [definitionsCreated(shape)] : []),
    ...(shape.has("steps") ? [runsAdvanced(shape)] : []),
    ...(shape.has("clears") ? [lossesCleared] : []),
    ...(shape.has("parks") ? [runsParked(shape)] : []),
    ...(shape.has("ends") ? [runsClosed] : []),
    applied(shape),
    ...(shape.has("newRuns") || shape.has("costs")
      ? [UsageChanges.added((part) => shape.has(part))]
      : []),
    ...(shape.has("plainNodeRuns") ? [nodeRunsInserted("plainNodeRuns", shape)] : []),
    ...(shape.has("nodeRuns") ? [nodeRunsInserted("nodeRuns", shape)] : []),
    ...(shape.has("rewritten") ? [nodeRunsRewritten(shape)] : []),
    ...(shape.has("events") ? [eventsInserted(shape)] : []),
    ...(shape.has("deliveries") ? [deliveriesInserted(shape)] : []),
    ...(shape.has("taken") ? [messagesTaken(shape)] : []),
    ...(shape.has("ended")
      ? [WaitingEnds.added(shape.from("watched", "w"), shape.from("ended", "e"))]
      : []),
    ...(shape.has("keyChanges") ? [KeyChanges.added(shape.from("keyChanges", "e"))] : []),
    ...(hasCredits ? [RunCredits.after(shape.firstCredit)] : []),
  ]
  const answer = hasCredits
    ? RunCredits.answer
    : "SELECT place, number::float8 AS number, owner IS NOT NULL AS owned FROM applied"
  return `WITH ${hasCredits ? "RECURSIVE " : ""}${parts.join(", ")} ${answer}`
}

/** The texts of statements. Each is built once. */
const texts = new Map<string, string>()

const textFor = (fragments: ReadonlySet<Fragment>): string => {
  const key = [...fragments].join()
  const known = texts.get(key)
  if (known !== undefined) return known
  // Postgres copies the text for every call.
  const text = textOf(new Shape(fragments)).replaceAll(/\s+/g, " ")
  texts.set(key, text)
  return text
}

/** The parts without rows of their own, in a fixed order. */
const flags: ReadonlyArray<readonly [Fragment, (placed: PlacedCommit) => boolean]> = [
  [
    "names",
    ({ commit: { expected } }) => expected._tag === "New" && expected.idempotencyKey !== undefined,
  ],
  [
    "unnumbered",
    ({ commit: { expected }, number }) => expected._tag === "Existing" && number === null,
  ],
  ["plain", ({ commit: { expected }, isPlain }) => expected._tag === "Existing" && isPlain],
  ["clears", ({ commit }) => clearsLosses(commit)],
  // What a run has cost never falls, and is 0 at first.
  [
    "costs",
    ({ commit: { expected, run }, isPlain }) =>
      expected._tag === "Existing" && !isPlain && run.actualCredits !== 0,
  ],
  // Only the row of a run says if it has an owner.
  [
    "parks",
    ({ commit: { expected, run }, isPlain }) =>
      expected._tag === "Existing" && !isPlain && !isTerminal(run.status),
  ],
  [
    "ends",
    ({ commit: { expected, run } }) => expected._tag === "Existing" && isTerminal(run.status),
  ],
]

/** A commit that was applied. */
export interface Applied {
  readonly place: number
  /** The number of the run's row. */
  readonly number: number
  /** True if the run has an owner now. */
  readonly owned: boolean
}

/**
 * A statement for these commits, and its parameters. Its rows are {@link RunCredits.Answered} if
 * commits move credits, otherwise {@link Applied}.
 */
export const compose = (
  commits: Commits,
  credits: { readonly areSettled: boolean } | undefined,
) => {
  const isSingle = commits.length === 1
  const fragments = new Set<Fragment>(isSingle ? ["single"] : [])
  const parameters: Array<unknown> = []
  for (const kind of kinds) {
    const sent = rowSets[kind].sent(commits, isSingle)
    if (sent === undefined) continue
    fragments.add(kind)
    if (sent.hasSparse) fragments.add(`sparse ${kind}`)
    parameters.push(...sent.parameters)
  }
  for (const [fragment, isTrue] of flags) if (commits.some(isTrue)) fragments.add(fragment)
  if (credits !== undefined) {
    fragments.add("credits")
    const moving = commits.map(({ commit }) => commit)
    parameters.push(...RunCredits.parametersOf(moving, credits.areSettled))
  }
  return { text: textFor(fragments), parameters }
}
