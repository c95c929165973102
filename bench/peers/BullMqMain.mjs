// BullMQ on a Redis that syncs its log with every write, which needs Debian's `redis-server`. Jobs
// are added one by one, over a connection that pipelines them. It keeps the outputs of steps.
//
// Does less than an engine: no graph, fence, events that last, or listing of runs.
import { Queue, Worker } from "bullmq"
import { spawn } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { measuring, offer, payload } from "../contest/Contestant.ts"
import { Runs } from "./Queue.mjs"

/** @typedef {import("./Queue.mjs").Job} Job */

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = /** @type {import("node:net").AddressInfo} */ (server.address())
      server.close(() => resolve(address.port))
    })
  })

const open = async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-redis-"))
  const port = await freePort()
  const settings = `--port ${port} --bind 127.0.0.1 --dir ${folder} --appendonly yes
    --appendfsync always --save`.split(/\s+/)
  const redis = spawn("redis-server", [...settings, ""], { stdio: "ignore" })
  const gone = new Promise((resolve, reject) => {
    redis.once("error", reject)
    redis.once("exit", resolve)
  })
  await Promise.race([gone.then(() => Promise.reject(new Error("redis-server ended"))), sleep(500)])
  const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null }
  const runs = new Runs()
  const queue = new Queue("steps", { connection })
  /** @param {ReadonlyArray<Job>} jobs */
  const add = (jobs) =>
    jobs.length === 1
      ? queue.add("step", jobs[0])
      : queue.addBulk(jobs.map((data) => ({ name: "step", data })))
  const worker = new Worker(
    "steps",
    async ({ data }) => {
      const next = runs.after(data)
      if (next.length > 0) await add(next)
      return payload
    },
    { connection, concurrency: 200 },
  )
  worker.on("completed", ({ data }) => runs.stored(data))
  // Without its driver it would report that for ever, and never fail.
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])
  const start = async (/** @type {import("./Queue.mjs").Graph} */ graph) => {
    const { ended, job } = runs.begin(graph)
    await add([job])
    return { ended }
  }
  return {
    store: [redis.pid ?? 0],
    measure: measuring(start),
    close: async () => {
      await worker.close()
      await queue.close()
      redis.kill()
      await gone
      await rm(folder, { recursive: true, force: true })
    },
  }
}

offer(open)
