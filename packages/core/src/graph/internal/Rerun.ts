/**
 * What of a graph has to be executed anew after an earlier run of it, or of an earlier version.
 *
 * Guarantees: pure; linear in nodes and edges. A node is taken over only if it has completed, is
 * drawn as it was, and nothing before it is executed anew or has changed. Leaves out: what nodes
 * have put out.
 */
import type { Edge, Node } from "../../domain/Workflow.ts"
import { parentOf } from "../../domain/Workflow.ts"
import { approvalType } from "../../domain/Approval.ts"
import type { NodeRunStatus } from "../../domain/Run.ts"
import type { Graph, GraphNode } from "../Graph.ts"
import type { RerunCalls } from "./CalledWorkflows.ts"
import { frozenNodes } from "./LoopBody.ts"
import type { Drawing } from "./Draft.ts"
import { arrivalsOf, contentOf } from "./Drawn.ts"

/** Why a node is executed anew. */
export type RerunReason =
  /** The caller asked for it. */
  | { readonly _tag: "Asked" }
  /** It has not completed. */
  | { readonly _tag: "Unfinished"; readonly status: NodeRunStatus }
  /** The earlier run did not have it. */
  | { readonly _tag: "New" }
  /** The node, an edge that ends at it, or a workflow that it calls is not drawn as it was. */
  | { readonly _tag: "Changed" }
  /** It asks a person, or calls a workflow that does, and an answer holds for one run. */
  | { readonly _tag: "Approval" }
  /** A node before it is executed anew, has changed, or has another output. */
  | { readonly _tag: "Follows"; readonly nodeId: string }

/** An earlier run: its graph and how its nodes ended. */
export interface EarlierRun {
  readonly nodes: ReadonlyArray<Node>
  readonly edges: ReadonlyArray<Edge>
  /** By node; absent: the node was not reached. */
  readonly statuses: ReadonlyMap<string, NodeRunStatus>
}

/** What a rerun is asked for. */
export interface RerunChoice {
  /** Nodes to execute anew, whatever became of them. */
  readonly from: ReadonlySet<string>
  /** Nodes whose outputs the caller gives. */
  readonly pinned: ReadonlySet<string>
}

/** What a rerun does with the nodes of its graph. */
export interface RerunPlan {
  /** In the order of execution. A node may still be skipped. */
  readonly anew: ReadonlyMap<string, RerunReason>
  /** Nodes whose outputs are taken over. */
  readonly takenOver: ReadonlyArray<string>
}

/** The loop around each node that lies in any: the outermost one. */
const loopsAround = (nodes: ReadonlyArray<Node>): ReadonlyMap<string, string> => {
  const parents = new Map(nodes.map((node) => [node.id, parentOf(node)]))
  return new Map(
    nodes.flatMap(({ id }) => {
      let loop = parents.get(id)
      while (loop !== undefined && parents.get(loop) !== undefined) loop = parents.get(loop)
      return loop === undefined ? [] : [[id, loop] as const]
    }),
  )
}

/** What the engine reads of each node; of a loop, with all that lies in it. */
const contentsOf = ({ edges, nodes }: Drawing): ReadonlyMap<string, string> => {
  const around = loopsAround(nodes)
  const arrivals = around.size === 0 ? undefined : arrivalsOf(edges)
  const within = Map.groupBy(nodes, ({ id }) => around.get(id))
  const textOf = (node: Node) =>
    JSON.stringify([node.id, parentOf(node), contentOf(node), arrivals?.get(node.id)])
  return new Map(
    nodes.map((node) => [
      node.id,
      [contentOf(node), ...(within.get(node.id) ?? []).map(textOf).toSorted()].join("\n"),
    ]),
  )
}

/** True for a loop in whose body a person is asked. */
const hasApproval = ({ bodies }: Graph, id: string): boolean =>
  bodies.get(id)?.nodes.some(({ type }) => type === approvalType) === true

/** The nodes of which each has an edge to the node. */
const before = ({ edgeSource, inEdges, inStart, nodes }: Graph, { index }: GraphNode) =>
  Array.from(
    inEdges.subarray(inStart[index], inStart[index + 1]),
    (edge) => nodes[edgeSource[edge]!]!.id,
  )

const callsNothing: RerunCalls = { asking: new Set(), changed: new Set() }

/** What a rerun on this graph executes, and what it takes over. */
export const rerunPlanOf = (
  earlier: EarlierRun,
  graph: Graph,
  drawn: ReadonlyArray<Edge>,
  { from, pinned }: RerunChoice,
  { asking, changed }: RerunCalls = callsNothing,
): RerunPlan => {
  const [known, contents] = [
    contentsOf(earlier),
    contentsOf({ nodes: frozenNodes(graph), edges: drawn }),
  ]
  const [arrived, arrives] = [arrivalsOf(earlier.edges), arrivalsOf(drawn)]
  /** Nodes whose outputs may be others than they were. */
  const moved = new Set<string>()
  const anew = new Map<string, RerunReason>()
  const takenOver: Array<string> = []

  const reasonOf = (each: GraphNode): RerunReason | undefined => {
    const { id, type } = each
    if (from.has(id)) return { _tag: "Asked" }
    const content = known.get(id)
    if (content === undefined) return { _tag: "New" }
    const isDrawnAnew = content !== contents.get(id) || arrived.get(id) !== arrives.get(id)
    if (isDrawnAnew || changed.has(id)) return { _tag: "Changed" }
    const nodeId = before(graph, each).find((source) => moved.has(source))
    if (nodeId !== undefined) return { _tag: "Follows", nodeId }
    const status = earlier.statuses.get(id) ?? "PENDING"
    const asks = type.key === approvalType || hasApproval(graph, id) || asking.has(id)
    if (asks && status === "COMPLETED") return { _tag: "Approval" }
    return status === "COMPLETED" || status === "SKIPPED"
      ? undefined
      : { _tag: "Unfinished", status }
  }

  for (const each of graph.nodes) {
    const { id, type } = each
    if (pinned.has(id)) {
      moved.add(id)
      continue
    }
    const reason = reasonOf(each)
    if (reason !== undefined) {
      moved.add(id)
      anew.set(id, reason)
    } else if (earlier.statuses.get(id) === "COMPLETED" && type.role === "step") takenOver.push(id)
    // The rest costs nothing and comes out as before: the request, responses, and what is skipped.
  }
  return { anew, takenOver }
}
