/**
 * What a start is made of, or everything that stands against it: the plan, and what only services
 * can tell, which are JavaScript, secrets, and what earlier runs have put out.
 *
 * Guarantees: every problem at once. Stores nothing.
 */
import { Clock, Effect, Result } from "effect"
import type { RunId } from "../../domain/Id.ts"
import { startAheadMillis } from "../../domain/Limits.ts"
import { CurrentPrices } from "../../domain/Prices.ts"
import { format, type Timestamp } from "../../domain/Timestamp.ts"
import type { Workflow } from "../../domain/Workflow.ts"
import { problemsOfApprovals } from "../../graph/internal/ApprovalRules.ts"
import type { Problem } from "../../graph/internal/Problem.ts"
import { problemsOfOverrides } from "../../graph/internal/SecretNames.ts"
import { CurrentEvaluator } from "../../ports/Evaluator.ts"
import { RunStore } from "../../ports/RunStore.ts"
import { CurrentSecrets } from "../CurrentSecrets.ts"
import { GraphCache } from "../GraphCache.ts"
import { CurrentValues } from "./CurrentValues.ts"
import type { Asked, StartRequest } from "./NewRun.ts"
import { overlayOf } from "./NewRun.ts"
import type { Overlay } from "./Plan.ts"
import { plan } from "./Plan.ts"
import { ScriptCheck } from "./ScriptCheck.ts"
import { secretCheck } from "./SecretCheck.ts"
import { planAlone } from "./SingleNode.ts"

/** What planning a start needs. */
export const services = Effect.all({
  runs: RunStore,
  graphs: GraphCache,
  priceList: CurrentPrices,
  clock: Clock.Clock,
  evaluator: CurrentEvaluator,
  scripts: Effect.map(CurrentEvaluator, (evaluator) => new ScriptCheck(evaluator)),
  secrets: Effect.map(CurrentSecrets, secretCheck),
  values: CurrentValues,
})

const problemsOfTime = (
  { startAt = 0 }: Pick<StartRequest, "startAt">,
  now: Timestamp,
): ReadonlyArray<Problem> =>
  startAt - now <= startAheadMillis
    ? []
    : [{ message: `startAt: expected a time before ${format(now + startAheadMillis)}` }]

/** Plans a start of this workflow. */
export const planOf = Effect.fnUntraced(function* (
  parts: Effect.Success<typeof services>,
  { account, request }: Pick<Asked, "account" | "request">,
  workflow: Workflow,
  id: RunId,
  overlay: Overlay = overlayOf(request),
) {
  const { clock, graphs, priceList, scripts, secrets } = parts
  const { singleNodeId: nodeId } = request
  const options = { compile: graphs.compile, priceList }
  const now = clock.currentTimeMillisUnsafe()
  const made =
    nodeId === undefined
      ? plan(workflow, overlay, id, options)
      : yield* planAlone(parts, { account, workflow, overlay, nodeId, runId: id, now }, options)
  const ofStart = [
    ...problemsOfTime(request, now),
    ...problemsOfApprovals(workflow, overlay, nodeId),
  ]
  if (Result.isFailure(made)) return Result.fail([...ofStart, ...made.failure])
  const graph = made.success.graph
  if (Result.isFailure(graph)) return made
  const problems = [
    ...(yield* scripts.problemsOf(account, made.success.definition, graph.success)),
    ...(yield* secrets.problemsOf(account, graph.success, made.success.pinnedOutputs)),
    ...problemsOfOverrides(workflow.nodes, overlay.nodeOverrides),
    ...ofStart,
  ]
  return problems.length === 0 ? made : Result.fail(problems)
})
