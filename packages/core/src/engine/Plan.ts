/**
 * What a start will execute: the workflow as stored, with everything the start lays over it, put
 * together, checked and frozen. Pure; every problem is named at once.
 */
import { Result } from "effect"
import type { MicroCredits } from "../domain/Credits.ts"
import type { RunId } from "../domain/Id.ts"
import type { JsonObject } from "../domain/Json.ts"
import { freeze } from "../domain/Json.ts"
import { estimateOf as estimateOfNode } from "../domain/NodeType.ts"
import type { Definition, InputOverrides } from "../domain/Run.ts"
import type { Node, Workflow } from "../domain/Workflow.ts"
import type { Graph, GraphNode } from "../graph/Graph.ts"
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
  readonly graph: Compiled
  readonly values: JsonObject
  readonly estimate: MicroCredits
}

const willExecute = (node: GraphNode): boolean => !node.draft && node.passThrough === undefined

/** What the nodes that will execute are expected to cost together. */
const estimateOf = (graph: Graph): Result.Result<MicroCredits, ReadonlyArray<Problem>> => {
  const problems: Array<Problem> = []
  let sum = 0
  for (const node of graph.nodes.filter(willExecute)) {
    const estimate = estimateOfNode(node.type, node.settings)
    if (estimate !== undefined) sum += estimate
    else {
      const message = `Node "${node.id}": type ${node.type.key} gives no valid estimate of credits`
      problems.push({ nodeId: node.id, message })
    }
  }
  return problems.length === 0 ? Result.succeed(sum) : Result.fail(problems)
}

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
    const compiled = compile(drawn, overlay.inputOverrides)
    const graph = yield* compiled
    const values = freeze(yield* resolveValues(graph, overlay.values))
    const estimate = yield* estimateOf(graph)
    return {
      // Frozen in the order of the run, so that a node's place in it is its ordinal.
      definition: { ...drawn, nodes: graph.nodes.map((each) => each.node) },
      graph: compiled,
      values,
      estimate,
    }
  })
