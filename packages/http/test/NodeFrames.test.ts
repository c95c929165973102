/**
 * Following the nodes of a run by `view=summary`.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Engine from "@millrace/core/engine/Engine"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { Context, Effect, Layer } from "effect"
import type { Received } from "./EventReader.ts"
import { EventReader } from "./EventReader.ts"
import type { Tenant } from "./Harness.ts"
import { Harness, services } from "./Harness.ts"
import { create, finish, hello, start } from "./Samples.ts"

const node = (id: string, type: string, x: number) => ({ id, type, position: { x, y: 0 } })

/** Two nodes, one after the other, each of which takes ten seconds; and one that fails at first. */
const slow = {
  name: "Slow",
  nodes: [
    node("first", "hold", 0),
    node("second", "hold", 300),
    {
      ...node("bad", "broken", 600),
      data: { retry: { attempts: 2, initial: 30_000, jitter: 0 }, onError: "route" },
    },
    node("after", "echo", 900),
  ],
  edges: [
    { id: "e1", source: "first", target: "second" },
    { id: "e2", source: "bad", target: "after", sourceHandle: "error" },
  ],
}

const follow = Effect.fnUntraced(function* (owner: Tenant, id: string, after?: string) {
  const { handler } = yield* Harness
  const request = new Request(`http://localhost/api/v1/runs/${id}/events?view=summary`, {
    headers: {
      authorization: `Bearer ${owner.key}`,
      ...(after === undefined ? {} : { "last-event-id": after }),
    },
  })
  return new EventReader(yield* Effect.promise(() => handler(request)))
})

const begin = Effect.gen(function* () {
  const { tenant } = yield* Harness
  const owner = yield* tenant()
  const id = yield* start(owner, yield* create(owner, slow))
  return { owner, id }
})

const summaryOf = Effect.fnUntraced(function* ({ key }: Tenant, id: string) {
  const { send } = yield* Harness
  return (yield* send("GET", `/api/v1/runs/${id}?view=summary`, { key })).body
})

const shown = ({ data, event, id }: Received): string =>
  event === "node" ? `${data.nodeId} ${data.status} ${data.attempt}` : `${id} ${event}`

const next = (reader: EventReader) => reader.next(1_000, 60)

/** Items up to one that looks like this. */
const until = Effect.fnUntraced(function* (reader: EventReader, last: string) {
  const found: Array<Received> = []
  while (found.length === 0 || shown(found.at(-1)!) !== last) {
    const item = yield* next(reader)
    assert.isDefined(item, `${last} did not come after ${found.map(shown).join(", ")}`)
    found.push(item)
  }
  return found
})

/** The nodes of a run as a viewer knows them who read the snapshot and what came after it. */
const known = (items: ReadonlyArray<Received>) => {
  const nodes = new Map<string, object>()
  for (const { data, event } of items) {
    if (event === "snapshot") for (const each of data.run.nodeRuns) nodes.set(each.nodeId, each)
    if (event === "node") nodes.set(data.nodeId, data)
  }
  return [...nodes.values()]
}

describe("GET /v1/runs/{id}/events?view=summary", () => {
  it.effect("begins with a summary, and tells of each node that runs, waits and ends", () =>
    Effect.gen(function* () {
      const { id, owner } = yield* begin
      const before = yield* summaryOf(owner, id)
      const reader = yield* follow(owner, id)
      const snapshot = (yield* next(reader))!
      assert.deepStrictEqual(snapshot.data, { sequence: 1, run: before })
      const items = [snapshot, ...(yield* until(reader, "second RUNNING 1"))]
      const all = [...items, ...(yield* reader.rest())]
      assert.isTrue(reader.hasEnded)
      const order = all.map(shown)
      assert.includeMembers(order, [
        "first COMPLETED 1",
        "second RUNNING 1",
        "second COMPLETED 1",
        "bad COMPLETED 2",
        "after COMPLETED 1",
      ])
      assert.match(order.at(-1)!, /^\d run.completed$/)
      for (const { data, event, id: number } of all.slice(1)) {
        if (event !== "node") continue
        assert.isUndefined(number)
        assert.deepInclude(data, { input: null, output: null, logs: null })
        assert.hasAllKeys(data.sizes, ["input", "output", "logs"])
      }
      // The snapshot has what the first event told.
      const events = all.flatMap(({ id: number }) => number ?? [])
      assert.deepStrictEqual(
        events,
        Array.from(events, (_, n) => String(n + 2)),
      )
      // Nobody has to read the run again.
      assert.deepStrictEqual(known(all), (yield* summaryOf(owner, id)).nodeRuns)
    }).pipe(Effect.provide(Harness.layer)),
  )

  it.effect("says when a waiting node goes on, and why a node was skipped", () =>
    Effect.gen(function* () {
      const { tenant } = yield* Harness
      const owner = yield* tenant()
      const edges = [{ id: "e", source: "first", target: "off" }]
      const off = { ...node("off", "echo", 300), data: { disabled: true } }
      const nodes = [node("first", "hold", 0), off]
      const id = yield* start(owner, yield* create(owner, { name: "Off", nodes, edges }))
      const reader = yield* follow(owner, id)
      const skipped = (yield* until(reader, "off SKIPPED 0")).at(-1)!
      assert.strictEqual(skipped.data.skipReason, "Disabled: the input is passed through")
      yield* reader.rest()
      const waiting = yield* begin
      const other = yield* follow(waiting.owner, waiting.id)
      const { run } = (yield* next(other))!.data
      const [bad] = run.nodeRuns.filter(({ nodeId }: { nodeId: string }) => nodeId === "bad")
      assert.deepInclude(bad, { status: "WAITING", attempt: 1 })
      assert.strictEqual(Date.parse(bad.dueAt) - Date.parse(bad.startedAt), 30_000)
      yield* other.rest()
    }).pipe(Effect.provide(Harness.layer)),
  )

  it.effect("goes on behind an event, with a snapshot of what has moved meanwhile", () =>
    Effect.gen(function* () {
      const { id, owner } = yield* begin
      const first = yield* follow(owner, id)
      const begun = yield* until(first, "second RUNNING 1")
      yield* first.close
      const { sequence } = begun[0]!.data
      const after = begun.flatMap(({ id: number }) => number ?? []).at(-1) ?? String(sequence)
      const again = yield* follow(owner, id, after)
      const rest = yield* again.rest()
      assert.strictEqual(rest[0]?.event, "snapshot")
      const numbers = rest.flatMap(({ id: number }) => (number === undefined ? [] : Number(number)))
      assert.strictEqual(numbers[0], Number(after) + 1)
      assert.deepStrictEqual(known(rest), (yield* summaryOf(owner, id)).nodeRuns)
      const last = String(numbers.at(-1))
      assert.strictEqual((yield* follow(owner, id, last)).status, 204)
    }).pipe(Effect.provide(Harness.layer)),
  )

  it.effect("sends no nodes to whoever did not ask for the view", () =>
    Effect.gen(function* () {
      const { id, owner } = yield* begin
      const { send } = yield* Harness
      const reader = yield* follow(owner, id)
      yield* reader.rest()
      const { text } = yield* send("GET", `/api/v1/runs/${id}/events`, { key: owner.key })
      assert.notInclude(text, "event: node\n")
    }).pipe(Effect.provide(Harness.layer)),
  )

  it.effect("tells of a run that executes elsewhere within a second", () =>
    Effect.gen(function* () {
      const { id, owner } = yield* begin
      const reader = yield* follow(owner, id)
      yield* next(reader)
      const elsewhere = yield* Layer.build(Layer.fresh(Engine.layerWithoutWebhooks))
      yield* Context.get(elsewhere, Runs).cancel(owner.accountId, id)
      const items: Array<Received> = []
      for (let item = yield* reader.next(100, 11); item !== undefined;) {
        items.push(item)
        item = yield* reader.next(100, 11)
      }
      const order = items.map(shown)
      assert.includeMembers(order, ["first CANCELED 1", "second CANCELED 0"])
      assert.match(order.at(-1)!, /run.canceled$/)
    }).pipe(Effect.scoped, Effect.provide(Harness.layer)),
  )

  it.effect("loses nothing while the store does not give the run", () => {
    let isBroken = false
    const failure = new StorageError({ operation: "test", cause: new Error("away") })
    const flaky = Layer.effect(
      RunStore,
      Effect.map(RunStore, (store) =>
        RunStore.of({
          ...store,
          find: (account, id) =>
            Effect.suspend(() => (isBroken ? Effect.fail(failure) : store.find(account, id))),
        }),
      ),
    ).pipe(Layer.provideMerge(services))
    return Effect.gen(function* () {
      const { id, owner } = yield* begin
      const reader = yield* follow(owner, id)
      const items = [(yield* next(reader))!]
      isBroken = true
      assert.isUndefined(yield* reader.next(1_000, 14))
      isBroken = false
      items.push(...(yield* reader.rest()))
      const numbers = items.flatMap(({ id: number }) => number ?? [])
      assert.deepStrictEqual(
        numbers,
        Array.from(numbers, (_, n) => String(n + 2)),
      )
      assert.deepStrictEqual(known(items), (yield* summaryOf(owner, id)).nodeRuns)
    }).pipe(Effect.provide(Harness.layerNoDeps.pipe(Layer.provideMerge(flaky))))
  })

  it.effect("tells of a run that has ended what it is, and that it has ended", () =>
    Effect.gen(function* () {
      const { tenant } = yield* Harness
      const owner = yield* tenant()
      const id = yield* finish(owner, yield* create(owner, hello))
      const found = yield* (yield* follow(owner, id)).rest()
      const { sequence } = found[0]!.data
      assert.isAbove(sequence, 2)
      assert.deepStrictEqual(found.map(shown), ["undefined snapshot", `${sequence} run.completed`])
    }).pipe(Effect.provide(Harness.layer)),
  )

  it.effect("refuses another view with 400", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const owner = yield* tenant()
      const id = yield* finish(owner, yield* create(owner, hello))
      const path = `/api/v1/runs/${id}/events?view=nodes`
      const { body, status } = yield* send("GET", path, { key: owner.key })
      assert.deepStrictEqual([status, body], [400, { error: 'view: expected "summary"' }])
    }).pipe(Effect.provide(Harness.layer)),
  )
})
