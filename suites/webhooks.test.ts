/**
 * Webhooks in numbers and in real time: what takes too long for every save of a file.
 */
import { AccountId } from "@millrace/core/domain/Id"
import { deliveryIdOf } from "@millrace/core/domain/Payload"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Egress } from "@millrace/egress/Egress"
import { httpsOnly } from "@millrace/egress/Policy"
import { LocalQueue } from "@millrace/webhooks/LocalQueue"
import { Effect, Layer, Option, Random } from "effect"
import { spawn } from "node:child_process"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { describe, expect, it, vi } from "vitest"
import { lateMillis } from "../packages/server/test/kill/Late.ts"
import { delivery, dispatcher, services } from "../packages/webhooks/test/Harness.ts"
import * as LocalReceiver from "../packages/webhooks/test/LocalReceiver.ts"
import { tell } from "../packages/webhooks/test/Verified.ts"

vi.setConfig({ testTimeout: 300_000 })

const egress = Egress.layer({ ...httpsOnly, allow: [{ cidr: "127.0.0.0/8" }], idleMillis: 1_000 })

const to = (origin: string) => delivery({ origin, url: `${origin}/hook`, createdAt: Date.now() })

describe("a thousand runs with webhooks", () => {
  it("tell every event once, and the package of the standard verifies each of them", async () => {
    const { events, received, unverified } = await Effect.runPromise(Effect.scoped(tell(1_000)))
    expect(unverified).toEqual([])
    expect(events.length).toBe(4_000)
    const ids = events.map(({ runId, sequence }) => deliveryIdOf(runId, sequence))
    expect(received.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
  })
})

describe("a first retry", () => {
  it("comes 4.5 seconds after the first attempt or a little later", async () => {
    const arrivals: Array<number> = []
    const test = Effect.gen(function* () {
      const receiver = yield* LocalReceiver.make((_, response) => {
        arrivals.push(performance.now())
        response.writeHead(arrivals.length % 2 === 1 ? 503 : 204).end()
      })
      yield* Layer.build(dispatcher(egress))
      yield* (yield* WebhookStore).insert(to(receiver.origin))
      yield* Effect.repeat(Effect.sleep("10 millis"), { while: () => arrivals.length < 2 })
    })
    // A seed whose jitter is short, so that the wait is near its lower end.
    const seeded = Random.withSeed(test, "one retry")
    await Effect.runPromise(Effect.scoped(Effect.provide(seeded, services)))
    const gap = arrivals[1]! - arrivals[0]!
    expect(gap).toBeGreaterThan(4_500)
    expect(gap).toBeLessThan(5_600 + lateMillis)
  })
})

const hostileAccount = AccountId.make("acc_hostile")

/** Frees what nobody holds, so that memory can be compared. */
const collect = (): void => {
  setFlagsFromString("--expose-gc")
  runInNewContext("gc")()
}

const memory = (): number => {
  collect()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const quantile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)]!

/** The origins of the hostile receivers. */
const hostile = Effect.acquireRelease(
  Effect.promise(
    () =>
      new Promise<{ readonly origins: ReadonlyArray<string>; readonly stop: () => void }>(
        (resolve) => {
          const url = new URL("../packages/webhooks/test/HostileReceivers.ts", import.meta.url)
          const child = spawn(process.execPath, [url.pathname], {
            stdio: ["pipe", "pipe", "inherit"],
          })
          child.stdout.once("data", (line: Buffer) => {
            const ports = JSON.parse(line.toString()) as ReadonlyArray<number>
            const origins = ports.map((port) => `http://127.0.0.1:${port}`)
            resolve({ origins, stop: () => child.stdin.end() })
          })
        },
      ),
  ),
  ({ stop }) => Effect.sync(stop),
).pipe(Effect.map(({ origins }) => origins))

/** The p99 of deliveries to a healthy receiver, one after the other, in milliseconds. */
const makeHealthy = Effect.gen(function* () {
  let arrived: () => void = () => undefined
  const receiver = yield* LocalReceiver.make((_, response) => {
    response.writeHead(204).end()
    arrived()
  })
  const store = yield* WebhookStore
  const mailbox = yield* LocalQueue
  const one = Effect.gen(function* () {
    const sent = to(receiver.origin)
    const arrival = new Promise<void>((resolve) => (arrived = resolve))
    const begun = performance.now()
    yield* store.insert(sent)
    mailbox.put([sent])
    yield* Effect.promise(() => arrival)
    return performance.now() - begun
  })
  // The best one of five, because others use this machine too.
  const p99 = Effect.map(Effect.replicateEffect(one, 400), (all) => quantile(all, 0.99))
  return Effect.map(Effect.replicateEffect(p99, 5), (five) => Math.min(...five))
})

describe("a hundred receivers that drip, pour, explode, redirect and hang up", () => {
  it("end at 30 s, take no memory, and keep nobody else from being told", async () => {
    const test = Effect.gen(function* () {
      const origins = yield* hostile
      const store = yield* WebhookStore
      yield* Layer.build(dispatcher(egress, { perAccount: 256 }))
      const healthy = yield* makeHealthy
      yield* healthy
      const usual = yield* healthy
      const before = memory()
      const all = origins.map((origin) => ({ ...to(origin), accountId: hostileAccount }))
      yield* Effect.forEach(all, store.insert, { discard: true })
      // The least of some readings, because what connections need comes and goes.
      const reading = Effect.delay(
        Effect.sync(() => memory() - before),
        "2 seconds",
      )
      const grown = Math.min(...(yield* Effect.replicateEffect(reading, 4)))
      // Collecting garbage has thrown away what was compiled.
      yield* healthy
      const within = yield* healthy
      const logs = yield* Effect.forEach(all, ({ id }) =>
        Effect.map(store.find(null, id), (found) => Option.getOrThrow(found).attempts).pipe(
          Effect.delay("10 millis"),
          Effect.repeat({ until: ([first]) => typeof first?.durationMillis === "number" }),
        ),
      )
      return { grown, logs, usual, within }
    })
    const { grown, logs, usual, within } = await Effect.runPromise(
      Effect.scoped(Effect.provide(test, services)),
    )
    console.log(
      `p99 ${usual.toFixed(1)} ms, among the others ${within.toFixed(1)} ms;`,
      `memory grew by ${(grown / 1e6).toFixed(1)} MB`,
    )
    const drips = logs.slice(0, 60).map(([first]) => first)
    for (const drip of drips) {
      expect(drip).toMatchObject({ error: "timeout", status: null })
      expect(drip?.durationMillis).toBeGreaterThan(29_900)
      expect(drip?.durationMillis).toBeLessThan(31_000 + lateMillis)
    }
    const outcomes = logs.slice(60).map(([first]) => first?.error ?? first?.status)
    const wanted = [200, 200, "status", "reset"].flatMap((each) => Array(10).fill(each))
    expect(outcomes).toEqual(wanted)
    expect(grown).toBeLessThan(5_000_000)
    // Who waited for one of the others would wait for 30 s.
    expect(within).toBeLessThan(usual + lateMillis)
  })
})
