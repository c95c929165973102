// Where a new node goes on the canvas.
import { describe, expect, it } from "vitest"
import type { Node, Position } from "../../src/domain/Workflow.ts"
import { place } from "../../src/graph/Placement.ts"
import { node } from "./Fixture.ts"

let count = 0
const at = (x: number, y: number): Node => node(`n${count++}`, "step", {}, {}, { x, y })
const cell = (column: number, row: number): Node => at(40 + 360 * column, 40 + 200 * row)

describe("Placement.place", () => {
  it("takes the exact position before column and row", () => {
    const position = { x: -7.5, y: 3 }
    expect(place([cell(0, 0)], { position, column: 4, row: 2 })).toEqual(position)
  })

  it("turns column and row into pixels", () => {
    expect(place([], { column: 1, row: 0 })).toEqual({ x: 400, y: 40 })
    expect(place([cell(3, 2)], { column: 3, row: 2 })).toEqual({ x: 1_120, y: 440 })
  })

  it("takes the first free row of a column", () => {
    const nodes = [cell(1, 0), cell(1, 1), cell(1, 3), cell(2, 2)]
    expect(place(nodes, { column: 1 })).toEqual({ x: 400, y: 440 })
    expect(place(nodes, { column: 2 })).toEqual({ x: 760, y: 40 })
  })

  it("counts a cell as taken when a node is nearest to it", () => {
    expect(place([at(400 + 179, 40 - 99)], { column: 1 })).toEqual({ x: 400, y: 240 })
    expect(place([at(400 + 181, 40)], { column: 1 })).toEqual({ x: 400, y: 40 })
    expect(place([at(400, 40 + 99)], { column: 1 })).toEqual({ x: 400, y: 240 })
    expect(place([at(400, 40 + 101)], { column: 1 })).toEqual({ x: 400, y: 40 })
  })

  it("goes one column right of the last, to row 0, when nothing is asked for", () => {
    expect(place([cell(2, 5), cell(0, 0)], {})).toEqual({ x: 1_120, y: 40 })
  })

  it("keeps the row that was asked for without a column", () => {
    expect(place([cell(2, 0)], { row: 3 })).toEqual({ x: 1_120, y: 640 })
  })

  it("begins in column 1, also right of a request node", () => {
    expect(place([], {})).toEqual({ x: 400, y: 40 })
    expect(place([cell(0, 0)], {})).toEqual({ x: 400, y: 40 })
  })

  it("never goes left of column 1", () => {
    expect(place([at(-5_000, 0)], {})).toEqual({ x: 400, y: 40 })
  })

  it("places the nodes of a loop's body from the loop on, beside each other", () => {
    const loop = { ...cell(3, 2), id: "each" }
    const first = place([loop], { parentId: "each" })
    expect(first).toEqual({ x: 200, y: 240 })
    const inside = (position: Position) => ({ ...at(position.x, position.y), parentId: "each" })
    const second = place([loop, inside(first)], { parentId: "each" })
    expect(second).toEqual({ x: 560, y: 240 })
    const nodes = [loop, inside(first), inside(second)]
    expect(place(nodes, { parentId: "each", column: 1 })).toEqual({ x: 560, y: 440 })
  })

  it("places no node in the room of a loop's body", () => {
    const loop = { ...cell(1, 0), id: "each" }
    const inside = { ...at(200, 240), parentId: "each" }
    expect(place([loop, inside], {})).toEqual({ x: 1_120, y: 40 })
    expect(place([loop, inside], { column: 2 })).toEqual({ x: 760, y: 640 })
    const inner = { ...at(200, 240), id: "inner", parentId: "each" }
    const deep = { ...at(560, 240), parentId: "inner" }
    expect(place([loop, inner, deep], {})).toEqual({ x: 1_840, y: 40 })
  })

  it("comes to an end where loops lie in each other", () => {
    const loops = [
      { ...cell(1, 0), id: "a", parentId: "b" },
      { ...cell(1, 0), id: "b", parentId: "a" },
    ]
    expect(Number.isFinite(place(loops, { parentId: "a" }).x)).toBe(true)
  })

  it("stays finite beside a node that is absurdly far away", () => {
    expect(Number.isFinite(place([at(Number.MAX_VALUE, 0)], {}).x)).toBe(true)
  })
})
