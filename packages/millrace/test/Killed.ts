/**
 * An application that embeds an engine and that a test kills: begins a run whose node never ends,
 * and says which one as soon as the node is at work.
 */
import { createEngine, pglite, sqlite } from "millrace"
import { patient } from "./Patient.ts"
import { gate } from "./Sample.ts"

const [path = "", kind] = process.argv.slice(2)
const store = kind === "sqlite" ? sqlite(path) : pglite(path)
const begun = gate()
const node = patient(() => {
  begun.open()
  return new Promise(() => {})
})
const engine = await createEngine({ store, nodes: [node] })
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
