/**
 * The start of a node that is to run alone: its expressions are computed when it starts, from what
 * the nodes before it put out last.
 *
 * Guarantees: what they gave is frozen with the run, so it stays when those nodes run again. Leaves
 * out: everything that is the same without expressions, which `Plan` has.
 */
import { Effect, Result } from "effect"
import type { AccountId, RunId } from "../../domain/Id.ts"
import type { JsonObject } from "../../domain/Json.ts"
import { freeze, isJsonObject } from "../../domain/Json.ts"
import { defaultInput } from "../../domain/NodeType.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import type { CalledWorkflows } from "../../domain/Run.ts"
import type { Node, Workflow } from "../../domain/Workflow.ts"
import type { NodePlan } from "../../graph/internal/NodePlan.ts"
import { withNodeOverrides } from "../../graph/internal/Overlay.ts"
import { problemsOfPinned } from "../../graph/internal/PinnedOutputs.ts"
import type { Problem } from "../../graph/internal/Problem.ts"
import { constantOf } from "../../graph/internal/SettledLiteral.ts"
import type { Evaluator } from "../../ports/Evaluator.ts"
import type { RunStore } from "../../ports/RunStore.ts"
import type { StorageError } from "../../ports/StorageError.ts"
import type { ValueSource } from "./CurrentValues.ts"
import type { GraphCache } from "../GraphCache.ts"
import type { Given } from "./Inputs.ts"
import { givenTo, runScope } from "./Inputs.ts"
import type { Overlay, PlanOptions } from "./Plan.ts"
import { alone, arrivals, planSingle, upstreamOf } from "./Plan.ts"
import { wholeOutputs } from "./WholeOutputs.ts"

/** What the start of a single node needs of the engine. */
interface Parts {
  readonly graphs: GraphCache["Service"]
  readonly runs: RunStore["Service"]
  readonly evaluator: Evaluator
  readonly values: ValueSource | undefined
}

/** Which node, in which workflow, as which run. */
interface Single {
  readonly account: AccountId
  readonly workflow: Workflow
  readonly overlay: Overlay
  readonly nodeId: string
  readonly runId: RunId
  readonly now: Timestamp
}

/** The overlay with the values of the node's expressions, and what was put out before it. */
interface Computed {
  readonly overlay: Overlay
  readonly outputs: ReadonlyMap<string, JsonObject>
}

/** The nodes whose outputs the expressions of a node use. */
const usedBy = ({ literals }: NodePlan): ReadonlyArray<string> =>
  [...(literals?.inputs.values() ?? []), ...(literals?.fallback.values() ?? [])].flatMap(
    ({ expressions }) =>
      expressions.flatMap(({ meaning, needs }) => {
        const isOfNode = meaning._tag === "Path" && meaning.path.root._tag === "Node"
        return isOfNode ? [(meaning.path.root as { readonly id: string }).id] : needs.nodes
      }),
  )

const compute = Effect.fnUntraced(function* (
  { evaluator }: Parts,
  { account, now, overlay, runId, workflow }: Single,
  plan: NodePlan,
  outputs: ReadonlyMap<string, JsonObject>,
): Effect.fn.Return<Given> {
  const { literals, node, overrides, settings } = plan
  const input = { ...arrivals(workflow, plan, outputs), ...overrides }[defaultInput]
  const given = givenTo(
    { ...plan, id: node.id, index: 0 },
    { inputs: settings.inputs, literals: literals!.inputs, input },
    {
      outputOf: (id) => outputs.get(id),
      input,
      values: overlay.values,
      run: runScope(runId, now),
    },
  )
  if (!("calls" in given)) return given
  const { calls: scripts, finish } = given
  return finish(yield* evaluator.evaluate({ account, definitionId: runId, scripts }))
})

/** The node with what its expressions gave in place of its literals. */
const withGiven = ({ data, ...node }: Node, { fallback, inputs, secrets }: Given): Node => {
  const kept = isJsonObject(data) ? data : {}
  const given = { ...Result.getOrElse(inputs, () => ({})), ...secrets?.drawn() }
  const isGiven = fallback !== undefined && Result.isSuccess(fallback)
  const output = isGiven ? fallback.success : kept["default"]
  const bare = { ...node, data: { ...kept, inputs: given } }
  if (output === undefined) return bare
  // Where there are secrets, texts are read once more; one that nothing uses may name other nodes.
  const read = secrets === undefined ? output : constantOf(output)
  return { ...bare, data: { ...bare.data, default: read } }
}

/** Computes the expressions of a node that is to run alone, or says why it cannot. */
const computeSingle = Effect.fnUntraced(function* (
  parts: Parts,
  single: Single,
  workflows: CalledWorkflows | undefined,
): Effect.fn.Return<Result.Result<Computed, ReadonlyArray<Problem>>, StorageError> {
  const { account, nodeId, overlay, workflow } = single
  const nodes = withNodeOverrides(workflow.nodes, overlay.nodeOverrides)
  const drawn = Result.getOrElse(nodes, () => workflow.nodes)
  const { plans, problems } = parts.graphs.read(
    { nodes: drawn, edges: workflow.edges, settings: { workflows } },
    overlay.inputOverrides,
  )
  const { pinnedOutputs: pinned = {} } = overlay
  const pinProblems = problemsOfPinned(plans, pinned)
  if (pinProblems.length > 0) return Result.fail(pinProblems)
  if (Object.hasOwn(pinned, nodeId)) return alone(nodeId, "its own output is pinned")
  const index = drawn.findIndex(({ id }) => id === nodeId)
  const plan = plans[index]
  const used = plan === undefined ? [] : usedBy(plan)
  const before = [...new Set([...upstreamOf(workflow, nodeId), ...used])]
  const isStored = (id: string) => !Object.hasOwn(pinned, id)
  const asked = before.filter(isStored)
  const latest = yield* parts.runs.latestOutputs(account, workflow.id, asked)
  const read = yield* wholeOutputs(parts, account, latest)
  if (Result.isFailure(read)) return alone(nodeId, `the nodes before it: ${read.failure}`)
  const outputs = new Map([...read.success, ...Object.entries(freeze(pinned))])
  const computed: Computed = { overlay, outputs }
  if (plan?.literals === undefined) return Result.succeed(computed)
  const own = problems.filter((each) => each.nodeId === nodeId && each.column !== undefined)
  if (own.length > 0) return Result.fail(own)
  const given = yield* compute(parts, single, plan, outputs)
  if (Result.isFailure(given.inputs)) return alone(nodeId, given.inputs.failure.error)
  const { fallback } = given
  if (fallback !== undefined && Result.isFailure(fallback)) return alone(nodeId, fallback.failure)
  const others = overlay.nodeOverrides.filter(({ id }) => id !== nodeId)
  const node = withGiven(drawn[index]!, given)
  const nodeOverrides = [...others, node]
  const secretInputs = Object.keys(given.secrets?.drawn() ?? {})
  const known = { ...overlay, nodeOverrides, hasInput: true, secretInputs }
  return Result.succeed({ overlay: known, outputs })
})

/** Puts the start of a node that is to run alone together, or says why it cannot. */
export const planAlone = Effect.fnUntraced(function* (
  parts: Parts,
  single: Single,
  options: PlanOptions,
) {
  const computed = yield* computeSingle(parts, single, options.called)
  if (Result.isFailure(computed)) return Result.fail(computed.failure)
  const { outputs, overlay } = computed.success
  return planSingle(single.workflow, overlay, single.nodeId, outputs, single.runId, options)
})
