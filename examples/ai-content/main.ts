/**
 * A pipeline for texts: a language model writes a line, a second question judges it, and only what
 * is good enough is published. What the model may cost is known before the run starts. The model is
 * a stand-in on this machine; its key is a secret that no workflow and no run shows.
 */
import { createEngine, defineNode } from "millrace"
import { z } from "zod"
import { startModel } from "./model.ts"

/** The application's own step. */
const publish = defineNode({
  type: "cms.publish",
  inputs: { line: z.string(), verdict: z.object({ score: z.number() }) },
  outputs: { page: z.string() },
  run: ({ inputs }) => ({ page: `${inputs.line} (judged ${inputs.verdict.score} of 10)` }),
})

const { port, server } = await startModel()

await using engine = await createEngine({
  nodes: [publish],
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
    messages: [{ role: "system", content: "Judge this line from 1 to 10." }],
    schema: verdict,
    maxTokens: 50,
  })
  .node("good", "condition", { rule: { path: "score", op: "greaterOrEqual", value: 7 } })
  .node("publish", "cms.publish", { line: "{{ write.text }}" })
  .node("reject", "response", { name: "rejected" })
  .edge("write.text", "judge.prompt")
  .edge("judge.value", "good.input")
  .edge("good.true", "publish.verdict")
  .edge("good.false", "reject.input")

const { id: workflowId } = await engine.workflows.create(drawn)
const { estimatedCredits } = await engine.runs.estimate({ workflowId })
console.log("costs at most", estimatedCredits, "credits")
const run = await engine.runs.start({ workflowId, values: { product: "a mill for coffee" } })
const { nodes, status } = await run.wait()
console.log(status, nodes["publish"]?.output)
for (const { nodeId, status: state } of Object.values(nodes)) console.log(`  ${nodeId}: ${state}`)

server.close()
server.closeAllConnections()
