/**
 * Copied nodes travel as JSON; what is no copy of nodes is a sentence, and changes nothing.
 */
import { describe, expect, it } from "vitest"
import { applied } from "../../../src/model/editing/Change.ts"
import {
  clipboardText,
  duplicated,
  pasted,
  pasteLength,
} from "../../../src/model/editing/Clipboard.ts"
import { changeOf } from "../../../src/model/editing/Command.ts"
import { freeId } from "../../../src/model/editing/ElementId.ts"
import { documentWith, edge, emptyDocument, node } from "./RandomEditing.ts"

const text = "{{ a.output }} and {{ nodes.a.output + nodes['a'].x }}, not {{ b.a }} or 'a'"

const document = {
  ...documentWith("a", "b", "c"),
  nodes: [
    { ...node("a", { label: "a" }, 10, 20), selected: true, width: 240 },
    node("b", { inputs: { value: text } }, 310, 20),
    node("c"),
  ],
  edges: [edge("a", "b"), edge("b", "c")],
}

const some = { nodeIds: new Set(["a", "b"]) }

const problemOf = (given: string) => {
  const found = pasted(given, document)
  return "problem" in found ? found.problem : undefined
}

describe("Clipboard", () => {
  it("copies nodes and the edges between them, without what only a canvas knows", () => {
    const copy = JSON.parse(clipboardText(document, some)) as typeof document
    expect(copy.nodes.map(({ id }) => id)).toEqual(["a", "b"])
    expect(copy.nodes[0]).not.toHaveProperty("selected")
    expect(copy.nodes[0]).toHaveProperty("width", 240)
    expect(copy.edges).toEqual([edge("a", "b")])
  })

  it("pastes frames around the pasted nodes", () => {
    const frame = { ...node("f", { frame: ["a", "b", "c"] }), type: "note" }
    const framed = { ...document, nodes: [...document.nodes, frame] }
    const all = { nodeIds: new Set(["a", "b", "f"]) }
    const copy = duplicated(framed, all).nodes.find(({ id }) => id === "f_2")
    expect(copy?.data).toEqual({ frame: ["a_2", "b_2", "c"] })
  })

  it("pastes with ids of its own, and expressions follow", () => {
    const found = pasted(clipboardText(document, some), document, { x: 1_000, y: 500 })
    if ("problem" in found) throw new Error(found.problem.reason)
    expect(found.nodes.map(({ id, position }) => [id, position])).toEqual([
      ["a_2", { x: 1_000, y: 500 }],
      ["b_2", { x: 1_300, y: 500 }],
    ])
    expect(found.edges).toEqual([edge("a_2", "b_2", "a-b_2")])
    expect(found.nodes[1]?.data).toEqual({
      inputs: {
        value:
          "{{ a_2.output }} and {{ nodes.a_2.output + nodes['a_2'].x }}, not {{ b_2.a }} or 'a'",
      },
    })
    const next = applied(document, changeOf(document, { type: "add", ...found }))
    expect([next.nodes.length, next.edges.length]).toEqual([5, 3])
  })

  it("pastes a whole workflow, such as an exported one", () => {
    const found = pasted(JSON.stringify(document), emptyDocument)
    expect("problem" in found ? found.problem : found.nodes.length).toBe(3)
  })

  it("duplicates a little aside", () => {
    const { nodes } = duplicated(document, some)
    expect(nodes[0]).toMatchObject({ id: "a_2", position: { x: 50, y: 60 } })
  })

  it.each([
    ["", "empty"],
    ["  \n", "empty"],
    ["<b>bold</b>", "notJson"],
    ["just text", "notJson"],
    ["5", "foreign"],
    ["[]", "foreign"],
    ["null", "foreign"],
    ['{"nodes":[{"parameters":{},"name":"Start"}],"connections":{}}', "foreign"],
    ['{"nodes":[],"edges":[]}', "empty"],
    ['{"nodes":[{"parameters":{},"name":"Start"}],"edges":[]}', "node"],
    [JSON.stringify({ nodes: [node("a")], edges: [{ id: "e" }] }), "edge"],
    [JSON.stringify({ nodes: [node("a"), node("a")], edges: [] }), "twice"],
    [JSON.stringify({ nodes: [node("a b")], edges: [] }), "id"],
    [JSON.stringify({ nodes: [node("__proto__")], edges: [] }), "id"],
    [JSON.stringify({ nodes: [node("a")], edges: [edge("a", "b")] }), "looseEdge"],
    [JSON.stringify({ nodes: [node("a")], edges: [edge("a", "a")] }), "cycle"],
  ])("says what is wrong with %s", (given, reason) => {
    expect(problemOf(given)).toMatchObject({ reason })
  })

  it("does not read more than a million characters", () => {
    const characters = pasteLength + 1
    expect(problemOf("x".repeat(characters))).toEqual({
      reason: "tooLarge",
      characters,
      limit: pasteLength,
    })
  })
})

describe("freeId", () => {
  it("is a name that an expression can use, and that nobody has", () => {
    const ids = ["http_request", "http_request_2"].map((id) => node(id))
    expect(freeId({ nodes: [] }, "http_request")).toBe("http_request")
    expect(freeId({ nodes: ids }, "http_request")).toBe("http_request_3")
    expect(freeId({ nodes: [] }, "switch")).toBe("switch_1")
    expect(freeId({ nodes: [node("switch_1")] }, "switch")).toBe("switch_2")
    expect(freeId({ nodes: [] }, "acme:send mail")).toBe("acme_send_mail")
    expect(freeId({ nodes: [] }, "2fa")).toBe("node_2fa")
  })
})
