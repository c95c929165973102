import { defineNode } from "millrace"
import { fails, picture, testEngine } from "millrace/testing"
import { z } from "zod"

const charge = defineNode({
  type: "pay.charge",
  inputs: { cents: z.number() },
  outputs: { receipt: z.string() },
  retry: { attempts: 4, initial: "5 seconds", factor: 60, max: "2 hours" },
  run: () => ({ receipt: "from the bank" }),
})
const mocks = { "pay.charge": fails(1, "busy").gives({ receipt: "r1" }) }
await using engine = await testEngine({ nodes: [charge], mocks })
const workflow = engine
  .workflow("Order")
  .node("charge", "pay.charge", { cents: 500 })
  .node("month", "delay", { for: "30 days" })
  .edge("charge.receipt", "month.input")
const { id: workflowId } = await engine.workflows.create(workflow)
const run = await engine.runs.start({ workflowId })
await engine.clock.advance("5 seconds") // the second attempt
await engine.clock.runToEnd() // a month later
console.log(picture(await run.wait(), { times: true }).split("\n")[2]?.trim())
// month   COMPLETED  +5 s to +30 d 5 s  {"output":"r1"}
