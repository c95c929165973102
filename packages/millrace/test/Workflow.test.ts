/**
 * What a caller can rely on about workflows: storing, reading, changing, listing, drawing.
 */
import type { WorkflowDocument, WorkflowItem } from "millrace"
import { createEngine, defineNode } from "millrace"
import { builtin } from "@millrace/nodes/Builtin"
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { refusal } from "./Sample.ts"

const at = { x: 0, y: 0 }

const two: WorkflowDocument = {
  name: "Two",
  nodes: [
    { id: "a", type: "constant", position: at, data: { inputs: { value: 1 }, mine: [null] } },
    { id: "b", type: "response", position: at },
  ],
  edges: [{ id: "e", source: "a", target: "b", sourceHandle: "output", targetHandle: "input" }],
}

describe("workflows.create", () => {
  it("gives back exactly the fields of a workflow, with what was given", async () => {
    await using engine = await createEngine()
    const made = await engine.workflows.create(two)
    expect(made).toEqual({
      ...two,
      id: expect.stringMatching(/^wf_/),
      description: null,
      thumbnailUrl: null,
      settings: {},
      updatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    })
    expect(await engine.workflows.get(made.id)).toEqual(made)
  })

  it("refuses what cannot be a graph, every problem at once with the ids", async () => {
    await using engine = await createEngine()
    const node = { id: "a", type: "constant", position: at }
    const error = await refusal(
      engine.workflows.create({
        name: "Broken",
        nodes: [node, node, { ...node, id: "b" }],
        edges: [
          { id: "e", source: "a", target: "b" },
          { id: "f", source: "b", target: "a" },
          { id: "e", source: "a", target: "ghost" },
        ],
      }),
    )
    expect(error.code).toBe("INVALID_GRAPH")
    expect(error.problems.length).toBeGreaterThanOrEqual(3)
    expect(error.message).toContain('"ghost"')
    expect(error.message).toMatch(/cycle/)
    expect((await engine.workflows.list()).items).toEqual([])
  })

  it("refuses a document of the wrong form in one sentence that names each place", async () => {
    await using engine = await createEngine()
    const wrong = { name: "", nodes: [{ id: 1, type: "constant", position: at }] }
    const error = await refusal(engine.workflows.create(wrong as unknown as WorkflowDocument))
    expect(error.code).toBe("INVALID_REQUEST")
    expect(error.message).toMatch(/nodes\[0\]\.id: expected a string/)
    expect(error.message).toMatch(/name: /)
    expect(error.message).not.toContain("\n")
  })

  it("refuses what cannot be written as JSON", async () => {
    await using engine = await createEngine()
    const loop: Record<string, unknown> = {}
    loop["self"] = loop
    const nodes = [{ id: "a", type: "constant", position: at, data: loop }]
    const error = await refusal(engine.workflows.create({ name: "Loop", nodes }))
    expect(error).toMatchObject({
      code: "INVALID_REQUEST",
      message: "body: expected a value that can be written as JSON, at most 1000 levels deep",
    })
  })

  it("shares no object with the caller, on the way in or out", async () => {
    await using engine = await createEngine()
    const inputs = { value: [1] }
    const nodes = [{ id: "a", type: "constant", position: at, data: { inputs } }]
    const made = await engine.workflows.create({ name: "Copy", nodes })
    inputs.value.push(2)
    const read = await engine.workflows.get(made.id)
    expect(read).toEqual(made)
    Object.assign(read.nodes[0]?.data as object, { inputs: "changed" })
    expect(await engine.workflows.get(made.id)).toEqual(made)
  })
})

describe("workflows.update", () => {
  it("changes the given fields and nothing else", async () => {
    await using engine = await createEngine()
    const made = await engine.workflows.create(two)
    const changed = await engine.workflows.update(made.id, { name: "Renamed", description: "d" })
    expect(changed).toEqual({
      ...made,
      name: "Renamed",
      description: "d",
      updatedAt: changed.updatedAt,
    })
    expect(await engine.workflows.get(made.id)).toEqual(changed)
  })
})

describe("workflows.addNode", () => {
  it("places the node by column and row", async () => {
    await using engine = await createEngine()
    const { id } = await engine.workflows.create(two)
    const added = await engine.workflows.addNode(id, {
      nodeType: "constant",
      column: 2,
      row: 1,
      inputs: { value: 5 },
    })
    expect(added).toMatchObject({ position: { x: 760, y: 240 }, inputsSet: ["value"] })
    const { nodes } = await engine.workflows.get(id)
    expect(nodes.at(-1)).toMatchObject({ id: added.nodeId, position: { x: 760, y: 240 } })
  })
})

describe("workflows.duplicate and remove", () => {
  it("copies the content under a new id, and removes one without the other", async () => {
    await using engine = await createEngine()
    const made = await engine.workflows.create(two)
    const copy = await engine.workflows.duplicate(made.id)
    expect(copy).toMatchObject({ name: "Two (copy)", nodes: made.nodes, edges: made.edges })
    expect(copy.id).not.toBe(made.id)
    await engine.workflows.remove(made.id)
    expect((await refusal(engine.workflows.get(made.id))).code).toBe("WORKFLOW_NOT_FOUND")
    expect((await engine.workflows.get(copy.id)).id).toBe(copy.id)
  })

  it.each(["get", "duplicate", "remove"] as const)(
    "%s refuses an unknown id in one sentence",
    async (call) => {
      await using engine = await createEngine()
      expect(await refusal(engine.workflows[call]("wf_nope"))).toMatchObject({
        code: "WORKFLOW_NOT_FOUND",
        message: "The workflow does not exist",
      })
      expect((await refusal(engine.workflows[call](""))).code).toBe("INVALID_REQUEST")
    },
  )
})

describe("workflows.list", () => {
  it("gives pages newest first, and every item when iterated", async () => {
    await using engine = await createEngine()
    for (const name of ["One", "Two", "Three"]) await engine.workflows.create({ name })
    const first = await engine.workflows.list({ limit: 2 })
    expect(first.items.map((item) => item.name)).toEqual(["Three", "Two"])
    expect(first.items[0]).toMatchObject({ nodeCount: 0 })
    const second = await engine.workflows.list({ limit: 2, cursor: first.nextCursor! })
    expect(second.items.map((item) => item.name)).toEqual(["One"])
    expect(second.nextCursor).toBeNull()
    const all: Array<WorkflowItem> = []
    for await (const item of engine.workflows.list({ limit: 1 })) all.push(item)
    expect(all.map((item) => item.name)).toEqual(["Three", "Two", "One"])
  })

  it("searches names, also across pages", async () => {
    await using engine = await createEngine()
    for (const name of ["Alpha", "beta", "alphabet"]) await engine.workflows.create({ name })
    const found: Array<string> = []
    const listing = engine.workflows.list({ search: "ALPHA", limit: 1 })
    for await (const { name } of listing) found.push(name)
    expect(found).toEqual(["alphabet", "Alpha"])
  })

  it("shows activity and outlines of every item, also of further pages", async () => {
    await using engine = await createEngine()
    for (const name of ["One", "Two"]) await engine.workflows.create({ name })
    const all: Array<WorkflowItem> = []
    const listing = engine.workflows.list({ activity: true, view: "outline", limit: 1 })
    for await (const item of listing) all.push(item)
    const none = { lastRun: null, runs7d: 0, failed7d: 0 }
    expect(all.map(({ activity }) => activity)).toEqual([none, none])
    expect(all.map(({ outline }) => outline)).toEqual([
      { nodes: [], edges: [] },
      { nodes: [], edges: [] },
    ])
    expect(all.map(({ revision }) => revision)).toEqual([1, 1])
  })

  it("refuses a limit out of range and a cursor that is none", async () => {
    await using engine = await createEngine()
    expect((await refusal(engine.workflows.list({ limit: 51 }))).message).toMatch(/^limit: /)
    expect((await refusal(engine.workflows.list({ cursor: "zzz" }))).message).toMatch(/^cursor: /)
  })
})

describe("engine.workflow", () => {
  const half = defineNode({
    type: "half",
    inputs: { n: z.number() },
    outputs: { half: z.number() },
    modes: ["up", "down"],
    run: ({ inputs }) => ({ half: inputs.n / 2 }),
  })

  it("is the document that create takes, with places by column and row", async () => {
    await using engine = await createEngine({ nodes: [half] })
    const drawn = engine
      .workflow("Halves")
      .node("four.4", "constant", { value: 4 }, { column: 1 })
      .node("half", "half", {}, { mode: "down", column: 2, row: 1 })
      .node("end", "response")
      .edge("four.4.output", "half.n")
      .edge("half.half", "end.input")
    expect(JSON.parse(JSON.stringify(drawn))).toEqual({
      name: "Halves",
      nodes: [
        {
          id: "four.4",
          type: "constant",
          position: { x: 400, y: 40 },
          data: { inputs: { value: 4 } },
        },
        {
          id: "half",
          type: "half",
          position: { x: 760, y: 240 },
          data: { inputs: {}, mode: "down" },
        },
        { id: "end", type: "response", position: { x: 1_120, y: 40 }, data: { inputs: {} } },
      ],
      edges: [
        { id: "e1", source: "four.4", sourceHandle: "output", target: "half", targetHandle: "n" },
        { id: "e2", source: "half", sourceHandle: "half", target: "end", targetHandle: "input" },
      ],
    })
    const { id } = await engine.workflows.create(drawn)
    const run = await engine.runs.start({ workflowId: id })
    expect((await run.wait()).output).toBe(2)
  })

  it("has settings and a description, and what a node has beside its literals", async () => {
    await using engine = await createEngine({ nodes: [half] })
    const drawn = engine
      .workflow("Careful")
      .node("a", "half", { n: 4 }, { label: "Half", timeout: "5 seconds", retry: { attempts: 3 } })
      .node("b", "half", {}, { onError: "default", default: { half: 0 }, disabled: false })
      .edge("a.half", "b.n")
      .set({ description: "Twice", settings: { onFailure: "stop", timeoutMillis: 60_000 } })
    const made = await engine.workflows.create(drawn)
    expect(made).toMatchObject({
      description: "Twice",
      settings: { onFailure: "stop", timeoutMillis: 60_000 },
    })
    expect(made.nodes.map(({ data }) => data)).toEqual([
      { inputs: { n: 4 }, label: "Half", timeout: "5 seconds", retry: { attempts: 3 } },
      { inputs: {}, onError: "default", default: { half: 0 }, disabled: false },
    ])
    const run = await engine.runs.start({ workflowId: made.id })
    expect((await run.wait()).nodes["b"]?.output).toEqual({ half: 1 })
  })

  it("refuses options that there are not, and names the nearest", async () => {
    await using engine = await createEngine()
    const empty = engine.workflow("Wrong")
    // @ts-expect-error there is no such option
    expect(() => empty.node("a", "constant", {}, { timout: 5 })).toThrow(
      'node "a": unknown field "timout"; did you mean "timeout"?',
    )
    // @ts-expect-error there is no such field
    expect(() => empty.set({ setings: {} })).toThrow(
      'set: unknown field "setings"; did you mean "settings"?',
    )
  })

  it("never changes: each step is a new document", async () => {
    await using engine = await createEngine({ nodes: [half] })
    const one = engine.workflow("Steps").node("a", "half")
    one.node("b", "half").edge("a.half", "b.n")
    expect(one.nodes.map((node) => node.id)).toEqual(["a"])
    expect(one.edges).toEqual([])
  })

  it("knows every built-in type by name", async () => {
    await using engine = await createEngine()
    const all = engine
      .workflow("All")
      .node("a", "request")
      .node("b", "response")
      .node("c", "constant")
      .node("d", "transform")
      .node("e", "condition")
      .node("f", "switch")
      .node("g", "merge")
      .node("h", "list")
      .node("i", "fail")
      .node("j", "http_request")
      .node("k", "delay")
      .node("l", "note")
      .node("m", "code")
      .node("n", "parse")
      .node("o", "postgres_query")
      .node("p", "llm")
      .node("q", "email")
      .node("r", "wait_signal")
      .node("s", "sub_workflow")
      .node("t", "for_each")
      .node("u", "approval")
      .node("v", "while")
    const drawn = all.nodes.map((node) => node.type)
    expect(drawn.toSorted()).toEqual(builtin.map(({ type }) => type.key).toSorted())
  })
})
