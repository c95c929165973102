/**
 * What a start will execute: the workflow as stored, with everything the start lays over it, put
 * together, checked and frozen. Pure; every problem is named at once.
 */
import { Result } from "effect"
import type { MicroCredits } from "../../domain/Credits.ts"
import { isAmount } from "../../domain/Credits.ts"
import type { RunId } from "../../domain/Id.ts"
import type { Json, JsonObject } from "../../domain/Json.ts"
import { freeze, isJsonObject } from "../../domain/Json.ts"
import { mostCredits } from "../../domain/Limits.ts"
import { defaultInput, defaultOutput, estimateOf as estimateOfNode } from "../../domain/NodeType.ts"
import { quoted } from "../../domain/Quote.ts"
import type { PriceList, Prices } from "../../domain/Prices.ts"
import { priceOf, pricesOf, problemOfPrice } from "../../domain/Prices.ts"
import type {
  CalledWorkflows,
  Definition,
  DefinitionSettings,
  InputOverrides,
  PinnedOutputs,
} from "../../domain/Run.ts"
import { evaluatedId, withBodies } from "../../domain/Run.ts"
import type { Node, Workflow } from "../../domain/Workflow.ts"
import { bareNodes, parentOf, settingsOf } from "../../domain/Workflow.ts"
import type { Graph, GraphNode } from "../../graph/Graph.ts"
import { frozenNodes, placedIn } from "../../graph/internal/LoopBody.ts"
import { withNodeOverrides } from "../../graph/internal/Overlay.ts"
import { problemsOfPinned } from "../../graph/internal/PinnedOutputs.ts"
import type { Problem } from "../../graph/internal/Problem.ts"
import { resolveValues } from "../../graph/Request.ts"
import type { Compiled, GraphCache } from "../GraphCache.ts"

/** What a start lays over the stored workflow, for this run only (specification 4.5). */
export interface Overlay {
  readonly values: JsonObject
  readonly inputOverrides: InputOverrides
  readonly nodeOverrides: ReadonlyArray<Node>
  /** What nodes put out without being executed. */
  readonly pinnedOutputs?: PinnedOutputs
  /** What nodes have put out in an earlier run; they are not executed either. */
  readonly takenOver?: PinnedOutputs
  /** True if the workflow is none that is stored. */
  readonly isUnstored?: boolean
  /** True if no values are known yet: whatever the request node requires may still come. */
  readonly anyValues?: boolean | undefined
  /** True if the node that runs alone has expressions, and so an `input` for them. */
  readonly hasInput?: boolean
  /** The inputs with secrets of the node that runs alone; their literals are read once more. */
  readonly secretInputs?: ReadonlyArray<string>
}

/** What a plan needs of its surroundings. */
export interface PlanOptions {
  readonly graphs: Pick<
    GraphCache["Service"],
    "compile" | "frozen" | "withVersions" | "versionsText"
  >
  /** The prices in force. */
  readonly priceList: PriceList | undefined
  /** The workflows that its nodes call. */
  readonly called?: CalledWorkflows | undefined
}

/** What a node that may execute is expected to cost. */
export interface Price {
  readonly nodeId: string
  readonly nodeType: string
  readonly credits: MicroCredits
}

/** A start that can be carried out. */
export interface Plan {
  readonly definition: Definition
  readonly graph: Compiled
  readonly values: JsonObject
  readonly estimate: MicroCredits
  readonly prices: ReadonlyArray<Price>
  /** Values for inputs that the run keeps, because its graph is compiled with them. */
  readonly inputOverrides: InputOverrides
  /** What nodes of the graph put out without being executed. Frozen. */
  readonly pinnedOutputs: PinnedOutputs
}

const tooMuch = `more than ${mostCredits}`

const noPins: PinnedOutputs = {}

const willExecute = (node: GraphNode, pinned: PinnedOutputs): boolean =>
  !node.isUnused && node.passThrough === undefined && !Object.hasOwn(pinned, node.id)

/** What the nodes that will execute are expected to cost, each and together. */
export const estimateOf = (
  graph: Graph,
  listed: Prices | undefined,
  pinned: PinnedOutputs,
): Result.Result<Pick<Plan, "estimate" | "prices">, ReadonlyArray<Problem>> => {
  const problems: Array<Problem> = []
  const prices: Array<Price> = []
  let sum = 0
  for (const node of graph.nodes) {
    if (!willExecute(node, pinned)) continue
    const { settings, type } = node
    const price = priceOf(listed, type, settings)
    const credits = estimateOfNode(type, settings, price)
    if (credits !== undefined) {
      sum += credits
      prices.push({ nodeId: node.id, nodeType: node.node.type, credits })
    } else {
      const why =
        price === undefined
          ? `type ${type.key} gives no valid estimate of credits`
          : problemOfPrice(listed, type, settings)
      problems.push({ nodeId: node.id, message: `Node ${quoted(node.id)}: ${why}` })
    }
  }
  if (!isAmount(sum)) problems.push({ message: `The run would cost ${tooMuch} credits` })
  return problems.length === 0 ? Result.succeed({ estimate: sum, prices }) : Result.fail(problems)
}

const valuesOf = (
  graph: Graph,
  overlay: Pick<Overlay, "values" | "anyValues">,
): Result.Result<JsonObject, ReadonlyArray<Problem>> =>
  overlay.anyValues === true
    ? Result.succeed(freeze(overlay.values))
    : Result.map(resolveValues(graph, overlay.values), freeze)

/** Characters of an id that a store can look up well. */
const idLength = 1_000

/** What a run knows of a workflow, with the nodes that its start replaces. */
const laidOver = (
  workflow: Workflow,
  { nodeOverrides }: Overlay,
  { graphs }: PlanOptions,
): Result.Result<Pick<Definition, "nodes" | "edges">, ReadonlyArray<Problem>> => {
  const { edges, nodes } = graphs.frozen(workflow)
  if (nodeOverrides.length === 0) return Result.succeed({ nodes, edges })
  return Result.map(withNodeOverrides(nodes, bareNodes(nodeOverrides)), (replaced) => ({
    nodes: graphs.withVersions(replaced),
    edges,
  }))
}

/**
 * Runs of one revision share a definition, if what they call has one revision, too, and the types
 * of the nodes have one version; a start that replaces nodes has one of its own.
 */
const definitionIdOf = (
  workflow: Workflow,
  overlay: Overlay,
  runId: RunId,
  priceList: PriceList | undefined,
  { called = {}, graphs }: PlanOptions,
): string => {
  const isOwn = overlay.nodeOverrides.length > 0 || overlay.isUnstored === true
  const others = Object.entries(called)
    .map(
      ([id, { revision, version }]) =>
        `/${id}@${revision}${version === undefined ? "" : `v${version}`}`,
    )
    .toSorted()
  const { versions } = graphs.frozen(workflow)
  const inCalled = graphs.versionsText(Object.values(called).flatMap(({ nodes }) => nodes))
  const revised = `${workflow.id}@${workflow.revision}${others.join("")}${versions}${inCalled}`
  if (isOwn || revised.length > idLength) return evaluatedId(runId)
  // Definitions that were frozen before there were bodies have other ids, and no nodes in nodes.
  const isNested = workflow.nodes.some((node) => parentOf(node) !== undefined)
  const drawn = isNested ? withBodies(revised) : revised
  return evaluatedId(priceList === undefined ? drawn : `${drawn}$${priceList.id}`)
}

/** The prices in force that concern one of these nodes. */
const pricesFor = (
  { priceList }: PlanOptions,
  nodes: ReadonlyArray<Node>,
): PriceList | undefined => {
  if (priceList === undefined) return undefined
  const types = nodes.map(({ type }) => type)
  const prices = pricesOf(priceList.prices, types)
  return prices === undefined ? undefined : { ...priceList, prices }
}

/** The settings of a workflow, with the prices and the called workflows that its runs keep. */
const frozenSettings = (
  { settings }: Workflow,
  priceList: PriceList | undefined,
  workflows: CalledWorkflows | undefined,
): DefinitionSettings =>
  priceList === undefined && workflows === undefined
    ? settings
    : {
        ...settings,
        ...(priceList === undefined ? {} : { prices: priceList.prices }),
        ...(workflows === undefined ? {} : { workflows }),
      }

/** Where the inputs of a node come from that is to run alone: the outputs of these nodes. */
export const upstreamOf = (workflow: Workflow, nodeId: string): ReadonlyArray<string> => [
  ...new Set(workflow.edges.filter(({ target }) => target === nodeId).map(({ source }) => source)),
]

/** What the latest outputs of the nodes before it bring to each input of a node. */
export const arrivals = (
  workflow: Workflow,
  node: Pick<GraphNode, "node" | "ports">,
  outputs: ReadonlyMap<string, JsonObject>,
): Record<string, Json> => {
  const arrived = new Map<string, Array<Json>>()
  for (const { source, sourceHandle, target, targetHandle } of workflow.edges) {
    const output = outputs.get(source)
    const port = sourceHandle || defaultOutput
    if (target !== node.node.id || output === undefined || !Object.hasOwn(output, port)) continue
    const input = targetHandle || defaultInput
    arrived.set(input, [...(arrived.get(input) ?? []), output[port]!])
  }
  return Object.fromEntries(
    [...arrived].map(([input, values]) => [
      input,
      node.ports.inputs.get(input)?.multiple === true ? values : values.at(-1)!,
    ]),
  )
}

const isLoop =
  "it is a loop with a body; start the workflow, and pin the outputs of the nodes before it"

const hasBody = ({ nodes }: Workflow, { id }: Node): boolean =>
  nodes.some((node) => parentOf(node) === id)

export const alone = (nodeId: string, why: string): Result.Result<never, ReadonlyArray<Problem>> =>
  Result.fail([{ nodeId, message: `Node ${quoted(nodeId)} cannot run alone: ${why}` }])

const withoutInputs = (node: Node, ports: ReadonlyArray<string>): Node => {
  if (ports.length === 0 || !isJsonObject(node.data)) return node
  const inputs = Object.entries(settingsOf(node).inputs).filter(([port]) => !ports.includes(port))
  return { ...node, data: { ...node.data, inputs: Object.fromEntries(inputs) } }
}

/**
 * Puts the start of a single node together: its inputs are this start's overrides, else its
 * literals, else the latest outputs of the nodes before it; or names everything that is missing.
 */
export const planSingle = (
  workflow: Workflow,
  overlay: Overlay,
  nodeId: string,
  outputs: ReadonlyMap<string, JsonObject>,
  runId: RunId,
  options: PlanOptions,
): Result.Result<Plan, ReadonlyArray<Problem>> =>
  Result.gen(function* () {
    const { nodes } = yield* laidOver(workflow, overlay, options)
    const drawnNode = nodes.find(({ id }) => id === nodeId)
    if (drawnNode === undefined) return yield* alone(nodeId, "the workflow has no such node")
    if (hasBody(workflow, drawnNode)) return yield* alone(nodeId, isLoop)
    const found = placedIn(drawnNode, undefined)
    const { compile } = options.graphs
    const { secretInputs = [] } = overlay
    const settings = frozenSettings(workflow, pricesFor(options, [found]), options.called)
    const drawn = { id: runId, nodes: [found], edges: [], settings }
    // First without what arrives and without secrets, to know its ports; what is missing is no
    // problem yet.
    const plain = { ...drawn, nodes: [withoutInputs(found, secretInputs)] }
    const node = (yield* compile(plain, overlay.inputOverrides)).nodes[0]!
    const arrived = arrivals(workflow, node, outputs)
    const drops = overlay.hasInput === true && !node.ports.inputs.has(defaultInput)
    if (drops) delete arrived[defaultInput]
    const given = { ...arrived, ...node.settings.inputs }
    for (const port of secretInputs) delete given[port]
    const inputOverrides = { [nodeId]: given }
    // A definition whose texts are read, because an attempt opens the secrets that they name.
    const definition = secretInputs.length === 0 ? drawn : { ...drawn, id: evaluatedId(runId) }
    const compiled = compile(definition, inputOverrides)
    const graph = yield* compiled
    const complete = graph.nodes[0]!
    if (complete.settings.disabled) return yield* alone(nodeId, "it is disabled")
    if (complete.type.role === "note") return yield* alone(nodeId, "it is a note")
    if (complete.isUnused) {
      const missing = [...complete.ports.inputs.values()].filter(
        ({ name, required }) => required && !Object.hasOwn(complete.settings.inputs, name),
      )
      const names = missing.map(({ name }) => quoted(name)).join(", ")
      return yield* alone(nodeId, `no value for ${names}, and no earlier run brought one`)
    }
    const values = yield* valuesOf(graph, overlay)
    const estimated = yield* estimateOf(graph, drawn.settings.prices, noPins)
    const pinnedOutputs = noPins
    return { definition, graph: compiled, values, ...estimated, inputOverrides, pinnedOutputs }
  })

/** Outside of {@link plan}: V8 makes a hidden class for each generator that is a closure. */
function* planning(
  workflow: Workflow,
  overlay: Overlay,
  runId: RunId,
  options: PlanOptions,
): Generator<Result.Result<unknown, ReadonlyArray<Problem>>, Plan, never> {
  const { edges, nodes } = yield* laidOver(workflow, overlay, options)
  const priceList = pricesFor(options, nodes)
  const { called, graphs } = options
  const id = definitionIdOf(workflow, overlay, runId, priceList, options)
  const drawn = { id, nodes, edges, settings: frozenSettings(workflow, priceList, called) }
  const compiled = graphs.compile(drawn, overlay.inputOverrides)
  const graph = yield* compiled
  const { pinnedOutputs: given = noPins } = overlay
  const problems = [...graph.mismatches, ...problemsOfPinned(graph.nodes, given)]
  if (problems.length > 0) return yield* Result.fail(problems)
  const pinnedOutputs = { ...overlay.takenOver, ...given }
  const values = yield* valuesOf(graph, overlay)
  const estimated = yield* estimateOf(graph, drawn.settings.prices, pinnedOutputs)
  return {
    // Frozen in the order of the run, so that a node's place in it is its ordinal.
    definition: { ...drawn, nodes: frozenNodes(graph) },
    graph: compiled,
    values,
    ...estimated,
    inputOverrides: overlay.inputOverrides,
    pinnedOutputs: freeze(pinnedOutputs),
  }
}

/** Puts a start together, or names everything that stands against it. */
export const plan = (
  workflow: Workflow,
  overlay: Overlay,
  runId: RunId,
  options: PlanOptions,
): Result.Result<Plan, ReadonlyArray<Problem>> =>
  Result.gen(() => planning(workflow, overlay, runId, options))

/** What the plans of all starts share that lay nothing but values over a workflow. */
export type SharedPlan = Pick<Plan, "definition" | "graph">

/** The plan of a start that lays these values over a workflow, and nothing else. */
export const planWith = (
  { definition, graph }: SharedPlan,
  values: JsonObject,
): Result.Result<Plan, ReadonlyArray<Problem>> => {
  if (Result.isFailure(graph)) return Result.fail(graph.failure)
  const resolved = valuesOf(graph.success, { values })
  if (Result.isFailure(resolved)) return Result.fail(resolved.failure)
  const estimated = estimateOf(graph.success, definition.settings.prices, noPins)
  return Result.map(estimated, ({ estimate, prices }) => ({
    definition,
    graph,
    values: resolved.success,
    estimate,
    prices,
    inputOverrides: {},
    pinnedOutputs: noPins,
  }))
}
