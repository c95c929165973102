/**
 * The clock of a test engine: time moves when the test says so, and everything due happens.
 */
import { defineNode } from "millrace"
import type { TestEngine } from "millrace/testing"
import { fails, gives, hangs, testEngine } from "millrace/testing"
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { gate, refusal } from "../Sample.ts"

/** Charges a card, and tries again after 5 seconds, 5 minutes and 2 hours. */
const charge = defineNode({
  type: "pay.charge",
  inputs: { cents: z.number() },
  outputs: { receipt: z.string() },
  retry: { attempts: 4, initial: "5 seconds", factor: 60, max: "2 hours" },
  run: () => {
    throw new Error("no test calls the bank")
  },
})

const receive = defineNode({
  type: "receive",
  inputs: { name: z.string().optional() },
  outputs: { done: z.boolean() },
  timeout: "10 minutes",
  run: () => ({ done: true }),
})

const start = "2026-01-01T00:00:00.000Z"

/** A charge, a month, and another charge. */
const month = async (engine: TestEngine<readonly [typeof charge, typeof receive]>) => {
  const { id: workflowId } = await engine.workflows.create(
    engine
      .workflow("Subscription")
      .node("charge", "pay.charge", { cents: 500 })
      .node("month", "delay", { for: "30 days" })
      .node("thank", "receive")
      .edge("charge.receipt", "month.input")
      .edge("month.output", "thank.name"),
  )
  return engine.runs.start({ workflowId })
}

/** A workflow of one node. */
const one = async (engine: TestEngine<readonly [typeof charge, typeof receive]>) => {
  const workflow = engine.workflow("One").node("receive", "receive")
  const { id: workflowId } = await engine.workflows.create(workflow)
  return engine.runs.start({ workflowId })
}

const nodes = [charge, receive] as const

const busyThrice = { "pay.charge": fails(3, "busy").gives({ receipt: "r1" }) }

describe("TestClock.runToEnd", () => {
  it("brings the runs of all accounts to their end", async () => {
    await using engine = await testEngine({ nodes, now: start, mocks: busyThrice })
    const tenant = engine.account((await engine.accounts.create({ name: "Tenant" })).id)
    const { id: workflowId } = await tenant.workflows.create(
      engine.workflow("Charge").node("charge", "pay.charge", { cents: 500 }),
    )
    const run = await tenant.runs.start({ workflowId })
    await engine.clock.runToEnd()
    expect((await run.wait()).status).toBe("COMPLETED")
  })

  it("goes through retries and long delays, each at its own time", async () => {
    await using engine = await testEngine({ nodes, now: start, mocks: busyThrice })
    const run = await month(engine)
    await engine.clock.runToEnd()
    expect((await run.wait()).status).toBe("COMPLETED")
    expect(engine.calls("pay.charge").map(({ at }) => at.toISOString())).toEqual([
      "2026-01-01T00:00:00.000Z",
      "2026-01-01T00:00:05.000Z",
      "2026-01-01T00:05:05.000Z",
      "2026-01-01T02:05:05.000Z",
    ])
    expect(engine.calls("receive").map(({ at }) => at.toISOString())).toEqual([
      "2026-01-31T02:05:05.000Z",
    ])
    expect(engine.clock.now().toISOString()).toBe("2026-01-31T02:05:05.000Z")
  })

  it("waits for handlers that do something for real", async () => {
    const slow = defineNode({
      type: "slow",
      inputs: {},
      outputs: { done: z.boolean() },
      timeout: "1 second",
      run: async () => {
        const { opened, open } = gate()
        const worker = new MessageChannel()
        worker.port1.addEventListener("message", open)
        worker.port1.start()
        worker.port2.postMessage("late")
        await opened
        worker.port1.close()
        return { done: true }
      },
    })
    await using engine = await testEngine({ nodes: [slow] })
    const workflow = engine.workflow("Slow").node("slow", "slow")
    const { id: workflowId } = await engine.workflows.create(workflow)
    const run = await engine.runs.start({ workflowId })
    await engine.clock.runToEnd()
    expect((await run.wait()).status).toBe("COMPLETED")
  })

  it("waits for expressions, which threads compute", async () => {
    await using engine = await testEngine({ nodes })
    const workflow = engine
      .workflow("Expression")
      .node("charge", "pay.charge", { cents: "{{ 2 * 250 }}" } as never)
    const { id: workflowId } = await engine.workflows.create(workflow)
    const run = await engine.runs.start({ workflowId })
    await engine.clock.runToEnd()
    expect((await run.wait()).status).toBe("FAILED")
    expect(engine.calls("pay.charge").map(({ inputs }) => inputs)).toEqual(
      Array.from({ length: 4 }, () => ({ cents: 500 })),
    )
  })

  it("ends with a timeout a handler that never ends", async () => {
    await using engine = await testEngine({ nodes, now: start, mocks: { receive: hangs() } })
    const run = await one(engine)
    await engine.clock.runToEnd()
    expect((await run.wait()).nodes.receive?.error).toBe("timed out after 10m")
    expect(engine.clock.now().toISOString()).toBe("2026-01-01T00:10:00.000Z")
  })

  it("is refused with the node whose handler never ends and has no timeout", async () => {
    await using engine = await testEngine({
      nodes,
      mocks: { "pay.charge": () => new Promise<never>(() => undefined) },
      patience: 20,
    })
    const run = await month(engine)
    expect((await refusal(engine.clock.runToEnd())).message).toBe(
      `runToEnd: run ${run.id} of "Subscription": node "charge" (pay.charge) has not ended, and ` +
        "nothing ends it: give it a timeout, or a mock",
    )
  })

  it("resolves at once where nothing is to be done", async () => {
    await using engine = await testEngine({ now: start })
    await engine.clock.runToEnd()
    expect(engine.clock.now().toISOString()).toBe(start)
  })
})

describe("TestClock.advance", () => {
  it("does what is due until then, and nothing else", async () => {
    await using engine = await testEngine({ nodes, mocks: busyThrice })
    const run = await month(engine)
    await engine.clock.advance("5 seconds")
    expect(engine.calls("pay.charge")).toHaveLength(2)
    await engine.clock.advance(299_999)
    expect(engine.calls("pay.charge")).toHaveLength(2)
    await engine.clock.advance(1)
    expect(engine.calls("pay.charge")).toHaveLength(3)
    await engine.clock.advance("30 days")
    expect((await engine.runs.get(run.id)).status).toBe("RUNNING")
    await engine.clock.advance("2 hours")
    expect((await engine.runs.get(run.id)).status).toBe("COMPLETED")
  })

  it("tells whoever has set the time of the test framework", async () => {
    const heard: Array<string> = []
    await using engine = await testEngine({
      now: start,
      onMove: (now) => heard.push(now.toISOString()),
    })
    await engine.clock.advance("3 days")
    expect(heard.at(-1)).toBe("2026-01-04T00:00:00.000Z")
  })

  it("refuses what is no length of time", async () => {
    await using engine = await testEngine()
    expect((await refusal(engine.clock.advance("soon" as never))).message).toBe(
      'advance: expected milliseconds, or words such as "10 seconds"',
    )
  })
})

describe("testEngine", () => {
  it("is as many engines as a process needs, each with a time of its own", async () => {
    await using first = await testEngine({ nodes, now: start, mocks: busyThrice })
    await using second = await testEngine({ nodes, now: start, mocks: busyThrice })
    const runs = await Promise.all([month(first), month(second)])
    await Promise.all([first.clock.advance("1 minute"), second.clock.runToEnd()])
    expect(first.clock.now().toISOString()).toBe("2026-01-01T00:01:00.000Z")
    expect((await first.runs.get(runs[0].id)).status).toBe("RUNNING")
    expect((await second.runs.get(runs[1].id)).status).toBe("COMPLETED")
  })

  it("closes at once, whatever a handler does", async () => {
    const engine = await testEngine({ nodes, mocks: { receive: hangs() } })
    const run = await one(engine)
    const wait = refusal(run.wait())
    await engine.close()
    expect((await wait).code).toBe("ENGINE_CLOSED")
    expect((await refusal(engine.runs.get(run.id))).code).toBe("ENGINE_CLOSED")
  })

  it("refuses options that it does not know, and a store", async () => {
    const store = { store: {} } as object
    expect((await refusal(testEngine(store))).message).toBe(
      "testEngine: store: a test engine has a store of its own, in memory",
    )
    const telemetry = { telemetry: { url: "http://localhost:4318" } } as object
    expect((await refusal(testEngine(telemetry))).message).toBe(
      "testEngine: telemetry: a test engine sends no spans; leave it out",
    )
    const wrong = { mock: {} } as object
    expect((await refusal(testEngine(wrong))).message).toBe(
      'testEngine: unknown field "mock"; did you mean "mocks"?',
    )
    expect((await refusal(testEngine({ now: "noon" }))).message).toBe(
      "testEngine: now: expected a Date, or text such as 2026-01-31T09:30:00Z",
    )
  })
})

describe("Mock", () => {
  it("is recorded with what it was given, and what it gave", async () => {
    await using engine = await testEngine({
      nodes,
      now: start,
      mocks: { "pay.charge": ({ inputs }) => ({ receipt: `${inputs.cents}` }) },
    })
    const run = await month(engine)
    await engine.clock.runToEnd()
    expect(engine.calls("pay.charge")).toEqual([
      {
        runId: run.id,
        nodeId: "charge",
        attempt: 1,
        mode: "",
        inputs: { cents: 500 },
        idempotencyKey: `${run.id}:charge`,
        at: new Date(start),
        outputs: { receipt: "500" },
      },
    ])
  })

  it("gives nothing that the ports of its type refuse", async () => {
    await using engine = await testEngine({
      nodes,
      mocks: { "pay.charge": gives({ receipt: 7 } as never) },
    })
    const run = await month(engine)
    await engine.clock.runToEnd()
    expect((await run.wait()).error).toContain('output "receipt": Invalid input: expected string')
  })

  it("takes as long as it says, by the virtual clock", async () => {
    await using engine = await testEngine({
      nodes,
      mocks: { receive: gives({ done: true }).after("9 minutes") },
    })
    const run = await one(engine)
    await engine.clock.advance("8 minutes")
    expect((await engine.runs.get(run.id)).nodes.receive?.status).toBe("RUNNING")
    await engine.clock.advance("1 minute")
    expect((await engine.runs.get(run.id)).status).toBe("COMPLETED")
  })

  it("stands in for a built-in type", async () => {
    await using engine = await testEngine({
      mocks: { http_request: gives({ body: { name: "Ada" } }) },
    })
    const workflow = engine
      .workflow("Fetch")
      .node("fetch", "http_request", { url: "https://example.com/users/7" })
    const { id: workflowId } = await engine.workflows.create(workflow)
    const run = await engine.runs.start({ workflowId })
    await engine.clock.runToEnd()
    expect((await run.wait()).nodes.fetch?.output).toEqual({ body: { name: "Ada" } })
    const [call] = engine.calls("http_request")
    expect(call?.inputs).toMatchObject({ url: "https://example.com/users/7" })
  })

  it("is refused for a type that the engine does not have", async () => {
    const mocks = { "pay.charg": gives({}) } as object
    expect((await refusal(testEngine({ nodes, mocks }))).message).toBe(
      'testEngine: mocks: unknown field "pay.charg"; did you mean "pay.charge"?',
    )
  })
})
