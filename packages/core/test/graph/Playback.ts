/**
 * Plays a run over a frontier: every node that it hands out ends as its world says, in random
 * order.
 *
 * Guarantees: fails when a node is decided twice, a skip has no reason or a run gets stuck.
 */
import { Result } from "effect"
import { expect } from "vitest"
import type { JsonObject } from "../../src/domain/Json.ts"
import type { NodeRun } from "../../src/domain/Run.ts"
import { inputsOf } from "../../src/graph/internal/Bindings.ts"
import type { Decision, Frontier } from "../../src/graph/internal/Frontier.ts"
import type { Graph } from "../../src/graph/Graph.ts"
import { nodeRun } from "./Fixture.ts"
import type { Choice } from "./RandomGraph.ts"
import type { World } from "./Reference.ts"

export interface Played {
  /** By node id. */
  readonly decisions: ReadonlyMap<string, Decision>
  /** Of the nodes that executed, by node id. */
  readonly inputs: ReadonlyMap<string, JsonObject | "conflict">
  /** Ended node runs, in the order of their end. */
  readonly nodeRuns: ReadonlyArray<NodeRun>
}

export const play = (graph: Graph, world: World, frontier: Frontier, choice: Choice): Played => {
  const decisions = new Map<string, Decision>()
  const inputs = new Map<string, JsonObject | "conflict">()
  const nodeRuns: Array<NodeRun> = []
  const running: Array<number> = []
  for (;;) {
    for (const decision of frontier.advance()) {
      const { id } = graph.nodes[decision.index]!
      expect(decisions.has(id), `${id} was decided twice`).toBe(false)
      decisions.set(id, decision)
      if (decision._tag === "Run") running.push(decision.index)
      else nodeRuns.push(endedRun(graph, frontier, decision.index))
    }
    if (running.length === 0) break
    const [index] = running.splice(choice.below(running.length), 1)
    inputs.set(graph.nodes[index!]!.id, end(graph, world, frontier, index!))
    nodeRuns.push(endedRun(graph, frontier, index!))
  }
  expect(frontier.finished).toBe(true)
  expect(frontier.remaining).toBe(0)
  expect(frontier.advance()).toEqual([])
  return { decisions, inputs, nodeRuns }
}

const end = (
  graph: Graph,
  world: World,
  frontier: Frontier,
  index: number,
): JsonObject | "conflict" => {
  const bound = inputsOf(graph, frontier, index)
  if (Result.isFailure(bound)) {
    frontier.finish(index, "FAILED", null)
    return "conflict"
  }
  const { output, status } = world.outcomes.get(graph.nodes[index]!.id)!
  frontier.finish(index, status, output)
  return bound.success
}

const endedRun = (graph: Graph, frontier: Frontier, index: number): NodeRun =>
  nodeRun(graph, index, frontier.statusOf(index), frontier.outputOf(index))
