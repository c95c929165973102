/**
 * The commits of a script, made out of the state of the model.
 *
 * Guarantees: a commit keeps the contract of the port (only a row of a node that waits is replaced,
 * events are numbered without gaps); only its expectation may be wrong. One that must be refused
 * carries rows and numbers that are there already, so that a trace of it shows.
 */
import { RunId } from "@millrace/core/domain/Id"
import type { RunEntry } from "@millrace/core/domain/Ledger"
import * as Ledger from "@millrace/core/domain/Ledger"
import type { NodeRun, Run } from "@millrace/core/domain/Run"
import type { Workflow } from "@millrace/core/domain/Workflow"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import * as Cast from "./ModelCast.ts"
import type { Advance, Begin } from "./ModelCommands.ts"
import { carriedOf } from "./ModelMessages.ts"
import type { StoreModel } from "./StoreModel.ts"
import { isOpen } from "./StoreModelRuns.ts"

/** What a commit carries beside the run's row. */
interface CommitRows {
  readonly nodeRuns: RunCommit["nodeRuns"]
  readonly rewritten: RunCommit["rewritten"]
  readonly events: RunCommit["events"]
  readonly deliveries: RunCommit["deliveries"]
  /** The number of the last event, be it one of its own or one that a node's row tells of. */
  readonly sequence: number
}

/** Rows for nodes that have none, and others in place of those that there are. */
interface Written {
  readonly first: ReadonlyArray<string>
  readonly again: ReadonlyArray<string>
}

const hasEvent = ({ status }: NodeRun): boolean => status === "COMPLETED" || status === "FAILED"

/** Rows and events, numbered behind the last event so far. */
const rowsOfCommit = (
  run: Run,
  { events, flavor }: Begin | Advance,
  { again, first }: Written,
  before: number,
): CommitRows => {
  const rows = [...first.toReversed(), ...again].map((id, n) =>
    Cast.nodeRunOf(id, (flavor + n) % 6),
  )
  const told = rows.filter(hasEvent).length
  let [ofRow, ofEvent] = flavor % 2 === 0 ? [before, before + told] : [before + events, before]
  const numbered = rows.map((row) => (hasEvent(row) ? { ...row, sequence: ++ofRow } : row))
  return {
    nodeRuns: numbered.slice(0, first.length),
    rewritten: numbered.slice(first.length),
    events: Array.from({ length: events }, () => Cast.eventOf(run, ++ofEvent, flavor)),
    // What becomes of deliveries is the business of another store.
    deliveries: [],
    sequence: before + told + events,
  }
}

/** What a commit costs, as entries: keeps the rules of the ledger. */
const creditsOf = (
  run: Pick<Run, "revision" | "status">,
  rows: ReadonlyArray<NodeRun>,
  had: { readonly held: number; readonly isBooked: boolean },
  taken: ReadonlyArray<RunEntry>,
): ReadonlyArray<RunEntry> => {
  let held = had.held + Ledger.amountToReserve(taken)
  const posts = rows
    .filter(({ credits }) => credits > 0)
    .map(({ credits, nodeId }) => {
      const entry = Ledger.post(held, nodeId, run.revision, credits, Cast.timeOf(7))
      held += entry.reserved
      return entry
    })
  const isEnd = run.status !== "QUEUED" && run.status !== "RUNNING"
  const isClosed = isEnd && (had.isBooked || taken.length + posts.length > 0)
  return [...taken, ...posts, ...(isClosed ? [Ledger.voidRest(held, Cast.timeOf(8))] : [])]
}

const costOf = (rows: ReadonlyArray<NodeRun>): number =>
  rows.reduce((sum, { credits }) => sum + credits, 0)

const ending = (flavor: number): Partial<Run> => ({
  finishedAt: Cast.timeOf(20 + flavor),
  error: flavor === 5 ? null : Cast.errorOf(flavor),
  output: [Cast.contentOf(flavor)],
})

const sources = ["api", "ui", "api", "mcp"] as const

/** The version that a new run names: the published one, or another one. */
const versionOf = (
  { current: startable }: StoreModel["workflows"],
  drawn: Workflow | undefined,
  current: Begin["current"],
): number | null => {
  if (drawn === undefined || current === null) return null
  const published = startable(drawn.accountId, drawn.id)?.version ?? null
  return current.version === 0 ? published : (published ?? 0) + current.version
}

const insertOf = (cast: Cast.Cast, { workflows }: StoreModel, begin: Begin): RunCommit => {
  const workflowId = cast.workflows[begin.workflow]!
  const drawn = workflows.workflows().find(({ id }) => id === workflowId)
  const definition = cast.definitions[begin.definition]!
  const { current, estimate, flavor, owner, parks, status } = begin
  const owning = current?.isOwners === true ? drawn : undefined
  const isOver = status === "COMPLETED" || status === "FAILED"
  const run = Cast.runOf(cast, begin.run, {
    accountId: owning?.accountId ?? cast.accounts[begin.account]!,
    workflowId,
    workflowName: begin.name,
    workflowRevision: (drawn?.revision ?? 1) + (current?.revision ?? 0),
    workflowVersion: versionOf(workflows, drawn, current),
    definitionId: definition.id,
    createdAt: Cast.timeOf(begin.age),
    estimatedCredits: estimate,
    maxCredits: flavor === 2 ? 9_000_000 : null,
    keyId: flavor === 1 ? cast.keys[0]! : null,
    source: sources[flavor % sources.length]!,
    priority: (flavor % 3) - 1,
    startAt: flavor === 4 ? Cast.timeOf(begin.age + 2) : null,
    ...(flavor > 2 ? { concurrencyKey: `k${flavor % 2}`, concurrency: 1 + (begin.age % 2) } : {}),
    heldCredits: flavor,
    status,
    startedAt: status === "QUEUED" ? null : Cast.timeOf(begin.age + 1),
    values: Cast.contentOf(flavor),
    inputOverrides: { n0: Cast.contentOf(flavor + 1) },
    viewport: flavor === 0 ? { x: -1.5, y: 2, zoom: 0.25 } : null,
    webhook: flavor === 1 ? Cast.webhookOf(flavor) : null,
    fence: flavor % 2,
    owner: owner === null ? null : cast.runners[owner]!,
    attempts: flavor,
    waiting: Cast.waitingOf(flavor),
    dueAt: parks === null || owner !== null || isOver ? null : Cast.dueOf(parks, flavor),
    ...(isOver ? ending(flavor) : {}),
  })
  const first = definition.nodes.map(({ id }) => id).slice(0, begin.nodes)
  const { sequence, ...carried } = rowsOfCommit(run, begin, { first, again: [] }, 0)
  const taken = estimate === 0 ? [] : [Ledger.reserve(estimate, Cast.timeOf(6))]
  return {
    expected: { _tag: "New", definition, isCurrent: current !== null },
    run: { ...run, sequence, actualCredits: costOf(carried.nodeRuns) },
    ...carried,
    credits: creditsOf(run, carried.nodeRuns, { held: 0, isBooked: false }, taken),
  }
}

/** Other values of all that a commit leaves as it is. */
const strange = (cast: Cast.Cast, { fence, owner }: Run): Partial<Run> => ({
  owner: owner === null ? cast.runners[0]! : null,
  fence: fence + 7,
  workflowId: cast.workflows[1]!,
  workflowName: "Another name",
  workflowRevision: 99,
  workflowVersion: 99,
  executionId: "another",
  mode: "single",
  source: "ui",
  singleNodeId: "n0",
  rerunOf: RunId.make("run_before"),
  parent: {
    runId: RunId.make("run_above"),
    nodeId: "n0",
    index: 0,
    rootRunId: RunId.make("run_above"),
    depth: 1,
  },
  after: { runId: RunId.make("run_ended"), depth: 1 },
  priority: 9,
  startAt: Cast.timeOf(40),
  concurrencyKey: "another",
  concurrency: 7,
  createdAt: Cast.timeOf(30),
  estimatedCredits: 1,
  maxCredits: 1,
  keyId: cast.keys[0]!,
  values: { another: true },
  inputOverrides: {},
  viewport: { x: 9, y: 9, zoom: 9 },
  webhook: Cast.webhookOf(2),
  losses: [],
})

const nextOf = (cast: Cast.Cast, run: Run, advance: Advance): Partial<Run> => {
  const { flavor, isCareless, parks, status } = advance
  const isEnd = status === "COMPLETED" || status === "FAILED" || status === "CANCELED"
  return {
    status: status === "same" ? run.status : status,
    startedAt: run.startedAt ?? Cast.timeOf(9),
    heldCredits: flavor * 2,
    nodeRunCount: run.nodeRunCount + advance.nodes,
    attempts: run.attempts + advance.nodes + advance.rewrites,
    waiting: Cast.waitingOf(flavor),
    dueAt: parks === null || isEnd ? null : Cast.dueOf(parks, flavor),
    active: Cast.activeOf(flavor),
    ...(isCareless ? strange(cast, run) : {}),
    ...(isEnd ? ending(flavor) : {}),
  }
}

const stepOf = (cast: Cast.Cast, model: StoreModel, advance: Advance): RunCommit => {
  const { ledger, runs } = model
  const id = cast.runs[advance.run]!
  const known = runs.runs().find((each) => each.id === id)
  const run = known ?? Cast.runOf(cast, advance.run)
  const accountId = advance.as === "own" ? run.accountId : cast.accounts[advance.as]!
  const fence = run.fence + advance.fence
  const revision = run.revision + advance.revision
  const isRight = advance.fence === 0 && advance.revision === 0 && accountId === run.accountId
  const fits = known !== undefined && isOpen(run) && isRight
  const rows = runs.nodeRuns(id)
  const next: Run = {
    ...run,
    fence,
    ...nextOf(cast, run, advance),
    accountId,
    revision: revision + 1,
  }
  const nodeIds = cast.definitions.find((each) => each.id === run.definitionId)!.nodes
  const written = rows.filter(({ status }) => !fits || status === "WAITING")
  const rest = nodeIds.filter((node) => !fits || rows.every(({ nodeId }) => nodeId !== node.id))
  const first = rest.map((node) => node.id).slice(0, advance.nodes)
  const again = written.map(({ nodeId }) => nodeId).slice(0, advance.rewrites)
  const { sequence, ...carried } = rowsOfCommit(
    run,
    advance,
    { first, again },
    fits ? run.sequence : 0,
  )
  const expected = { _tag: "Existing", fence, revision } as const
  const held = ledger.heldBy(id)
  const isBooked = run.estimatedCredits > 0 || run.actualCredits > 0 || held > 0
  const { extra } = advance
  const taken = extra === 0 ? [] : [Ledger.extend(extra, revision + 1, Cast.timeOf(6))]
  const rowsNow = [...carried.nodeRuns, ...carried.rewritten]
  return {
    expected,
    clearsLosses: advance.nodes > 0,
    run: { ...next, sequence, actualCredits: run.actualCredits + costOf(rowsNow) },
    ...carried,
    credits: creditsOf(next, rowsNow, { held, isBooked }, taken),
    ...(advance.carried === undefined ? {} : carriedOf(cast, model, next, advance.carried)),
  }
}

/** What the store is asked to apply. */
export const commitOf = (cast: Cast.Cast, model: StoreModel, command: Begin | Advance): RunCommit =>
  command._tag === "Begin" ? insertOf(cast, model, command) : stepOf(cast, model, command)
