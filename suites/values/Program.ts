/**
 * An application that embeds an engine on Postgres and that the suite kills. It runs a workflow of
 * fifty lanes, in each of which a value of 1 MiB passes ten nodes.
 */
import { createHash } from "node:crypto"
import { Json } from "@millrace/core/domain/Json"
import { Schema } from "effect"
import { createEngine, defineNode, postgres } from "millrace"

export const lanes = 50
export const steps = 10

/** The value of a lane, of 1 MiB as JSON: it compresses badly, and not all of it is ASCII. */
export const valueOf = (lane: number): string => {
  const hash = createHash("shake256", { outputLength: 786_000 }).update(String(lane))
  return `${hash.digest("base64")}é\u2028${"x".repeat(569)}`
}

const origin = defineNode({
  type: "origin",
  inputs: { lane: Schema.Finite },
  outputs: { output: Json },
  run: ({ inputs: { lane } }) => ({ output: valueOf(lane) }),
})

const pause = () => new Promise((resolve) => setTimeout(resolve, 25))

/** Passes on what it gets. */
const pass = defineNode({
  type: "pass",
  inputs: { input: Json },
  outputs: { output: Json },
  run: async ({ inputs: { input } }) => {
    await pause()
    return { output: input }
  },
})

const drawing = () => {
  const nodes: Array<object> = []
  const edges: Array<object> = []
  for (let lane = 0; lane < lanes; lane++) {
    for (let step = 0; step < steps; step++) {
      const id = `n${lane}_${step}`
      const [type, inputs] = step === 0 ? ["origin", { lane }] : ["pass", {}]
      nodes.push({ id, type, position: { x: step, y: lane }, data: { inputs } })
      if (step > 0) edges.push({ id: `e${id}`, source: `n${lane}_${step - 1}`, target: id })
    }
  }
  return { name: "Fifty lanes", nodes, edges }
}

/** An engine on the database. */
export const open = (url: string) =>
  createEngine({
    store: postgres({ url }),
    nodes: [origin, pass],
    webhooks: false,
    lease: "5 seconds",
  })

if (process.argv[2] !== undefined) {
  const [, , url = "", command] = process.argv
  const engine = await open(url)
  if (command === "start") {
    const { id } = await engine.workflows.create(drawing() as never)
    const run = await engine.runs.start({ workflowId: id })
    console.log(run.id)
  } else console.log("up")
}
