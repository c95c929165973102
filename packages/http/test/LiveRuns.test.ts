/**
 * Watching a listing of runs: the page, then each run that is new or has changed.
 */
import { assert, describe, it } from "@effect/vitest"
import { defaultLimits, CurrentLimits } from "@millrace/core/domain/Limits"
import { RunId, WorkflowId } from "@millrace/core/domain/Id"
import { notStarted } from "@millrace/core/domain/Run"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { Effect, Fiber, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import type { Received } from "./EventReader.ts"
import { EventReader } from "./EventReader.ts"
import * as LiveRuns from "../src/internal/LiveRuns.ts"
import { Cursors } from "../src/internal/Cursor.ts"
import type { Tenant } from "./Harness.ts"
import { Harness } from "./Harness.ts"
import { chain, create, endless, failing, finish, start } from "./Samples.ts"

const watch = Effect.fnUntraced(function* (owner: Tenant, query = "") {
  const { handler } = yield* Harness
  const request = new Request(`http://localhost/api/v1/runs/live${query}`, {
    headers: { authorization: `Bearer ${owner.key}` },
  })
  return new EventReader(yield* Effect.promise(() => handler(request)))
})

const begin = Effect.gen(function* () {
  const { tenant } = yield* Harness
  const owner = yield* tenant()
  return { owner, hang: yield* create(owner, endless), bad: yield* create(owner, failing) }
})

const cancel = Effect.fnUntraced(function* ({ accountId }: Tenant, id: string) {
  yield* Effect.orDie(Runs.use((runs) => runs.cancel(accountId, RunId.make(id))))
})

const shown = (item: Received | undefined): string =>
  item === undefined
    ? "nothing"
    : item.event === "page"
      ? `page ${item.data.items.map(({ id }: { id: string }) => id).join(" ")}`
      : `${item.event} ${item.data.id} ${item.data.status}`

/** A look that took long, as the clock moves on here, delays the next one by ten times as much. */
const next = (reader: EventReader) => reader.next(100, 150)

describe("GET /v1/runs/live", () => {
  it.effect("begins with the page of the listing, then tells of new runs and of changes", () =>
    Effect.gen(function* () {
      const { hang, owner } = yield* begin
      const { send } = yield* Harness
      const first = yield* start(owner, hang)
      const reader = yield* watch(owner)
      assert.strictEqual(reader.status, 200)
      assert.strictEqual(reader.headers.get("content-type"), "text/event-stream")
      const page = yield* next(reader)
      const listed = yield* send("GET", "/api/v1/runs", { key: owner.key })
      assert.deepStrictEqual(page, { id: undefined, event: "page", data: listed.body })
      yield* TestClock.adjust(1)
      const second = yield* start(owner, hang)
      assert.strictEqual(shown(yield* next(reader)), `run ${second} RUNNING`)
      yield* cancel(owner, first)
      const change = yield* next(reader)
      assert.strictEqual(shown(change), `run ${first} CANCELED`)
      const after = yield* send("GET", "/api/v1/runs", { key: owner.key })
      assert.deepStrictEqual(change?.data, after.body.items[1])
      assert.isUndefined(yield* next(reader))
      yield* cancel(owner, second)
      yield* reader.close
    }).pipe(Effect.provide(Harness.layer)),
  )

  it.effect("keeps to the filter, and tells of a run that leaves it", () =>
    Effect.gen(function* () {
      const { bad, hang, owner } = yield* begin
      const running = yield* start(owner, hang)
      const all = yield* watch(owner, `?status=RUNNING&limit=5`)
      const failed = yield* watch(owner, `?status=FAILED&workflowId=${bad}`)
      assert.strictEqual(shown(yield* next(all)), `page ${running}`)
      assert.strictEqual(shown(yield* next(failed)), "page ")
      const broken = yield* finish(owner, bad)
      assert.strictEqual(shown(yield* next(failed)), `run ${broken} FAILED`)
      yield* cancel(owner, running)
      assert.strictEqual(shown(yield* next(all)), `run ${running} CANCELED`)
      assert.isUndefined(yield* next(failed))
      yield* all.close
      yield* failed.close
    }).pipe(Effect.provide(Harness.layer)),
  )

  it.effect("keeps to runs that people have started", () =>
    Effect.gen(function* () {
      const { hang, owner } = yield* begin
      const early = yield* start(owner, hang)
      const reader = yield* watch(owner, "?source=ui")
      assert.strictEqual(shown(yield* next(reader)), "page ")
      const late = yield* start(owner, hang)
      const own = yield* start(owner, hang, { source: "ui" })
      assert.strictEqual(shown(yield* next(reader)), `run ${own} RUNNING`)
      yield* cancel(owner, own)
      assert.strictEqual(shown(yield* next(reader)), `run ${own} CANCELED`)
      for (const id of [early, late]) yield* cancel(owner, id)
      assert.isUndefined(yield* next(reader))
      yield* reader.close
    }).pipe(Effect.provide(Harness.layer)),
  )

  it.effect("watches the runs that a run has started, and no others", () =>
    Effect.gen(function* () {
      const { hang, owner } = yield* begin
      const above = yield* start(owner, hang)
      const reader = yield* watch(owner, `?parent=${above}`)
      assert.strictEqual(shown(yield* next(reader)), "page ")
      const store = yield* RunStore
      const found = yield* store.find(owner.accountId, RunId.make(above))
      const { definition, run } = Option.getOrThrow(found)
      const place = { runId: run.id, rootRunId: run.id, nodeId: "x", index: 0, depth: 1 }
      const id = RunId.make("run_child")
      const ended = { status: "COMPLETED" as const, finishedAt: run.createdAt }
      const fresh = { id, parent: place, revision: 1, executionId: "execution_child" }
      const child = { ...run, ...notStarted, ...fresh, ...ended }
      const expected = { _tag: "New" as const, definition }
      const rest = { nodeRuns: [], rewritten: [], events: [], deliveries: [] }
      yield* store.commit({ expected, run: child, ...rest })
      const other = yield* start(owner, hang)
      assert.strictEqual(shown(yield* next(reader)), `run ${id} COMPLETED`)
      for (const each of [above, other]) yield* cancel(owner, each)
      assert.isUndefined(yield* next(reader))
      yield* reader.close
    }).pipe(Effect.provide(Harness.layer)),
  )

  it.effect("tells of an old run behind the page that ends, and of one that joins the filter", () =>
    Effect.gen(function* () {
      const { hang, owner } = yield* begin
      const old = yield* start(owner, hang)
      for (let n = 0; n < 3; n++) {
        yield* TestClock.adjust(1)
        yield* cancel(owner, yield* start(owner, hang))
      }
      const reader = yield* watch(owner, "?limit=2")
      const canceled = yield* watch(owner, "?limit=2&status=CANCELED")
      assert.notInclude(shown(yield* next(reader)), old)
      yield* next(canceled)
      yield* cancel(owner, old)
      assert.strictEqual(shown(yield* next(reader)), `run ${old} CANCELED`)
      assert.strictEqual(shown(yield* next(canceled)), `run ${old} CANCELED`)
      yield* reader.close
      yield* canceled.close
    }).pipe(Effect.provide(Harness.layer)),
  )

  it.effect("tells of each of many runs that are started within one look", () =>
    Effect.gen(function* () {
      const { hang, owner } = yield* begin
      const reader = yield* watch(owner, "?limit=2")
      yield* next(reader)
      const ids: Array<string> = []
      for (let n = 0; n < 60; n++) ids.push(yield* start(owner, hang))
      const told: Array<string> = []
      for (let n = 0; n < 60; n++) told.push((yield* next(reader))?.data.id)
      assert.deepStrictEqual(told.toSorted(), ids.toSorted())
      for (const id of ids) yield* cancel(owner, id)
      yield* reader.close
    }).pipe(Effect.provide(Harness.layer)),
  )

  it.effect("shows no account the runs of another", () =>
    Effect.gen(function* () {
      const { hang, owner } = yield* begin
      const stranger = yield* (yield* Harness).tenant()
      const reader = yield* watch(stranger, `?workflowId=${hang}`)
      assert.strictEqual(shown(yield* next(reader)), "page ")
      const id = yield* start(owner, hang)
      assert.isUndefined(yield* next(reader))
      yield* cancel(owner, id)
      yield* reader.close
    }).pipe(Effect.provide(Harness.layer)),
  )

  it.effect("refuses what the listing refuses, and a cursor has no meaning", () =>
    Effect.gen(function* () {
      const { owner } = yield* begin
      const { send } = yield* Harness
      for (const query of [
        "limit=0",
        "status=X",
        "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z",
        "search=",
      ]) {
        const answer = yield* send("GET", `/api/v1/runs/live?${query}`, { key: owner.key })
        assert.strictEqual(answer.status, 400, query)
      }
    }).pipe(Effect.provide(Harness.layer)),
  )

  it.effect("sends a comment in long silence, and ends after the time of a stream", () =>
    Effect.gen(function* () {
      const { owner } = yield* begin
      const reader = yield* watch(owner)
      yield* next(reader)
      assert.isUndefined(yield* reader.next(1_000, 40))
      assert.isAtLeast(reader.comments, 2)
      assert.isUndefined(yield* reader.next(1_000, 60))
      assert.isTrue(reader.hasEnded)
    }).pipe(
      Effect.provide(
        Harness.layer.pipe(
          Layer.provide(Layer.succeed(CurrentLimits, { ...defaultLimits, streamMillis: 60_000 })),
        ),
      ),
    ),
  )

  it.effect("takes the slots of a key as streams of events do", () =>
    Effect.gen(function* () {
      const { owner } = yield* begin
      const first = yield* watch(owner)
      const second = yield* watch(owner)
      assert.deepStrictEqual([first.status, second.status], [200, 429])
      yield* first.close
    }).pipe(
      Effect.provide(
        Harness.layer.pipe(
          Layer.provide(Layer.succeed(CurrentLimits, { ...defaultLimits, streamsPerKey: 1 })),
        ),
      ),
    ),
  )
})

/** Viewers of a listing, over a store that counts its reads and may fail. */
const counted = Effect.gen(function* () {
  const store = yield* RunStore
  const reads = { lists: 0, isDown: false }
  const counting = RunStore.of({
    ...store,
    list: (query) =>
      Effect.suspend(() => {
        if (query.status === undefined) reads.lists += 1
        const down = new StorageError({ operation: "RunStore.list", cause: new Error("down") })
        return reads.isDown ? Effect.fail(down) : store.list(query)
      }),
  })
  const live = yield* LiveRuns.make.pipe(
    Effect.provideService(RunStore, counting),
    Effect.provide(Cursors.layer),
  )
  return { reads, live }
})

describe("LiveRuns", () => {
  it.effect("looks once a second at most, however many watch and however much happens", () =>
    Effect.gen(function* () {
      const { hang, owner } = yield* begin
      const { live, reads } = yield* counted
      const viewers = yield* Effect.forEach(Array.from({ length: 100 }), () =>
        live(owner.accountId, { limit: 20 }, null),
      )
      assert.strictEqual(reads.lists, 1)
      const waiting = yield* Effect.forEach(viewers, ({ next: news }) => Effect.forkChild(news))
      const ids: Array<string> = []
      for (let n = 0; n < 50; n++) {
        ids.push(yield* start(owner, hang))
        yield* TestClock.adjust(100)
      }
      assert.isAtMost(reads.lists, 7)
      for (const fiber of waiting) assert.isArray(yield* Fiber.join(fiber))
      for (const id of ids) yield* cancel(owner, id)
    }).pipe(Effect.scoped, Effect.provide(Harness.layer)),
  )

  it.effect("tells a viewer of some workflows what happens in these, and in no other", () =>
    Effect.gen(function* () {
      const { hang, owner } = yield* begin
      const other = yield* create(owner, chain)
      const { live } = yield* counted
      const [all, some] = [
        yield* live(owner.accountId, {}, null),
        yield* live(owner.accountId, {}, [WorkflowId.make(hang)]),
      ]
      yield* finish(owner, other)
      const id = yield* start(owner, hang)
      yield* TestClock.adjust("3 seconds")
      const toldOf = (news: LiveRuns.LiveNews) =>
        typeof news === "string" ? [] : news.map(({ workflowId }) => workflowId as string)
      assert.sameMembers(toldOf(yield* all.next), [hang, other])
      assert.deepStrictEqual(toldOf(yield* some.next), [hang])
      yield* cancel(owner, id)
    }).pipe(Effect.scoped, Effect.provide(Harness.layer)),
  )

  it.effect("hears of a commit of this process at once when nothing was new for long", () =>
    Effect.gen(function* () {
      const { hang, owner } = yield* begin
      const { live } = yield* counted
      const viewer = yield* live(owner.accountId, {}, null)
      yield* TestClock.adjust("1500 millis")
      const waiting = yield* Effect.forkChild(viewer.next)
      const id = yield* start(owner, hang)
      yield* TestClock.adjust("5 millis")
      assert.isDefined(waiting.pollUnsafe())
      yield* cancel(owner, id)
    }).pipe(Effect.scoped, Effect.provide(Harness.layer)),
  )

  it.effect("loses nothing while the store does not answer", () =>
    Effect.gen(function* () {
      const { hang, owner } = yield* begin
      const { live, reads } = yield* counted
      const viewer = yield* live(owner.accountId, {}, null)
      const waiting = yield* Effect.forkChild(viewer.next)
      reads.isDown = true
      const id = yield* start(owner, hang)
      yield* TestClock.adjust("10 seconds")
      assert.isUndefined(waiting.pollUnsafe())
      reads.isDown = false
      yield* TestClock.adjust("3 seconds")
      const news = yield* Fiber.join(waiting)
      assert.isArray(news)
      yield* cancel(owner, id)
    }).pipe(Effect.scoped, Effect.provide(Harness.layer)),
  )

  it.effect("stops looking when the last viewer has gone", () =>
    Effect.gen(function* () {
      const { owner } = yield* begin
      const { live, reads } = yield* counted
      yield* Effect.scoped(live(owner.accountId, {}, null))
      const before = reads.lists
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(reads.lists, before)
    }).pipe(Effect.scoped, Effect.provide(Harness.layer)),
  )
})
