/**
 * What must hold of loops once all runs have ended: each item and each iteration has one run, no
 * more of them executed at once than the loop says, results have the order of the items, a `while`
 * ends as its rule says, nothing of a tree goes on without its parent, and costs add up.
 */
import type { RunId } from "@millrace/core/domain/Id"
import type { Run } from "@millrace/core/domain/Run"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Context, Effect } from "effect"
import { epoch } from "@millrace/conformance/Samples"
import { childPath, LoopOracle } from "./LoopNodes.ts"
import type { Level, LoopScenario, LoopStep } from "./LoopScenario.ts"
import { brokenBooks, brokenCost, brokenOrder, endsOf, type Evidence } from "./TreeRules.ts"

/** So long a run may go on after its time, once servers have come back from what hit them. */
const [lateMillis, backMillis] = [12_000, 30_000]

const workflowOf = ({ workflowId }: Run): number => Number(workflowId.slice("wf_".length))

/** All steps of a workflow by their ids, which are the ids of their nodes. */
const stepsOf = ({ steps }: Level): ReadonlyArray<LoopStep> =>
  steps.flatMap((step) => ["body" in step ? stepsOf(step.body) : [], step].flat())

const atOnce = (step: LoopStep): number => ("concurrency" in step ? step.concurrency : 1)

/** Trees of runs as the rules look at them. */
class LoopTrees {
  readonly byId: ReadonlyMap<RunId, Run>
  readonly #steps: ReadonlyArray<ReadonlyMap<string, LoopStep>>
  readonly #roots: ReadonlyMap<RunId, string>

  constructor({ workflows }: LoopScenario, { roots, runs }: Evidence) {
    this.byId = new Map(runs.map((run) => [run.id, run]))
    this.#steps = workflows.map(
      ({ level }) => new Map(stepsOf(level).map((step) => [step.id, step])),
    )
    this.#roots = new Map(roots.map(({ id, item }) => [id!, item]))
  }

  /** Where a run is, unlike any other one that is where it should be. */
  pathOf({ id, parent }: Run): string {
    if (parent === null) return this.#roots.get(id) ?? `nowhere ${id}`
    const { index, nodeId, runId } = parent
    return childPath(this.pathOf(this.byId.get(runId)!), nodeId, index)
  }

  /** The step that has started a child. */
  stepOf({ parent }: Run): LoopStep | undefined {
    if (parent === null) return undefined
    const above = this.byId.get(parent.runId)!
    return this.#steps[workflowOf(above)]!.get(parent.nodeId)
  }
}

/** Each child has a place of its own, and those of a node are counted from 0 without gaps. */
const brokenPlaces = (trees: LoopTrees, runs: ReadonlyArray<Run>): string | undefined => {
  const places = new Set<string>()
  for (const run of runs) {
    const { id, parent } = run
    if (parent === null) continue
    const above = trees.byId.get(parent.runId)
    const isRight =
      above !== undefined &&
      parent.depth === (above.parent?.depth ?? 0) + 1 &&
      parent.rootRunId === (above.parent?.rootRunId ?? above.id) &&
      trees.stepOf(run) !== undefined
    if (!isRight) return `a child stands where its parent put it: ${id}`
    const place = `${parent.runId} ${parent.nodeId} ${parent.index}`
    if (places.has(place)) return `an item has one run: ${place}`
    places.add(place)
  }
  for (const { id, parent } of runs) {
    if (parent === null || parent.index === 0) continue
    const before = `${parent.runId} ${parent.nodeId} ${parent.index - 1}`
    if (!places.has(before)) return `items begin in their order: ${id} without ${before}`
  }
  return undefined
}

/** No more children of a node are open at a time than it says. */
const brokenCrowd = (trees: LoopTrees, { history }: Evidence): string | undefined => {
  const open = new Map<string, number>()
  for (const { id, isEnd } of history) {
    const run = trees.byId.get(id)
    if (run === undefined) return `what is started is stored: ${id}`
    if (run.parent === null) continue
    const node = `${run.parent.runId} ${run.parent.nodeId}`
    const count = (open.get(node) ?? 0) + (isEnd ? -1 : 1)
    open.set(node, count)
    if (count > atOnce(trees.stepOf(run)!)) return `no more at once than allowed: ${id} of ${node}`
  }
  return undefined
}

/** What a loop computes before it stores it has an end. */
const brokenTurn = ({ setup }: LoopScenario, { turns }: Evidence): string | undefined => {
  for (const turn of turns) {
    for (const [node, items] of Map.groupBy(turn, ({ parent }) => parent!.nodeId)) {
      const before = items.slice(0, -1).reduce((sum, { attempts }) => sum + attempts, 0)
      if (before < setup.nodesPerStep) continue
      return `a turn of a loop has an end: ${items.length} items of ${node} in one commit`
    }
  }
  return undefined
}

/** Of each run, every event and every end of a node is recorded. */
const brokenRecord = ({ stores }: Evidence, { accountId, id, sequence }: Run) => {
  const { events } = Context.get(stores, RunStore)
  const told = Effect.runSync(Effect.orDie(events(accountId, id, 0)))
  const isRight = told.length === sequence && told.every((each, at) => each.sequence === at + 1)
  return isRight ? undefined : `all that happens is recorded: ${id} has ${told.length} events`
}

const isTimedOut = ({ error }: Run): boolean => error?.startsWith("The run timed out") === true

/** A run ends by its time if that has passed, and soon after it. */
const brokenTime = (
  { actions, healedAt, setup, workflows }: LoopScenario,
  run: Run,
): string | undefined => {
  const { timeoutMillis } = workflows[workflowOf(run)]!.settings
  const { finishedAt, id, startedAt } = run
  const begunAt = startedAt ?? finishedAt!
  const took = finishedAt! - begunAt
  if (timeoutMillis === undefined || run.mode === "item") {
    return isTimedOut(run) ? `a run without a limit has time: ${id}` : undefined
  }
  // Two servers may differ about the time of the store by as long as its answers take.
  const least = timeoutMillis - 2 * setup.latencyMillis
  const quietAt = actions.length === 0 ? 0 : epoch + healedAt + backMillis
  // Where others fill all places, a parked run waits for one.
  const places = Math.min(setup.runsAtOnce, setup.runsPerAccount, setup.runsPerWorkflow)
  // Who claims a run and never hears of it gives it back within a lease, and that several times.
  const unheardMillis = setup.lost === 0 ? 0 : 4 * setup.leaseMillis
  const soon = Math.max(begunAt + timeoutMillis, quietAt) + lateMillis + unheardMillis
  const most = places < 100 ? Infinity : soon
  const isFair = finishedAt! <= most && (!isTimedOut(run) || took >= least)
  return isFair ? undefined : `a run ends when its time is over: ${id} after ${took} ms`
}

/** What a run comes to follows from its item, unless nobody waited for it any more. */
const brokenEnd = (
  { ends }: LoopOracle,
  path: string,
  run: Run,
  above: Run | undefined,
  isAsked: boolean,
): string | undefined => {
  const { error, id, output, status } = run
  if (status === "CANCELED") {
    const isFair = isAsked || (above !== undefined && above.status !== "COMPLETED")
    return isFair ? undefined : `only what nobody waits for is canceled: ${id}`
  }
  const expected = ends.get(path)
  if (expected === undefined) return `only items have runs: ${id} at ${path}`
  const isRight =
    expected === "FAILED"
      ? status === "FAILED"
      : status === "COMPLETED" && JSON.stringify(output) === JSON.stringify(expected.output)
  const what = `${id} is ${status} ${error} ${JSON.stringify(output)}`
  return isRight ? undefined : `results are those of the items: ${what}, ${path}`
}

/** A run that has completed has as many children as it has items. */
const brokenCount = (
  { children: expected }: LoopOracle,
  path: string,
  { id, status }: Run,
  children: ReadonlyArray<Run>,
): string | undefined => {
  if (status !== "COMPLETED") return undefined
  const counts = Map.groupBy(children, ({ parent }) => parent!.nodeId)
  for (const [nodeId, { length }] of counts) {
    const most = expected.get(`${path} ${nodeId}`)
    if (length !== most) return `each item has a run: ${id} has ${length} of ${nodeId}, not ${most}`
  }
  return undefined
}

/** The first broken rule, with what breaks it. */
export const brokenLoopRuleOf = (
  scenario: LoopScenario,
  evidence: Evidence,
): string | undefined => {
  const { asked, roots, runs } = evidence
  const trees = new LoopTrees(scenario, evidence)
  const started = runs.filter(({ parent }) => parent === null)
  if (started.length !== roots.length) return `a name starts one run: ${started.length}`
  const misplaced =
    brokenPlaces(trees, runs) ?? brokenCrowd(trees, evidence) ?? brokenTurn(scenario, evidence)
  if (misplaced !== undefined) return misplaced
  const stopped = runs.filter(
    (run) => isTimedOut(run) || (run.status === "CANCELED" && asked.has(run.id)),
  )
  const broken = new Set(stopped.map((run) => trees.pathOf(run)))
  const oracle = new LoopOracle({ seed: scenario.seed, workflows: scenario.workflows, broken })
  for (const { item, workflow } of roots) oracle.endOf(item, workflow, item)
  const ends = endsOf(evidence)
  for (const run of runs) {
    const children = runs.filter(({ parent }) => parent?.runId === run.id)
    const isAsked =
      asked.has(run.id) || roots.some(({ id, isCanceled }) => id === run.id && isCanceled)
    const above = run.parent === null ? undefined : trees.byId.get(run.parent.runId)
    const path = trees.pathOf(run)
    const found =
      brokenTime(scenario, run) ??
      brokenEnd(oracle, path, run, above, isAsked) ??
      brokenCount(oracle, path, run, children) ??
      brokenOrder(run, above, ends) ??
      brokenCost(run, children) ??
      brokenRecord(evidence, run)
    if (found !== undefined) return found
  }
  return brokenBooks(evidence)
}
