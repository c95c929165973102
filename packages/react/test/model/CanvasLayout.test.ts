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

  it("draws a collapsed loop without what lies in it, also in loops in it", () => {
    const loop = { ...type, key: "loop", bodyPorts: type.outputPorts }
    const inside = (id: string, parentId: string, of = "text") => ({
      ...node(id, 0),
      type: of,
      parentId,
    })
    const value = {
      nodes: [
        node("in", 0),
        { ...node("each", 400), type: "loop" },
        inside("inner", "each", "loop"),
        inside("a", "inner"),
        inside("b", "each"),
        node("out", 1_200),
      ],
      edges: [
        { id: "in-a", source: "in", target: "a", targetHandle: "text" },
        { id: "each-b", source: "each", target: "b" },
        { id: "b-a", source: "b", target: "a" },
        { id: "each-out", source: "each", target: "out" },
      ],
    }
    const drawn = (...collapsed: ReadonlyArray<string>) => {
      const { boxes, lines } = layoutOf(value, [type, loop], { collapsed: new Set(collapsed) })
      const hidden = boxes.flatMap((box) => box.collapsed.map((id) => `${box.id}: ${id}`))
      return { boxes: boxes.map(({ id }) => id).join(), hidden, lines, all: boxes }
    }
    const whole = drawn("each", "inner")
    expect(whole.boxes).toBe("in,each,out")
    expect(whole.hidden).toEqual(["each: inner", "each: a", "each: b"])
    expect(whole.all[1]).toMatchObject({ body: undefined, width: 240 })
    expect(whole.lines.map(({ id, target, targetPort }) => [id, target, targetPort])).toEqual([
      ["in-a", "each", "input"],
      ["each-out", "out", "input"],
    ])
    const part = drawn("inner")
    expect(part.boxes).toBe("in,each,inner,b,out")
    expect(part.hidden).toEqual(["inner: a"])
    expect(part.lines.map(({ target }) => target)).toEqual(["inner", "b", "inner", "out"])
    expect(drawn("b", "gone").boxes).toBe(drawn().boxes)
    expect(drawn().hidden).toEqual([])
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
