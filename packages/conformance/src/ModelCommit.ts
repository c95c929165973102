/**
 * The commits of a script, made out of the state of the model.
 *
 * Guarantees: a commit keeps the contract of the port (a node's row is written once, events are
 * numbered without gaps, what a run was born with stays); only its expectation may be wrong. One
 * that must be refused carries rows and numbers that are there already, so that a trace of it shows.
 */
import type { Run } from "@millrace/core/domain/Run"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import * as Cast from "./ModelCast.ts"
import type { Advance, Begin } from "./ModelCommands.ts"
import type { StoreModel } from "./StoreModel.ts"
import { isOpen } from "./StoreModelRuns.ts"

const rowsOf = (nodeIds: ReadonlyArray<string>, { flavor, nodes }: Begin | Advance) =>
  nodeIds
    .slice(0, nodes)
    .toReversed()
    .map((id, n) => Cast.nodeRunOf(id, (flavor + n) % 6))

const eventsOf = (run: Run, before: number, { events, flavor }: Begin | Advance) =>
  Array.from({ length: events }, (_, n) => Cast.eventOf(run, before + 1 + n, (flavor + n) % 6))

const ending = (flavor: number): Partial<Run> => ({
  finishedAt: Cast.timeOf(20 + flavor),
  error: flavor % 2 === 0 ? null : Cast.errorOf(flavor),
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
    sequence: begin.events,
    fence: flavor % 2,
    owner: owner === null ? null : cast.runners[owner]!,
    ...(status === "COMPLETED" || status === "FAILED" ? ending(flavor) : {}),
  })
  const nodeIds = definition.nodes.map(({ id }) => id)
  return {
    expected: { _tag: "New", definition },
    run,
    nodeRuns: rowsOf(nodeIds, begin),
    events: eventsOf(run, 0, begin),
  }
}

const nextOf = (cast: Cast.Cast, run: Run, advance: Advance): Partial<Run> => {
  const { flavor, owner, status } = advance
  const isEnd = status === "COMPLETED" || status === "FAILED" || status === "CANCELED"
  return {
    status: status === "same" ? run.status : status,
    startedAt: run.startedAt ?? Cast.timeOf(9),
    actualCredits: run.actualCredits + flavor * 1_000,
    nodeRunCount: run.nodeRunCount + advance.nodes,
    active: flavor % 2 === 0 ? [] : [{ ordinal: 1, attempt: flavor, startedAt: Cast.timeOf(9) }],
    claims: advance.nodes > 0 ? 0 : run.claims,
    ...(owner === "same" ? {} : { owner: owner === null ? null : cast.runners[owner]! }),
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
  const nodeIds = definition.nodes.map((node) => node.id)
  const before = fits ? run.sequence : 0
  const next: Run = {
    ...run,
    ...nextOf(cast, run, advance),
    accountId,
    fence,
    revision: revision + 1,
    sequence: before + advance.events,
  }
  return {
    expected: { _tag: "Existing", fence, revision },
    run: next,
    nodeRuns: rowsOf(fits ? nodeIds.filter((each) => !written.has(each)) : nodeIds, advance),
    events: eventsOf(next, before, advance),
  }
}

/** What the store is asked to apply. */
export const commitOf = (cast: Cast.Cast, model: StoreModel, command: Begin | Advance): RunCommit =>
  command._tag === "Begin" ? birthOf(cast, command) : stepOf(cast, model, command)
