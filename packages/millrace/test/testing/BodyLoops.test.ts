/**
 * What a caller can rely on about loops whose bodies are drawn in the same graph.
 */
import { defineNode } from "millrace"
import type { TestEngine } from "millrace/testing"
import { testEngine, whatIf } from "millrace/testing"
import { describe, expect, it } from "vitest"
import { z } from "zod"

/** Multiplies, costs two credits, and fails for negative numbers. */
const times = defineNode({
  type: "times",
  inputs: { input: z.number(), by: z.number() },
  outputs: { output: z.number() },
  credits: 2,
  run: ({ inputs: { by, input } }) => {
    if (input < 0) throw new Error(`${input} is negative`)
    return { output: input * by }
  },
})

const nodes = [times] as const
type Engine = TestEngine<typeof nodes>

/** Multiplies each number by a factor that a node outside of the loop gives. */
const multiplying = (engine: Engine, inputs: { readonly onError?: "stop" | "continue" } = {}) =>
  engine
    .workflow("Multiply")
    .node("in", "request", { fields: [{ name: "numbers", type: "array" }] })
    .node("factor", "constant", { value: 10 })
    .node("each", "for_each", inputs)
    .node("times", "times", {}, { parentId: "each" })
    .node("out", "response")
    .edge("in.numbers", "each.items")
    .edge("each.item", "times.input")
    .edge("factor.output", "times.by")
    .edge("each.results", "out.input")

describe("A loop with a body", () => {
  it("is drawn in code with its nodes in its frame, and the next node right of it", async () => {
    await using engine = await testEngine({ nodes })
    const { nodes: drawn } = multiplying(engine)
    const placeOf = (id: string) => drawn.find((node) => node.id === id)!.position
    expect([placeOf("each"), placeOf("times")]).toEqual([
      { x: 1_120, y: 40 },
      { x: 200, y: 240 },
    ])
    expect(placeOf("out")).toEqual({ x: 1_840, y: 40 })
  })

  it("executes its body for every item, with it and what enters from outside", async () => {
    await using engine = await testEngine({ nodes })
    const { id } = await engine.workflows.create(multiplying(engine))
    expect(await engine.workflows.validate(id)).toMatchObject({ problems: [], warnings: [] })
    const run = await engine.runs.start({ workflowId: id, values: { numbers: [3, 1, 2] } })
    const ended = await run.wait()
    expect(ended).toMatchObject({ status: "COMPLETED", output: [30, 10, 20], childCredits: 6 })
    // What lies in the loop belongs to the runs of the items.
    expect(Object.keys(ended.nodes)).toEqual(["in", "factor", "each", "out"])
    const { items } = await engine.runs.list({ parent: run.id })
    expect(items).toHaveLength(3)
    expect(items[0]).toMatchObject({ workflowId: id, mode: "item", parent: { nodeId: "each" } })
  })

  it("puts out nothing for no items", async () => {
    await using engine = await testEngine({ nodes })
    const { id } = await engine.workflows.create(multiplying(engine))
    const run = await engine.runs.start({ workflowId: id, values: { numbers: [] } })
    expect(await run.wait()).toMatchObject({ status: "COMPLETED", output: [] })
  })

  it("has item and index in expressions, and what comes before the loop", async () => {
    await using engine = await testEngine({})
    const workflow = engine
      .workflow("Greet")
      .node("in", "request", { fields: [{ name: "names", type: "array" }] })
      .node("words", "constant", { value: { hello: "Hello" } })
      .node("each", "for_each", { items: "{{ values.names }}" })
      .node(
        "greet",
        "constant",
        { value: "{{ each.index }}: {{ words.output.hello }} {{ each.item.toUpperCase() }}" },
        { parentId: "each" },
      )
      .node("out", "response")
      .edge("words.output", "each.input")
      .edge("each.results", "out.input")
    const { id } = await engine.workflows.create(workflow)
    const { nodes: outlines, problems } = await engine.workflows.validate(id)
    expect(problems).toEqual([])
    const greet = outlines.find(({ nodeId }) => nodeId === "greet")
    const each = outlines.find(({ nodeId }) => nodeId === "each")
    expect(each?.bodyPorts?.map(({ name }) => name)).toEqual(["item", "index"])
    expect(greet?.names).toEqual(expect.arrayContaining(["each", "words", "values", "run"]))
    const run = await engine.runs.start({ workflowId: id, values: { names: ["ada", "bob"] } })
    expect((await run.wait()).output).toEqual(["0: Hello ADA", "1: Hello BOB"])
  })

  it("puts out what a response in the body says, else what its last nodes do", async () => {
    await using engine = await testEngine({})
    const base = engine
      .workflow("Results")
      .node("each", "for_each", { items: [1] })
      .node("out", "response")
      .edge("each.results", "out.input")
    const one = base
      .node("a", "constant", { value: 1 }, { parentId: "each" })
      .node("b", "constant", { value: "{{ a.output + each.item }}" }, { parentId: "each" })
      .edge("a.output", "b.input")
    const both = one.node("c", "constant", { value: 5 }, { parentId: "each" })
    const said = both
      .node("say", "response", {}, { parentId: "each" })
      .edge("a.output", "say.input")
    const byPorts = base
      .node("if", "condition", { rule: { op: "equals", value: 1 } }, { parentId: "each" })
      .edge("each.item", "if.input")
    for (const [workflow, result] of [
      [one, 2],
      [both, { b: 2, c: 5 }],
      [said, 1],
      [byPorts, { true: 1 }],
    ] as const) {
      const { id } = await engine.workflows.create(workflow)
      const run = await engine.runs.start({ workflowId: id })
      expect((await run.wait()).output).toEqual([result])
    }
  })

  it("nests, and the inner body sees the items of both", async () => {
    await using engine = await testEngine({})
    const workflow = engine
      .workflow("Table")
      .node("rows", "for_each", { items: [1, 2] })
      .node("columns", "for_each", { items: [10, 20] }, { parentId: "rows" })
      .node(
        "product",
        "constant",
        { value: "{{ rows.item * columns.item }}" },
        { parentId: "columns" },
      )
      .node("row", "response", {}, { parentId: "rows" })
      .node("out", "response")
      .edge("columns.results", "row.input")
      .edge("rows.results", "out.input")
    const { id } = await engine.workflows.create(workflow)
    const run = await engine.runs.start({ workflowId: id })
    expect(await run.wait()).toMatchObject({
      status: "COMPLETED",
      output: [
        [10, 20],
        [20, 40],
      ],
    })
    const all = await engine.runs.list({ roots: "false" })
    const depths = all.items.map(({ parent }) => parent?.depth ?? 0)
    expect(depths.toSorted((a, b) => a - b)).toEqual([0, 1, 1, 2, 2, 2, 2])
  })

  it("fails, or goes on, with an item that fails", async () => {
    await using engine = await testEngine({ nodes })
    const values = { numbers: [1, -2, 3] }
    const stopping = await engine.workflows.create(multiplying(engine))
    const failed = await (await engine.runs.start({ workflowId: stopping.id, values })).wait()
    expect(failed.status).toBe("FAILED")
    expect(failed.error).toMatch(
      /^Node "each" failed: Item 1: Run \S+ failed: Node "times" failed: -2 is negative$/,
    )
    const going = await engine.workflows.create(multiplying(engine, { onError: "continue" }))
    const ended = await (await engine.runs.start({ workflowId: going.id, values })).wait()
    expect(ended).toMatchObject({ status: "COMPLETED", output: [10, null, 30] })
  })

  it("keeps its body when the workflow is changed meanwhile", async () => {
    await using engine = await testEngine({})
    const workflow = engine
      .workflow("Slow")
      .node("each", "for_each", { items: ["a", "b"], concurrency: 1 })
      .node("pause", "delay", { for: "1 hour" }, { parentId: "each" })
      .node("out", "response")
      .edge("each.item", "pause.input")
      .edge("each.results", "out.input")
    const { id } = await engine.workflows.create(workflow)
    const run = await engine.runs.start({ workflowId: id })
    await engine.clock.advance("30 minutes")
    await engine.workflows.update(id, { nodes: [], edges: [] })
    await engine.clock.advance("2 hours")
    expect(await run.wait()).toMatchObject({ status: "COMPLETED", output: ["a", "b"] })
  })

  it("is taken over by a rerun if it has completed, else executed anew as a whole", async () => {
    await using engine = await testEngine({ nodes })
    const workflow = multiplying(engine)
      .node("check", "times", { input: -1, by: 1 })
      .edge("factor.output", "check.by")
    const { id } = await engine.workflows.create(workflow)
    const run = await engine.runs.start({ workflowId: id, values: { numbers: [1, 2] } })
    expect((await run.wait()).status).toBe("FAILED")
    const again = await engine.runs.rerun(run.id)
    await again.wait()
    expect((await engine.runs.list({ parent: again.id })).items).toEqual([])
    const anew = await engine.runs.rerun(run.id, { from: ["each"] })
    await anew.wait()
    expect((await engine.runs.list({ parent: anew.id })).items).toHaveLength(2)
    const [item] = (await engine.runs.list({ parent: run.id })).items
    await expect(engine.runs.rerun(item!.id)).rejects.toThrow(
      `A run of the body of a loop has no rerun: rerun the run of its loop, ${run.id}`,
    )
    await expect(engine.runs.rerun(run.id, { from: ["times"] })).rejects.toThrow(
      'from: node "times" is in the body of a loop, which is executed anew as a whole',
    )
  })

  it("cannot run alone, and says what to do", async () => {
    await using engine = await testEngine({ nodes })
    const { id } = await engine.workflows.create(multiplying(engine))
    await expect(engine.runs.start({ workflowId: id, singleNodeId: "each" })).rejects.toThrow(
      'Node "each" cannot run alone: it is a loop with a body; start the workflow',
    )
  })

  it("gives large values of nodes outside to its body, up to 1 MiB", async () => {
    await using engine = await testEngine({})
    const workflow = (length: number) =>
      engine
        .workflow("Large")
        .node("text", "code", { code: `return "x".repeat(${length})` })
        .node("each", "for_each", { items: [1, 2] })
        .node("size", "constant", { value: "{{ text.output.length }}" }, { parentId: "each" })
        .node("out", "response")
        .edge("text.output", "size.input")
        .edge("each.results", "out.input")
    const ran = async (length: number) => {
      const { id } = await engine.workflows.create(workflow(length))
      return (await engine.runs.start({ workflowId: id })).wait()
    }
    expect(await ran(200_000)).toMatchObject({ status: "COMPLETED", output: [200_000, 200_000] })
    const { error } = await ran(1_100_000)
    expect(error).toMatch(
      /the item, and what the body uses of nodes outside of it, have 11000\d\d bytes/,
    )
  })

  it("keeps the items that it has computed before one that cannot be started", async () => {
    const big = defineNode({
      type: "big",
      inputs: {},
      outputs: { output: z.array(z.string()) },
      run: () => ({ output: ["a", "b", "x".repeat(1_100_000), "c"] }),
    })
    await using engine = await testEngine({ nodes: [big] })
    const workflow = engine
      .workflow("Big")
      .node("items", "big")
      .node("each", "for_each", { concurrency: 4 })
      .node("same", "constant", { value: 1 }, { parentId: "each" })
      .edge("items.output", "each.items")
      .edge("each.item", "same.value")
    const { id } = await engine.workflows.create(workflow)
    const run = await engine.runs.start({ workflowId: id })
    const ended = await run.wait()
    expect(ended.status).toBe("FAILED")
    expect(ended.nodes["each"]!.error).toMatch(/bytes/)
    const { items } = await engine.runs.items(run.id, "each")
    expect(items.map(({ index, output, status }) => [index, output, status])).toEqual([
      [0, "a", "COMPLETED"],
      [1, "b", "COMPLETED"],
    ])
  })

  it("survives a crash at any commit", async () => {
    const { commits, problems } = await whatIf(
      () => ({ nodes }),
      async (engine) => {
        const workflow = engine
          .workflow("Crash")
          .node("factor", "times", { input: 5, by: 2 })
          .node("each", "for_each", { items: [1, 2, 3], concurrency: 2 })
          .node("pause", "delay", { for: "1 day" }, { parentId: "each" })
          .node("times", "times", {}, { parentId: "each" })
          .node("out", "response")
          .edge("each.item", "pause.input")
          .edge("factor.output", "times.by")
          .edge("pause.output", "times.input")
          .edge("each.results", "out.input")
        const { id: workflowId } = await engine.workflows.create(workflow)
        const run = await engine.runs.start({ workflowId })
        await engine.clock.runToEnd()
        const { childCredits, output } = await engine.runs.get(run.id)
        return { childCredits, output }
      },
    )
    expect(problems).toEqual([])
    expect(commits).toBeGreaterThan(6)
  })

  it("survives a crash at any commit where its items are computed in turns", async () => {
    const { commits, problems } = await whatIf(
      () => ({ nodes, limits: { nodesPerStep: 4 } }),
      async (engine) => {
        const workflow = engine
          .workflow("Crash")
          .node("each", "for_each", { items: [1, 2, 3, 4, 5] })
          .node("one", "constant", { value: "{{ each.item }}" }, { parentId: "each" })
          .node("again", "while", { until: { op: "equals", value: "0+++" }, input: "0" })
          .node("add", "constant", { value: "{{ again.last }}+" }, { parentId: "again" })
          .node("out", "response")
          .edge("each.results", "out.input")
        const { id: workflowId } = await engine.workflows.create(workflow)
        const run = await engine.runs.start({ workflowId })
        await engine.clock.runToEnd()
        return (await engine.runs.get(run.id)).output
      },
    )
    expect(problems).toEqual([])
    expect(commits).toBeLessThan(16)
  })

  it("lists what became of its items, by number and a page at a time", async () => {
    await using engine = await testEngine({ nodes })
    const { id } = await engine.workflows.create(multiplying(engine, { onError: "continue" }))
    const numbers = [1, -1, 2, -2, 3]
    const run = await engine.runs.start({ workflowId: id, values: { numbers } })
    await run.wait()
    const page = await engine.runs.items(run.id, "each", { limit: 2 })
    expect(page.items).toMatchObject([
      { index: 0, status: "COMPLETED", output: 10, error: null },
      { index: 1, status: "FAILED", output: null, error: 'Node "times" failed: -1 is negative' },
    ])
    const all = []
    for await (const { index } of engine.runs.items(run.id, "each", { limit: 2 })) all.push(index)
    expect(all).toEqual([0, 1, 2, 3, 4])
    const failed = await engine.runs.items(run.id, "each", { status: "FAILED" })
    expect(failed.items.map(({ index }) => index)).toEqual([1, 3])
    expect((await engine.runs.items(run.id, "in")).items).toEqual([])
    await expect(engine.runs.items(run.id, "nobody")).rejects.toThrow("The run has no such node")
    const other = engine.runs.items(run.id, "in", { cursor: page.nextCursor! })
    await expect(other).rejects.toThrow("cursor: was made for another filter")
  })
})

describe("A while loop", () => {
  const doubling = (
    engine: TestEngine<readonly []>,
    inputs: { readonly maxIterations?: number } = {},
  ) =>
    engine
      .workflow("Double")
      .node("again", "while", {
        input: 3,
        until: { op: "greaterThan", value: 20 },
        ...inputs,
      })
      .node("double", "constant", { value: "{{ again.last * 2 }}" }, { parentId: "again" })
      .node("out", "response")
      .edge("again.output", "out.input")

  it("repeats its body with the result before, until the rule holds", async () => {
    await using engine = await testEngine({})
    const { id } = await engine.workflows.create(doubling(engine))
    const run = await engine.runs.start({ workflowId: id })
    const ended = await run.wait()
    expect(ended).toMatchObject({ status: "COMPLETED", output: 24 })
    expect(ended.nodes["again"]?.output).toEqual({ output: 24, iterations: 3 })
    const { items } = await engine.runs.items(run.id, "again")
    expect(items.map(({ index, output }) => [index, output])).toEqual([
      [0, 6],
      [1, 12],
      [2, 24],
    ])
  })

  it("fails when the rule never holds, when an iteration fails, and without a body", async () => {
    await using engine = await testEngine({})
    const { id } = await engine.workflows.create(doubling(engine, { maxIterations: 2 }))
    const { error } = await (await engine.runs.start({ workflowId: id })).wait()
    expect(error).toBe('Node "again" failed: The rule of "until" does not hold after 2 iterations')
    const failing = engine
      .workflow("Fail")
      .node("again", "while", { until: { op: "equals", value: 1 } })
      .node("no", "fail", { message: "no" }, { parentId: "again" })
    const failed = await engine.workflows.create(failing)
    expect((await (await engine.runs.start({ workflowId: failed.id })).wait()).error).toMatch(
      /^Node "again" failed: Iteration 0: Run \S+ failed: Node "no" failed: no$/,
    )
    const empty = await engine.workflows.create(
      engine.workflow("Empty").node("again", "while", { until: { op: "equals", value: 1 } }),
    )
    await expect(engine.runs.start({ workflowId: empty.id })).rejects.toThrow(
      'Node "again": input "until": nodes have to lie in the loop: their parentId names it',
    )
  })
})

describe("for_each", () => {
  it("needs a body or a workflow, and not both", async () => {
    await using engine = await testEngine({})
    const { id } = await engine.workflows.create(
      engine.workflow("None").node("each", "for_each", { items: [] }),
    )
    await expect(engine.runs.start({ workflowId: id })).rejects.toThrow(
      "a workflow is required, or nodes that lie in the loop: their parentId names it",
    )
    const both = engine
      .workflow("Both")
      .node("each", "for_each", { items: [], workflowId: id })
      .node("a", "constant", { value: 1 }, { parentId: "each" })
    const { problems } = await engine.workflows.validate((await engine.workflows.create(both)).id)
    expect(problems.map(({ message }) => message)).toEqual([
      'Node "each": input "workflowId": nodes lie in the loop already; remove them, ' +
        "or the workflow",
    ])
  })

  it("refuses items that are no array, and more than a loop takes, in one sentence", async () => {
    await using engine = await testEngine({})
    const workflow = engine
      .workflow("Bad")
      .node("in", "request", { fields: [{ name: "items", type: "any" }] })
      .node("many", "code", { code: "return Array.from({ length: 100001 }, () => 0)" })
      .node("text", "for_each", { items: "{{ values.items }}" })
      .node("a", "constant", { value: 1 }, { parentId: "text" })
      .node("each", "for_each")
      .node("b", "constant", { value: 1 }, { parentId: "each" })
      .edge("many.output", "each.items")
    const { id } = await engine.workflows.create(workflow)
    const run = await engine.runs.start({ workflowId: id, values: { items: "all" } })
    const { nodes: ended } = await run.wait()
    expect(ended["text"]?.error).toBe("input [items]: expected an array")
    expect(ended["each"]?.error).toMatch(
      /^input \[items\]: there are 100001 items, and a loop takes at most \d+$/,
    )
  })

  it("gives several items together to one run of the body", async () => {
    await using engine = await testEngine({})
    const workflow = engine
      .workflow("Batches")
      .node("each", "for_each", { items: [1, 2, 3, 4, 5], batch: 2 })
      .node("size", "constant", { value: "{{ each.item.length }}" }, { parentId: "each" })
      .node("out", "response")
      .edge("each.results", "out.input")
    const { id } = await engine.workflows.create(workflow)
    const run = await engine.runs.start({ workflowId: id })
    expect((await run.wait()).output).toEqual([2, 2, 1])
  })

  it("puts no results out that are too large together, and says how to read them", async () => {
    await using engine = await testEngine({})
    const workflow = engine
      .workflow("Large")
      .node("each", "for_each", { items: [1, 2, 3] })
      .node("text", "code", { code: 'return "x".repeat(3_000_000)' }, { parentId: "each" })
      .node("after", "constant", { value: "{{ each.count }}" })
      .node("unread", "response")
      .edge("each.count", "after.input")
      .edge("each.results", "unread.input")
    const { id } = await engine.workflows.create(workflow)
    const run = await engine.runs.start({ workflowId: id })
    const { nodes: ended } = await run.wait()
    expect(ended["each"]).toMatchObject({
      output: { count: 3, errors: [], failed: 0 },
      logs: [{ level: "warn", message: expect.stringContaining("nodes/each/items") }],
    })
    expect(ended["unread"]).toMatchObject({ status: "SKIPPED" })
    const { items } = await engine.runs.items(run.id, "each")
    expect(items).toHaveLength(3)
    expect(items[2]).toMatchObject({
      output: null,
      largeValues: [{ at: "/output", bytes: 3_000_002 }],
    })
  })
})
