/**
 * The canvas draws every node and edge of a drawing, also of one that is not finished.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import { describe, expect, it } from "vitest"
import { arranged } from "../../src/model/BoxArrangement.ts"
import { hasOverlaps, layoutOf, lineState } from "../../src/model/CanvasLayout.ts"

const type = {
  key: "text",
  name: "Text",
  category: "data",
  inputPorts: [{ name: "text", required: true, multiple: false, schema: { type: "string" } }],
  outputPorts: [{ name: "output", schema: { type: ["number", "null"] } }],
} as unknown as NodeTypeItem

const node = (id: string, x: number, data: object = {}) => ({
  id,
  type: "text",
  position: { x, y: 0 },
  data,
})

describe("layoutOf", () => {
  it("lists ports of the type, those that edges name, and where errors go", () => {
    const value = {
      nodes: [node("a", 0, { onError: "route", label: "First" }), node("b", 400)],
      edges: [
        { id: "1", source: "a", target: "b", sourceHandle: "extra", targetHandle: "text" },
        { id: "2", source: "a", target: "b" },
      ],
    }
    const [a, b] = layoutOf(value, [type]).boxes
    expect(a!.outputs.map(({ name }) => name)).toEqual(["output", "extra", "error"])
    expect(b!.inputs.map(({ kind, name }) => `${name} ${kind}`)).toEqual(["text string", "input "])
    expect([a!.label, b!.label]).toEqual(["First", "Text"])
  })

  it("draws unknown types, and leaves out edges whose nodes are gone", () => {
    const value = {
      nodes: [{ ...node("a", 0), type: "gone" }],
      edges: [{ id: "1", source: "a", target: "nowhere" }],
    }
    const { boxes, lines } = layoutOf(value, [type])
    expect(boxes).toMatchObject([{ label: "gone", isKnown: false }])
    expect(lines).toEqual([])
  })

  it("finds boxes that cover each other, and places them apart", async () => {
    const value = {
      nodes: [node("a", 0), node("b", 20), node("c", 30)],
      edges: [
        { id: "1", source: "a", target: "b" },
        { id: "2", source: "a", target: "c" },
      ],
    }
    const layout = layoutOf(value, [type])
    expect(hasOverlaps(layout)).toBe(true)
    expect(hasOverlaps(await arranged(layout))).toBe(false)
  })
})

describe("lineState", () => {
  it("says what went over an edge", () => {
    expect(lineState("COMPLETED", "COMPLETED", false)).toBe("taken")
    expect(lineState("COMPLETED", "RUNNING", false)).toBe("active")
    expect(lineState("COMPLETED", "SKIPPED", false)).toBe("skipped")
    expect(lineState("FAILED", "SKIPPED", false)).toBe("skipped")
    expect(lineState("RUNNING", "PENDING", false)).toBe("idle")
    expect(lineState(undefined, undefined, false)).toBe("idle")
  })
})
