/**
 * Two loops: one over the orders of a list, and one that repeats until a job is done. Everything is
 * kept in memory and is gone when the script ends.
 */
import { createEngine, defineNode, NodeError } from "millrace"
import { z } from "zod"

const charge = defineNode({
  type: "order.charge",
  inputs: { id: z.string(), total: z.number() },
  outputs: { receipt: z.string() },
  run: ({ inputs: { id, total } }) => {
    if (total <= 0) throw new NodeError(`Order ${id} has nothing to charge`)
    return { receipt: `${id}: ${total.toFixed(2)}` }
  },
})

let asked = 0
const ask = defineNode({
  type: "job.ask",
  inputs: {},
  outputs: { status: z.string() },
  run: () => ({ status: ++asked < 3 ? "running" : "done" }),
})

await using engine = await createEngine({ nodes: [charge, ask] })

// The nodes with a `parentId` are the body of the loop: they are executed once for every item.
const charges = engine
  .workflow("Charge orders")
  .node("in", "request", { fields: [{ name: "orders", type: "array", required: true }] })
  .node("each", "for_each", { concurrency: 3, onError: "drop" })
  .node(
    "charge",
    "order.charge",
    { id: "{{ each.item.id }}", total: "{{ each.item.total }}" },
    { parentId: "each" },
  )
  .node("out", "response")
  .edge("in.orders", "each.items")
  .edge("each.results", "out.input")

const { id: workflowId } = await engine.workflows.create(charges)
const orders = [
  { id: "A-1", total: 12.5 },
  { id: "A-2", total: 0 },
  { id: "A-3", total: 30 },
]
const run = await engine.runs.start({ workflowId, values: { orders } })
console.log((await run.wait({ timeout: "10 seconds" })).output)

// What became of each item is read by pages, however many there are.
for await (const { index, status, error } of engine.runs.items(run.id, "each")) {
  console.log(`  ${index}: ${status}${error === null ? "" : `, ${error}`}`)
}

const polls = engine
  .workflow("Wait for a job")
  .node("poll", "while", {
    until: { path: "status", op: "equals", value: "done" },
    maxIterations: 10,
  })
  .node("ask", "job.ask", {}, { parentId: "poll" })
  .node("says", "constant", { value: "{{ poll.output.status }} after {{ input }} requests" })
  .node("out", "response")
  .edge("poll.iterations", "says.input")
  .edge("says.output", "out.input")

const { id: pollId } = await engine.workflows.create(polls)
const polled = await engine.runs.start({ workflowId: pollId })
console.log((await polled.wait({ timeout: "10 seconds" })).output)
