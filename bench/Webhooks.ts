// Deliveries to a receiver on this machine: from Postgres, with claims, signatures, and a log that
// is stored, beside a bare undici loop that signs and posts the same bytes. And how long a first
// attempt comes after the start of its run.
import * as Samples from "@millrace/conformance/Samples"
import type { Delivery } from "@millrace/core/domain/Delivery"
import { AccountId, DeliveryId } from "@millrace/core/domain/Id"
import * as Engine from "@millrace/core/engine/Engine"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runs } from "@millrace/core/engine/Runs"
import { Webhooks } from "@millrace/core/engine/Webhooks"
import { Workflows } from "@millrace/core/engine/Workflows"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Egress } from "@millrace/egress/Egress"
import { httpsOnly } from "@millrace/egress/Policy"
import * as Dispatcher from "@millrace/webhooks/Dispatcher"
import { CurrentDispatcherOptions, defaultOptions } from "@millrace/webhooks/DispatcherOptions"
import { layerRunStore, LocalQueue } from "@millrace/webhooks/LocalQueue"
import * as MasterVault from "@millrace/webhooks/MasterVault"
import { keyOf, sign } from "@millrace/webhooks/Signature"
import * as Targets from "@millrace/webhooks/Targets"
import { Effect, Layer, Redacted, type Scope } from "effect"
import { Digest } from "effect/crypto"
import { SqlClient } from "effect/sql/SqlClient"
import { spawn } from "node:child_process"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Pool } from "undici"
import * as Durable from "./Durable.ts"
import * as Meter from "./Meter.ts"
import * as Workloads from "./Workloads.ts"

const deliveries = 10_000
const perCommit = 500
const starts = 200
/** Rounds before any counts: both sides become twice as fast until the code is compiled. */
const warmUps = 4
const account = AccountId.make("acc_bench")

const egress = Egress.layer({
  ...httpsOnly,
  allow: [{ cidr: "127.0.0.0/8" }],
  idleMillis: 1_000,
})

const vault = MasterVault.layer(Redacted.make(Buffer.alloc(32, 7).toString("base64")))

const engine = Engine.layer.pipe(
  Layer.provide([Targets.layer, vault, Digest.layerWebCrypto]),
  Layer.provide(egress),
  Layer.provide(NodeTypes.layer(Workloads.step)),
  Layer.provideMerge(layerRunStore),
  Layer.provideMerge(Layer.merge(Durable.postgres, LocalQueue.layer)),
)

/** A dispatcher of its own for each measurement. */
const dispatcher = Layer.fresh(
  Dispatcher.layer.pipe(
    Layer.provide(egress),
    Layer.provide(vault),
    Layer.provide(Layer.succeed(CurrentDispatcherOptions, { ...defaultOptions })),
  ),
)

/** The receiver's address. */
const receiver: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(
    () =>
      new Promise<{ readonly origin: string; readonly stop: () => void }>((resolve) => {
        const file = new URL("Receiver.ts", import.meta.url).pathname
        const child = spawn(process.execPath, [file], { stdio: ["pipe", "pipe", "inherit"] })
        child.stdout.once("data", (port: Buffer) => {
          const origin = `http://127.0.0.1:${port.toString().trim()}`
          resolve({ origin, stop: () => child.stdin.end() })
        })
      }),
  ),
  ({ stop }) => Effect.sync(stop),
).pipe(Effect.map(({ origin }) => origin))

let count = 0

const deliveryTo = (origin: string): Delivery => {
  count += 1
  const id = DeliveryId.make(`msg_${String(count).padStart(9, "0")}`)
  const data = { status: "COMPLETED", nodeId: "a", nodeType: "step", attempt: 1, sequence: 2 }
  const event = { success: true, type: "node.completed", runId: "run_bench", workflowId: "wf" }
  return {
    id,
    accountId: account,
    runId: null,
    sequence: null,
    type: "node.completed",
    url: `${origin}/hook`,
    origin,
    headers: null,
    body: JSON.stringify({ ...event, data, metadata: { order: count }, error: null, id }),
    createdAt: Date.now(),
  }
}

/** Puts deliveries into the store as runs do, many with each commit. */
const fill = Effect.fnUntraced(function* (origin: string) {
  const store = yield* RunStore
  const samples = yield* Samples.make
  for (let index = 0; index < deliveries; index += perCommit) {
    const run = samples.run({ status: "CANCELED" })
    const some = Array.from({ length: perCommit }, () => deliveryTo(origin))
    const own = some.map((each) => ({ ...each, runId: run.id }))
    yield* store.commit(Samples.newRun(run, { deliveries: own }))
  }
})

/** Deliveries a second from the store, and what they cost. */
const delivered = Effect.fnUntraced(function* (origin: string) {
  const sql = yield* SqlClient
  yield* fill(origin)
  yield* sql`VACUUM ANALYZE deliveries, due_deliveries, delivery_attempts`
  const work = Effect.scoped(
    Effect.gen(function* () {
      yield* Layer.build(dispatcher)
      const left = sql`SELECT FROM due_deliveries LIMIT 1`
      yield* Effect.repeat(Effect.delay(left, "10 millis"), { until: (rows) => rows.length === 0 })
    }),
  )
  return yield* Meter.onPostgres(deliveries, deliveries, work)
})

/** Posts a second of a loop that only signs and posts, on as many connections. */
const post = async (origin: string): Promise<void> => {
  const pool = new Pool(origin, { connections: defaultOptions.perOrigin })
  const key = keyOf(`whsec_${Buffer.alloc(32, 7).toString("base64")}`)
  const all = Array.from({ length: deliveries }, () => deliveryTo(origin))
  let next = 0
  const loop = async () => {
    while (next < all.length) {
      const { body: text, id } = all[next++]!
      const body = Buffer.from(text)
      const timestampSeconds = Math.floor(Date.now() / 1_000)
      const response = await pool.request({
        method: "POST",
        path: "/hook",
        headers: {
          "content-type": "application/json",
          "webhook-id": id,
          "webhook-timestamp": String(timestampSeconds),
          "webhook-signature": sign({ id, timestampSeconds, body }, [key]),
        },
        body,
      })
      await response.body.text()
    }
  }
  await Promise.all(Array.from({ length: defaultOptions.perOrigin }, loop))
  await pool.close()
}

const bare = (origin: string) =>
  Meter.inMemory(
    deliveries,
    deliveries,
    Effect.promise(() => post(origin)),
  )

/** Milliseconds from asking for a run to its first event at the receiver. */
const latencies = Effect.gen(function* () {
  const arrivals = new Map<string, (at: number) => void>()
  const server = createServer((request, response) => {
    const at = performance.now()
    const mark = String(request.headers["x-mark"])
    request.resume().on("end", () => response.writeHead(204).end())
    arrivals.get(mark)?.(at)
    arrivals.delete(mark)
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
    () => Effect.sync(() => server.close()),
  )
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  const workflow = yield* (yield* Workflows).create(account, {
    name: "One step",
    description: null,
    thumbnailUrl: null,
    ...Workloads.chain(1),
  })
  const { start, wait } = yield* Runs
  const samples: Array<number> = []
  yield* Layer.build(dispatcher)
  for (let index = 0; index < starts; index++) {
    const mark = `mark-${index}`
    const arrival = new Promise<number>((resolve) => arrivals.set(mark, resolve))
    const begun = performance.now()
    const webhook = { url, headers: { "x-mark": mark } }
    const run = yield* start(account, { workflowId: workflow.id, webhook })
    samples.push((yield* Effect.promise(() => arrival)) - begun)
    yield* wait(account, run.id)
  }
  return samples.toSorted((left, right) => left - right)
})

const middle = (figures: ReadonlyArray<Meter.Figure>, of: (figure: Meter.Figure) => number) =>
  figures.map(of).toSorted((left, right) => left - right)[Math.floor(figures.length / 2)] ?? 0

/** Measures, and shows what came of it. */
export const measure = (rounds: number) =>
  Effect.gen(function* () {
    const origin = yield* receiver
    yield* (yield* Webhooks).ensureSecrets(account)
    const [ours, theirs]: [Array<Meter.Figure>, Array<Meter.Figure>] = [[], []]
    for (let round = -warmUps; round < rounds; round++) {
      const one = yield* delivered(origin)
      const other = yield* bare(origin)
      const rates = [one, other].map(({ perSecond }) => Math.round(perSecond))
      process.stderr.write(`${rates[0]} deliveries/s, ${rates[1]} posts/s\n`)
      if (round < 0) continue
      ours.push(one)
      theirs.push(other)
    }
    const waits = yield* latencies
    const rate = middle(ours, ({ perSecond }) => perSecond)
    const bareRate = middle(theirs, ({ perSecond }) => perSecond)
    const results = {
      deliveriesPerSecond: Math.round(rate),
      barePostsPerSecond: Math.round(bareRate),
      ratio: Number((rate / bareRate).toFixed(2)),
      cpuMicros: Math.round(middle(ours, ({ cpu }) => cpu) * 1_000),
      postgresCpuMicros: Math.round(middle(ours, (each) => each.postgresCpu ?? 0) * 1_000),
      bareCpuMicros: Math.round(middle(theirs, ({ cpu }) => cpu) * 1_000),
      startToFirstAttemptMillis: {
        p50: Number(waits[Math.floor(starts * 0.5)]!.toFixed(2)),
        p99: Number(waits[Math.floor(starts * 0.99)]!.toFixed(2)),
      },
    }
    console.table([results])
    console.log(results.startToFirstAttemptMillis)
    return results
  }).pipe(Effect.scoped, Effect.provide(engine), Effect.runPromise)
