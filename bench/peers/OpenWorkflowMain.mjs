// OpenWorkflow on Postgres: workflows as functions, whose steps are recorded and replayed.
//
// Does less than an engine: the graph is the function, so users cannot draw one.
import { OpenWorkflow } from "openworkflow"
import { BackendPostgres } from "openworkflow/postgres"
import { measuring, offer, payload } from "../contest/Contestant.ts"

const concurrency = 100

/** @param {string} url */
const open = async (url) => {
  const backend = await BackendPostgres.connect(url)
  const client = new OpenWorkflow({ backend })
  /** @typedef {{ run: (how: object, work: () => unknown) => Promise<unknown> }} Step */
  /** @param {Step} step */
  const one = (step, /** @type {string} */ name) => step.run({ name }, async () => payload)
  const workflows = {
    single: client.defineWorkflow({ name: "single" }, ({ step }) => one(step, "0")),
    chain: client.defineWorkflow({ name: "chain" }, async ({ step }) => {
      for (let index = 0; index < 10; index++) await one(step, `${index}`)
      return payload
    }),
    fan: client.defineWorkflow({ name: "fan" }, async ({ step }) => {
      await one(step, "first")
      await Promise.all(Array.from({ length: 50 }, (_, index) => one(step, `m${index}`)))
      return one(step, "last")
    }),
  }
  const worker = client.newWorker({ concurrency })
  await worker.start()
  const start = async (/** @type {string} */ graph) => {
    const handle = await workflows[/** @type {keyof typeof workflows} */ (graph)].run({})
    return { ended: handle.result() }
  }
  return {
    measure: measuring(start),
    close: async () => {
      await worker.stop()
      await backend.stop()
    },
  }
}

offer(open)
