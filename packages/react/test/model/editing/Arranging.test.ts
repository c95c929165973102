/**
 * Places of several nodes as one command.
 */
import { describe, expect, it } from "vitest"
import { layoutOf } from "../../../src/model/CanvasLayout.ts"
import { aligned, distributed, tidied } from "../../../src/model/editing/Arranging.ts"
import { documentWith, edge } from "./RandomEditing.ts"

const box = (id: string, x: number, y: number, width = 100, height = 50) => ({
  id,
  x,
  y,
  width,
  height,
})

const boxes = [box("a", 0, 0), box("b", 50, 200, 200, 100), box("c", 400, 90)]

describe("aligned", () => {
  it("puts boxes in a line along the outermost", () => {
    const of = (how: Parameters<typeof aligned>[1]) => Object.values(aligned(boxes, how))
    expect(of("left").map(({ x }) => x)).toEqual([0, 0, 0])
    expect(of("right").map(({ x }) => x)).toEqual([400, 300, 400])
    expect(of("center").map(({ x }) => x)).toEqual([200, 150, 200])
    expect(of("top")).toEqual([
      { x: 0, y: 0 },
      { x: 50, y: 0 },
      { x: 400, y: 0 },
    ])
    expect(of("bottom").map(({ y }) => y)).toEqual([250, 200, 250])
    expect(of("middle").map(({ y }) => y)).toEqual([125, 100, 125])
  })

  it("leaves a single box where it is", () => {
    expect(aligned([boxes[0]!], "left")).toEqual({})
  })
})

describe("distributed", () => {
  it("makes the gaps even and leaves the outer two", () => {
    expect(distributed(boxes, "across")).toEqual({
      a: { x: 0, y: 0 },
      b: { x: 150, y: 200 },
      c: { x: 400, y: 90 },
    })
    expect(distributed(boxes, "down")["c"]).toEqual({ x: 400, y: 100 })
    expect(distributed(boxes.slice(1), "down")).toEqual({})
  })
})

describe("tidied", () => {
  it("gives every node a place, none of which covers another", async () => {
    const document = { ...documentWith("a", "b", "c"), edges: [edge("a", "b"), edge("b", "c")] }
    const places = await tidied(layoutOf(document, []))
    const columns = ["a", "b", "c"].map((id) => places[id]!.x)
    expect(columns).toEqual(columns.toSorted((left, right) => left - right))
    expect(new Set(columns).size).toBe(3)
  })
})
