/**
 * What a start is made of, or everything that stands against it: the plan, and what only services
 * can tell, which are JavaScript, secrets, and what earlier runs have put out.
 *
 * Guarantees: every problem at once. Stores nothing.
 */
import { Clock, Effect, Result } from "effect"
import type { AccountId, RunId } from "../../domain/Id.ts"
import type { JsonObject } from "../../domain/Json.ts"
import { startAheadMillis } from "../../domain/Limits.ts"
import { CurrentPrices } from "../../domain/Prices.ts"
import type { CalledWorkflows } from "../../domain/Run.ts"
import { format, type Timestamp } from "../../domain/Timestamp.ts"
import type { Node, Workflow } from "../../domain/Workflow.ts"
import { problemsOfApprovals } from "../../graph/internal/ApprovalRules.ts"
import type { Call } from "../../graph/internal/CalledWorkflows.ts"
import { withNodeOverrides } from "../../graph/internal/Overlay.ts"
import type { Problem } from "../../graph/internal/Problem.ts"
import { problemsOfOverrides, secretsOf } from "../../graph/internal/SecretNames.ts"
import { CurrentEvaluator } from "../../ports/Evaluator.ts"
import { RunStore } from "../../ports/RunStore.ts"
import type { StorageError } from "../../ports/StorageError.ts"
import { WorkflowStore } from "../../ports/WorkflowStore.ts"
import { CurrentSecrets } from "../CurrentSecrets.ts"
import { GraphCache } from "../GraphCache.ts"
import type { Called } from "./Called.ts"
import { calledBy } from "./Called.ts"
import { CurrentValues } from "./CurrentValues.ts"
import type { Asked, StartRequest } from "./NewRun.ts"
import { concurrencyOf, overlayOf } from "./NewRun.ts"
import type { Overlay, Plan, SharedPlan } from "./Plan.ts"
import { plan, planWith } from "./Plan.ts"
import { ScriptCheck } from "./ScriptCheck.ts"
import { secretCheck } from "./SecretCheck.ts"
import { planAlone } from "./SingleNode.ts"
import type { KeptWorkflow } from "./WorkflowCache.ts"

/** What planning a start needs. */
export const services = Effect.all({
  runs: RunStore,
  workflows: WorkflowStore,
  graphs: GraphCache,
  priceList: CurrentPrices,
  clock: Clock.Clock,
  evaluator: CurrentEvaluator,
  scripts: Effect.map(CurrentEvaluator, (evaluator) => new ScriptCheck(evaluator)),
  secrets: Effect.map(CurrentSecrets, secretCheck),
  values: CurrentValues,
})

const problemsOfTime = (
  { startAt = 0, whenFull }: Pick<StartRequest, "startAt" | "whenFull">,
  now: Timestamp,
): ReadonlyArray<Problem> => {
  if (startAt - now > startAheadMillis) {
    return [{ message: `startAt: expected a time before ${format(now + startAheadMillis)}` }]
  }
  return startAt > now && whenFull === "refuse"
    ? [{ message: "whenFull: a start that comes later waits; leave it out, or startAt" }]
    : []
}

const problemsOfKey = (
  request: StartRequest,
  workflow: Workflow,
  values: JsonObject,
): ReadonlyArray<Problem> => {
  const found = concurrencyOf(request, workflow, values)
  return Result.isFailure(found) ? [{ message: found.failure }] : []
}

/** The nodes as they are stored that call a workflow in which somebody is asked. */
const callsOf = (
  { calls }: GraphCache["Service"],
  nodes: ReadonlyArray<Node>,
  asking: ReadonlySet<string>,
): ReadonlyArray<Call> =>
  asking.size === 0 ? [] : calls(nodes, {}).filter(({ key }) => asking.has(key))

type Parts = Effect.Success<typeof services>

/** The workflows that a start calls, as they are now, or as they were `frozen` before. */
export const calledByStart = (
  parts: Pick<Parts, "graphs" | "workflows">,
  account: AccountId,
  { nodes: stored }: Pick<Workflow, "nodes">,
  { inputOverrides: overrides, nodeOverrides }: Overlay,
  frozen?: CalledWorkflows,
): Effect.Effect<Called, StorageError> => {
  const nodes = Result.getOrElse(withNodeOverrides(stored, nodeOverrides), () => stored)
  const own = parts.graphs.calls(nodes, overrides)
  const isLaidOver = nodes !== stored || Object.keys(overrides).length > 0
  // What is stored is read, too, because it may ask somebody whom the start must not pass by.
  const drawn = isLaidOver ? parts.graphs.calls(stored, {}) : []
  return calledBy(parts, account, { own, drawn }, frozen)
}

/** What is known of a start before it is planned. */
interface Known {
  readonly overlay?: Overlay
  /** Absent: what it calls is read. */
  readonly called?: Called
}

/** Plans a start of this workflow. */
export const planOf = Effect.fnUntraced(function* (
  parts: Parts,
  { account, request }: Pick<Asked, "account" | "request">,
  workflow: Workflow,
  id: RunId,
  known: Known = {},
) {
  const { clock, graphs, priceList, scripts, secrets } = parts
  const { singleNodeId: nodeId } = request
  const { overlay = overlayOf(request) } = known
  const frozen = request.rerun?.workflows
  const { problems: ofCalls, workflows: called } =
    known.called ?? (yield* calledByStart(parts, account, workflow, overlay, frozen))
  const options = { graphs, priceList, called }
  const now = clock.currentTimeMillisUnsafe()
  const made =
    nodeId === undefined
      ? plan(workflow, overlay, id, options)
      : yield* planAlone(parts, { account, workflow, overlay, nodeId, runId: id, now }, options)
  const asking = called === undefined ? new Set<string>() : graphs.asking(called)
  const asks = callsOf(graphs, workflow.nodes, asking)
  const ofStart = [
    ...problemsOfTime(request, now),
    ...ofCalls,
    ...problemsOfApprovals(workflow, overlay, nodeId, asks),
  ]
  if (Result.isFailure(made)) return Result.fail([...ofStart, ...made.failure])
  const { graph, values } = made.success
  if (Result.isFailure(graph)) return made
  const problems = [
    ...(yield* scripts.problemsOf(account, made.success.definition, graph.success)),
    ...(yield* secrets.problemsOf(account, graph.success, made.success.pinnedOutputs)),
    ...problemsOfOverrides(workflow.nodes, overlay.nodeOverrides),
    ...ofStart,
    ...(called === undefined ? [] : graphs.problemsOfCalls(graph.success, called)),
    ...problemsOfKey(request, workflow, values),
  ]
  return problems.length === 0 ? made : Result.fail(problems)
})

const isEmpty = (given: object = {}): boolean => Object.keys(given).length === 0

/** True for a start that lays nothing over its workflow but values. */
const isBare = (request: StartRequest): boolean =>
  request.singleNodeId === undefined &&
  request.rerun === undefined &&
  isEmpty(request.graphInputOverrides) &&
  isEmpty(request.nodeOverrides) &&
  isEmpty(request.pinnedOutputs)

/**
 * What later starts of a workflow may take from the plan of this one: nothing if this one laid more
 * than values over it, or if what only services can tell might stand against later ones.
 */
const sharedOf = (
  request: StartRequest,
  { definition, graph }: SharedPlan,
): SharedPlan | undefined => {
  if (!isBare(request) || Result.isFailure(graph)) return undefined
  const { hasScripts, inner, secrets } = graph.success
  const isOpen =
    definition.settings.workflows !== undefined ||
    hasScripts ||
    secrets.length > 0 ||
    inner.some((each) => secretsOf(each).length > 0)
  return isOpen ? undefined : { definition, graph }
}

/**
 * The plan of a start by what an earlier one has left of the kept workflow; `undefined` if that
 * does not do, or something stands against it: then {@link planOf} says what.
 */
const planAgain = (
  { clock, graphs }: Pick<Parts, "clock" | "graphs">,
  request: StartRequest,
  kept: KeptWorkflow | undefined,
): Result.Success<Plan, ReadonlyArray<Problem>> | undefined => {
  const shared = kept?.plan
  if (kept === undefined || shared === undefined || !isBare(request)) return undefined
  // Another graph: the node types were replaced.
  if (graphs.compile(shared.definition, {}) !== shared.graph) return undefined
  const made = planWith(shared, request.values ?? {})
  if (Result.isFailure(made)) return undefined
  const isClear =
    problemsOfTime(request, clock.currentTimeMillisUnsafe()).length === 0 &&
    problemsOfKey(request, kept.workflow, made.success.values).length === 0
  return isClear ? made : undefined
}

/** {@link planOf}, by what an earlier start has left of the kept workflow where that does. */
export const planKept = (
  parts: Parts,
  asked: Pick<Asked, "account" | "request">,
  workflow: Workflow,
  id: RunId,
  kept: KeptWorkflow | undefined,
): ReturnType<typeof planOf> => {
  const again = planAgain(parts, asked.request, kept)
  if (again !== undefined) return Effect.succeed(again)
  const made = planOf(parts, asked, workflow, id)
  return kept === undefined
    ? made
    : Effect.tap(made, (result) =>
        Effect.sync(() => {
          if (Result.isSuccess(result)) {
            kept.plan = sharedOf(asked.request, result.success) ?? kept.plan
          }
        }),
      )
}
