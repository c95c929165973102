/**
 * Values that flow between nodes: an expression, steps of a list, and code, over the same orders.
 * Nothing but built-in node types, and everything in memory.
 */
import { createEngine } from "millrace"

await using engine = await createEngine()

const orders = [
  { id: 1, city: "Bern", lines: [{ quantity: 2, price: 4.5 }] },
  {
    id: 2,
    city: "Basel",
    lines: [
      { quantity: 1, price: 100 },
      { quantity: 3, price: 7 },
    ],
  },
  { id: 3, city: "Bern", lines: [{ quantity: 10, price: 12 }] },
  { id: 4, city: "Bern", lines: [{ quantity: 1, price: 30 }] },
]

const drawn = engine
  .workflow("Totals")
  .node("start", "request", {
    fields: [
      { name: "orders", type: "array", required: true },
      { name: "least", type: "number", default: 10 },
    ],
  })
  // Quantity times price, by an expression.
  .node("priced", "constant", {
    value:
      "{{ values.orders.map(({ id, city, lines }) => ({ id, city, " +
      "total: lines.reduce((sum, line) => sum + line.quantity * line.price, 0) })) }}",
  })
  // Filter, group and totals, by steps. A rule compares with an expression.
  .node("cities", "list", {
    steps: [
      { op: "filter", rule: { path: "total", op: "greaterOrEqual", value: "{{ values.least }}" } },
      { op: "group", by: "city", sum: ["total"] },
      { op: "sort", by: "key" },
    ],
  })
  // What takes more than an expression, by code.
  .node("report", "code", {
    inputs: { cities: "{{ cities.output }}", all: "{{ priced.output.length }}" },
    code: `
      let sum = 0
      const lines = []
      for (const { key, count, sums } of inputs.cities) {
        sum += sums.total
        lines.push(key + ": " + count + " orders, " + sums.total.toFixed(2))
      }
      console.log("added up", sum)
      return { sum, text: lines.join("; ") + " (of " + inputs.all + ")" }
    `,
  })
  .node("answer", "response")
  .edge("start.values", "priced.input")
  .edge("priced.output", "cities.items")
  .edge("cities.output", "report.input")
  .edge("report.output", "answer.input")

const { id: workflowId } = await engine.workflows.create(drawn)
const run = await engine.runs.start({ workflowId, values: { orders } })
const { nodes, output, status } = await run.wait({ timeout: "10 seconds" })

console.log(status)
console.log(JSON.stringify(nodes["cities"]?.output))
console.log(nodes["report"]?.logs?.map(({ message }) => message))
console.log(output)
