/**
 * The graph of one run: validated, indexed and ready to be executed.
 *
 * Guarantees: what compiles has no cycle, no unknown type, port or value, and every node has a
 * number that follows those of all its predecessors. O(nodes + edges), plus sorting the nodes of a
 * layer by position; no recursion. Leaves out: everything that changes while a run executes, which
 * is `Frontier`'s.
 */
import { Result } from "effect"
import { defaultInput, defaultOutput, errorOutput } from "../domain/NodeType.ts"
import { type NodeTypesByKey, typeOfNode } from "../domain/NodeType.ts"
import { quoted } from "../domain/Quote.ts"
import type { InputOverrides } from "../domain/Run.ts"
import type { Edge, Node } from "../domain/Workflow.ts"
import { type Adjacency, groupBy } from "./internal/Adjacency.ts"
import { type Drawing, indexById, problemsOfDrawing } from "./internal/Draft.ts"
import type { Body } from "./internal/LoopBody.ts"
import { bodiesOf, placedIn, usedBy } from "./internal/LoopBody.ts"
import type { Nesting } from "./internal/Nesting.ts"
import { nestingOf } from "./internal/Nesting.ts"
import type { NodePlan, PlanOptions, Wiring } from "./internal/NodePlan.ts"
import { addProblemOfInput, addProblemOfOutput, planOf, scriptsOf } from "./internal/NodePlan.ts"
import { mismatchesOf } from "./internal/Mismatches.ts"
import { problemsOfScripts } from "./internal/ScriptNames.ts"
import { secretsOf, type SecretReference } from "./internal/SecretNames.ts"
import { type Problem, problemOfNode } from "./internal/Problem.ts"
import type { Surroundings } from "./internal/Scope.ts"
import { countOf, problemOfCount, surroundingsOf, withScope } from "./internal/Scope.ts"

/** A node of a compiled graph. */
export interface GraphNode extends NodePlan {
  /** The node's place in the graph's `nodes`, and its ordinal in the run. */
  readonly index: number
  readonly id: string
}

/** A compiled graph. Nodes and edges are numbers: places in `nodes` and in `edgeIds`. */
export interface Graph {
  /** Topological (by depth), then by position (x, then y), then as in the workflow. */
  readonly nodes: ReadonlyArray<GraphNode>
  readonly indexOf: ReadonlyMap<string, number>
  /** Edges in the order of the workflow, without those of notes. */
  readonly edgeIds: ReadonlyArray<string>
  readonly edgeSource: Int32Array
  readonly edgeTarget: Int32Array
  /** Names of ports, default ports applied. */
  readonly edgeOutput: ReadonlyArray<string>
  readonly edgeInput: ReadonlyArray<string>
  /** The in-edges of `n` are `inEdges[inStart[n]]` up to, not including, `inStart[n + 1]`. */
  readonly inStart: Int32Array
  readonly inEdges: Int32Array
  /** The out-edges of `n`, likewise. */
  readonly outStart: Int32Array
  readonly outEdges: Int32Array
  /**
   * The nodes whose outputs a node uses without an edge from them: by expressions, or in the body
   * of a loop. Absent for nodes that use none.
   */
  readonly uses: ReadonlyMap<number, ReadonlyArray<number>>
  /** True if some node has JavaScript to compute. */
  readonly hasScripts: boolean
  /**
   * Edges whose ends have no type in common. A start refuses them; a run that has begun goes on,
   * and fails where it comes to one.
   */
  readonly mismatches: ReadonlyArray<Problem>
  /** Where it names secrets. */
  readonly secrets: ReadonlyArray<SecretReference>
  /** The bodies of its loops, by the id of the loop. */
  readonly bodies: ReadonlyMap<string, Body>
  /** The nodes in its bodies, also in those within bodies. None of them is a node of the run. */
  readonly inner: ReadonlyArray<NodePlan>
}

/**
 * Compiles the workflow of a run, with this run's input overrides, or fails with everything that a
 * start rejects: what a draft may not have (except its size), unknown types, versions, modes and
 * ports, more than one request node, required inputs without a value, values that do not fit their
 * port, overrides for what does not exist.
 *
 * An override replaces the literal of its port before anything is checked, so a literal that is
 * overridden can do no harm. Several edges may end at a port that takes one value: they may be the
 * arms of a branch, and only the run can tell whether two of them are taken.
 *
 * Expressions are read here, once for all runs of a definition, if it `evaluates` any: the texts of
 * older definitions are none. Which JavaScript is well formed is for the evaluator to say. Edges
 * whose ends cannot fit are `mismatches` of the graph.
 */
export const compile = (
  definition: Drawing,
  types: NodeTypesByKey,
  overrides: InputOverrides,
  evaluates = true,
  given?: ReadonlySet<string>,
): Result.Result<Graph, ReadonlyArray<Problem>> => {
  const { workflows } = definition.settings ?? {}
  const reading = readDrawing(definition, { types, overrides, evaluates, given, workflows })
  const { problems } = reading
  const mismatches = mismatchesOf(reading)
  if (problems.length > 0) return Result.fail([...problems, ...mismatches])
  return Result.succeed({ ...assemble(reading), mismatches })
}

/** What a drawing says, also one with problems. All arrays are in the order of its nodes. */
export interface Reading {
  readonly problems: ReadonlyArray<Problem>
  /** `undefined` for a node of an unknown type or mode. */
  readonly plans: ReadonlyArray<NodePlan | undefined>
  readonly wirings: ReadonlyArray<Wiring>
  readonly around: Surroundings
  readonly edges: Joins
  /** Edges to and from notes, which mean nothing. */
  readonly ignored: ReadonlySet<Edge>
  /** Which nodes lie in loops. */
  readonly nesting: Nesting
  /** The edges that mean something. */
  readonly drawn: ReadonlyArray<Edge>
}

/** Reads a drawing: the first half of {@link compile}. */
export const readDrawing = (definition: Drawing, options: PlanOptions): Reading => {
  const { nodes } = definition
  const problems = [...problemsOfDrawing(definition)]
  const indexOf = indexById(nodes)
  const ignored = edgesOfNotes(definition, options)
  const meant =
    ignored.size === 0 ? definition.edges : definition.edges.filter((each) => !ignored.has(each))
  const edges = joinsOf(meant, indexOf)
  const nesting = nestingOf(nodes, indexOf, edges, options.types, problems)
  const wirings = wiringsOf(nodes.length, edges, nesting)
  const drawn = nodes.map((node, index) => planOf(node, options, wirings[index]!, problems))
  addProblemsOfPorts(edges, drawn, nesting, problems)
  addProblemsOfRequests(drawn, nesting, problems)
  const around = surroundingsOf(nodes, drawn, nesting)
  const plans = scoped(drawn, around, wirings, problems)
  const known = plans.filter((plan) => plan !== undefined)
  if (options.evaluates) problems.push(...known.flatMap(problemsOfScripts))
  for (const id of Object.keys(options.overrides)) {
    if (indexOf.has(id)) continue
    const message = `Input overrides: the workflow has no node ${quoted(id)}`
    problems.push({ message, nodeId: id })
  }
  return { problems, plans, wirings, around, edges, ignored, nesting, drawn: meant }
}

/** The edges to and from notes. */
const edgesOfNotes = (
  { edges, nodes }: Drawing,
  { types }: Pick<PlanOptions, "types">,
): ReadonlySet<Edge> => {
  const notes = new Set(
    nodes.filter((node) => typeOfNode(types, node)?.role === "note").map(({ id }) => id),
  )
  const isOfNote = ({ source, target }: Edge) => notes.has(source) || notes.has(target)
  return new Set(notes.size === 0 ? [] : edges.filter(isOfNote))
}

/** The plans with the meaning of the names in their expressions. */
const scoped = (
  plans: ReadonlyArray<NodePlan | undefined>,
  around: Surroundings,
  wirings: ReadonlyArray<Wiring>,
  problems: Array<Problem>,
): ReadonlyArray<NodePlan | undefined> => {
  if (plans.every((plan) => plan?.literals === undefined)) return plans
  let count = 0
  for (const plan of plans) if (plan !== undefined) count += countOf(plan)
  const tooMany = problemOfCount(count)
  if (tooMany !== undefined) problems.push(tooMany)
  return plans.map((plan, index) =>
    plan === undefined ? plan : withScope(plan, wirings[index]!, around, problems),
  )
}

const isScripted = (plan: NodePlan): boolean => {
  const { fallback, inputs } = plan.literals ?? {}
  return (
    [...(inputs?.values() ?? []), ...(fallback?.values() ?? [])].some(({ expressions }) =>
      expressions.some(({ meaning }) => meaning._tag === "Script"),
    ) || scriptsOf(plan).length > 0
  )
}

/** The edges of a workflow as flat arrays; an end is -1 where the node is missing. */
interface Joins {
  readonly ids: ReadonlyArray<string>
  readonly sources: Int32Array
  readonly targets: Int32Array
  readonly outputs: ReadonlyArray<string>
  readonly inputs: ReadonlyArray<string>
}

const joinsOf = (edges: ReadonlyArray<Edge>, indexOf: ReadonlyMap<string, number>): Joins => ({
  ids: edges.map(({ id }) => id),
  sources: Int32Array.from(edges, ({ source }) => indexOf.get(source) ?? -1),
  targets: Int32Array.from(edges, ({ target }) => indexOf.get(target) ?? -1),
  // An empty handle means the default port as much as an absent one does.
  outputs: edges.map(({ sourceHandle }) => sourceHandle || defaultOutput),
  inputs: edges.map(({ targetHandle }) => targetHandle || defaultInput),
})

const wiringsOf = (
  nodeCount: number,
  { inputs, outputs, sources, targets }: Joins,
  { loopOf }: Nesting,
): ReadonlyArray<Wiring> => {
  const wired = Array.from({ length: nodeCount }, () => new Set<string>())
  const touched = new Uint8Array(nodeCount)
  const routed = new Uint8Array(nodeCount)
  for (const [edge, input] of inputs.entries()) {
    const source = sources[edge]!
    const target = targets[edge]!
    // What is written at -1, for a node that is missing, is dropped.
    touched[source] = 1
    if (outputs[edge] === errorOutput) routed[source] = 1
    if (target < 0) continue
    touched[target] = 1
    wired[target]!.add(input)
  }
  const loops = new Set(loopOf)
  return wired.map((set, index) => ({
    inputs: set,
    routesErrors: routed[index] === 1,
    edgeless: touched[index] === 0,
    hasBody: loops.has(index),
  }))
}

const addProblemsOfPorts = (
  { ids, inputs, outputs, sources, targets }: Joins,
  plans: ReadonlyArray<NodePlan | undefined>,
  { isInner }: Nesting,
  problems: Array<Problem>,
): void => {
  for (const [edge, id] of ids.entries()) {
    const source = plans[sources[edge]!]
    const target = plans[targets[edge]!]
    if (source !== undefined) {
      addProblemOfOutput(source, outputs[edge]!, id, isInner[edge] === 1, problems)
    }
    if (target !== undefined) addProblemOfInput(target, inputs[edge]!, id, problems)
  }
}

const addProblemsOfRequests = (
  plans: ReadonlyArray<NodePlan | undefined>,
  { loopOf }: Nesting,
  problems: Array<Problem>,
): void => {
  const requests = [...plans.keys()].filter((index) => plans[index]?.type.role === "request")
  for (const index of requests.filter((each) => loopOf[each]! >= 0)) {
    const loop = quoted(plans[loopOf[index]!]!.node.id)
    const rule = `a request node cannot lie in a loop; its nodes use the outputs of ${loop}`
    problems.push(problemOfNode(plans[index]!.node.id, rule))
  }
  const ids = requests.map((index) => plans[index]!.node.id)
  for (const nodeId of ids.slice(1)) {
    const rule = `a workflow has one request node, and ${quoted(ids[0]!)} is one already`
    problems.push(problemOfNode(nodeId, rule))
  }
}

/** The nodes and edges of the run itself. An edge into a body ends at the loop. */
const outermost = ({ edges, nesting, plans }: Reading) => {
  const { after, before, hasBodies, loopOf } = nesting
  const all = plans as ReadonlyArray<NodePlan>
  if (!hasBodies) return { plans: all, edges }
  const places = [...plans.keys()].filter((index) => loopOf[index]! < 0)
  const placeOf = new Map(places.map((index, place) => [index, place]))
  const kept = [...edges.ids.keys()].filter((edge) => placeOf.has(before[edge]!))
  const isInto = (edge: number) => edges.targets[edge] !== after[edge]
  const joins: Joins = {
    ids: kept.map((edge) => edges.ids[edge]!),
    sources: Int32Array.from(kept, (edge) => placeOf.get(before[edge]!)!),
    targets: Int32Array.from(kept, (edge) => placeOf.get(after[edge]!)!),
    outputs: kept.map((edge) => edges.outputs[edge]!),
    // It is no port of the loop: the edge only orders.
    inputs: kept.map((edge) => {
      const input = edges.inputs[edge]!
      return isInto(edge) ? `${all[edges.targets[edge]!]!.node.id}.${input}` : input
    }),
  }
  return { plans: places.map((index) => all[index]!), edges: joins }
}

/** Renumbers everything by ordinal. */
const assemble = (reading: Reading): Omit<Graph, "mismatches"> => {
  const { edges, plans } = outermost(reading)
  const order = ordinalsOf(plans, edges)
  const ordinal = new Int32Array(plans.length)
  for (const [index, place] of order.entries()) ordinal[place] = index
  const nodes = order.map((place, index) => {
    const plan = plans[place]!
    return { ...plan, node: placedIn(plan.node, undefined), index, id: plan.node.id }
  })
  const edgeSource = edges.sources.map((place) => ordinal[place]!)
  const edgeTarget = edges.targets.map((place) => ordinal[place]!)
  const into = groupBy(nodes.length, edgeTarget)
  const out = groupBy(nodes.length, edgeSource)
  const { bodies, inner } = bodiesOf({
    ...reading,
    plans: reading.plans as ReadonlyArray<NodePlan>,
    indexOf: reading.around.indexOf,
  })
  const indexOf = new Map(nodes.map(({ id, index }) => [id, index]))
  return {
    nodes,
    indexOf,
    uses: usesOf(nodes, indexOf, bodies),
    edgeIds: edges.ids,
    edgeSource,
    edgeTarget,
    edgeOutput: edges.outputs,
    edgeInput: edges.inputs,
    inStart: into.start,
    inEdges: into.edges,
    outStart: out.start,
    outEdges: out.edges,
    hasScripts: plans.some(isScripted) || inner.some(isScripted),
    secrets: plans.flatMap(secretsOf),
    bodies,
    inner,
  }
}

/** What each node uses of others beside its edges, by ordinal. */
const usesOf = (
  nodes: ReadonlyArray<GraphNode>,
  indexOf: ReadonlyMap<string, number>,
  bodies: ReadonlyMap<string, Body>,
): Graph["uses"] =>
  new Map(
    nodes.flatMap((plan): ReadonlyArray<[number, ReadonlyArray<number>]> => {
      const given = bodies.get(plan.id)?.given.map(({ node }) => node.id) ?? []
      const ids = new Set([...usedBy(plan).map(([id]) => id), ...given])
      const places = [...ids].flatMap((id) => (id === plan.id ? [] : (indexOf.get(id) ?? [])))
      return places.length === 0 ? [] : [[plan.index, places]]
    }),
  )

/**
 * Places of nodes in the order of execution, layer by layer: a node is in the layer after the last
 * of its predecessors.
 */
const ordinalsOf = (
  plans: ReadonlyArray<NodePlan>,
  { sources, targets }: Joins,
): ReadonlyArray<number> => {
  const out: Adjacency = groupBy(plans.length, sources)
  const waiting = new Int32Array(plans.length)
  for (const target of targets) waiting[target]!++
  const order: Array<number> = []
  let layer = Array.from(plans.keys()).filter((place) => waiting[place] === 0)
  while (layer.length > 0) {
    layer.sort((a, b) => byPosition(plans[a]!.node, plans[b]!.node) || a - b)
    const next: Array<number> = []
    for (const place of layer) {
      order.push(place)
      for (let at = out.start[place]!; at < out.start[place + 1]!; at++) {
        const target = targets[out.edges[at]!]!
        if (--waiting[target]! === 0) next.push(target)
      }
    }
    layer = next
  }
  return order
}

const byPosition = (a: Node, b: Node): number =>
  a.position.x - b.position.x || a.position.y - b.position.y
