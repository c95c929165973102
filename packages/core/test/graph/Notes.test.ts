// Notes: nodes that say something to people, and nothing to a run.
import { compile } from "@millrace/core/graph/Graph"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { edges, messages, node, type } from "./Fixture.ts"

const types = [type("note", ["text"], [], { role: "note" }), type("step", ["input"], ["output"])]
const find = (key: string) => types.find((each) => each.key === key)

describe("a note", () => {
  it("is never executed, whatever its literals are", () => {
    const nodes = [node("n", "note", { text: "{{ nonsense" }), node("s", "step")]
    const graph = Result.getOrThrow(compile({ nodes, edges: [] }, find, {}))
    assert.deepStrictEqual(
      graph.nodes.map(({ draft, id }) => [id, draft]),
      [
        ["n", true],
        ["s", false],
      ],
    )
  })

  it("has no port at which an edge could end", () => {
    const nodes = [node("n", "note"), node("s", "step")]
    const compiled = compile({ nodes, edges: edges("s -> n") }, find, {})
    const problems = Result.isFailure(compiled) ? compiled.failure : []
    assert.match(messages(problems).join(), /node "n" \(type note\) has no input "input"/)
  })
})
