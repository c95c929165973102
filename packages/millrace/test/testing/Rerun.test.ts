/**
 * What a caller can rely on about reruns: what has completed is taken over, at no cost.
 */
import { defineNode } from "millrace"
import type { TestEngine } from "millrace/testing"
import { testEngine } from "millrace/testing"
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { refusal } from "../Sample.ts"

/** What the nodes of one test do, and how often each was called. */
class World {
  closed = true
  readonly calls: Record<string, number> = { fetch: 0, pay: 0, mail: 0, log: 0 }
  readonly mailed: Array<unknown> = []

  readonly nodes = (["fetch", "pay", "mail", "log"] as const).map((type) =>
    defineNode({
      type,
      inputs: { input: z.any().optional() },
      outputs: { output: z.any() },
      credits: 2,
      run: ({ inputs }) => {
        this.calls[type]! += 1
        if (type === "mail") this.mailed.push(inputs.input)
        if (type === "pay" && this.closed) throw new Error("the bank is closed")
        return { output: `${type} is done` }
      },
    }),
  )
}

/** fetch, then pay and log beside each other, and a mail after pay. */
const drawn = (engine: TestEngine) =>
  engine
    .workflow("Order")
    .node("in", "request", { fields: [{ name: "order", type: "number" }] })
    .node("fetch", "fetch")
    .node("pay", "pay")
    .node("mail", "mail")
    .node("log", "log")
    .node("out", "response")
    .edge("in.order", "fetch.input")
    .edge("fetch.output", "pay.input")
    .edge("fetch.output", "log.input")
    .edge("pay.output", "mail.input")
    .edge("mail.output", "out.input")

/** An engine, and a run that failed at `pay`; the bank is open now. */
const begin = async () => {
  const world = new World()
  const engine = await testEngine({ nodes: world.nodes })
  const { id: workflowId } = await engine.workflows.create(drawn(engine))
  const run = await order(engine, workflowId)
  expect((await run.wait()).status).toBe("FAILED")
  world.closed = false
  return { engine, id: run.id, workflowId, world }
}

const order = (engine: TestEngine, workflowId: string) =>
  engine.runs.start({ workflowId, values: { order: 7 } })

const calls = (fetch: number, pay: number, mail: number, log: number) => ({ fetch, pay, mail, log })

describe("runs.rerun", () => {
  it("executes what has not completed and what follows, and takes over the rest", async () => {
    const { engine, id, world } = await begin()
    await using _ = engine
    expect(world.calls).toEqual(calls(1, 1, 0, 1))
    const run = await (await engine.runs.rerun(id)).wait()
    expect([run.status, run.mode, run.rerunOf]).toEqual(["COMPLETED", "rerun", id])
    expect(run.output).toBe("mail is done")
    expect(world.calls).toEqual(calls(1, 2, 1, 1))
    const { fetch, log, pay } = run.nodes
    expect([fetch!.pinned, log!.pinned, pay!.pinned]).toEqual([true, true, undefined])
    expect(fetch!.logs![0]).toMatchObject({ data: { runId: id } })
  })

  it("charges and reserves nothing for what is taken over", async () => {
    const { engine, id } = await begin()
    await using _ = engine
    const operation = { actor: "test", reason: "test" }
    await engine.credits.meter({ ...operation, metered: true })
    await engine.credits.grant({ ...operation, id: "g", amount: 8 })
    const run = await (await engine.runs.rerun(id)).wait()
    expect([run.status, run.estimatedCredits, run.actualCredits]).toEqual(["COMPLETED", 4, 4])
    expect((await engine.credits.get()).balance).toMatchObject({ available: 0, reserved: 0 })
  })

  it("tells followers nothing of what is taken over", async () => {
    const { engine, id } = await begin()
    await using _ = engine
    const rerun = await engine.runs.rerun(id)
    await rerun.wait()
    const told: Array<string> = []
    for await (const { data, event } of rerun.events({ after: 0 })) {
      if (event === "node.completed") told.push(String(data.data["nodeId"]))
    }
    expect(told.toSorted((left, right) => (left < right ? -1 : 1))).toEqual([
      "in",
      "mail",
      "out",
      "pay",
    ])
  })

  it("begins with the nodes that it is told, also of a run that completed", async () => {
    const { engine, id, world } = await begin()
    await using _ = engine
    const done = await engine.runs.rerun(id)
    await done.wait()
    const again = await (await engine.runs.rerun(done.id, { from: ["mail"] })).wait()
    expect(again.status).toBe("COMPLETED")
    expect(world.calls).toEqual(calls(1, 2, 2, 1))
  })

  it("executes what is drawn otherwise now, where the current workflow is asked for", async () => {
    const { engine, id, workflowId, world } = await begin()
    await using _ = engine
    const { edges, nodes } = await engine.workflows.get(workflowId)
    const data = { inputs: { input: "another" } }
    await engine.workflows.update(workflowId, {
      nodes: nodes.map((node) => (node.id === "log" ? { ...node, data } : node)),
      edges: edges.filter(({ target }) => target !== "log"),
    })
    const plan = await engine.runs.planRerun(id, { definition: "current" })
    expect(Object.fromEntries(plan.anew.map(({ nodeId, ...why }) => [nodeId, why]))).toEqual({
      log: { reason: "changed" },
      pay: { reason: "unfinished", because: "FAILED" },
      mail: { reason: "follows", because: "pay" },
      out: { reason: "follows", because: "mail" },
    })
    expect([plan.takenOver, plan.estimatedCredits]).toEqual([["fetch"], 6])
    await (await engine.runs.rerun(id, { definition: "current" })).wait()
    expect(world.calls).toEqual(calls(1, 2, 1, 2))
  })

  it("executes the graph of the earlier run, also after the workflow is gone", async () => {
    const { engine, id, workflowId } = await begin()
    await using _ = engine
    await engine.workflows.remove(workflowId)
    expect((await (await engine.runs.rerun(id)).wait()).output).toBe("mail is done")
    const gone = await refusal(engine.runs.rerun(id, { definition: "current" }))
    expect(gone.code).toBe("WORKFLOW_NOT_FOUND")
  })

  it("names the run that executed a node, also in the rerun of a rerun", async () => {
    const { engine, id } = await begin()
    await using _ = engine
    const second = await engine.runs.rerun(id)
    await second.wait()
    const third = await (await engine.runs.rerun(second.id, { from: ["log"] })).wait()
    expect(third.rerunOf).toBe(second.id)
    expect(third.nodes["fetch"]!.logs![0]).toMatchObject({ data: { runId: id } })
    expect(third.nodes["mail"]!.logs![0]).toMatchObject({ data: { runId: second.id } })
  })

  it("takes given outputs in the place of executing, and executes what follows", async () => {
    const { engine, id, world } = await begin()
    await using _ = engine
    const pinnedOutputs = { pay: { output: "by hand" } }
    const run = await (await engine.runs.rerun(id, { pinnedOutputs })).wait()
    expect([run.status, world.calls]).toEqual(["COMPLETED", calls(1, 1, 1, 1)])
    expect(world.mailed).toEqual(["by hand"])
  })

  it("starts one run under an idempotency key", async () => {
    const { engine, id } = await begin()
    await using _ = engine
    const once = { idempotencyKey: "again" }
    const first = await engine.runs.rerun(id, {}, once)
    const second = await engine.runs.rerun(id, {}, once)
    expect([second.id, first.isReplay, second.isReplay]).toEqual([first.id, false, true])
    const other = await refusal(engine.runs.rerun(first.id, {}, once))
    expect(other.code).toBe("IDEMPOTENCY_KEY_TAKEN")
  })

  it("is refused while the run goes on, with nothing to do, and from an unknown node", async () => {
    const { engine, id } = await begin()
    await using _ = engine
    const { id: workflowId } = await engine.workflows.create(
      engine.workflow("Wait").node("wait", "delay", { for: "1 day" }),
    )
    const open = await engine.runs.start({ workflowId })
    expect((await refusal(engine.runs.rerun(open.id))).code).toBe("RUN_OPEN")
    const done = await engine.runs.rerun(id)
    await done.wait()
    const { message } = await refusal(engine.runs.rerun(done.id))
    expect(message).toMatch(/^Nothing has to run anew/)
    const unknown = await refusal(engine.runs.rerun(done.id, { from: ["mial"] }))
    expect(unknown.message).toMatch(/^from: there is no node "mial"/)
    const versioned = await refusal(engine.runs.rerun(done.id, { version: 1 }))
    expect(versioned.message).toMatch(/^version: goes with definition "current"/)
  })
})

describe("a failed run of twelve nodes", () => {
  it("is mended and run again: the rest executes, nothing is charged twice", async () => {
    let broken = true
    const calls: Array<string> = []
    const step = defineNode({
      type: "step",
      inputs: { input: z.any().optional(), name: z.string() },
      outputs: { output: z.string() },
      credits: 1,
      run: ({ inputs: { name } }) => {
        calls.push(name)
        if (name === "n9" && broken) throw new Error("the address is gone")
        return { output: `${name} is done` }
      },
    })
    await using engine = await testEngine({ nodes: [step] })
    const names = Array.from({ length: 12 }, (_, index) => `n${index + 1}`)
    const node = (id: string, index: number) => ({
      id,
      type: "step",
      position: { x: index * 100, y: 0 },
      data: { inputs: { name: id } },
    })
    // A chain, but that n7 follows n3, beside n4 to n6.
    const before = { n7: "n3" } as Record<string, string>
    const edge = (source: string, target: string) => ({ id: `${source}-${target}`, source, target })
    const edges = names.flatMap((id, index) =>
      index === 0 ? [] : [edge(before[id] ?? names[index - 1]!, id)],
    )
    const drawn = { name: "Twelve", nodes: names.map(node), edges }
    const { id: workflowId } = await engine.workflows.create(drawn)
    const operation = { actor: "test", reason: "test" }
    await engine.credits.meter({ ...operation, metered: true })
    await engine.credits.grant({ ...operation, id: "g", amount: 100 })
    const run = await engine.runs.start({ workflowId })
    expect(await run.wait()).toMatchObject({ status: "FAILED", actualCredits: 8 })

    broken = false
    calls.length = 0
    const planned = await engine.runs.planRerun(run.id)
    const anew = ["n9", "n10", "n11", "n12"]
    expect(planned.anew.map(({ nodeId }) => nodeId)).toEqual(anew)
    expect(planned.takenOver.toSorted()).toEqual(names.slice(0, 8).toSorted())
    expect(planned.estimatedCredits).toBe(4)
    expect(calls).toEqual([])

    const again = await engine.runs.rerun(run.id)
    expect(await again.wait()).toMatchObject({ status: "COMPLETED", actualCredits: 4 })
    expect(calls).toEqual(anew)
    const nodes = await again.nodes()
    for (const name of names) {
      const { logs, output, pinned } = nodes[name]!
      expect(output).toEqual({ output: `${name} is done` })
      const isTakenOver = !anew.includes(name)
      expect(pinned ?? false).toBe(isTakenOver)
      const from = (logs?.[0] as { readonly data?: { readonly runId?: string } } | undefined)?.data
      expect(from?.runId).toBe(isTakenOver ? run.id : undefined)
    }
    // Twelve credits in all, each node once.
    const { balance } = await engine.credits.get()
    expect(balance).toMatchObject({ available: 88, reserved: 0 })
    const entries = await engine.credits.statement({ limit: 100 })
    const posted = entries
      .filter(({ kind }) => kind === "post")
      .map(({ key }) => /:(n\d+)#/.exec(key)![1]!)
    expect(posted.toSorted()).toEqual(names.toSorted())
  })
})

describe("runs.rerunFailed", () => {
  it("takes up each failed run of a filter once, however often and by how many", async () => {
    const { engine, id, workflowId, world } = await begin()
    await using _ = engine
    world.closed = true
    const others = [await order(engine, workflowId), await order(engine, workflowId)]
    for (const each of others) await each.wait()
    await engine.clock.advance("1 second")
    const byHand = await engine.runs.rerun(others[1]!.id)
    await byHand.wait()
    world.closed = false
    const to = (await engine.runs.get(byHand.id)).createdAt
    const wanted = { workflowId, error: "The BANK is closed", to }
    const answers = await Promise.all([1, 2, 3].map(() => engine.runs.rerunFailed(wanted)))
    const started = answers.flatMap((answer) => answer.started)
    expect(started.map(({ rerunOf }) => rerunOf).toSorted()).toEqual([id, others[0]!.id].toSorted())
    for (const { runId } of started) {
      expect((await engine.runs.wait(runId)).status).toBe("COMPLETED")
    }
    expect(answers[0]!.leftOut).toContainEqual({
      runId: others[1]!.id,
      reason: "rerun",
      rerunId: byHand.id,
    })
    expect(world.calls).toEqual(calls(3, 6, 2, 3))
  })

  it("goes on behind a batch, and finds only errors with the part that is named", async () => {
    const { engine, id, workflowId, world } = await begin()
    await using _ = engine
    world.closed = true
    const second = await order(engine, workflowId)
    await second.wait()
    expect(await engine.runs.rerunFailed({ error: "Order" })).toEqual({
      started: [],
      leftOut: [],
      nextCursor: null,
    })
    const one = await engine.runs.rerunFailed({ error: "bank", limit: 1 })
    expect(one.started.map(({ rerunOf }) => rerunOf)).toEqual([second.id])
    const two = await engine.runs.rerunFailed({ cursor: one.nextCursor!, limit: 1 })
    expect(two.started.map(({ rerunOf }) => rerunOf)).toEqual([id])
    expect(two.nextCursor).toBeNull()
  })

  it("answers a repetition under a key as at first, and takes up nothing new", async () => {
    const { engine, id, workflowId, world } = await begin()
    await using _ = engine
    const once = { idempotencyKey: "after the night" }
    const first = await engine.runs.rerunFailed({ workflowId }, once)
    expect(first.started.map(({ rerunOf }) => rerunOf)).toEqual([id])
    world.closed = true
    await engine.clock.advance("1 minute")
    const later = await order(engine, workflowId)
    await later.wait()
    expect(await engine.runs.rerunFailed({ workflowId }, once)).toEqual(first)
    const other = await refusal(engine.runs.rerunFailed({}, once))
    expect(other.code).toBe("IDEMPOTENCY_KEY_TAKEN")
    const { started } = await engine.runs.rerunFailed({ workflowId })
    expect(started.map(({ rerunOf }) => rerunOf)).toEqual([later.id])
  })

  it("leaves out what is refused, with the reason", async () => {
    const { engine, id, workflowId } = await begin()
    await using _ = engine
    await engine.workflows.remove(workflowId)
    const { leftOut, started } = await engine.runs.rerunFailed({ definition: "current" })
    expect(started).toEqual([])
    expect(leftOut).toMatchObject([
      { runId: id, reason: "refused", message: expect.stringMatching(/does not exist/) as unknown },
    ])
  })
})
