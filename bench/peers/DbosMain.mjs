// DBOS: workflows as functions in the process that starts them, whose steps are recorded in
// Postgres.
//
// Does less than an engine: the graph is the function, so users cannot draw one; one process
// executes what it starts, without a queue.
import { DBOS } from "@dbos-inc/dbos-sdk"
import { measuring, offer, payload } from "../contest/Contestant.ts"

const step = (/** @type {string} */ name) => DBOS.runStep(async () => payload, { name })

const workflows = {
  single: DBOS.registerWorkflow(() => step("0"), { name: "single" }),
  chain: DBOS.registerWorkflow(
    async () => {
      for (let index = 0; index < 10; index++) await step(`${index}`)
      return payload
    },
    { name: "chain" },
  ),
  fan: DBOS.registerWorkflow(
    async () => {
      await step("first")
      await Promise.all(Array.from({ length: 50 }, (_, index) => step(`m${index}`)))
      return step("last")
    },
    { name: "fan" },
  ),
}

/** @param {string} url */
const open = async (url) => {
  DBOS.setConfig({ name: "bench", systemDatabaseUrl: url, logLevel: "error" })
  await DBOS.launch()
  const start = async (/** @type {string} */ graph) => {
    const workflow = workflows[/** @type {keyof typeof workflows} */ (graph)]
    const handle = await DBOS.startWorkflow(workflow)()
    return { ended: handle.getResult() }
  }
  return { measure: measuring(start), close: () => DBOS.shutdown() }
}

offer(open)
