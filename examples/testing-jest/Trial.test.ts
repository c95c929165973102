/**
 * A trial of 14 days: a mail at its end, unless the customer has paid.
 */
import { expect, test } from "@jest/globals"
import { defineNode } from "millrace"
import { fails, gives, testEngine, whatIf } from "millrace/testing"
import type { TestEngine } from "millrace/testing"
import { z } from "zod"

const isPaid = defineNode({
  type: "billing.paid",
  inputs: { customer: z.string() },
  outputs: { yes: z.string().optional(), no: z.string().optional() },
  run: () => {
    throw new Error("no test asks the bank")
  },
})

const mail = defineNode({
  type: "mail.send",
  inputs: { to: z.string() },
  outputs: { id: z.string() },
  retry: { attempts: 3, initial: "5 minutes", factor: 12 },
  run: () => {
    throw new Error("no test sends mail")
  },
})

const nodes = [isPaid, mail] as const

const begin = async (engine: TestEngine<typeof nodes>) => {
  const { id: workflowId } = await engine.workflows.create(
    engine
      .workflow("Trial")
      .node("trial", "delay", { for: "14 days", input: "ada@example.com" })
      .node("paid", "billing.paid")
      .node("mail", "mail.send")
      .edge("trial.output", "paid.customer")
      .edge("paid.no", "mail.to"),
  )
  return engine.runs.start({ workflowId })
}

const unpaid = { "billing.paid": gives({ no: "ada@example.com" }) }

test("who has not paid after 14 days gets a mail, also if the mail server is down", async () => {
  const mocks = { ...unpaid, "mail.send": fails(2, "the server is down").gives({ id: "m1" }) }
  await using engine = await testEngine({ nodes, mocks })
  const run = await begin(engine)
  await engine.clock.advance("14 days")
  expect(engine.calls("mail.send")).toHaveLength(1)
  await engine.clock.advance("65 minutes")
  expect((await run.wait()).nodes["mail"]?.output).toEqual({ id: "m1" })
})

test("who has paid gets none", async () => {
  const mocks = { "billing.paid": gives({ yes: "thanks" }), "mail.send": gives({ id: "m1" }) }
  await using engine = await testEngine({ nodes, mocks })
  await begin(engine)
  await engine.clock.runToEnd()
  expect(engine.calls("mail.send")).toEqual([])
})

test("a crash anywhere changes nothing", async () => {
  const mocks = { ...unpaid, "mail.send": gives({ id: "m1" }) }
  const { problems } = await whatIf(() => ({ nodes, mocks }), begin)
  expect(problems).toEqual([])
})
