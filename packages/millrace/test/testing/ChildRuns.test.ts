/**
 * What a caller can rely on about child runs: each is started once, its end wakes its parent, and
 * nothing of a tree goes on once its parent has ended.
 */
import { defineNode } from "millrace"
import type { TestEngine } from "millrace/testing"
import { testEngine, whatIf } from "millrace/testing"
import { describe, expect, it } from "vitest"
import { z } from "zod"

/** Squares a number, costs two credits, and fails for what the test says. */
const square = defineNode({
  type: "square",
  inputs: { input: z.number() },
  outputs: { output: z.number() },
  credits: 2,
  run: ({ inputs: { input } }) => {
    if (input < 0) throw new Error(`${input} is negative`)
    return { output: input * input }
  },
})

const nodes = [square] as const
type Engine = TestEngine<typeof nodes>

const made = async (engine: Engine) => {
  const { id } = await engine.workflows.create(
    engine
      .workflow("Square")
      .node("in", "request", { fields: [{ name: "item", type: "number" }] })
      .node("square", "square")
      .node("out", "response")
      .edge("in.item", "square.input")
      .edge("square.output", "out.input"),
  )
  return id
}

/** A workflow that lasts a day. */
const day = async (engine: Engine) => {
  const { id } = await engine.workflows.create(
    engine
      .workflow("Day")
      .node("in", "request", { fields: [{ name: "item", type: "any" }] })
      .node("pause", "delay", { for: "1 day" })
      .node("out", "response")
      .edge("in.item", "pause.input")
      .edge("pause.output", "out.input"),
  )
  return id
}

/** A workflow that calls another one. */
const calling = async (engine: Engine, workflowId: string, values = {}) => {
  const { id } = await engine.workflows.create(
    engine
      .workflow("Caller")
      .node("call", "sub_workflow", { workflowId, values })
      .node("out", "response")
      .edge("call.output", "out.input"),
  )
  return id
}

/** A workflow that calls the one of its value `id`, with that value. */
const computing = async (engine: Engine) => {
  const { id } = await engine.workflows.create(
    engine
      .workflow("Computing")
      .node("in", "request", { fields: [{ name: "id", type: "string" }] })
      .node("call", "sub_workflow", {
        workflowId: "{{ values.id }}",
        values: { id: "{{ values.id }}" },
      }),
  )
  return id
}

/** A workflow that works on items. */
const looping = async (engine: Engine, inputs: object) => {
  const { id } = await engine.workflows.create({
    name: "Loop",
    nodes: [
      { id: "each", type: "for_each", position: { x: 0, y: 0 }, data: { inputs } },
      { id: "out", type: "response", position: { x: 400, y: 0 }, data: { inputs: {} } },
    ],
    edges: [{ id: "e", source: "each", sourceHandle: "results", target: "out" }],
  })
  return id
}

const childrenOf = async (engine: Engine, parent: string) => {
  const { items } = await engine.runs.list({ parent })
  return items.toSorted((one, other) => one.parent!.index - other.parent!.index)
}

describe("sub_workflow", () => {
  it("puts out what a run of the other workflow puts out", async () => {
    await using engine = await testEngine({ nodes })
    const run = await engine.runs.start({
      workflowId: await calling(engine, await made(engine), { item: 7 }),
    })
    const { childCredits, output, status } = await run.wait()
    expect({ status, output }).toEqual({ status: "COMPLETED", output: 49 })
    expect(childCredits).toBe(2)
    const [child] = await childrenOf(engine, run.id)
    expect(child).toMatchObject({
      status: "COMPLETED",
      parent: { runId: run.id, nodeId: "call", index: 0, rootRunId: run.id, depth: 1 },
    })
    expect((await engine.runs.list()).items.map(({ id }) => id)).toEqual([run.id])
    const all = (await engine.runs.list({ roots: "false" })).items.map(({ id }) => id)
    expect(all.toSorted()).toEqual([run.id, child!.id].toSorted())
  })

  it("waits for days, and goes on in another process", async () => {
    await using engine = await testEngine({ nodes })
    const run = await engine.runs.start({
      workflowId: await calling(engine, await day(engine), { item: "late" }),
    })
    await engine.clock.advance("2 hours")
    expect((await run.nodes())["call"]!.status).toBe("WAITING")
    await engine.crash()
    await engine.restart()
    await engine.clock.runToEnd()
    expect((await engine.runs.get(run.id)).output).toBe("late")
    expect(await childrenOf(engine, run.id)).toHaveLength(1)
  })

  it("fails with the id and the error of the child", async () => {
    await using engine = await testEngine({ nodes })
    const run = await engine.runs.start({
      workflowId: await calling(engine, await made(engine), { item: -1 }),
    })
    const { error, status } = await run.wait()
    const [child] = await childrenOf(engine, run.id)
    expect(status).toBe("FAILED")
    expect(error).toBe(
      `Node "call" failed: Run ${child!.id} failed: Node "square" failed: -1 is negative`,
    )
  })

  it("says what stands against the start of the child", async () => {
    await using engine = await testEngine({ nodes })
    const gone = await computing(engine)
    const values = { id: "wf_none" }
    const computed = await engine.runs.start({ workflowId: gone, values })
    expect((await computed.wait()).error).toBe('Node "call" failed: there is no workflow "wf_none"')
    const odd = await engine.runs.start({
      workflowId: await calling(engine, await made(engine), { item: "seven" }),
    })
    expect((await odd.wait()).error).toMatch(/^Node "call" failed: workflow ".+" cannot be started/)
    expect(await childrenOf(engine, odd.id)).toEqual([])
  })

  it("is canceled with all that it has started", async () => {
    await using engine = await testEngine({ nodes })
    const inner = await calling(engine, await day(engine), { item: 1 })
    const run = await engine.runs.start({ workflowId: await calling(engine, inner) })
    await engine.clock.advance("1 hour")
    await run.cancel()
    await engine.clock.advance("1 minute")
    const [child] = await childrenOf(engine, run.id)
    const [grandchild] = await childrenOf(engine, child!.id)
    expect([child!.status, grandchild!.status]).toEqual(["CANCELED", "CANCELED"])
    expect(grandchild!.parent).toMatchObject({ rootRunId: run.id, depth: 2 })
  })

  it("lets a workflow call itself ten runs deep, and no deeper", async () => {
    await using engine = await testEngine({ nodes })
    const id = await computing(engine)
    const run = await engine.runs.start({ workflowId: id, values: { id } })
    expect((await run.wait()).error).toMatch(/runs that start each other are 11 deep; the limit/)
    expect((await engine.runs.list({ roots: "false" })).items).toHaveLength(11)
  })

  it("costs no more than the run may cost", async () => {
    await using engine = await testEngine({ nodes })
    const workflowId = await calling(engine, await made(engine), { item: 2 })
    const run = await engine.runs.start({ workflowId, maxCredits: 1 })
    expect((await run.wait()).error).toMatch(/needs 2 credits, and the run has 1 left/)
  })
})

describe("for_each", () => {
  it("works on every item, and gives the outputs in the order of the items", async () => {
    await using engine = await testEngine({ nodes })
    const items = Array.from({ length: 23 }, (_, index) => index)
    const inputs = { workflowId: await made(engine), items, concurrency: 4 }
    const run = await engine.runs.start({ workflowId: await looping(engine, inputs) })
    const { childCredits, output } = await run.wait()
    expect(output).toEqual(items.map((item) => item * item))
    expect(childCredits).toBe(46)
    const { items: children } = await engine.runs.list({ parent: run.id, limit: 50 })
    expect(children).toHaveLength(23)
  })

  it("gives an empty array for no items", async () => {
    await using engine = await testEngine({ nodes })
    const inputs = { workflowId: await made(engine), items: [] }
    const run = await engine.runs.start({ workflowId: await looping(engine, inputs) })
    expect((await run.wait()).output).toEqual([])
  })

  it.each([
    ["stop", { length: 2, output: null, told: true }],
    ["continue", { length: 3, output: [1, null, 9], told: undefined }],
    ["drop", { length: 3, output: [1, 9], told: undefined }],
  ])("with onError %s does as it says where an item fails", async (onError, expected) => {
    await using engine = await testEngine({ nodes })
    const workflowId = await made(engine)
    const inputs = { workflowId, items: [1, -2, 3], concurrency: 1, onError }
    const run = await engine.runs.start({ workflowId: await looping(engine, inputs) })
    const { error, output } = await run.wait()
    const failed = 'Node "each" failed: Item 1: Run a run failed: Node "square" failed: -2 is'
    const told = error?.replaceAll(/run_[\w-]+/g, "a run").startsWith(failed)
    const { length } = await childrenOf(engine, run.id)
    expect({ length, output, told }).toEqual(expected)
  })

  it("works on as many items at once as it says, and cancels them when one fails", async () => {
    await using engine = await testEngine({ nodes })
    const inputs = { workflowId: await day(engine), items: [1, 2, 3, 4], concurrency: 3 }
    const run = await engine.runs.start({ workflowId: await looping(engine, inputs) })
    await engine.clock.advance("1 hour")
    expect(await childrenOf(engine, run.id)).toHaveLength(3)
    await engine.runs.cancel((await childrenOf(engine, run.id))[1]!.id)
    await engine.clock.advance("1 minute")
    expect((await engine.runs.get(run.id)).error).toMatch(/Item 1: Run .+ was canceled/)
    const statuses = (await childrenOf(engine, run.id)).map(({ status }) => status)
    expect(statuses).toEqual(["CANCELED", "CANCELED", "CANCELED"])
  })
})

describe("a crash", () => {
  it.each([
    { what: "completes", items: [1, 2, 3], concurrency: 2 },
    { what: "fails", items: [1, -2, 3], concurrency: 1 },
    { what: "is canceled", items: [1, 2, 3], concurrency: 2 },
  ])("at any commit of a tree that $what changes nothing", async ({ what, ...loop }) => {
    const { commits, problems } = await whatIf(
      () => ({ nodes }),
      async (engine) => {
        const slow = await engine.workflows.create(
          engine
            .workflow("Slow square")
            .node("in", "request", { fields: [{ name: "item", type: "number" }] })
            .node("pause", "delay", { for: "1 day" })
            .node("square", "square")
            .node("out", "response")
            .edge("in.item", "pause.input")
            .edge("pause.output", "square.input")
            .edge("square.output", "out.input"),
        )
        const inputs = { workflowId: slow.id, ...loop }
        const workflowId = await calling(engine, await looping(engine, inputs))
        const run = await engine.runs.start({ workflowId })
        if (what === "is canceled") {
          await engine.clock.advance("12 hours")
          await engine.runs.cancel(run.id)
        }
        await engine.clock.runToEnd()
        return (await engine.runs.get(run.id)).childCredits
      },
    )
    expect(problems).toEqual([])
    expect(commits).toBeGreaterThan(6)
  })
})
