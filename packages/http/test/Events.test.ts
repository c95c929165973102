/**
 * Following a run by server-sent events.
 */
import { assert, describe, layer, it } from "@effect/vitest"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import type { RunId } from "@millrace/core/domain/Id"
import * as Engine from "@millrace/core/engine/Engine"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { IsDraining } from "@millrace/http/Health"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { Received } from "./EventReader.ts"
import { EventReader } from "./EventReader.ts"
import type { Tenant } from "./Harness.ts"
import { Harness, services } from "./Harness.ts"
import { chain, create, endless, failing, finish, hello, start } from "./Samples.ts"

const follow = Effect.fnUntraced(function* (owner: Tenant, runId: string, lastEventId?: string) {
  const { handler } = yield* Harness
  const request = new Request(`http://localhost/api/v1/runs/${runId}/events`, {
    headers: {
      authorization: `Bearer ${owner.key}`,
      ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
    },
  })
  return new EventReader(yield* Effect.promise(() => handler(request)))
})

const begin = Effect.fnUntraced(function* (content: object) {
  const { tenant } = yield* Harness
  const owner = yield* tenant()
  return { owner, workflowId: yield* create(owner, content) }
})

/** A run that never ends by itself, for as long as `use` takes: a server waits for open runs. */
const withEndless = <A, E, R>(use: (owner: Tenant, id: RunId) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const { owner, workflowId } = yield* begin(endless)
    const id = yield* start(owner, workflowId)
    const runs = yield* Runs
    return yield* Effect.ensuring(use(owner, id), Effect.ignore(runs.cancel(owner.accountId, id)))
  })

const idsOf = (events: ReadonlyArray<Received>) => events.map(({ id }) => id)

const from = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, n) => String(first + n))

/** Many nodes side by side, so that many events come together. */
const wide = (nodes: number) => ({
  name: "Wide",
  nodes: Array.from({ length: nodes }, (_, n) => ({
    id: `n${n}`,
    type: "echo",
    position: { x: n, y: 0 },
  })),
})

layer(Harness.layer)("following runs", (it) => {
  describe("GET /v1/runs/{id}/events", () => {
    it.effect("sends a snapshot, then every event with its number, and ends with the run", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(chain)
        const id = yield* finish(owner, workflowId)
        const reader = yield* follow(owner, id)
        assert.strictEqual(reader.status, 200)
        assert.strictEqual(reader.headers.get("content-type"), "text/event-stream")
        assert.strictEqual(reader.headers.get("cache-control"), "no-store")
        assert.isNotNull(reader.headers.get("x-request-id"))
        assert.isNotNull(reader.headers.get("x-ratelimit-remaining"))
        const [snapshot, ...events] = yield* reader.rest()
        assert.strictEqual(snapshot?.event, "snapshot")
        assert.isUndefined(snapshot?.id)
        const { send } = yield* Harness
        const { body } = yield* send("GET", `/api/v1/runs/${id}`, { key: owner.key })
        assert.deepStrictEqual(snapshot?.data, { sequence: 4, run: body })
        assert.deepStrictEqual(
          events.map(({ event, id: number }) => `${number} ${event}`),
          ["1 run.started", "2 node.completed", "3 node.completed", "4 run.completed"],
        )
        assert.deepStrictEqual(events[1]?.data, {
          sequence: 2,
          type: "node.completed",
          success: true,
          runId: id,
          workflowId,
          data: { status: "COMPLETED", nodeId: "say", nodeType: "echo", attempt: 1, sequence: 2 },
          error: null,
          createdAt: body.startedAt,
        })
      }),
    )

    it.effect("tells of failures with their error", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(failing)
        const id = yield* finish(owner, workflowId)
        const events = yield* (yield* follow(owner, id)).rest()
        const last = events.at(-1)
        assert.strictEqual(last?.event, "run.failed")
        assert.isFalse(last?.data.success)
        assert.include(last?.data.error, "broken on purpose")
      }),
    )

    it.effect("sends what happens while it is open, at once where the run executes here", () =>
      withEndless(
        Effect.fnUntraced(function* (owner, id) {
          const reader = yield* follow(owner, id)
          assert.strictEqual((yield* reader.next())?.data.run.status, "RUNNING")
          assert.strictEqual((yield* reader.next())?.event, "run.started")
          assert.isUndefined(yield* reader.next(1_000, 5))
          const { send } = yield* Harness
          yield* send("POST", `/api/v1/runs/${id}/cancel`, { key: owner.key })
          // No time goes by here.
          assert.strictEqual((yield* reader.next(0, 50))?.event, "run.canceled")
          assert.isUndefined(yield* reader.next())
          assert.isTrue(reader.hasEnded)
        }),
      ),
    )

    it.effect("goes on behind any event, with nothing left out and nothing twice", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(wide(10))
        const id = yield* finish(owner, workflowId)
        for (let after = 0; after < 12; after++) {
          const events = yield* (yield* follow(owner, id, String(after))).rest()
          assert.deepStrictEqual(idsOf(events), [undefined, ...from(after + 1, 12)])
        }
      }),
    )

    it.effect("loses nothing for a client that hangs up again and again", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(wide(40))
        const id = yield* start(owner, workflowId)
        const received: Array<string> = []
        for (let round = 0; received.length < 42; round++) {
          assert.isBelow(round, 60)
          const reader = yield* follow(owner, id, received.at(-1) ?? "0")
          assert.strictEqual((yield* reader.next())?.event, "snapshot")
          for (let n = 0; n <= round % 3; n++) {
            const event = yield* reader.next()
            if (event?.id !== undefined) received.push(event.id)
          }
          yield* reader.close
        }
        assert.deepStrictEqual(received, from(1, 42))
      }),
    )

    it.effect("answers 204 to whoever has the last event already", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(hello)
        const id = yield* finish(owner, workflowId)
        const reader = yield* follow(owner, id, "3")
        assert.strictEqual(reader.status, 204)
      }),
    )

    it.effect("keeps the line alive while nothing happens", () =>
      withEndless(
        Effect.fnUntraced(function* (owner, id) {
          const reader = yield* follow(owner, id)
          yield* reader.next()
          yield* reader.next()
          assert.isUndefined(yield* reader.next(1_000, 14))
          assert.strictEqual(reader.comments, 0)
          assert.isUndefined(yield* reader.next(1_000, 4))
          assert.isUndefined(yield* reader.next(1_000, 30))
          assert.isAtLeast(reader.comments, 2)
          yield* reader.close
        }),
      ),
    )

    it.effect("ends after ten minutes, and can be gone on with", () =>
      withEndless(
        Effect.fnUntraced(function* (owner, id) {
          const reader = yield* follow(owner, id)
          yield* reader.next()
          yield* reader.next()
          while (!reader.hasEnded) yield* reader.next(1_000, 700)
          const again = yield* follow(owner, id, "1")
          assert.strictEqual((yield* again.next())?.event, "snapshot")
          yield* again.close
        }),
      ),
    )

    it.effect("answers 404 for an unknown run and a foreign one alike", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(hello)
        const id = yield* finish(owner, workflowId)
        const { send, tenant } = yield* Harness
        const { key } = yield* tenant()
        const foreign = yield* send("GET", `/api/v1/runs/${id}/events`, { key })
        const unknown = yield* send("GET", "/api/v1/runs/run_none/events", { key })
        assert.strictEqual(foreign.status, 404)
        assert.strictEqual(foreign.text, unknown.text)
      }),
    )

    it.effect("refuses a Last-Event-ID that is none of the run's with 400", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(hello)
        const id = yield* finish(owner, workflowId)
        const { send } = yield* Harness
        for (const bad of ["x", "-1", "0x1", "01", "1.0", "4", "9999999999", ""]) {
          const { body, status } = yield* send("GET", `/api/v1/runs/${id}/events`, {
            key: owner.key,
            headers: { "last-event-id": bad },
          })
          assert.strictEqual(status, 400, bad)
          const error = "last-event-id: expected the id of an event of this run"
          assert.deepStrictEqual(body, { error })
        }
      }),
    )

    it.effect("allows ten streams per key, and counts one less when somebody hangs up", () =>
      withEndless(
        Effect.fnUntraced(function* (owner, id) {
          const { send } = yield* Harness
          const readers = yield* Effect.forEach(Array.from({ length: 10 }), () => follow(owner, id))
          for (const reader of readers)
            assert.strictEqual((yield* reader.next())?.event, "snapshot")
          const refused = yield* send("GET", `/api/v1/runs/${id}/events`, { key: owner.key })
          assert.strictEqual(refused.status, 429)
          assert.strictEqual(refused.headers.get("x-error-code"), "too_many_streams")
          assert.strictEqual(refused.headers.get("retry-after"), "5")
          yield* readers[3]!.close
          // A request without a body takes no place.
          yield* send("HEAD", `/api/v1/runs/${id}/events`, { key: owner.key })
          const next = yield* follow(owner, id)
          assert.strictEqual((yield* next.next())?.event, "snapshot")
          for (const reader of [...readers, next]) yield* reader.close
        }),
      ),
    )
  })
})

describe("GET /v1/runs/{id}/events of a run that executes elsewhere", () => {
  it.effect("sends its events within a second", () =>
    withEndless(
      Effect.fnUntraced(function* (owner, id) {
        const reader = yield* follow(owner, id)
        yield* reader.next()
        yield* reader.next()
        assert.isUndefined(yield* reader.next(1_000, 5))
        // Another engine on the stores cancels it: nobody who listens here is told.
        const elsewhere = yield* Layer.build(Layer.fresh(Engine.layerWithoutWebhooks))
        yield* Context.get(elsewhere, Runs).cancel(owner.accountId, id)
        assert.isUndefined(yield* reader.next(0, 20))
        assert.strictEqual((yield* reader.next(100, 10))?.event, "run.canceled")
      }),
    ).pipe(Effect.provide(Harness.layer)),
  )

  it.effect("loses nothing while the store does not answer", () => {
    let isBroken = false
    const failure = new StorageError({ operation: "test", cause: new Error("away") })
    const flaky = Layer.effect(
      RunStore,
      Effect.map(RunStore, (store) =>
        RunStore.of({
          ...store,
          eventsOfMany: (requests) =>
            Effect.suspend(() => (isBroken ? Effect.fail(failure) : store.eventsOfMany(requests))),
        }),
      ),
    ).pipe(Layer.provideMerge(services))
    return withEndless(
      Effect.fnUntraced(function* (owner, id) {
        const reader = yield* follow(owner, id)
        yield* reader.next()
        yield* reader.next()
        isBroken = true
        yield* (yield* Runs).cancel(owner.accountId, id)
        assert.isUndefined(yield* reader.next(1_000, 5))
        assert.isFalse(reader.hasEnded)
        isBroken = false
        assert.strictEqual((yield* reader.next())?.event, "run.canceled")
      }),
    ).pipe(Effect.provide(Harness.layerNoDeps.pipe(Layer.provideMerge(flaky))))
  })
})

describe("GET /v1/runs/{id}/events within bounds", () => {
  it.effect("ends when the server is about to stop", () => {
    let isDraining = false
    return withEndless(
      Effect.fnUntraced(function* (owner, id) {
        const reader = yield* follow(owner, id)
        yield* reader.next()
        yield* reader.next()
        isDraining = true
        assert.isUndefined(yield* reader.next(100, 11))
        assert.isTrue(reader.hasEnded)
      }),
    ).pipe(
      Effect.provide(
        Harness.layer.pipe(Layer.provide(Layer.succeed(IsDraining, () => isDraining))),
      ),
    )
  })

  it.effect("answers 503 when all keys together hold too many streams", () =>
    withEndless(
      Effect.fnUntraced(function* (owner, id) {
        const { send } = yield* Harness
        const reader = yield* follow(owner, id)
        const second = yield* begin(hello)
        const other = yield* finish(second.owner, second.workflowId)
        const path = `/api/v1/runs/${other}/events`
        const refused = yield* send("GET", path, { key: second.owner.key })
        assert.strictEqual(refused.status, 503)
        assert.strictEqual(refused.headers.get("x-error-code"), "too_many_streams")
        yield* reader.close
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* send("GET", path, { key: second.owner.key })).status, 200)
      }),
    ).pipe(
      Effect.provide(
        Harness.layer.pipe(
          Layer.provide(Layer.succeed(CurrentLimits, { ...defaultLimits, streamsAtOnce: 1 })),
        ),
      ),
    ),
  )
})
