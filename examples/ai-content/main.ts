/**
 * A pipeline for texts: a language model writes a line, a second question judges it, and only what
 * is good enough is published. What the model may cost is known before the run starts. The model is
 * a stand-in on this machine; its key is a secret that no workflow and no run shows.
 */
import { createEngine } from "millrace"
import { startModel } from "./model.ts"

const { port, server } = await startModel()

await using engine = await createEngine({
  // A call to this machine has to be allowed. A model with a public address needs nothing here.
  egress: { allow: [{ cidr: "127.0.0.1/32", port }] },
  prices: { llm: "(inputs.maxTokens ?? 1024) / 1000 * 2" },
})
await engine.secrets.set({
  name: "model_key",
  value: "sk-example-0f1e2d3c4b5a69788796",
  hosts: ["127.0.0.1"],
})

const model = {
  endpoint: `http://127.0.0.1:${port}/v1`,
  apiKey: "{{ secrets.model_key }}",
  model: "small",
}
const verdict = {
  type: "object",
  properties: { score: { type: "integer" }, reason: { type: "string" } },
  required: ["score", "reason"],
  additionalProperties: false,
}

const drawn = engine
  .workflow("Advertisement")
  .node("write", "llm", {
    ...model,
    prompt: "Write one line to advertise: {{ values.product }}",
    maxTokens: 100,
  })
  // With a schema, an answer that does not fit it fails the attempt.
  .node("judge", "llm", {
    ...model,
    prompt: "Judge this line from 1 to 10:\n{{ write.text }}",
    schema: verdict,
    maxTokens: 50,
  })
  .node("good", "condition", {
    input: "{{ { line: write.text, ...judge.value } }}",
    rule: { path: "score", op: "greaterOrEqual", value: 7 },
  })
  .node("publish", "response", { name: "published" })
  .node("reject", "response", { name: "rejected" })
  .edge("good.true", "publish.input")
  .edge("good.false", "reject.input")

const { id: workflowId } = await engine.workflows.create(drawn)
const { estimatedCredits } = await engine.runs.estimate({ workflowId })
console.log("costs at most", estimatedCredits, "credits")
const run = await engine.runs.start({ workflowId, values: { product: "a mill for coffee" } })
const { nodes, output, status } = await run.wait()
console.log(status, output)
for (const { nodeId, status: state } of Object.values(nodes)) console.log(`  ${nodeId}: ${state}`)

server.close()
server.closeAllConnections()
