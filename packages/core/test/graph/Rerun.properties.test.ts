// Random workflows: a rerun ends as the whole run would have, and executes nothing it need not.
import { describe, expect, it } from "@effect/vitest"
import { Frontier } from "../../src/graph/internal/Frontier.ts"
import type { Graph } from "../../src/graph/Graph.ts"
import { rerunPlanOf } from "../../src/graph/internal/Rerun.ts"
import { graphOf } from "./Fixture.ts"
import { play } from "./Playback.ts"
import { Choice, randomWorld, seeds } from "./RandomGraph.ts"

const endsOf = (graph: Graph, frontier: Frontier) =>
  graph.nodes.map(({ id, index }) => [id, frontier.statusOf(index), frontier.outputOf(index)])

/** The nodes and all that is behind them, the slow way. */
const behind = (graph: Graph, from: ReadonlySet<string>): ReadonlySet<string> => {
  const found = new Set(from)
  for (let before = -1; before < found.size;) {
    before = found.size
    graph.edgeSource.forEach((source, edge) => {
      const target = graph.nodes[graph.edgeTarget[edge]!]!.id
      if (found.has(graph.nodes[source]!.id)) found.add(target)
    })
  }
  return found
}

describe("rerunPlanOf over random workflows", () => {
  it.prop(
    "takes over all that completed and is not behind what is executed anew, and ends alike",
    seeds,
    (from) => {
      const choice = new Choice(from)
      const world = randomWorld(choice)
      const { edges, nodes, overrides } = world
      const graph = graphOf(nodes, edges, overrides)
      const whole = Frontier.make(graph)
      const { nodeRuns } = play(graph, world, whole, choice)
      const statuses = new Map(nodeRuns.map(({ nodeId, status }) => [nodeId, status]))
      const asked = new Set(nodes.filter(() => choice.chance(0.1)).map(({ id }) => id))
      const wish = { from: asked, pinned: new Set<string>() }
      const plan = rerunPlanOf({ nodes, edges, statuses }, graph, edges, wish)

      const open = nodeRuns.filter(({ status }) => status !== "COMPLETED" && status !== "SKIPPED")
      const moved = behind(graph, new Set([...asked, ...open.map(({ nodeId }) => nodeId)]))
      const kept = graph.nodes.filter(
        ({ id, type }) =>
          statuses.get(id) === "COMPLETED" && type.role === "step" && !moved.has(id),
      )
      expect(plan.takenOver).toEqual(kept.map(({ id }) => id))

      const taken = new Set(plan.takenOver)
      const again = Frontier.restore(
        graph,
        nodeRuns.filter(({ nodeId }) => taken.has(nodeId)),
      )
      const { inputs } = play(graph, world, again, choice)
      expect(endsOf(graph, again)).toEqual(endsOf(graph, whole))
      for (const id of inputs.keys()) expect(taken.has(id)).toBe(false)
    },
    { arbitrary: { runs: 500 } },
  )
})
