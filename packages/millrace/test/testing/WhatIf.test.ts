/**
 * Crashes at every commit of a scenario, and the text of a run.
 */
import { defineNode } from "millrace"
import type { TestEngine } from "millrace/testing"
import { fails, picture, testEngine, whatIf } from "millrace/testing"
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { refusal } from "../Sample.ts"

/** A payment, with a bank that knows it by a key. */
const payment = (pay: (cents: number, key: string) => void) =>
  defineNode({
    type: "pay",
    inputs: { cents: z.number() },
    outputs: { paid: z.number() },
    run: ({ idempotencyKey, inputs }) => {
      pay(inputs.cents, idempotencyKey)
      return { paid: inputs.cents }
    },
  })

type Nodes = readonly [ReturnType<typeof payment>]

/** Two payments with a day in between. */
const twoPayments = async (engine: TestEngine<Nodes>) => {
  const workflow = engine
    .workflow("Two payments")
    .node("first", "pay", { cents: 100 })
    .node("day", "delay", { for: "1 day" })
    .node("second", "pay")
    .edge("first.paid", "day.input")
    .edge("day.output", "second.cents")
  const { id: workflowId } = await engine.workflows.create(workflow)
  await engine.runs.start({ workflowId })
  await engine.clock.runToEnd()
}

describe("whatIf", () => {
  it("finds nothing where handlers hand on their key", async () => {
    const { commits, crashes, problems } = await whatIf(
      (effect) => ({ nodes: [payment((cents, key) => effect({ cents, key }))] }),
      twoPayments,
    )
    expect(problems).toEqual([])
    expect(commits).toBeGreaterThan(2)
    expect(crashes).toBe(2 * commits - 1)
  })

  it("finds a handler that does something else when it is called again", async () => {
    let count = 0
    const { problems } = await whatIf((effect) => {
      count = 0
      return { nodes: [payment((cents) => effect({ cents, payment: (count += 1) }))] }
    }, twoPayments)
    expect(problems).toContain(
      'a crash before commit 2: node "first" (pay) was called twice, and its effects differ: ' +
        'first [{"cents":100,"payment":1}], then [{"cents":100,"payment":2}]',
    )
  })

  it("finds a handler that leaves another world behind when it is called again", async () => {
    let balance = 0
    const { problems } = await whatIf(
      () => {
        balance = 0
        return { nodes: [payment((cents) => (balance += cents))] }
      },
      async (engine) => {
        await twoPayments(engine)
        return { balance }
      },
    )
    expect(problems).not.toEqual([])
    expect(problems.join()).toContain('the scenario returns {"balance":300}')
  })

  it("refuses a scenario that is never twice the same", async () => {
    let play = 0
    const call = whatIf(
      () => ({ nodes: [payment(() => undefined)] }),
      async () => (play += 1),
    )
    expect((await refusal(call)).message).toContain(
      "whatIf: the scenario ends differently without any crash",
    )
  })
})

describe("picture", () => {
  it("shows states, outputs and errors, and times if they are asked for", async () => {
    await using engine = await testEngine({
      nodes: [payment(() => undefined)],
      mocks: { pay: fails(1, "no cover") },
    })
    const workflow = engine
      .workflow("Late")
      .node("day", "delay", { for: "1 day", input: 7 })
      .node("pay", "pay")
      .edge("day.output", "pay.cents")
    const { id: workflowId } = await engine.workflows.create(workflow)
    const run = await engine.runs.start({ workflowId })
    await engine.clock.runToEnd()
    const ended = await run.wait()
    expect(picture(ended)).toBe(
      `Late: FAILED: ${ended.error ?? ""}\n` +
        '  day  COMPLETED  {"output":7}\n' +
        "  pay  FAILED     no cover",
    )
    expect(picture(ended, { times: true })).toContain("day  COMPLETED  +0 s to +1 d  ")
  })
})
