/**
 * What a start will execute: the workflow as stored, with everything the start lays over it, put
 * together, checked and frozen. Pure; every problem is named at once.
 */
import { Result } from "effect"
import type { MicroCredits } from "../domain/Credits.ts"
import type { RunId } from "../domain/Id.ts"
import type { JsonObject } from "../domain/Json.ts"
import type { Definition, InputOverrides } from "../domain/Run.ts"
import type { Node, Workflow } from "../domain/Workflow.ts"
import type { Graph } from "../graph/Graph.ts"
import { withNodeOverrides } from "../graph/Overlay.ts"
import type { Problem } from "../graph/Problem.ts"
import { resolveValues } from "../graph/Request.ts"
import type { Compiled } from "./Graphs.ts"

/** What a start lays over the stored workflow, for this run only (specification 4.5). */
export interface Overlay {
  readonly values: JsonObject
  readonly inputOverrides: InputOverrides
  readonly nodeOverrides: ReadonlyArray<Node>
}

/** A start that can be carried out. */
export interface Plan {
  readonly definition: Definition
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

/** Runs of one revision share a definition; a start that replaces nodes has one of its own. */
const definitionIdOf = (workflow: Workflow, overlay: Overlay, runId: RunId): string =>
  overlay.nodeOverrides.length === 0 ? `${workflow.id}@${workflow.revision}` : runId

/** Puts a start together, or names everything that stands against it. */
export const plan = (
  workflow: Workflow,
  overlay: Overlay,
  runId: RunId,
  compile: (definition: Definition, overrides: InputOverrides) => Compiled,
): Result.Result<Plan, ReadonlyArray<Problem>> =>
  Result.gen(function* () {
    const nodes = yield* withNodeOverrides(workflow.nodes, overlay.nodeOverrides)
    const drawn = { id: definitionIdOf(workflow, overlay, runId), nodes, edges: workflow.edges }
    const graph = yield* compile(drawn, overlay.inputOverrides)
    const values = yield* resolveValues(graph, overlay.values)
    return {
      // Frozen in the order of the run, so that a node's place in it is its ordinal.
      definition: { ...drawn, nodes: graph.nodes.map((each) => each.node) },
      values,
      estimate: estimateOf(graph),
    }
  })
