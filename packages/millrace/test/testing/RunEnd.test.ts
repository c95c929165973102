/**
 * What a caller can rely on about triggers that follow the runs of another workflow: each end
 * starts one run, over crashes, with the facts of the run that has ended, and no circle goes on.
 */
import type { NewRunEndTrigger, TriggerChange } from "millrace"
import { defineNode } from "millrace"
import type { TestEngine } from "millrace/testing"
import { testEngine } from "millrace/testing"
import { assert, describe, expect, it } from "vitest"
import { z } from "zod"
import { refusal } from "../Sample.ts"

const begin = "2026-01-01T00:00:00.000Z"

/** Puts its input out, or fails with it. */
const work = defineNode({
  type: "work",
  inputs: { input: z.any().optional() },
  outputs: { output: z.any() },
  credits: 2,
  run: ({ inputs }) => {
    if (inputs.input === "bad") throw new Error("it is bad")
    return { output: { order: { id: inputs.input ?? null } } }
  },
})

/** A workflow that puts out an order, or fails. */
const orders = (engine: TestEngine) =>
  engine
    .workflow("Orders")
    .node("in", "request", { fields: [{ name: "id", type: "any", required: false }] })
    .node("work", "work")
    .node("out", "response")
    .edge("in.id", "work.input")
    .edge("work.output", "out.input")

const field = (name: string, type: "any" | "number" | "string" = "any") => ({
  name,
  type,
  required: false,
})

type Given = Partial<Omit<NewRunEndTrigger, "type" | "watch">>

/** An engine with a workflow, and one whose runs follow those of the first. */
const opened = async (given: Given = {}, fields: ReadonlyArray<ReturnType<typeof field>> = []) => {
  const engine = await testEngine({ nodes: [work], now: begin })
  const { id: watch } = await engine.workflows.create(orders(engine))
  const drawing = engine.workflow("Bill").node("in", "request", { fields: [...fields] })
  const { id: workflowId } = await engine.workflows.create(drawing)
  const made = await engine.triggers.create(workflowId, { type: "run_end", watch, ...given })
  const start = async (id: unknown = 7) => {
    const run = await engine.runs.start({ workflowId: watch, values: { id } })
    await engine.clock.runToEnd()
    return run.id
  }
  const read = async () => {
    const trigger = await engine.triggers.get(workflowId, made.id)
    assert(trigger.type === "run_end")
    return trigger
  }
  const followers = async () => {
    const runs = []
    for await (const run of engine.runs.list({ workflowId, limit: 50 })) runs.push(run)
    return runs.toReversed()
  }
  return { engine, followers, made, read, start, watch, workflowId }
}

const look = (engine: TestEngine) => engine.clock.advance("2 seconds")

describe("A trigger that follows runs", () => {
  it("starts a run when a run of the other workflow ends, which names both", async () => {
    const names = ["runId", "workflowId", "workflowName", "status", "errorMessage", "output"]
    const { engine, followers, made, read, start, watch } = await opened(
      { values: { note: "x" } },
      [...names, "note"].map((name) => field(name)),
    )
    await using _ = engine
    expect(made).toMatchObject({ type: "run_end", watch, on: ["COMPLETED"], enabled: true })
    const runId = await start()
    await look(engine)
    const [run, ...others] = await followers()
    expect(others).toEqual([])
    expect(run).toMatchObject({
      status: "COMPLETED",
      source: "run_end",
      triggerId: made.id,
      after: { runId, depth: 1 },
    })
    const output = { order: { id: 7 } }
    const facts = { runId, workflowId: watch, workflowName: "Orders", status: "COMPLETED", output }
    expect((await engine.runs.get(run!.id)).context?.values).toEqual({ ...facts, note: "x" })
    const { finishedAt } = await engine.runs.get(runId)
    expect(await read()).toMatchObject({ lastAt: finishedAt, lastRunId: run!.id, missed: 0 })
  })

  it("takes of the run what it is told to, and all for a workflow without fields", async () => {
    const into = { order: "output.order.id", why: "errorMessage", state: "status" }
    const { engine, followers, made, start, workflowId } = await opened(
      { into, on: ["COMPLETED", "FAILED"], values: { why: "nothing" } },
      [field("order", "number"), field("why", "string"), field("state", "string")],
    )
    await using _ = engine
    await start()
    await start("bad")
    await look(engine)
    const values = []
    for (const { id } of await followers()) {
      values.push((await engine.runs.get(id)).context?.values)
    }
    expect(values).toHaveLength(2)
    expect(values).toContainEqual({ order: 7, why: "nothing", state: "COMPLETED" })
    const why = expect.stringContaining("it is bad")
    expect(values).toContainEqual({ why, state: "FAILED" })
    const bare = { nodes: [{ id: "in", type: "request", position: { x: 0, y: 0 } }], edges: [] }
    await engine.workflows.update(workflowId, bare)
    await engine.triggers.update(workflowId, made.id, { into: null, values: {} })
    const runId = await start()
    await look(engine)
    const last = (await followers()).find(({ after }) => after?.runId === runId)
    const all = (await engine.runs.get(last!.id)).context?.values
    expect(Object.keys(all!).toSorted()).toEqual(
      ["runId", "workflowId", "workflowName", "status", "finishedAt", "output"].toSorted(),
    )
  })

  it("follows the ends that it names, of whole runs and reruns, and no single nodes", async () => {
    const { engine, followers, start, watch } = await opened({ on: ["FAILED", "CANCELED"] })
    await using _ = engine
    const failed = await start("bad")
    await start("good")
    await engine.runs.start({ workflowId: watch, singleNodeId: "work", values: { id: "bad" } })
    const again = await engine.runs.rerun(failed)
    await engine.clock.runToEnd()
    await look(engine)
    const known = (await followers()).map(({ after }) => after?.runId)
    expect(new Set(known)).toEqual(new Set([failed, again.id]))
    expect(known).toHaveLength(2)
  })

  it("starts one run for each end, however often processes crash", async () => {
    const { engine, followers, start } = await opened()
    await using _ = engine
    const ids = []
    for (let n = 0; n < 5; n++) {
      ids.push(await start(n))
      // Before, or after, this process has looked.
      if (n % 2 === 0) await engine.crash()
      else {
        await engine.clock.advance("1 second")
        await engine.crash()
      }
      await engine.restart()
    }
    await engine.clock.advance("1 minute")
    const known = (await followers()).map(({ after }) => after?.runId)
    expect(new Set(known)).toEqual(new Set(ids))
    expect(known).toHaveLength(ids.length)
  })

  it("follows no run while it is switched off, nor what ended before", async () => {
    const { engine, followers, made, start, watch, workflowId } = await opened({ enabled: false })
    await using _ = engine
    const on = (enabled: boolean) => engine.triggers.update(workflowId, made.id, { enabled })
    await start()
    await on(true)
    await look(engine)
    const id = await start()
    await look(engine)
    // The end of this one waits while no process is there.
    await engine.runs.start({ workflowId: watch })
    await engine.crash()
    await engine.restart()
    await on(false)
    await on(true)
    await look(engine)
    expect((await followers()).map(({ after }) => after?.runId)).toEqual([id])
    await engine.triggers.remove(workflowId, made.id)
    await start()
    await look(engine)
    expect(await followers()).toHaveLength(1)
  })

  it("ends a circle after ten runs, and says so", async () => {
    const { engine, followers, read, start, watch, workflowId } = await opened()
    await using _ = engine
    const back = await engine.triggers.create(watch, { type: "run_end", watch: workflowId })
    await start()
    await engine.clock.advance("5 minutes")
    const depths = (await followers()).map(({ after }) => after!.depth)
    expect(depths.toSorted((a, b) => a - b)).toEqual([1, 3, 5, 7, 9])
    const other = await engine.triggers.get(watch, back.id)
    expect([(await read()).missed, other.type === "run_end" && other.missed]).toEqual([1, 0])
    expect((await read()).lastError).toMatch(
      /^Nothing follows run run_\S+: 10 runs have followed each other's ends before it$/,
    )
  })

  it("records the sentence of a start that is refused, and follows the next run", async () => {
    const { engine, followers, read, start, workflowId } = await opened()
    await using _ = engine
    const paid = engine.workflow("Paid").node("w", "work")
    const { edges, nodes } = (await engine.workflows.create(paid)) as never as {
      nodes: []
      edges: []
    }
    await engine.workflows.update(workflowId, { nodes, edges })
    const operation = { actor: "shop", reason: "order 17" }
    await engine.credits.meter({ ...operation, metered: true })
    await engine.credits.grant({ ...operation, id: "a", amount: 2 })
    await start()
    await look(engine)
    expect(await followers()).toEqual([])
    expect(await read()).toMatchObject({
      missed: 1,
      lastError: "The run requires 2 credits, and fewer are available",
    })
    await engine.credits.grant({ ...operation, id: "b", amount: 4 })
    await start()
    await look(engine)
    expect(await followers()).toHaveLength(1)
    expect((await read()).missed).toBe(1)
  })

  it("is gone with either workflow", async () => {
    const { engine, followers, read, watch, workflowId } = await opened()
    await using _ = engine
    await engine.workflows.remove(watch)
    await look(engine)
    expect((await refusal(read())).code).toBe("TRIGGER_NOT_FOUND")
    expect(await engine.triggers.list(workflowId)).toEqual([])
    expect(await followers()).toEqual([])
  })
})

describe("engine.triggers.create of one that follows runs", () => {
  it("refuses its own workflow, one that is not there, and one of another account", async () => {
    const { engine, workflowId } = await opened()
    await using _ = engine
    const tenant = engine.account((await engine.accounts.create({ name: "Tenant" })).id)
    const foreign = await tenant.workflows.create(
      engine.workflow("W").node("c", "constant", { value: 1 }),
    )
    const sentenceOf = async (given: object) => {
      const trigger = { type: "run_end", ...given } as NewRunEndTrigger
      const { code, message } = await refusal(engine.triggers.create(workflowId, trigger))
      return [code, message]
    }
    expect(await sentenceOf({ watch: workflowId })).toEqual([
      "INVALID_TRIGGER",
      "watch: expected another workflow; a run cannot follow each run of its own",
    ])
    for (const id of ["wf_none", foreign.id]) {
      expect(await sentenceOf({ watch: id })).toEqual([
        "INVALID_TRIGGER",
        `watch: workflow ${id} does not exist`,
      ])
    }
    expect((await sentenceOf({ watch: foreign.id, on: ["RUNNING"] }))[0]).toBe("INVALID_REQUEST")
    expect((await sentenceOf({ watch: foreign.id, on: [] }))[1]).toMatch(/at least one status/)
    expect((await sentenceOf({ watch: foreign.id, into: { a: "body" } }))[1]).toMatch(/into/)
    expect((await sentenceOf({}))[1]).toMatch(/watch/)
    const claim = engine.runs.start({ workflowId, source: "run_end" as "api" })
    expect((await refusal(claim)).message).toBe('source: expected "ui", "mcp" or "api"')
  })

  it("takes only the fields of its type in a change", async () => {
    const { engine, made, watch, workflowId } = await opened()
    await using _ = engine
    const change = (given: TriggerChange) => engine.triggers.update(workflowId, made.id, given)
    expect(await change({ on: ["FAILED", "FAILED"], into: { a: "output.b" } })).toMatchObject({
      on: ["FAILED"],
      into: { a: "output.b" },
      watch,
    })
    expect((await refusal(change({ cron: "* * * * *" }))).message).toBe(
      "cron: a trigger by a run's end has no such field",
    )
    expect((await refusal(change({ into: { a: "headers.x" } }))).message).toMatch(/^into/)
    expect((await refusal(change({ watch: workflowId }))).code).toBe("INVALID_TRIGGER")
  })
})
