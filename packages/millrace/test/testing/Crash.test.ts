/**
 * Crashes of a test engine: as by `kill -9`, with a store that stays.
 */
import { defineNode } from "millrace"
import { gives, hangs, testEngine } from "millrace/testing"
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { refusal } from "../Sample.ts"

const send = defineNode({
  type: "send",
  inputs: { text: z.string().optional() },
  outputs: { id: z.string() },
  run: () => ({ id: "m1" }),
})

const nodes = [send] as const

const start = "2026-01-01T00:00:00.000Z"

/** Two nodes, one after the other. */
const started = async (engine: Awaited<ReturnType<typeof testEngine<typeof nodes>>>) => {
  const workflow = engine
    .workflow("Two")
    .node("first", "send")
    .node("second", "send")
    .edge("first.id", "second.text")
  const { id: workflowId } = await engine.workflows.create(workflow)
  return engine.runs.start({ workflowId })
}

describe("TestEngine.crash", () => {
  it("leaves a run to the next process, when the lease has run out", async () => {
    await using engine = await testEngine({
      nodes,
      now: start,
      mocks: { send: hangs().gives({ id: "m2" }) },
    })
    const workflow = engine.workflow("One").node("first", "send")
    const { id: workflowId } = await engine.workflows.create(workflow)
    const run = await engine.runs.start({ workflowId })
    const waited = run.wait()
    await engine.crash()
    await engine.restart()
    await engine.clock.advance("29 seconds")
    expect(engine.calls("send")).toHaveLength(1)
    await engine.clock.runToEnd()
    expect((await waited).status).toBe("COMPLETED")
    expect(engine.calls("send").map(({ at, attempt }) => [attempt, at.toISOString()])).toEqual([
      [1, start],
      [2, "2026-01-01T00:00:30.000Z"],
    ])
  })

  it("loses whatever a handler in progress comes to", async () => {
    let answer: (outputs: { readonly id: string }) => void = () => undefined
    await using engine = await testEngine({
      nodes,
      patience: 1,
      mocks: { send: () => new Promise<{ readonly id: string }>((resolve) => (answer = resolve)) },
    })
    const run = await started(engine)
    await engine.crash()
    answer({ id: "late" })
    await engine.restart()
    await engine.clock.advance("1 hour")
    const { first } = (await engine.runs.get(run.id)).nodes
    expect(first?.status).toBe("RUNNING")
    expect(first?.output).toBeNull()
  })

  it("refuses calls until it is restarted", async () => {
    await using engine = await testEngine({ nodes })
    await engine.crash()
    expect((await refusal(engine.workflows.list().then())).message).toBe(
      "The engine has crashed: call restart()",
    )
    await engine.restart()
    expect((await engine.workflows.list()).items).toEqual([])
  })

  it("finds what was waiting: a delay goes on at its time", async () => {
    await using engine = await testEngine({
      nodes,
      now: start,
      mocks: { send: gives({ id: "m" }) },
    })
    const workflow = engine.workflow("Later").node("later", "delay", { for: "3 days" })
    const { id: workflowId } = await engine.workflows.create(workflow)
    const run = await engine.runs.start({ workflowId })
    await engine.crash()
    await engine.restart()
    await engine.clock.runToEnd()
    expect((await run.wait()).finishedAt).toBe("2026-01-04T00:00:00.000Z")
  })
})

describe("TestEngine.restart", () => {
  it("closes a living process first, whose runs go on at once", async () => {
    await using engine = await testEngine({ nodes, mocks: { send: gives({ id: "m" }) } })
    const run = await started(engine)
    await engine.restart()
    await engine.clock.advance("1 second")
    expect((await run.wait()).status).toBe("COMPLETED")
  })
})
