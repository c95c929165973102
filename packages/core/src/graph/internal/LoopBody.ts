/**
 * The body of a loop: the nodes that lie in it, and what they need of the nodes around it.
 *
 * Guarantees: pure; linear in nodes, edges and expressions. A body is complete: with the outputs of
 * what is given to it, it is executed as a graph of its own. Leaves out: what is wrong with a body,
 * which is told of the whole drawing.
 */
import type { JsonObject } from "../../domain/Json.ts"
import { defaultOutput } from "../../domain/NodeType.ts"
import type { Definition } from "../../domain/Run.ts"
import { bodyId } from "../../domain/Run.ts"
import type { Edge, Node } from "../../domain/Workflow.ts"
import type { Literal } from "./Literal.ts"
import type { Nesting } from "./Nesting.ts"
import type { NodePlan } from "./NodePlan.ts"

/** What the body of a loop uses of a node outside of it. */
export interface Given {
  readonly node: Node
  /** The outputs that it uses; `undefined` for all of them. */
  readonly ports: ReadonlySet<string> | undefined
}

/** The body of a loop of a graph. */
export interface Body {
  readonly loop: Node
  /** Its nodes. Those in a loop within it name that loop. */
  readonly nodes: ReadonlyArray<Node>
  /** Its edges, with those that lead into it. */
  readonly edges: ReadonlyArray<Edge>
  /** The nodes outside of it that it uses, without its loop. */
  readonly given: ReadonlyArray<Given>
}

/** A drawing without problems. Nodes and edges are places in it. */
interface Readable {
  readonly plans: ReadonlyArray<NodePlan>
  readonly indexOf: ReadonlyMap<string, number>
  readonly nesting: Nesting
  /** Those that mean something. */
  readonly drawn: ReadonlyArray<Edge>
  readonly edges: {
    readonly sources: Int32Array
    readonly targets: Int32Array
    readonly outputs: ReadonlyArray<string>
  }
}

/** The nodes of a compiled graph, and the bodies of its loops. */
interface Nodes {
  readonly nodes: ReadonlyArray<Pick<NodePlan, "node">>
  readonly bodies: ReadonlyMap<string, Body>
}

/** A node in the body of this loop, or in none. */
export const placedIn = (node: Node, loop: string | undefined): Node => {
  const { parentId, ...rest } = node
  if (parentId === loop) return node
  return loop === undefined ? rest : { ...rest, parentId: loop }
}

const literalsOf = ({ literals }: NodePlan): ReadonlyArray<Literal> => [
  ...(literals?.inputs.values() ?? []),
  ...(literals?.fallback.values() ?? []),
]

/** What the expressions of a node use of others: id, and output where only one is read. */
export const usedBy = (
  plan: NodePlan,
): ReadonlyArray<readonly [id: string, port: string | undefined]> =>
  literalsOf(plan).flatMap(({ expressions }) =>
    expressions.flatMap(({ meaning, needs }) => {
      if (meaning._tag !== "Path") return needs.nodes.map((id) => [id, undefined] as const)
      const { root, steps } = meaning.path
      return root._tag === "Node" ? [[root.id, steps[0]?.key] as const] : []
    }),
  )

/** Gathers what one body uses of nodes outside of it. Mutable. */
class Uses {
  readonly #ports = new Map<string, Set<string> | undefined>()

  add(id: string, port: string | undefined): void {
    const known = this.#ports.get(id)
    if (port === undefined) this.#ports.set(id, undefined)
    else if (known !== undefined) known.add(port)
    else if (!this.#ports.has(id)) this.#ports.set(id, new Set([port]))
  }

  of(nodes: ReadonlyArray<Node>): ReadonlyArray<Given> {
    const used = nodes.filter(({ id }) => this.#ports.has(id))
    return used.map((node) => ({ node, ports: this.#ports.get(node.id) }))
  }
}

/** The outermost loop around each node, itself outside of all; -1 for none. */
const outermostLoops = ({ nesting: { loopOf } }: Readable): Int32Array =>
  loopOf.map((loop) => {
    let at = loop
    while (at >= 0 && loopOf[at]! >= 0) at = loopOf[at]!
    return at
  })

/** The bodies of the outermost loops of a drawing without problems, and all nodes in them. */
export const bodiesOf = (
  readable: Readable,
): { readonly bodies: ReadonlyMap<string, Body>; readonly inner: ReadonlyArray<NodePlan> } => {
  const { drawn, edges, indexOf, nesting, plans } = readable
  const bodies = new Map<string, Body>()
  if (!nesting.hasBodies) return { bodies, inner: [] }
  const outermost = outermostLoops(readable)
  const inner: Array<NodePlan> = []
  const outside = plans.filter((_, index) => outermost[index]! < 0).map(({ node }) => node)
  const members = Map.groupBy(plans.keys(), (index) => outermost[index]!)
  const entering = Map.groupBy(drawn.keys(), (edge) => outermost[edges.targets[edge]!]!)
  for (const [loop, indexes] of members) {
    if (loop < 0) continue
    const own = indexes.filter((index) => plans[index]!.type.role !== "note")
    const uses = new Uses()
    const isOutside = (index: number | undefined) =>
      index !== undefined && index !== loop && outermost[index]! < 0
    const into = entering.get(loop) ?? []
    for (const edge of into) {
      const source = edges.sources[edge]!
      if (isOutside(source)) uses.add(plans[source]!.node.id, edges.outputs[edge] ?? defaultOutput)
    }
    for (const index of own) {
      for (const [id, port] of usedBy(plans[index]!)) {
        if (isOutside(indexOf.get(id))) uses.add(id, port)
      }
    }
    const parentOf = (index: number) => {
      const parent = nesting.loopOf[index]!
      return parent === loop ? undefined : plans[parent]!.node.id
    }
    inner.push(...own.map((index) => plans[index]!))
    bodies.set(plans[loop]!.node.id, {
      loop: plans[loop]!.node,
      nodes: own.map((index) => placedIn(plans[index]!.node, parentOf(index))),
      edges: into.map((edge) => drawn[edge]!),
      given: uses.of(outside),
    })
  }
  return { bodies, inner }
}

/** The nodes of a run, in its order, and behind them those in the bodies of its loops. */
export const frozenNodes = ({ bodies, nodes }: Nodes): ReadonlyArray<Node> => [
  ...nodes.map(({ node }) => node),
  ...[...bodies.values()].flatMap((body) =>
    body.nodes.map((node) => (node.parentId === undefined ? placedIn(node, body.loop.id) : node)),
  ),
]

const bare = ({ id, position, type }: Node): Node => ({ id, type, position })

/** The graph of a body as a drawing of its own. Its nodes are in no order yet. */
export const drawingOf = (
  { settings, ...definition }: Definition,
  { edges, given, loop, nodes }: Body,
): Definition => {
  const { onFailure, prices, workflows } = settings
  const around = [loop, ...given.map(({ node }) => node)]
  return {
    id: bodyId(definition, loop.id),
    nodes: [...around.map(bare), ...nodes],
    edges,
    settings: {
      ...(onFailure === undefined ? {} : { onFailure }),
      ...(prices === undefined ? {} : { prices }),
      ...(workflows === undefined ? {} : { workflows }),
      body: { loop: loop.id, given: around.map(({ id }) => id) },
    },
  }
}

/** What nodes outside of a body have put out, as far as the body uses it, by node. */
export const givenTo = (
  { given }: Body,
  indexOf: ReadonlyMap<string, number>,
  outputs: { readonly outputOf: (index: number) => JsonObject | null },
): { readonly [nodeId: string]: JsonObject } =>
  Object.fromEntries(
    given.map(({ node: { id }, ports }) => {
      const output = outputs.outputOf(indexOf.get(id)!) ?? {}
      const entries = Object.entries(output).filter(([port]) => ports?.has(port) !== false)
      return [id, Object.fromEntries(entries)]
    }),
  )
