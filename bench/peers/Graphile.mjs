// graphile-worker. `single`: each job is added and completed on its own. `bulk`: a local queue,
// jobs completed in batches, and those that are added meanwhile gathered into one statement.
// `kept`: the same, and that statement also inserts the outputs of steps into a table.
//
// Does less than an engine: a finished job is deleted; no graph, fence, record, events or cancel.
import { Logger, makeWorkerUtils, run } from "graphile-worker"
import { Pool } from "pg"
import { payload } from "../contest/Contestant.ts"
import { gather, Runs } from "./Queue.mjs"

/** @typedef {import("./Queue.mjs").Job} Job */

const silent = new Logger(() => () => undefined)
const bulkSettings = {
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
}

const table = `CREATE TABLE IF NOT EXISTS step_outputs (
  run int8, layer int4, index int4, output json, PRIMARY KEY (run, layer, index))`

const keep = `
WITH kept AS (
  INSERT INTO step_outputs (run, layer, index, output)
  SELECT run, layer, index, output
  FROM json_to_recordset($1) AS o (run int8, layer int4, index int4, output json)
  ON CONFLICT DO NOTHING
)
SELECT count(*) FROM graphile_worker.add_jobs(
  array(SELECT json_populate_recordset(null::graphile_worker.job_spec, $2)))`

/** @param {ReadonlyArray<Job>} jobs */
const specsOf = (jobs) => jobs.map((job) => ({ identifier: "step", payload: job }))

/**
 * A worker, and what starts a run.
 * @param {string} url
 * @param {"single" | "bulk" | "kept"} variant
 */
export const openGraphile = async (url, variant) => {
  const pool = new Pool({ connectionString: url, max: 12 })
  pool.on("error", (error) => console.error(error))
  pool.on("connect", (client) => client.on("error", (error) => console.error(error)))
  const utils = await makeWorkerUtils({ pgPool: pool, logger: silent })
  await utils.migrate()
  await pool.query(table)
  // The numbers of runs begin again with each opening.
  await pool.query("TRUNCATE step_outputs")
  const runs = new Runs()
  const single = async (/** @type {ReadonlyArray<Job>} */ jobs) => {
    for (const job of jobs) await utils.addJob("step", job)
  }
  const bulk = gather((/** @type {ReadonlyArray<ReadonlyArray<Job>>} */ groups) =>
    utils.addJobs(specsOf(groups.flat())),
  )
  const kept = gather(
    (/** @type {ReadonlyArray<{ done?: Job, next: ReadonlyArray<Job> }>} */ steps) => {
      const outputs = steps.flatMap(({ done }) =>
        done === undefined ? [] : [{ ...done, output: payload }],
      )
      const specs = specsOf(steps.flatMap(({ next }) => next))
      const values = [JSON.stringify(outputs), JSON.stringify(specs)]
      return pool.query({ name: "keep", text: keep, values })
    },
  )
  /** @type {(next: ReadonlyArray<Job>, done?: Job) => Promise<void>} */
  const store = (next, done) => {
    if (variant === "kept") return kept(done === undefined ? { next } : { done, next })
    if (next.length === 0) return Promise.resolve()
    return variant === "bulk" ? bulk(next) : single(next)
  }
  const runner = await run({
    pgPool: pool,
    logger: silent,
    noHandleSignals: true,
    concurrency: variant === "single" ? 10 : 200,
    preset: variant === "single" ? {} : { worker: bulkSettings },
    taskList: {
      step: async (given) => {
        const job = /** @type {Job} */ (given)
        await store(runs.after(job), job)
        runs.stored(job)
      },
    },
  })
  return {
    runs,
    /** @param {import("./Queue.mjs").Graph} graph */
    start: async (graph) => {
      const { ended, job } = runs.begin(graph)
      await store([job])
      return { ended }
    },
    close: async () => {
      await runner.stop()
      await utils.release()
      await pool.end()
    },
  }
}
