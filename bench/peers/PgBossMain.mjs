// pg-boss. `single`: jobs are sent, fetched and completed one by one. `bulk`: all of these in
// batches, with what arrives meanwhile gathered into one statement. It keeps the outputs of steps.
//
// Does less than an engine: no graph, fence, events or listing of runs.
import { PgBoss } from "pg-boss"
import { measuring, offer, payload } from "../contest/Contestant.ts"
import { gather, Runs } from "./Queue.mjs"

/** @typedef {import("./Queue.mjs").Job} Job */

const queue = "steps"
const isBulk = process.argv[2] === "bulk"
const batchSize = isBulk ? 500 : 1
const loops = isBulk ? 2 : 10
const pollMillis = 500

/** @param {string} url */
const open = async (url) => {
  const boss = new PgBoss({ connectionString: url, max: 12 })
  boss.on("error", (error) => console.error(error))
  await boss.start()
  await boss.createQueue(queue)
  const runs = new Runs()
  const closing = new AbortController()
  /** @type {Array<() => void>} */
  let idle = []
  /** Loops without a job look again when one was added, as with a notification. */
  const wake = () => {
    const all = idle
    idle = []
    for (const each of all) each()
  }
  const rest = () =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, pollMillis)
      idle.push(() => {
        clearTimeout(timer)
        resolve(undefined)
      })
    })
  const bulk = gather((/** @type {ReadonlyArray<ReadonlyArray<Job>>} */ groups) =>
    boss.insert(
      queue,
      groups.flat().map((data) => ({ data })),
    ),
  )
  /** @param {ReadonlyArray<Job>} jobs */
  const add = async (jobs) => {
    if (jobs.length === 0) return
    if (isBulk) await bulk(jobs)
    else for (const job of jobs) await boss.send(queue, job)
    wake()
  }
  const work = async () => {
    while (!closing.signal.aborted) {
      const jobs = await boss.fetch(queue, { batchSize })
      if (jobs.length === 0) {
        await rest()
        continue
      }
      const done = jobs.map(({ data }) => /** @type {Job} */ (data))
      await add(done.flatMap((job) => runs.after(job)))
      await boss.complete(
        queue,
        jobs.map(({ id }) => id),
        payload,
      )
      for (const job of done) runs.stored(job)
    }
  }
  const working = Promise.all(Array.from({ length: loops }, work))
  const start = async (/** @type {import("./Queue.mjs").Graph} */ graph) => {
    const { ended, job } = runs.begin(graph)
    await add([job])
    return { ended }
  }
  return {
    measure: measuring(start),
    close: async () => {
      closing.abort()
      wake()
      await working
      await boss.stop({ graceful: false })
    },
  }
}

offer(open)
