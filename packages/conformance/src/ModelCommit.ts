/**
 * The commits of a script, made out of the state of the model.
 *
 * Guarantees: a commit keeps the contract of the port (a node's row is written once, events are
 * numbered without gaps); only its expectation may be wrong. One that must be refused carries rows
 * and numbers that are there already, so that a trace of it shows.
 */
import type { Run } from "@millrace/core/domain/Run"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import * as Cast from "./ModelCast.ts"
import type { Advance, Begin } from "./ModelCommands.ts"
import type { StoreModel } from "./StoreModel.ts"
import { isOpen } from "./StoreModelRuns.ts"

/** What a commit carries beside the run's row. */
interface Cargo {
  readonly nodeRuns: RunCommit["nodeRuns"]
  readonly events: RunCommit["events"]
  readonly deliveries: RunCommit["deliveries"]
  /** The number of the last event, be it one of its own or one that a node's row tells of. */
  readonly sequence: number
}

/** Rows of some of these nodes and events, numbered behind the last event so far. */
const cargoOf = (
  run: Run,
  { events, flavor, nodes }: Begin | Advance,
  nodeIds: ReadonlyArray<string>,
  before: number,
): Cargo => {
  const rows = nodeIds
    .slice(0, nodes)
    .toReversed()
    .map((id, n) => Cast.nodeRunOf(id, (flavor + n) % 6))
  const told = rows.filter(({ status }) => status !== "SKIPPED").length
  let [ofRow, ofEvent] = flavor % 2 === 0 ? [before, before + told] : [before + events, before]
  return {
    nodeRuns: rows.map((row) => (row.status === "SKIPPED" ? row : { ...row, sequence: ++ofRow })),
    events: Array.from({ length: events }, () => Cast.eventOf(run, ++ofEvent, flavor)),
    // What becomes of deliveries is the business of another store.
    deliveries: [],
    sequence: before + told + events,
  }
}

const ending = (flavor: number): Partial<Run> => ({
  finishedAt: Cast.timeOf(20 + flavor),
  error: flavor === 5 ? null : Cast.errorOf(flavor),
  output: [Cast.contentOf(flavor)],
})

const birthOf = (cast: Cast.Cast, begin: Begin): RunCommit => {
  const definition = cast.definitions[begin.definition]!
  const { flavor, owner, status } = begin
  const run = Cast.runOf(cast, begin.run, {
    accountId: cast.accounts[begin.account]!,
    workflowId: cast.workflows[begin.workflow]!,
    workflowName: begin.name,
    definitionId: definition.id,
    createdAt: Cast.timeOf(begin.age),
    status,
    startedAt: status === "QUEUED" ? null : Cast.timeOf(begin.age + 1),
    values: Cast.contentOf(flavor),
    inputOverrides: { n0: Cast.contentOf(flavor + 1) },
    viewport: flavor === 0 ? { x: -1.5, y: 2, zoom: 0.25 } : null,
    webhook: flavor === 1 ? Cast.webhookOf(flavor) : null,
    fence: flavor % 2,
    owner: owner === null ? null : cast.runners[owner]!,
    ...(status === "COMPLETED" || status === "FAILED" ? ending(flavor) : {}),
  })
  const nodeIds = definition.nodes.map(({ id }) => id)
  const { sequence, ...cargo } = cargoOf(run, begin, nodeIds, 0)
  const expected = { _tag: "New", definition } as const
  return { expected, run: { ...run, sequence }, rewritten: [], ...cargo }
}

/** Other values of all that a commit leaves as it is. */
const strange = (cast: Cast.Cast, { fence, owner }: Run): Partial<Run> => ({
  owner: owner === null ? cast.runners[0]! : null,
  fence: fence + 7,
  workflowId: cast.workflows[1]!,
  workflowName: "Another name",
  workflowRevision: 99,
  executionId: "another",
  mode: "single",
  source: "ui",
  singleNodeId: "n0",
  createdAt: Cast.timeOf(30),
  estimatedCredits: 1,
  values: { another: true },
  inputOverrides: {},
  viewport: { x: 9, y: 9, zoom: 9 },
  webhook: Cast.webhookOf(2),
})

const nextOf = (cast: Cast.Cast, run: Run, advance: Advance): Partial<Run> => {
  const { flavor, isCareless, status } = advance
  const isEnd = status === "COMPLETED" || status === "FAILED" || status === "CANCELED"
  return {
    status: status === "same" ? run.status : status,
    startedAt: run.startedAt ?? Cast.timeOf(9),
    actualCredits: run.actualCredits + flavor * 1_000,
    nodeRunCount: run.nodeRunCount + advance.nodes,
    active: flavor % 2 === 0 ? [] : [{ ordinal: 1, attempt: flavor, startedAt: Cast.timeOf(9) }],
    claims: advance.nodes > 0 ? 0 : run.claims,
    ...(isCareless ? strange(cast, run) : {}),
    ...(isEnd ? ending(flavor) : {}),
  }
}

const stepOf = (cast: Cast.Cast, { runs }: StoreModel, advance: Advance): RunCommit => {
  const id = cast.runs[advance.run]!
  const known = runs.runs().find((each) => each.id === id)
  const run = known ?? Cast.runOf(cast, advance.run)
  const accountId = advance.as === "own" ? run.accountId : cast.accounts[advance.as]!
  const fence = run.fence + advance.fence
  const revision = run.revision + advance.revision
  const isRight = advance.fence === 0 && advance.revision === 0 && accountId === run.accountId
  const fits = known !== undefined && isOpen(run) && isRight
  const written = new Set(runs.nodeRuns(id).map(({ nodeId }) => nodeId))
  const definition = cast.definitions.find((each) => each.id === run.definitionId)!
  const nodeIds = definition.nodes
    .map((node) => node.id)
    .filter((each) => !fits || !written.has(each))
  const next: Run = {
    ...run,
    fence,
    ...nextOf(cast, run, advance),
    accountId,
    revision: revision + 1,
  }
  const { sequence, ...cargo } = cargoOf(run, advance, nodeIds, fits ? run.sequence : 0)
  const expected = { _tag: "Existing", fence, revision } as const
  return { expected, run: { ...next, sequence }, rewritten: [], ...cargo }
}

/** What the store is asked to apply. */
export const commitOf = (cast: Cast.Cast, model: StoreModel, command: Begin | Advance): RunCommit =>
  command._tag === "Begin" ? birthOf(cast, command) : stepOf(cast, model, command)
