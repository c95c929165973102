/**
 * Frames stand around their nodes, and take them along.
 */
import { describe, expect, it } from "vitest"
import { withFramed } from "../../src/internal/FramePlaces.ts"
import { hasOverlaps, layoutOf } from "../../src/model/CanvasLayout.ts"

const drawn = (frame: ReadonlyArray<unknown>) => ({
  nodes: [
    { id: "a", type: "x", position: { x: 100, y: 100 } },
    { id: "b", type: "x", position: { x: 500, y: 300 } },
    { id: "f", type: "note", position: { x: 0, y: 0 }, data: { frame } },
    { id: "g", type: "note", position: { x: 0, y: 900 }, data: { frame: ["f", "gone", 7] } },
  ],
  edges: [],
})

describe("layoutOf", () => {
  it("draws a frame around its nodes, wherever they are, and around nothing as it was left", () => {
    const layout = layoutOf(drawn(["a", "b", "gone"]), [])
    const [a, b, f, g] = layout.boxes
    expect(f).toMatchObject({ framed: ["a", "b"], x: 76, y: 20 })
    expect(f!.x + f!.width).toBe(b!.x + b!.width + 24)
    expect(f!.y + f!.height).toBe(b!.y + b!.height + 24)
    expect(g).toMatchObject({ framed: [], x: 0, y: 900 })
    expect(a!.framed).toBe(undefined)
    expect(hasOverlaps(layout)).toBe(false)
  })
})

describe("withFramed", () => {
  it("moves what is in a frame with it, unless that is moved by itself", () => {
    const { boxes } = layoutOf(drawn(["a", "b"]), [])
    expect(withFramed(boxes, { f: { x: 86, y: 0 } })).toEqual({
      a: { x: 110, y: 80 },
      b: { x: 510, y: 280 },
      f: { x: 86, y: 0 },
    })
    const both = { b: { x: 1, y: 2 }, f: { x: 76, y: 20 } }
    expect(withFramed(boxes, both)).toEqual({ a: { x: 100, y: 100 }, ...both })
    expect(withFramed(boxes, { a: { x: 1, y: 2 } })).toEqual({ a: { x: 1, y: 2 } })
  })
})
