/**
 * A reminder after three days, and a process that is lost meanwhile.
 */
import { defineNode } from "millrace"
import { gives, testEngine } from "millrace/testing"
import assert from "node:assert/strict"
import { test } from "node:test"
import { z } from "zod"

const remind = defineNode({
  type: "mail.remind",
  inputs: { to: z.string() },
  outputs: { id: z.string() },
  run: () => {
    throw new Error("no test sends mail")
  },
})

void test("a reminder survives the process that began to wait", async () => {
  await using engine = await testEngine({
    nodes: [remind],
    mocks: { "mail.remind": gives({ id: "m1" }) },
  })
  const { id: workflowId } = await engine.workflows.create(
    engine
      .workflow("Reminder")
      .node("wait", "delay", { for: "3 days", input: "ada@example.com" })
      .node("mail", "mail.remind")
      .edge("wait.output", "mail.to"),
  )
  await engine.runs.start({ workflowId })
  await engine.clock.advance("2 days")
  await engine.crash()
  await engine.restart()
  assert.equal(engine.calls("mail.remind").length, 0)
  await engine.clock.advance("1 day")
  assert.deepEqual(
    engine.calls("mail.remind").map(({ inputs }) => inputs),
    [{ to: "ada@example.com" }],
  )
})
