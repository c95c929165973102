import type { RunDefinition } from "@millrace/api/PromiseClient"
import { describe, expect, it } from "vitest"
import { withoutBodies } from "../../src/internal/RunDrawing.ts"

type Node = RunDefinition["nodes"][number]

const node = (id: string, parentId?: string): Node => ({
  id,
  type: "step",
  position: { x: 0, y: 0 },
  ...(parentId === undefined ? {} : { parentId }),
})

const edge = (source: string, target: string) => ({
  id: `${source}-${target}`,
  source,
  target,
  targetHandle: "input",
})

describe("withoutBodies", () => {
  it("leads to the loop what leads into its body, and leaves out what is within", () => {
    const nodes = [node("in"), node("each"), node("a", "each"), node("inner", "each")]
    const deep = [...nodes, node("b", "inner"), node("out")]
    const edges = [edge("in", "a"), edge("in", "b"), edge("a", "b"), edge("each", "a")]
    const drawn = withoutBodies(
      { nodes: deep, edges: [...edges, edge("each", "out")] },
      {
        in: 1,
        each: 1,
        out: 1,
      },
    )
    expect(drawn.nodes.map(({ id }) => id)).toEqual(["in", "each", "out"])
    expect(drawn.edges).toEqual([
      { id: "in-a", source: "in", target: "each" },
      { id: "in-b", source: "in", target: "each" },
      edge("each", "out"),
    ])
  })

  it("draws nodes of the run wherever they lie, and the same object without bodies", () => {
    const definition = {
      nodes: [node("frame"), node("a", "frame")],
      edges: [edge("frame", "a")],
    }
    expect(withoutBodies(definition, { frame: 1, a: 1 })).toBe(definition)
  })
})
