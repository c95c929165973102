/**
 * Two ports can be joined unless a save or a start would refuse it.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import { describe, expect, it } from "vitest"
import { canConnect, edgeBetween, portsIn } from "../../../src/model/editing/Connecting.ts"
import { documentWith, edge, node } from "./RandomEditing.ts"

const input = (name: string, schema: object, multiple = false) => ({
  name,
  required: false,
  multiple,
  schema,
})

const type = (
  key: string,
  inputPorts: ReadonlyArray<object>,
  outputs: Readonly<Record<string, object>>,
) => ({
  key,
  inputPorts,
  outputPorts: Object.entries(outputs).map(([name, schema]) => ({ name, schema })),
})

const converting = { ...input("number", { type: "number" }), convertsTypes: true }

const nodeTypes = [
  type("converting", [converting], {}),
  type("text", [input("text", { type: "string" })], { output: { type: "string" } }),
  type("number", [input("number", { type: "integer" })], { output: { type: "number" } }),
  type("list", [input("items", { type: "array", items: { type: "string" } }, true)], {}),
  type("any", [input("value", {})], { output: {}, other: {} }),
] as unknown as ReadonlyArray<NodeTypeItem>

const drawn = {
  ...documentWith(),
  nodes: ["text", "number", "converting", "list", "any", "gone"].map((each) => ({
    ...node(each),
    type: each,
  })),
}

const portsOf = portsIn(drawn, nodeTypes)

const judged = (from: string, to: string, document = drawn) => {
  const [source, output = "output"] = from.split(".")
  const [target, port = "input"] = to.split(".")
  const found = canConnect(
    document,
    portsOf,
    { nodeId: source!, port: output },
    { nodeId: target!, port },
  )
  return found.ok ? "ok" : found.refusal
}

describe("canConnect", () => {
  it("joins what fits, and what nobody knows", () => {
    expect(judged("text", "any.value")).toBe("ok")
    expect(judged("any.other", "number.number")).toBe("ok")
    expect(judged("text", "list.items")).toBe("ok")
    expect(judged("gone.anything", "text.text")).toBe("ok")
    expect(judged("any", "gone.anything")).toBe("ok")
    expect(judged("text", "converting.number")).toBe("ok")
    // Expressions use what comes to `input`, whatever the type.
    expect(judged("number", "text.input")).toBe("ok")
  })

  it("refuses types without a common value", () => {
    expect(judged("text", "number.number")).toEqual({
      reason: "types",
      gives: "string",
      takes: "number",
    })
    expect(judged("number", "list.items")).toMatchObject({ reason: "types" })
  })

  it("refuses ports and nodes that are not there", () => {
    expect(judged("text.nothing", "any.value")).toMatchObject({ reason: "noPort", nodeId: "text" })
    expect(judged("text", "any.nothing")).toMatchObject({ reason: "noPort", port: "nothing" })
    expect(judged("nobody", "any.value")).toMatchObject({ reason: "noPort", nodeId: "nobody" })
    expect(judged("text", "nobody.value")).toMatchObject({ reason: "noPort", nodeId: "nobody" })
  })

  it("joins the error of a node that routes it", () => {
    expect(judged("text.error", "any.value")).toMatchObject({ reason: "noPort" })
    const nodes = drawn.nodes.map((each) => ({ ...each, data: { onError: "route" } }))
    expect(judged("text.error", "any.value", { ...drawn, nodes })).toBe("ok")
  })

  it("refuses circles and names the way", () => {
    const edges = [edge("text", "any"), edge("any", "list")]
    expect(judged("list", "text", { ...drawn, edges })).toMatchObject({ reason: "noPort" })
    expect(judged("any", "text.text", { ...drawn, edges })).toEqual({
      reason: "cycle",
      nodeIds: ["text", "any", "text"],
    })
    expect(judged("any", "any.value")).toEqual({ reason: "self" })
  })

  it("refuses a second edge to an input for one value, unless they are arms of a branch", () => {
    const to = (source: string, output: string) => ({
      ...edge(source, "any", `${source}-${output}`),
      sourceHandle: output,
      targetHandle: "value",
    })
    const taken = { ...drawn, edges: [to("text", "output")] }
    expect(judged("number", "any.value", taken)).toEqual({
      reason: "taken",
      edgeId: "text-output",
    })
    expect(judged("text", "any.value", taken)).toEqual({ reason: "exists", edgeId: "text-output" })
    const branch = {
      ...drawn,
      edges: [{ ...edge("any", "text"), targetHandle: "text" }, to("text", "output")],
    }
    const arms = {
      ...branch,
      nodes: [...branch.nodes, { ...node("end"), type: "any" }],
      edges: [
        { ...edge("any", "end"), targetHandle: "value" },
        { ...edge("any", "number"), sourceHandle: "other", targetHandle: "number" },
      ],
    }
    const joined = canConnect(
      arms,
      portsIn(arms, nodeTypes),
      { nodeId: "number", port: "output" },
      { nodeId: "end", port: "value" },
    )
    expect(joined).toEqual({ ok: true })
    const many = { ...drawn, edges: [{ ...edge("text", "list"), targetHandle: "items" }] }
    expect(judged("any", "list.items", many)).toBe("ok")
  })

  it("does not count the edge whose end is moved", () => {
    const edges = [{ ...edge("text", "any"), targetHandle: "value" }]
    const ends = [
      { nodeId: "number", port: "output" },
      { nodeId: "any", port: "value" },
    ] as const
    expect(canConnect({ ...drawn, edges }, portsOf, ...ends, "text-any").ok).toBe(true)
    expect(canConnect({ ...drawn, edges }, portsOf, ...ends).ok).toBe(false)
  })

  it("takes the ports that the server has told before those of the type", () => {
    const validation = {
      nodes: [
        {
          nodeId: "any",
          inputPorts: [],
          outputPorts: [{ name: "case 1", schema: {} }],
          estimatedCredits: null,
          names: [],
        },
      ],
    } as unknown as Parameters<typeof portsIn>[2]
    const ports = portsIn(drawn, nodeTypes, validation)
    expect(ports("any")?.outputPorts.map(({ name }) => name)).toEqual(["case 1"])
    expect(ports("gone")).toBeUndefined()
  })
})

describe("edgeBetween", () => {
  it("has an id that is free", () => {
    const ends = [
      { nodeId: "a", port: "x" },
      { nodeId: "b", port: "y" },
    ] as const
    expect(edgeBetween({ edges: [] }, ...ends)).toEqual({
      id: "a-b",
      source: "a",
      target: "b",
      sourceHandle: "x",
      targetHandle: "y",
    })
    expect(edgeBetween({ edges: [edge("a", "b")] }, ...ends).id).toBe("a-b-2")
  })
})
