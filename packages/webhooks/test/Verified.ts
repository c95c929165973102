/**
 * Runs of the real engine whose webhooks are received and verified as a stranger would: by the
 * package of the standard, over the raw bytes.
 */
import type { RunEvent } from "@millrace/core/domain/RunEvent"
import * as Engine from "@millrace/core/engine/Engine"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runs } from "@millrace/core/engine/Runs"
import { Webhooks } from "@millrace/core/engine/Webhooks"
import { Workflows } from "@millrace/core/engine/Workflows"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Egress } from "@millrace/egress/Egress"
import { httpsOnly } from "@millrace/egress/Policy"
import * as Stores from "@millrace/memory/Stores"
import { Effect, Latch, Layer, Redacted, Schema } from "effect"
import { Digest } from "effect/crypto"
import { Webhook } from "standardwebhooks"
import * as Dispatcher from "../src/Dispatcher.ts"
import { layerRunStore, LocalQueue } from "../src/LocalQueue.ts"
import * as MasterVault from "../src/MasterVault.ts"
import * as Targets from "../src/Targets.ts"
import { account, masterKey } from "./Harness.ts"
import type { Received } from "./LocalReceiver.ts"
import * as LocalReceiver from "./LocalReceiver.ts"

const echo = define({
  key: "echo",
  inputs: { text: Schema.String },
  outputs: { output: Schema.String },
  run: ({ text }) => Effect.succeed({ output: text }),
})

const broken = define({
  key: "broken",
  inputs: {},
  outputs: {},
  run: () => Effect.fail(new Error("broken on purpose: 😀 \u0000")),
})

const egress = Egress.layer({ ...httpsOnly, allow: [{ cidr: "127.0.0.0/8" }], idleMillis: 1_000 })

const stores = layerRunStore.pipe(
  Layer.provideMerge(Layer.mergeAll(Stores.layer, LocalQueue.layer)),
)

/** An engine that delivers, in memory. */
const layer = Dispatcher.layer.pipe(
  Layer.provideMerge(Engine.layer),
  Layer.provide([Targets.layer, MasterVault.layer(masterKey), Digest.layerWebCrypto]),
  Layer.provide(egress),
  Layer.provideMerge(Layer.mergeAll(NodeTypes.layer(echo, broken), stores)),
)

const position = { x: 0, y: 0 }

const graph = {
  name: "Told",
  description: null,
  thumbnailUrl: null,
  nodes: [
    { id: "say", type: "echo", position, data: { inputs: { text: "grüezi" } } },
    { id: "break", type: "broken", position },
  ],
  edges: [],
}

const isVerified = ({ body, headers }: Received, secret: string): boolean => {
  try {
    new Webhook(secret).verify(body, headers)
    return true
  } catch {
    return false
  }
}

/** What came of it, to be judged by a test. */
export interface Told {
  /** What the runs went through, as the store knows it. */
  readonly events: ReadonlyArray<RunEvent>
  readonly received: ReadonlyArray<Received>
  /** Requests that do not verify with the secret their receiver had at the time. */
  readonly unverified: ReadonlyArray<Received>
  /** Signatures of the last request. */
  readonly signatures: number
}

/** Makes runs in four equal parts, with a rotation of the secret between them. */
export const tell = Effect.fnUntraced(function* (runs: number) {
  const unverified: Array<Received> = []
  const arrival = Latch.makeUnsafe(false)
  let secret = ""
  const receiver = yield* LocalReceiver.make((received, response) => {
    if (!isVerified(received, secret)) unverified.push(received)
    response.writeHead(204).end()
    Latch.openUnsafe(arrival)
  })
  return yield* Effect.gen(function* () {
    const { rotate, secrets } = yield* Webhooks
    const { start, wait } = yield* Runs
    const store = yield* RunStore
    const workflow = yield* (yield* Workflows).create(account, graph)
    const url = `${receiver.origin}/hook`
    const one = (n: number) =>
      Effect.gen(function* () {
        const webhook = { url, metadata: { n, text: "😀 \u0000 \ud800" } }
        const run = yield* start(account, { workflowId: workflow.id, webhook })
        yield* wait(account, run.id)
        return yield* store.events(account, run.id, 0)
      })
    const parts: Array<ReadonlyArray<RunEvent>> = []
    const arrived: Effect.Effect<void> = Effect.suspend(() => {
      if (receiver.requests.length >= parts.flat().length) return Effect.void
      Latch.closeUnsafe(arrival)
      return Effect.andThen(arrival.await, arrived)
    })
    for (let part = 0; part < 4; part++) {
      // The receiver is given the newest secret a while after it was made: both sign meanwhile.
      if (part > 0) yield* rotate(account, 86_400_000)
      const half = Math.floor(runs / 8)
      const some = Array.from({ length: half }, (_, n) => n)
      if (part === 0) secret = Redacted.value((yield* secrets(account)).at(-1)!.secret)
      parts.push(...(yield* Effect.forEach(some, one, { concurrency: 50 })))
      yield* arrived
      secret = Redacted.value((yield* secrets(account)).at(-1)!.secret)
      parts.push(...(yield* Effect.forEach(some, one, { concurrency: 50 })))
    }
    const events = parts.flat()
    yield* arrived
    const last = receiver.requests.at(-1)!
    const signatures = last.headers["webhook-signature"]!.split(" ").length
    return { events, received: receiver.requests, unverified, signatures } satisfies Told
  }).pipe(Effect.provide(layer))
})
