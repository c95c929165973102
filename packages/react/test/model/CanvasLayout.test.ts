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

  it("gives rows to those of many inputs that are required or joined, or to all when asked", () => {
    const inputPorts = ["url", "a", "b", "c", "d"].map((name) => ({
      ...type.inputPorts[0]!,
      name,
      required: name === "url",
    }))
    const many = { ...type, inputPorts }
    const edges = [{ id: "1", source: "a", target: "b", sourceHandle: "output", targetHandle: "c" }]
    const value = { nodes: [node("a", 0), node("b", 400)], edges }
    const rows = (expanded: ReadonlyArray<string>) =>
      layoutOf(value, [many], { expanded: new Set(expanded) }).boxes.map(
        ({ height, hiddenInputs, inputs }) => [
          inputs.map(({ name }) => name).join(),
          hiddenInputs,
          height,
        ],
      )
    expect(rows([])).toEqual([
      ["url", 4, 136],
      ["url,c", 3, 172],
    ])
    expect(rows(["a"])[0]).toEqual(["url,a,b,c,d", 0, 280])
  })

  it("makes room for what a note says, and gives it no ports", () => {
    const note = (text: string) => ({ ...node("a", 0, { inputs: { text } }), type: "note" })
    const boxOf = (text: string) =>
      layoutOf({ nodes: [note(text)], edges: [] }, [{ ...type, key: "note" }]).boxes[0]!
    expect(boxOf("one line")).toMatchObject({ note: "one line", inputs: [], outputs: [] })
    expect(boxOf("two\nlines").height - boxOf("one line").height).toBe(20)
    expect(boxOf("long ".repeat(2_000)).height).toBeLessThan(400)
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
