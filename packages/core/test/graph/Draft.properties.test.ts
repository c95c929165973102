// Random drawings, most of them wrong: everything that is wrong is named, and nothing else.
import { describe, expect, it } from "@effect/vitest"
import { defaultLimits } from "../../src/domain/Limits.ts"
import type { Edge, Node } from "../../src/domain/Workflow.ts"
import { problemsOfDraft } from "../../src/graph/internal/Draft.ts"
import { messages, node } from "./Fixture.ts"
import { Choice, seeds } from "./RandomGraph.ts"
import { reachable } from "./Reference.ts"

const many = { arbitrary: { runs: 1_000 } }

/** Ids that repeat now and then, and edges that now and then lead nowhere or in circles. */
const randomDrawing = (choice: Choice) => {
  const count = choice.below(9)
  const nodes = Array.from({ length: count }, (_, at) =>
    node(choice.chance(0.1) ? `n${choice.below(count)}` : `n${at}`, "step"),
  )
  const names = [...Array.from({ length: count }, (_, at) => `n${at}`), "ghost"]
  const edges = Array.from({ length: choice.below(2 * count + 1) }, (_, at) => ({
    id: choice.chance(0.05) ? "e0" : `e${at}`,
    source: choice.of(names),
    target: choice.of(names),
  }))
  return { nodes, edges }
}

const cyclesIn = (found: ReadonlyArray<string>) =>
  found
    .filter((message) => message.startsWith("The graph has a cycle: "))
    .map((message) => message.slice("The graph has a cycle: ".length).split(" -> "))

const sound = (nodes: ReadonlyArray<Node>, edges: ReadonlyArray<Edge>) => {
  const ids = new Set(nodes.map(({ id }) => id))
  return edges
    .filter(({ source, target }) => source !== target && ids.has(source) && ids.has(target))
    .map(({ source, target }) => [source, target] as const)
}

const twice = (items: ReadonlyArray<{ readonly id: string }>, what: string) => {
  const ids = [...new Set(items.map(({ id }) => id))]
  return ids.flatMap((id) => {
    const times = items.filter((item) => item.id === id).length
    return times > 1 ? [`The id "${id}" belongs to ${times} ${what}`] : []
  })
}

describe("Draft over random drawings", () => {
  it.prop(
    "names a cycle of every tangle of nodes, and each is one",
    seeds,
    (from) => {
      const { edges, nodes } = randomDrawing(new Choice(from))
      const joins = sound(nodes, edges)
      const ids = [...new Set(nodes.map(({ id }) => id))]
      const reaches = reachable(ids, joins)
      const tangles = new Set(
        ids
          .filter((id) => reaches(id, id))
          .map((id) => ids.filter((other) => reaches(id, other) && reaches(other, id)).join(" ")),
      )
      const cycles = cyclesIn(messages(problemsOfDraft({ nodes, edges }, defaultLimits)))
      const members = cycles.map((cycle) => [...tangles].find((each) => each.includes(cycle[0]!)))
      expect(new Set(members)).toEqual(tangles)
      expect(cycles.length).toBe(tangles.size)
      for (const cycle of cycles) {
        expect(cycle.at(-1)).toBe(cycle[0])
        expect(new Set(cycle).size).toBe(cycle.length - 1)
        for (const [at, id] of cycle.slice(1).entries()) {
          expect(joins).toContainEqual([cycle[at], id])
        }
      }
    },
    many,
  )

  it.prop(
    "names every duplicate id, dangling end and self-loop, and no other",
    seeds,
    (from) => {
      const { edges, nodes } = randomDrawing(new Choice(from))
      const known = new Set(nodes.map(({ id }) => id))
      const ends = edges.flatMap(({ id, source, target }) => [
        ...(known.has(source)
          ? []
          : [`Edge "${id}" starts at node "${source}", which does not exist`]),
        ...(known.has(target)
          ? []
          : [`Edge "${id}" ends at node "${target}", which does not exist`]),
        ...(source === target ? [`Edge "${id}" joins node "${source}" to itself`] : []),
      ])
      const found = messages(problemsOfDraft({ nodes, edges }, defaultLimits)).filter(
        (message) => !message.startsWith("The graph has a cycle: "),
      )
      expect(found).toEqual([...twice(nodes, "nodes"), ...twice(edges, "edges"), ...ends])
    },
    many,
  )
})
