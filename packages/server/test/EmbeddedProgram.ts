/**
 * An application that embeds an engine on a Postgres and that a test kills: begins a run whose node
 * never ends, and says which one as soon as the node is at work.
 */
import { createEngine, defineNode, postgres } from "millrace"

const [url = ""] = process.argv.slice(2)
const begun = Promise.withResolvers<void>()
const patient = defineNode({
  type: "patient",
  inputs: {},
  outputs: {},
  run: () => {
    begun.resolve()
    return new Promise(() => {})
  },
})
const engine = await createEngine({ store: postgres(url), nodes: [patient], lease: "2 seconds" })
const { id } = await engine.workflows.create(engine.workflow("Patient").node("wait", "patient"))
const run = await engine.runs.start({ workflowId: id })
await begun.promise
console.log(run.id)
