// Nodes that a start replaces for one run.
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { withNodeOverrides } from "../../src/graph/internal/Overlay.ts"
import { messages, node } from "./Fixture.ts"

const nodes = [node("a", "step"), node("b", "step"), node("c", "step")]

const refusal = (...overrides: Parameters<typeof withNodeOverrides>[1]) => {
  const result = withNodeOverrides(nodes, overrides)
  if (Result.isSuccess(result)) expect.fail("the overrides were accepted")
  return messages(result.failure)
}

describe("Overlay.withNodeOverrides", () => {
  it("replaces a whole node and keeps its place", () => {
    const other = node("b", "branch", { input: 1 }, { label: "B" }, { x: 5, y: 6 })
    expect(withNodeOverrides(nodes, [other])).toEqual(Result.succeed([nodes[0], other, nodes[2]]))
  })

  it("changes nothing without overrides", () => {
    expect(withNodeOverrides(nodes, [])).toEqual(Result.succeed(nodes))
  })

  it("refuses every node that the workflow does not have", () => {
    expect(refusal(node("x", "step"), node("a", "step"), node("y", "step"))).toEqual([
      'Node override "x": the workflow has no such node',
      'Node override "y": the workflow has no such node',
    ])
  })

  it("refuses two overrides of one node, once", () => {
    expect(refusal(node("a", "step"), node("a", "branch"), node("a", "sink"))).toEqual([
      'Node override "a": the node is overridden more than once',
    ])
  })
})
