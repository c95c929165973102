/**
 * A new node covers none of those that are there.
 */
import { describe, expect, it } from "vitest"
import { freePlace } from "../../src/internal/NodePlacing.ts"

const box = (x: number, y: number, height = 100) => ({ x, y, width: 240, height })

describe("freePlace", () => {
  it("is the wanted place where nothing is", () => {
    expect(freePlace([box(0, 0)], box(360, 0))).toEqual({ x: 360, y: 0 })
  })

  it("is below all that would be covered, however it is listed", () => {
    const others = [box(350, 260), box(300, 0), box(0, 0), box(400, 130, 90)]
    expect(freePlace(others, box(360, 20))).toEqual({ x: 360, y: 400 })
  })

  it("is in a gap that is large enough", () => {
    expect(freePlace([box(0, 0), box(0, 400)], box(0, 50))).toEqual({ x: 0, y: 140 })
  })
})
