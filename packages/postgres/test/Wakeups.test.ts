/**
 * Wake-ups on Postgres: heard by other processes, also after a connection was lost, and a run that
 * one server cannot take is begun by another one that does not look by itself.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Samples from "@millrace/conformance/Samples"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import * as Engine from "@millrace/core/engine/Engine"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { CurrentRunnerOptions } from "@millrace/core/engine/RunnerOptions"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { Postgres, Stores, Wakeups } from "@millrace/postgres"
import { Context, Effect, Layer, Option, Queue, type Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as TestPostgres from "./TestPostgres.ts"

const hourMillis = 3_600_000

const connect = (url: Redacted.Redacted) => Layer.build(Layer.fresh(Postgres.layer({ url })))

/** A process's end of the channel, and what it hears. */
const end = Effect.fnUntraced(function* (url: Redacted.Redacted) {
  const client = yield* connect(url)
  const wakeups = yield* Effect.provideContext(Wakeups.make, client)
  const heard = yield* Queue.unbounded<void>()
  yield* wakeups.listen(() => void Queue.offerUnsafe(heard, undefined))
  // The first one says that it listens.
  yield* Queue.take(heard)
  const untilHeard = Effect.repeat(Effect.yieldNow, { until: () => wakeups.isHeard() })
  return { ...wakeups, heard, untilHeard, sql: Context.get(client, SqlClient) }
})

const rest = define({
  key: "test.rest",
  inputs: {},
  outputs: {},
  run: () => Effect.succeed({}),
})

/** A server that looks for runs once in an hour, if nobody says anything. */
const server = Effect.fnUntraced(function* (url: Redacted.Redacted, runsAtOnce: number) {
  const client = yield* connect(url)
  const options = { ...(yield* CurrentRunnerOptions), pollMillis: hourMillis }
  return yield* Layer.build(
    Layer.fresh(Engine.layerWithoutWebhooks).pipe(
      Layer.provide(NodeTypes.layer(rest)),
      Layer.provide(Layer.fresh(Wakeups.layer)),
      Layer.provide(Layer.fresh(Stores.layer)),
      Layer.provide(Layer.succeed(CurrentRunnerOptions, options)),
      Layer.provide(Layer.succeed(CurrentLimits, { ...defaultLimits, runsAtOnce })),
      Layer.provide(Layer.succeedContext(client)),
    ),
  )
})

describe("Wakeups.make", () => {
  it.live("is heard by others, and not by itself", () =>
    Effect.gen(function* () {
      const url = yield* TestPostgres.url
      const [one, other] = [yield* end(url), yield* end(url)]
      yield* one.announce
      yield* Queue.take(other.heard)
      yield* other.announce
      yield* Queue.take(one.heard)
      // Its own would have come before that one, and left this one for later.
      assert.isTrue(Option.isNone(yield* Effect.timeoutOption(Queue.take(one.heard), 500)))
    }).pipe(Effect.scoped),
  )

  it.live("listens on over a new connection when it has lost one", () =>
    Effect.gen(function* () {
      const url = yield* TestPostgres.url
      const [one, other] = [yield* end(url), yield* end(url)]
      yield* other.untilHeard
      yield* one.sql`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE query LIKE 'LISTEN%' AND datname = current_database()`
      // Being there again counts as heard: something may have been said meanwhile.
      yield* Queue.take(other.heard)
      yield* other.untilHeard
      yield* one.announce
      yield* Queue.take(other.heard)
    }).pipe(Effect.scoped),
  )

  it.live("has a run begun elsewhere that there is no room for here", () =>
    Effect.gen(function* () {
      const url = yield* TestPostgres.url
      const full = yield* server(url, 0)
      const idle = yield* server(url, 10)
      const { account } = yield* Samples.make
      const node = { id: "a", type: "test.rest", position: { x: 0, y: 0 } }
      const workflow = yield* Context.get(full, Workflows).create(account, {
        name: "Rest",
        description: null,
        thumbnailUrl: null,
        nodes: [node],
        edges: [],
      })
      const run = yield* Context.get(full, Runs).start(account, { workflowId: workflow.id })
      assert.strictEqual(run.status, "QUEUED")
      const ended = yield* Context.get(idle, Runs).wait(account, run.id)
      assert.strictEqual(ended.run.status, "COMPLETED")
    }).pipe(Effect.scoped),
  )
})
