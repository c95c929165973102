// Inputs that are not stored: restored from definition, overrides and outputs, they are what was
// bound to the node, also for a process that does not know its type.
import { describe, expect, it } from "@effect/vitest"
import type { InputPorts } from "../../src/domain/ImpliedInput.ts"
import { withInputs } from "../../src/domain/ImpliedInput.ts"
import { RunId } from "../../src/domain/Id.ts"
import type { RunRecord } from "../../src/domain/Run.ts"
import { Frontier } from "../../src/graph/internal/Frontier.ts"
import { graphOf } from "./Fixture.ts"
import { play } from "./Playback.ts"
import { Choice, randomWorld, seeds } from "./RandomGraph.ts"

/** What comes back from a store. */
const stored = <A>(value: A): A => JSON.parse(JSON.stringify(value)) as A

describe("ImpliedInput.withInputs", () => {
  it.prop(
    "restores what was bound to each node, in the order of its ports",
    seeds,
    (from) => {
      const choice = new Choice(from)
      const world = randomWorld(choice)
      const graph = graphOf(world.nodes, world.edges, world.overrides)
      const played = play(graph, world, Frontier.make(graph), choice)
      const nodes = graph.nodes.map(({ node }) => node)
      const nodeRuns = played.nodeRuns.map((row) => {
        const input = played.inputs.get(row.nodeId)
        if (input === undefined || input === "conflict") return row
        const { inputs } = graph.nodes[row.ordinal]!.ports
        const ports: InputPorts = Object.keys(input).map((name) =>
          inputs.get(name)!.multiple ? [name] : name,
        )
        return { ...row, ports }
      })
      const run = { id: RunId.make("run"), inputOverrides: world.overrides } as RunRecord["run"]
      const definition = { id: "def", nodes, edges: world.edges, settings: {} }
      const restored = withInputs(stored({ run, definition, nodeRuns }))
      for (const row of restored.nodeRuns) {
        const input = played.inputs.get(row.nodeId)
        const expected = input === undefined || input === "conflict" ? null : input
        expect(JSON.stringify(row.input)).toBe(JSON.stringify(expected))
        expect(row).not.toHaveProperty("ports")
      }
    },
    { arbitrary: { runs: 1_000 } },
  )
})
