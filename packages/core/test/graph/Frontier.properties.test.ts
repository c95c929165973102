// Random workflows: the frontier and the bindings against the slow reference, and against
// themselves under other orders of settlement and after restarts.
import { describe, expect, it } from "@effect/vitest"
import { type Decision, Frontier } from "../../src/graph/internal/Frontier.ts"
import type { Graph } from "../../src/graph/Graph.ts"
import { graphOf, nodeRun } from "./Fixture.ts"
import { play, type Played } from "./Playback.ts"
import { Choice, randomWorld, seeds } from "./RandomGraph.ts"
import { Reference, type World } from "./Reference.ts"

const many = { arbitrary: { runs: 1_000 } }

const worldOf = (from: { readonly seed: number; readonly salt: number }) => {
  const choice = new Choice(from)
  const world = randomWorld(choice)
  return { choice, world, graph: graphOf(world.nodes, world.edges, world.overrides) }
}

/** What was decided and what came of it, in a form that can be compared. */
const summaryOf = (graph: Graph, frontier: Frontier, played: Played) =>
  graph.nodes.map(({ id, index }) => ({
    id,
    decision: played.decisions.get(id),
    inputs: played.inputs.get(id),
    status: frontier.statusOf(index),
    output: frontier.outputOf(index),
  }))

const expectReference = (graph: Graph, world: World, frontier: Frontier, played: Played) => {
  const reference = new Reference(world)
  for (const { id, index } of graph.nodes) {
    const fate = reference.fateOf(id)
    const decision = played.decisions.get(id)!
    expect(`${id} ${decision._tag}`).toBe(`${id} ${fate.decision}`)
    expect(frontier.statusOf(index)).toBe(fate.status)
    if (decision._tag === "Pass") expect(decision.output).toEqual(fate.output)
    if (decision._tag === "Run") expect(played.inputs.get(id)).toEqual(fate.inputs)
  }
}

describe("Frontier over random workflows", () => {
  it.prop(
    "decides every node once and as the reference does",
    seeds,
    (from) => {
      const { choice, graph, world } = worldOf(from)
      const frontier = Frontier.make(graph)
      const played = play(graph, world, frontier, choice)
      expect(played.decisions.size).toBe(graph.nodes.length)
      expectReference(graph, world, frontier, played)
    },
    many,
  )

  it.prop(
    "decides the same in whatever order nodes end",
    seeds,
    (from) => {
      const { choice, graph, world } = worldOf(from)
      const summaries = Array.from({ length: 3 }, () => {
        const frontier = Frontier.make(graph)
        return summaryOf(graph, frontier, play(graph, world, frontier, choice))
      })
      expect(summaries[1]).toEqual(summaries[0])
      expect(summaries[2]).toEqual(summaries[0])
    },
    many,
  )

  it.prop(
    "goes on after a restart at any point as if there had been none",
    seeds,
    (from) => {
      const { choice, graph, world } = worldOf(from)
      const original = Frontier.make(graph)
      const whole = play(graph, world, original, choice)
      for (let length = 0; length <= whole.nodeRuns.length; length++) {
        const ended = whole.nodeRuns.slice(0, length)
        const rest = whole.nodeRuns.slice(length).map(({ ordinal }) => ordinal)
        const open = rest
          .filter(() => choice.chance(0.5))
          .map((index) => nodeRun(graph, index, choice.of(["PENDING", "RUNNING", "WAITING"]), null))
        const frontier = Frontier.restore(graph, choice.shuffled([...ended, ...open]))
        expect(frontier.remaining).toBe(rest.length)
        const played = play(graph, world, frontier, choice)
        expect(new Set(played.decisions.keys())).toEqual(
          new Set(rest.map((index) => graph.nodes[index]!.id)),
        )
        for (const [id, decision] of played.decisions) {
          expect(decision).toEqual(whole.decisions.get(id))
          expect(played.inputs.get(id)).toEqual(whole.inputs.get(id))
        }
      }
    },
    { arbitrary: { runs: 300 } },
  )

  it.prop(
    "answers in the same order whatever order nodes ended in since the last answer",
    seeds,
    (from) => {
      const { choice, graph, world } = worldOf(from)
      const answers = (frontier: Frontier) => {
        const seen: Array<ReadonlyArray<Decision>> = []
        for (let found = frontier.advance(); found.length > 0; found = frontier.advance()) {
          seen.push(found)
          for (const { _tag, index } of choice.shuffled(found)) {
            if (_tag !== "Run") continue
            const { output, status } = world.outcomes.get(graph.nodes[index]!.id)!
            frontier.finish(index, status, output)
          }
        }
        return seen
      }
      const first = answers(Frontier.make(graph))
      expect(answers(Frontier.make(graph))).toEqual(first)
    },
    many,
  )

  it.prop(
    "gives reasons that stay short",
    seeds,
    (from) => {
      const { choice, graph, world } = worldOf(from)
      const { decisions } = play(graph, world, Frontier.make(graph), choice)
      for (const decision of decisions.values()) {
        if (decision._tag !== "Skip") continue
        expect(decision.reason).toMatch(/^Skipped: .+/)
        expect(decision.reason.length).toBeLessThan(250)
        expect(decision.reason).not.toContain("undefined")
      }
    },
    { arbitrary: { runs: 300 } },
  )

  it("sees every rule at work in the first thousand seeds", () => {
    const seen = new Map<string, number>()
    const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1)
    const rule = /no input|all of its|nothing arrived|has no edges|disabled/
    for (let seed = 0; seed < 1_000; seed++) {
      const { choice, graph, world } = worldOf({ seed, salt: 0 })
      const { decisions, inputs } = play(graph, world, Frontier.make(graph), choice)
      for (const decision of decisions.values()) {
        count(decision._tag)
        if (decision._tag === "Skip") count(rule.exec(decision.reason)![0])
      }
      for (const bound of inputs.values()) if (bound === "conflict") count("conflict")
    }
    const rules = ["no input", "all of its", "nothing arrived", "has no edges", "disabled"]
    for (const what of ["Run", "Skip", "Pass", "conflict", ...rules]) {
      expect(seen.get(what) ?? 0, what).toBeGreaterThan(50)
    }
  })
})
