/**
 * What a start will execute: the workflow as stored, with everything the start lays over it, put
 * together, checked and frozen. Pure; every problem is named at once.
 */
import { Result } from "effect"
import type { MicroCredits } from "../domain/Credits.ts"
import type { JsonObject } from "../domain/Json.ts"
import type { NodeTypeLookup } from "../domain/NodeType.ts"
import type { Definition, InputOverrides } from "../domain/Run.ts"
import type { Node, Workflow } from "../domain/Workflow.ts"
import type { Graph } from "../graph/Graph.ts"
import { compile } from "../graph/Graph.ts"
import { withNodeOverrides } from "../graph/Overlay.ts"
import type { Problem } from "../graph/Problem.ts"
import { resolveValues } from "../graph/Request.ts"

/** What a start lays over the stored workflow, for this run only (specification 4.5). */
export interface Overlay {
  readonly values: JsonObject
  readonly inputOverrides: InputOverrides
  readonly nodeOverrides: ReadonlyArray<Node>
}

/** A start that can be carried out. */
export interface Plan {
  /** Content without the identifier, which is the engine's to choose. */
  readonly definition: Omit<Definition, "id">
  readonly values: JsonObject
  readonly estimate: MicroCredits
}

/** What the nodes that will execute are expected to cost together. */
const estimateOf = (graph: Graph): MicroCredits =>
  graph.nodes.reduce(
    (sum, node) =>
      node.draft || node.passThrough !== undefined ? sum : sum + node.type.estimate(node.settings),
    0,
  )

/** Puts a start together, or names everything that stands against it. */
export const plan = (
  workflow: Workflow,
  overlay: Overlay,
  lookup: NodeTypeLookup,
): Result.Result<Plan, ReadonlyArray<Problem>> =>
  Result.gen(function* () {
    const nodes = yield* withNodeOverrides(workflow.nodes, overlay.nodeOverrides)
    const graph = yield* compile({ nodes, edges: workflow.edges }, lookup, overlay.inputOverrides)
    const values = yield* resolveValues(graph, overlay.values)
    return {
      definition: { nodes: graph.nodes.map((each) => each.node), edges: workflow.edges },
      values,
      estimate: estimateOf(graph),
    }
  })
