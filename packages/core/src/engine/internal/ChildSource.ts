/**
 * Child runs, for the nodes that start them: their starts are checked here, and their outputs read.
 *
 * Guarantees: what is prepared belongs to the account of its parent, and stores nothing. The commit
 * in which the parent's node begins to wait stores it. Leaves out: waiting for children, which is
 * the node's, and canceling them, which is the step's.
 */
import { Clock, Context, Effect, Option, Result, Schedule } from "effect"
import type { MicroCredits } from "../../domain/Credits.ts"
import { toNumber } from "../../domain/Credits.ts"
import type { WorkflowId } from "../../domain/Id.ts"
import { RunId } from "../../domain/Id.ts"
import type { Json } from "../../domain/Json.ts"
import { withLarge } from "../../domain/LargeValue.ts"
import { childDepth, childrenPerPage, CurrentLimits } from "../../domain/Limits.ts"
import { quoted } from "../../domain/Quote.ts"
import type {
  CalledWorkflow,
  CalledWorkflows,
  Definition,
  InputOverrides,
  ParentRun,
  PinnedOutputs,
  Run,
  RunRecord,
} from "../../domain/Run.ts"
import { calledKey, notStarted } from "../../domain/Run.ts"
import { webhookOfChildren } from "../../domain/Webhook.ts"
import type { Workflow } from "../../domain/Workflow.ts"
import { RunStore } from "../../ports/RunStore.ts"
import type { StorageError } from "../../ports/StorageError.ts"
import { WorkflowStore } from "../../ports/WorkflowStore.ts"
import type { Graph } from "../../graph/Graph.ts"
import type { Body } from "../../graph/internal/LoopBody.ts"
import { drawingOf, frozenNodes } from "../../graph/internal/LoopBody.ts"
import type { BodyRequest, ChildRequest, ChildRun } from "../CurrentNode.ts"
import { NodeError } from "../CurrentNode.ts"
import type { GraphCache } from "../GraphCache.ts"
import { Ids } from "../Ids.ts"
import { costOf } from "./Billing.ts"
import { isWorkflowId, missing } from "./Called.ts"
import { CommitBuilder } from "./CommitBuilder.ts"
import type { ComputedTries } from "./ComputedTries.ts"
import { triesOf } from "./ComputedTries.ts"
import { CurrentValues } from "./CurrentValues.ts"
import { givenRowsOf, newRunOf, overlayOf } from "./NewRun.ts"
import type { Plan } from "./Plan.ts"
import { estimateOf } from "./Plan.ts"
import * as StartPlan from "./StartPlan.ts"
import { findTaken } from "./TakenWorkflow.ts"

/** How nodes of this process start child runs. */
export interface ChildSource {
  /**
   * The start of a child of this run, or why it cannot be started. What the run has frozen of
   * other workflows is started as it was; everything else, as it is stored now.
   */
  readonly prepare: (
    run: Run,
    nodeId: string,
    request: ChildRequest,
    frozen: CalledWorkflows | undefined,
  ) => Effect.Effect<ChildRun, NodeError>
  /** The same for a child that executes the body of a loop of this run, before its first commit. */
  readonly prepareBody: (
    run: Run,
    loop: Loop,
    request: BodyRequest,
  ) => Effect.Effect<BodyRun, NodeError>
  /** The next children that a node of this run has started, after an index, by index. */
  readonly listed: (
    run: Run,
    nodeId: string,
    after: number,
  ) => Effect.Effect<ReadonlyArray<Run>, NodeError>
  /** What a run has put out that has COMPLETED, whole. */
  readonly outputOf: (child: Run) => Effect.Effect<Json, NodeError>
}

/** A loop that a run executes. */
export interface Loop {
  /** What the run executes. */
  readonly definition: Definition
  readonly body: Body
  /** What nodes outside of the body have put out, whole, as far as the body uses it. */
  readonly given: PinnedOutputs
}

/** A run of the body of a loop that is not stored yet. */
export interface BodyRun extends RunRecord {
  readonly body: ReadyBody
}

/** A body that can be executed. */
export interface ReadyBody extends Pick<Plan, "definition" | "graph">, ComputedTries {
  readonly compiled: Graph
}

/** The same run, to be claimed by whoever has room for it. */
export const queuedOf = ({ definition, nodeRuns, run }: BodyRun): ChildRun => {
  const commit = new CommitBuilder(run, run.createdAt).commit()
  return { run: commit.run, credits: commit.credits ?? [], definition, nodeRuns }
}

const refusal = (message: string): NodeError => new NodeError({ message, retryable: false })

const noChildren = Effect.fail(refusal("this engine starts no runs for nodes"))

/** How nodes of this process start child runs; where nobody says so, they cannot. */
export const CurrentChildren = Context.Reference<ChildSource>(
  "@millrace/core/engine/internal/CurrentChildren",
  {
    defaultValue: () => ({
      prepare: () => noChildren,
      prepareBody: () => noChildren,
      listed: () => noChildren,
      outputOf: () => noChildren,
    }),
  },
)

/** Pauses between tries to read the store. */
const tries = { schedule: Schedule.exponential("50 millis"), times: 7 } as const

const read = <A>(what: string, effect: Effect.Effect<A, StorageError>) =>
  Effect.mapError(
    Effect.retry(effect, tries),
    ({ message }) => new NodeError({ message: `${what} cannot be read: ${message}` }),
  )

/** Where a child stands in the tree of its root. */
const parentOf = ({ id, parent }: Run, nodeId: string, index: number): ParentRun => ({
  runId: id,
  nodeId,
  index,
  rootRunId: parent?.rootRunId ?? id,
  depth: (parent?.depth ?? 0) + 1,
})

/** Where a child will stand; refused if that is too deep. */
const placeOf = (run: Run, nodeId: string, index: number): Effect.Effect<ParentRun, NodeError> => {
  const parent = parentOf(run, nodeId, index)
  if (parent.depth <= childDepth) return Effect.succeed(parent)
  const path = `runs that start each other are ${parent.depth} deep`
  return Effect.fail(refusal(`${path}; the limit is ${childDepth}`))
}

const checkCost = (
  what: string,
  estimate: MicroCredits,
  maxCredits: MicroCredits | undefined,
): Effect.Effect<void, NodeError> => {
  if (maxCredits === undefined || estimate <= maxCredits) return Effect.void
  const needs = `${what} needs ${toNumber(estimate)} credits`
  const left = `the run has ${toNumber(maxCredits)} left of its maximum`
  return Effect.fail(refusal(`${needs}, and ${left}`))
}

/** What the run and its children may still cost; `undefined` if it has no limit of its own. */
const leftOf = (run: Run): number | undefined =>
  run.maxCredits === null ? undefined : Math.max(0, run.maxCredits - costOf(run))

const servicesOf = Effect.all({
  runs: RunStore,
  workflows: WorkflowStore,
  planning: StartPlan.services,
  ids: Ids,
  clock: Clock.Clock,
  values: CurrentValues,
  limits: CurrentLimits,
})
type Services = Effect.Success<typeof servicesOf>

/** A workflow that a run has frozen, as one that is stored. */
const asStored = (
  { accountId, createdAt }: Run,
  id: WorkflowId,
  called: CalledWorkflow,
): Workflow => {
  const rest = { description: null, thumbnailUrl: null, createdAt, updatedAt: createdAt }
  return { id, accountId, ...called, ...rest }
}

const bytesOf = (json: Json): number => new TextEncoder().encode(JSON.stringify(json)).length

const prepare = (services: Services): ChildSource["prepare"] =>
  Effect.fnUntraced(function* (run, nodeId, { index, values, version, workflowId }, frozen = {}) {
    const { clock, ids, limits, planning, workflows } = services
    const parent = yield* placeOf(run, nodeId, index)
    const bytes = bytesOf(values)
    if (bytes > limits.bodyBytes) {
      return yield* refusal(`the values have ${bytes} bytes; the limit is ${limits.bodyBytes}`)
    }
    const account = run.accountId
    const named = `workflow ${quoted(workflowId)}`
    const kept = calledKey(workflowId, version)
    const called = Object.hasOwn(frozen, kept) ? frozen[kept] : undefined
    const id = workflowId
    const unknown = refusal(missing({ version, workflowId }))
    if (!isWorkflowId(id)) return yield* unknown
    const found =
      called === undefined
        ? yield* read(named, findTaken(workflows, account, id, version))
        : Option.some(asStored(run, id, called))
    if (Option.isNone(found)) return yield* unknown
    const maxCredits = leftOf(run)
    const { keyId, priority, source } = run
    const request = {
      workflowId: found.value.id,
      values,
      source,
      keyId: keyId ?? undefined,
      maxCredits,
      priority,
    }
    const runId = RunId.make(yield* ids.make("run"))
    const asked = { account, request }
    const calls = StartPlan.calledByStart(
      planning,
      account,
      found.value,
      overlayOf(request),
      frozen,
    )
    const known = { called: yield* read(named, calls) }
    const planned = yield* read(named, StartPlan.planOf(planning, asked, found.value, runId, known))
    if (Result.isFailure(planned)) {
      const problems = planned.failure.map(({ message }) => message).join("; ")
      return yield* refusal(`${named} cannot be started: ${problems}`)
    }
    const { definition, estimate } = planned.success
    yield* checkCost(named, estimate, maxCredits)
    const executionId = yield* ids.make("execution")
    const createdAt = clock.currentTimeMillisUnsafe()
    const webhook = webhookOfChildren(run.webhook)
    const fresh = { id: runId, executionId, createdAt, webhook, parent }
    const made = newRunOf(asked, found.value, planned.success, fresh)
    if (waitsForParent(made, run)) {
      const key = quoted(made.concurrencyKey!)
      return yield* refusal(`${named} would wait for this run, which has the key ${key}, too`)
    }
    const commit = new CommitBuilder(made, createdAt).commit()
    return { run: commit.run, credits: commit.credits ?? [], definition }
  })

/** Bodies that were started before, by the body of a compiled graph. */
const readyBodies = new WeakMap<Body, ReadyBody>()

const readyBody = (
  { planning }: Services,
  { inputOverrides }: Run,
  { body, definition: around }: Loop,
): Result.Result<ReadyBody, string> => {
  const before = readyBodies.get(body)
  if (before !== undefined) return Result.succeed(before)
  const drawn = drawingOf(around, body)
  const graph = planning.graphs.compile(drawn, overridesOf(inputOverrides, body))
  if (Result.isFailure(graph)) {
    return Result.fail(graph.failure.map(({ message }) => message).join("; "))
  }
  const compiled = graph.success
  const definition = { ...drawn, nodes: frozenNodes(compiled) }
  const ready = { definition, graph, compiled, ...triesOf(compiled) }
  readyBodies.set(body, ready)
  return Result.succeed(ready)
}

/** Of the input overrides of a run, those for nodes of a body. */
const overridesOf = (overrides: InputOverrides, { nodes }: Body): InputOverrides =>
  Object.fromEntries(
    nodes.flatMap(({ id }) => (Object.hasOwn(overrides, id) ? [[id, overrides[id]!]] : [])),
  )

const prepareBody = (services: Services): ChildSource["prepareBody"] =>
  Effect.fnUntraced(function* (run, loop, request) {
    const { clock, ids, limits } = services
    const { id: nodeId } = loop.body.loop
    const parent = yield* placeOf(run, nodeId, request.index)
    const pinnedOutputs = { ...loop.given, [nodeId]: request.body }
    const bytes = bytesOf(pinnedOutputs)
    if (bytes > limits.bodyBytes) {
      const what = "the item, and what the body uses of nodes outside of it, have"
      return yield* refusal(`${what} ${bytes} bytes; the limit is ${limits.bodyBytes}`)
    }
    const ready = readyBody(services, run, loop)
    if (Result.isFailure(ready)) return yield* refusal(`its body: ${ready.failure}`)
    const { compiled, definition, graph } = ready.success
    const estimated = estimateOf(compiled, definition.settings.prices, pinnedOutputs)
    if (Result.isFailure(estimated)) {
      const problems = estimated.failure.map(({ message }) => message).join("; ")
      return yield* refusal(`its body: ${problems}`)
    }
    const { estimate } = estimated.success
    const maxCredits = leftOf(run)
    yield* checkCost("its body", estimate, maxCredits)
    const createdAt = clock.currentTimeMillisUnsafe()
    const inputOverrides = overridesOf(run.inputOverrides, loop.body)
    const made: Plan = {
      definition,
      graph,
      values: run.values,
      ...estimated.success,
      inputOverrides,
      pinnedOutputs,
    }
    const child: Run = {
      ...notStarted,
      id: RunId.make(yield* ids.make("run")),
      executionId: yield* ids.make("execution"),
      createdAt,
      webhook: webhookOfChildren(run.webhook),
      parent,
      accountId: run.accountId,
      workflowId: run.workflowId,
      workflowName: run.workflowName,
      workflowRevision: run.workflowRevision,
      workflowVersion: run.workflowVersion,
      definitionId: definition.id,
      mode: "item",
      source: run.source,
      singleNodeId: null,
      rerunOf: null,
      keyId: run.keyId,
      triggerId: null,
      after: null,
      priority: run.priority,
      startAt: null,
      concurrencyKey: null,
      concurrency: null,
      values: run.values,
      inputOverrides,
      viewport: null,
      estimatedCredits: estimate,
      maxCredits: maxCredits ?? null,
    }
    const nodeRuns = givenRowsOf(made, run.id, createdAt)
    return { run: child, definition, nodeRuns, body: ready.success }
  })

/** True for a child that would get its key only when its parent has ended, which waits for it. */
const waitsForParent = ({ concurrency, concurrencyKey, workflowId }: Run, parent: Run): boolean =>
  concurrency === 1 && concurrencyKey === parent.concurrencyKey && workflowId === parent.workflowId

const listed = ({ runs }: Services): ChildSource["listed"] =>
  Effect.fnUntraced(function* ({ accountId: account, id: parentRunId }, nodeId, after) {
    const query = { account, parentRunId, nodeId, after, limit: childrenPerPage }
    return yield* read("the children of the run", runs.children(query))
  })

const outputOf = ({ values }: Services): ChildSource["outputOf"] =>
  Effect.fnUntraced(function* ({ accountId: account, id: runId, largeValues, output }) {
    const named = `the output of run ${quoted(runId)}`
    let whole = output
    for (const placed of largeValues ?? []) {
      const load = values?.load({ account, runId, id: placed.id }) ?? Effect.undefined
      const json = yield* read(named, load)
      if (json === undefined) return yield* refusal(`${named} is gone`)
      whole = withLarge(whole, "/output", [placed], () => json)
    }
    return whole
  })

/** Needs the stores of runs and workflows, and what checks starts. */
export const make: Effect.Effect<ChildSource, never, RunStore | WorkflowStore | GraphCache | Ids> =
  Effect.map(servicesOf, (services) => ({
    prepare: prepare(services),
    prepareBody: prepareBody(services),
    listed: listed(services),
    outputOf: outputOf(services),
  }))
