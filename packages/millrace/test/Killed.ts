/**
 * An application that embeds an engine and that a test kills: begins a run whose node never ends,
 * and says which one as soon as the node is at work.
 */
import { createEngine, pglite, postgres, sqlite } from "millrace"
import { patient } from "./Patient.ts"
import { gate } from "./Sample.ts"

const [kind, place = ""] = process.argv.slice(2)
const stores = { pglite, postgres, sqlite }
const store = stores[kind as keyof typeof stores](place)
const begun = gate()
const node = patient(() => {
  begun.open()
  return new Promise(() => {})
})
// Longer than a test waits.
const engine = await createEngine({ store, nodes: [node], lease: "1 hour", webhooks: false })
const workflow = await engine.workflows.create(
  engine
    .workflow("Patient")
    .node("wait", "patient", { text: "done" })
    .node("out", "response")
    .edge("wait.text", "out.input"),
)
const { id } = await engine.runs.start({ workflowId: workflow.id })
await begun.opened
console.log(id)
