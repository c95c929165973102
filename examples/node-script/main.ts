/**
 * The smallest whole use of Millrace: two node types of one's own, one workflow, one run, in a
 * plain script. Everything is kept in memory and is gone when the script ends.
 */
import { createEngine, defineNode } from "millrace"
import { z } from "zod"

const split = defineNode({
  type: "text.split",
  inputs: { text: z.string() },
  outputs: { words: z.array(z.string()) },
  run: ({ inputs, log }) => {
    const words = inputs.text.toLowerCase().match(/[a-z']+/g) ?? []
    log.info("split", { words: words.length })
    return { words }
  },
})

const count = defineNode({
  type: "words.count",
  inputs: { words: z.array(z.string()), atLeast: z.number().int().default(1) },
  outputs: { counts: z.record(z.string(), z.number()) },
  run: ({ inputs }) => {
    const counts = new Map<string, number>()
    for (const word of inputs.words) counts.set(word, (counts.get(word) ?? 0) + 1)
    const often = [...counts].filter(([, times]) => times >= inputs.atLeast)
    return { counts: Object.fromEntries(often) }
  },
})

await using engine = await createEngine({ nodes: [split, count] })

const drawn = engine
  .workflow("Word count")
  .node("start", "request", { fields: [{ name: "text", type: "string", required: true }] })
  .node("split", "text.split")
  .node("count", "words.count", { atLeast: 2 })
  .node("answer", "response")
  .edge("start.text", "split.text")
  .edge("split.words", "count.words")
  .edge("count.counts", "answer.input")

const { id: workflowId } = await engine.workflows.create(drawn)
const run = await engine.runs.start({
  workflowId,
  values: { text: "The mill turns while the water runs, and the water runs all day." },
})
const { nodes, output, status } = await run.wait({ timeout: "10 seconds" })

console.log(status)
for (const { nodeId, status: state } of Object.values(nodes)) console.log(`  ${nodeId}: ${state}`)
console.log(output)
