/**
 * A server in the process of the test: the real listener, routes and engine, over stores in memory
 * or those that the test brings.
 *
 * Leaves out: time; everything runs on the real clock.
 */
import * as Engine from "@millrace/core/engine/Engine"
import { Keys } from "@millrace/core/engine/Keys"
import * as Stores from "@millrace/memory/Stores"
import * as Builtin from "@millrace/nodes/Builtin"
import { Egress } from "@millrace/egress/Egress"
import { openWeb } from "@millrace/egress/Policy"
import { Effect, Layer, Redacted } from "effect"
import type { Bounds } from "../src/internal/serve/Listener.ts"
import * as Listener from "../src/internal/serve/Listener.ts"
import { originOf } from "../src/internal/serve/OwnAddress.ts"
import * as ServerRoutes from "../src/internal/serve/ServerRoutes.ts"

const engine = Engine.layerWithoutWebhooks.pipe(
  Layer.provideMerge(Builtin.layer),
  Layer.provide(Egress.layer(openWeb)),
)

/** A server that listens, and how to make accounts on it. */
export const start = Effect.fnUntraced(function* <E = never>(
  bounds?: Partial<Bounds>,
  stores: Layer.Layer<Engine.Stores, E> = Stores.layer,
) {
  const all = { ...Listener.defaultBounds, ...bounds }
  const listener = yield* Listener.open("127.0.0.1", 0, all)
  const services = yield* Layer.build(Layer.provideMerge(engine, stores))
  const routes = ServerRoutes.layer(listener, Layer.empty)
  yield* Layer.build(Layer.provide(routes, Layer.succeedContext(services)))
  yield* listener.ready
  /** A new account and a key of it. */
  const tenant = Effect.gen(function* () {
    const keys = yield* Keys
    const { id } = yield* keys.createAccount("Test")
    const quota = { perMinute: 10_000, perDay: 100_000 }
    const { secret } = yield* keys.create(id, { label: "first", ...quota })
    return { accountId: id, key: Redacted.value(secret) }
  }).pipe(Effect.orDie, Effect.provide(Layer.succeedContext(services)))
  return {
    origin: originOf(listener.address),
    port: listener.address.port,
    services,
    tenant,
  }
})
