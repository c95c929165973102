/**
 * What a caller can rely on about signals: each is taken once, also one that comes early.
 */
import { isDeepStrictEqual } from "node:util"
import type { Json } from "@millrace/core/domain/Json"
import type { TestEngine } from "millrace/testing"
import { testEngine } from "millrace/testing"
import { describe, expect, it } from "vitest"
import { refusal } from "../Sample.ts"

/** A run that waits for approval, for three days at most. */
const approval = async (engine: TestEngine<readonly []>) => {
  const { id: workflowId } = await engine.workflows.create(
    engine
      .workflow("Order")
      .node("in", "request", { fields: [{ name: "order", type: "number" }] })
      .node("approve", "wait_signal", { name: "approved", timeout: "3 days" })
      .node("paid", "response", { name: "paid" })
      .node("late", "response", { name: "late" })
      .edge("in.order", "approve.input")
      .edge("approve.payload", "paid.input")
      .edge("approve.timeout", "late.input"),
  )
  return engine.runs.start({ workflowId, values: { order: 7 } })
}

describe("runs.signal", () => {
  it("lets a run that waits go on with what it brings", async () => {
    await using engine = await testEngine({})
    const run = await approval(engine)
    await engine.clock.advance("2 days")
    expect((await run.nodes())["approve"]!.status).toBe("WAITING")
    expect(await run.signal("approved", { by: "ada" })).toEqual({ runId: run.id, number: 1 })
    await engine.clock.runToEnd()
    expect((await run.wait()).output).toEqual({ paid: { by: "ada" } })
  })

  it("lets the input out on timeout where no signal came in time", async () => {
    await using engine = await testEngine({})
    const run = await approval(engine)
    await engine.clock.runToEnd()
    expect((await run.wait()).output).toEqual({ late: 7 })
  })

  it("keeps a signal that came before anybody waited", async () => {
    await using engine = await testEngine({})
    const { id: workflowId } = await engine.workflows.create(
      engine
        .workflow("Early")
        .node("pause", "delay", { for: "1 day" })
        .node("wait", "wait_signal", { name: "go" })
        .node("out", "response")
        .edge("pause.output", "wait.input")
        .edge("wait.payload", "out.input"),
    )
    const run = await engine.runs.start({ workflowId })
    await engine.runs.signal(run.id, "go", 1)
    await engine.clock.runToEnd()
    expect((await run.wait()).output).toBe(1)
  })

  it("gives each signal to one node, in the order in which they came", async () => {
    await using engine = await testEngine({})
    const { id: workflowId } = await engine.workflows.create(
      engine
        .workflow("Two")
        .node("first", "wait_signal", { name: "go" })
        .node("second", "wait_signal", { name: "go" })
        .node("out", "response")
        .edge("first.payload", "second.input")
        .edge("second.payload", "out.input"),
    )
    const run = await engine.runs.start({ workflowId })
    await run.signal("go", "a")
    await run.signal("go", "b")
    const { nodes, output } = await run.wait()
    expect([nodes["first"]!.output, output]).toEqual([{ payload: "a" }, "b"])
  })

  it("refuses its sender what does not fit the schema of a node of its name", async () => {
    await using engine = await testEngine({})
    const schema = { properties: { by: { type: "string" } }, required: ["by"] }
    const { id: workflowId } = await engine.workflows.create(
      engine
        .workflow("Approval")
        .node("pause", "delay", { for: "1 day" })
        .node("approve", "wait_signal", { name: "approved", schema })
        .node("out", "response")
        .edge("pause.output", "approve.input")
        .edge("approve.payload", "out.input"),
    )
    const run = await engine.runs.start({ workflowId })
    const said = async (payload: Json) => {
      const { code, message } = await refusal(run.signal("approved", payload))
      return `${code} ${message}`
    }
    const before = 'INVALID_REQUEST The message was not sent: it does not fit node "approve": '
    expect(await said({})).toBe(`${before}payload.by is missing`)
    await engine.clock.advance("2 days")
    expect((await run.nodes())["approve"]!.status).toBe("WAITING")
    expect(await said({ by: 7 })).toBe(`${before}payload.by is not of type string`)
    expect(await run.signal("cancelled", {})).toEqual({ runId: run.id, number: 1 })
    await run.signal("approved", { by: "ada" })
    await engine.clock.runToEnd()
    expect((await run.wait()).output).toEqual({ by: "ada" })
  })

  it("fails a node that it does not fit, and whose schema was not known before", async () => {
    await using engine = await testEngine({})
    const { id: workflowId } = await engine.workflows.create(
      engine
        .workflow("Later")
        .node("in", "request", { fields: [{ name: "type", type: "string" }] })
        .node("wait", "wait_signal", { name: "go", schema: { type: "{{ input }}" } })
        .node("out", "response")
        .edge("in.type", "wait.input")
        .edge("wait.payload", "out.input"),
    )
    const run = await engine.runs.start({ workflowId, values: { type: "number" } })
    await run.signal("go", "one")
    await engine.clock.runToEnd()
    const { error, status } = await run.wait()
    expect([status, error]).toEqual([
      "FAILED",
      expect.stringContaining('The signal "go" does not fit: payload is not of type number'),
    ])
  })

  it("is sent once, however often it is repeated under its key", async () => {
    await using engine = await testEngine({})
    const run = await approval(engine)
    const once = { idempotencyKey: "decision 1" }
    const sent = await Promise.all([1, 2, 3].map(() => run.signal("paid", null, once)))
    expect(sent.map(({ number }) => number)).toEqual([1, 1, 1])
  })

  it("is refused where the run has ended, and where nobody has taken a hundred", async () => {
    await using engine = await testEngine({})
    const run = await approval(engine)
    for (let i = 0; i < 100; i++) await run.signal("nobody waits for this")
    expect((await refusal(run.signal("one more"))).code).toBe("INBOX_FULL")
    await run.cancel()
    expect((await refusal(run.signal("approved"))).code).toBe("RUN_ENDED")
  })
})

/** A workflow whose runs wait until their order is paid, and say what they were told. */
const orders = async (engine: TestEngine<readonly []>, wait: object = {}) => {
  const { id } = await engine.workflows.create(
    engine
      .workflow("Order")
      .node("in", "request", { fields: [{ name: "order", type: "string" }] })
      .node("pay", "wait_signal", { name: "paid", correlation: "{{ input }}", ...wait })
      .node("paid", "response", { name: "paid" })
      .node("late", "response", { name: "late" })
      .edge("in.order", "pay.input")
      .edge("pay.payload", "paid.input")
      .edge("pay.timeout", "late.input"),
  )
  const start = (order: string) => engine.runs.start({ workflowId: id, values: { order } })
  const pay = (correlation: string, payload: Json, idempotencyKey?: string) => {
    const key = idempotencyKey === undefined ? {} : { idempotencyKey }
    return engine.workflows.signal(id, "paid", { correlation, payload }, key)
  }
  return { id, start, pay }
}

describe("workflows.signal", () => {
  it("finds the run that waits for its correlation, the oldest first", async () => {
    await using engine = await testEngine({})
    const { pay, start } = await orders(engine)
    const [first, second, other] = [await start("17"), await start("17"), await start("18")]
    expect(await pay("17", "a")).toEqual({ runId: first.id })
    expect(await pay("17", "b")).toEqual({ runId: second.id })
    expect(await pay("17", "c")).toEqual({ runId: null })
    expect((await first.wait()).output).toEqual({ paid: "a" })
    expect((await second.wait()).output).toEqual({ paid: "b" })
    expect((await other.nodes())["pay"]!.status).toBe("WAITING")
  })

  it("is kept where it comes early, for seven days, and taken once", async () => {
    await using engine = await testEngine({})
    const { pay, start } = await orders(engine, { timeout: "1 hour" })
    expect(await pay("17", "early", "payment 17")).toEqual({ runId: null })
    const run = await start("17")
    expect((await run.wait()).output).toEqual({ paid: "early" })
    expect(await pay("17", "again", "payment 17")).toEqual({ runId: run.id })
    const late = await start("17")
    await engine.clock.runToEnd()
    expect((await late.wait()).output).toEqual({ late: "17" })
    expect(await pay("17", "too early")).toEqual({ runId: null })
    await engine.clock.advance("7 days")
    const missed = await start("17")
    await engine.clock.runToEnd()
    expect((await missed.wait()).output).toEqual({ late: "17" })
  })

  it("is left to another run or node where the filter does not let it pass", async () => {
    await using engine = await testEngine({})
    const filter = { path: "amount", op: "greaterThan", value: "{{ 5 * 20 }}" }
    const { pay, start } = await orders(engine, { filter })
    const run = await start("17")
    expect(await pay("17", { amount: 100 })).toEqual({ runId: null })
    expect(await run.signal("paid", { amount: 7 })).toEqual({ runId: run.id, number: 1 })
    await engine.clock.advance("1 minute")
    expect((await run.nodes())["pay"]!.status).toBe("WAITING")
    expect(await pay("17", { amount: 101 })).toEqual({ runId: run.id })
    expect((await run.wait()).output).toEqual({ paid: { amount: 101 } })
  })

  it("goes on to the next run where the one that has it ends without taking it", async () => {
    await using engine = await testEngine({})
    const { pay, start } = await orders(engine)
    const [run, next] = [await start("17"), await start("17")]
    const toRun = run.signal("paid", "to the run")
    await pay("17", "by its order")
    await toRun
    await run.wait()
    await engine.clock.runToEnd()
    const ended = [run, next].map(async ({ id }) => (await engine.runs.get(id)).output)
    const expected = { paid: "by its order" }
    const takers = (await Promise.all(ended)).filter((output) =>
      isDeepStrictEqual(output, expected),
    )
    expect(takers).toHaveLength(1)
  })

  it("is refused with a reason, and changes nothing", async () => {
    await using engine = await testEngine({})
    const { id, start } = await orders(engine)
    const run = await start("17")
    const said = async (call: Promise<unknown>) => {
      const { code, message } = await refusal(call)
      return `${code} ${message}`
    }
    const { workflows } = engine
    const long = { correlation: "17", payload: "x".repeat(70_000) }
    expect(await said(workflows.signal(id, "paid", long))).toMatch(/^INVALID_REQUEST .*65536/)
    expect(await said(workflows.signal("wf_none", "paid", { correlation: "17" }))).toMatch(
      /^WORKFLOW_NOT_FOUND /,
    )
    for (let i = 0; i < 1_000; i++) await workflows.signal(id, "paid", { correlation: `${i}!` })
    expect(await said(workflows.signal(id, "paid", { correlation: "no" }))).toMatch(
      /^SIGNALS_FULL Workflow wf_\S+ has 1000 signals that no run waits for/,
    )
    expect((await run.nodes())["pay"]!.status).toBe("WAITING")
  })
})
