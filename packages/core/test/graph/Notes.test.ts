// Notes: nodes that say something to people, and nothing to a run.
import { compile, readDrawing } from "@millrace/core/graph/Graph"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { byKey, edges, node, type } from "./Fixture.ts"

const types = [type("note", ["text"], [], { role: "note" }), type("step", ["input"], ["output"])]
const known = byKey(types)

describe("a note", () => {
  it("is never executed, whatever its literals are", () => {
    const nodes = [node("n", "note", { text: "{{ nonsense" }), node("s", "step")]
    const graph = Result.getOrThrow(compile({ nodes, edges: [] }, known, {}))
    assert.deepStrictEqual(
      graph.nodes.map(({ isUnused, id }) => [id, isUnused]),
      [
        ["n", true],
        ["s", false],
      ],
    )
  })

  it("joins nothing: edges to and from it are left out", () => {
    const nodes = [node("n", "note"), node("s", "step"), node("t", "step")]
    const drawing = { nodes, edges: edges("s -> n", "n -> t", "s -> t") }
    const graph = Result.getOrThrow(compile(drawing, known, {}))
    assert.lengthOf(graph.edgeIds, 1)
    assert.deepStrictEqual(
      graph.nodes.filter(({ isUnused }) => isUnused).map(({ id }) => id),
      ["n"],
    )
    const { ignored } = readDrawing(drawing, { types: known, overrides: {}, evaluates: true })
    assert.deepStrictEqual(
      Array.from(ignored, ({ source, target }) => [source, target]),
      [
        ["s", "n"],
        ["n", "t"],
      ],
    )
  })
})
