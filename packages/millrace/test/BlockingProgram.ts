/**
 * A program for a test: runs a node on a thread, prints which variables the thread sees of those
 * whose names begin as its argument says, closes its engine and has nothing more to do.
 */
import { createEngine } from "millrace"
import { variables } from "./BlockingNodes.ts"

const engine = await createEngine({ nodes: [variables] })
const [, , beginning = ""] = process.argv
const { id } = await engine.workflows.create(
  engine.workflow("One").node("n", "variables", { beginning }),
)
const run = await engine.runs.start({ workflowId: id })
const { nodes } = await run.wait()
process.stdout.write(JSON.stringify(nodes["n"]?.output))
await engine.close()
