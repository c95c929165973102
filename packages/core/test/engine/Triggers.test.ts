// What is refused of schedules, and in which words; a refusal stores and changes nothing. Which
// times a schedule shows.
import { withoutWebhooks } from "@millrace/core/engine/Engine"
import { GraphCache } from "@millrace/core/engine/GraphCache"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runner } from "@millrace/core/engine/Runner"
import { Runs } from "@millrace/core/engine/Runs"
import type { ScheduleChange } from "@millrace/core/engine/Triggers"
import { Triggers } from "@millrace/core/engine/Triggers"
import { Workflows } from "@millrace/core/engine/Workflows"
import { TriggerId, WorkflowId } from "@millrace/core/domain/Id"
import type { InboundWebhook } from "@millrace/core/domain/InboundWebhook"
import { webhookDefaults } from "@millrace/core/domain/InboundWebhook"
import { triggerWriteAttempts } from "@millrace/core/domain/Limits"
import { TriggerStore } from "@millrace/core/ports/TriggerStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { account, digest, node, save, shared, types } from "./TestEngine.ts"

/** So many replacements of triggers come to nothing, as if each was started meanwhile. */
const trouble = { lost: 0 }
const stores = Layer.effect(
  TriggerStore,
  Effect.map(TriggerStore, (store) => ({
    ...store,
    replace: (trigger: Parameters<typeof store.replace>[0]) =>
      Effect.suspend(() => (trouble.lost-- > 0 ? Effect.succeed(false) : store.replace(trigger))),
  })),
)

const services = Triggers.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(Workflows.layer, Runs.layer)),
  Layer.provide(withoutWebhooks()),
  Layer.provideMerge(Runner.layer),
  Layer.provide([GraphCache.layer, digest]),
  Layer.provide(NodeTypes.layer(...types)),
  Layer.provideMerge(stores),
  Layer.provideMerge(shared()),
)

const at = <A, E, R>(effect: Effect.Effect<A, E, R>) => effect.pipe(Effect.provide(services))

const refusals: ReadonlyArray<readonly [string, ScheduleChange, string]> = [
  ["neither cron nor an interval", {}, "cron: expected cron or everySeconds"],
  [
    "both of them",
    { cron: "* * * * *", everySeconds: 60 },
    "cron: expected either cron or everySeconds, and got both",
  ],
  [
    "an end at its start",
    { everySeconds: 60, startAt: 5_000, endAt: 5_000 },
    "endAt: expected a time after startAt",
  ],
  [
    "an end that has passed",
    { everySeconds: 60, endAt: 500 },
    "endAt: there is no time left before it",
  ],
]

describe("a schedule is refused", () => {
  it.effect.each(refusals)("with %s", ([, settings, message]) =>
    Effect.gen(function* () {
      yield* TestClock.adjust("1 second")
      const { id } = yield* save([node("a", "pass")])
      const { create, list } = yield* Triggers
      const refused = yield* Effect.flip(create(account, id, settings))
      assert.deepStrictEqual([refused._tag, refused.message], ["InvalidTrigger", message])
      assert.deepStrictEqual(yield* list(account, id), [])
    }).pipe(at),
  )

  it.effect("of a workflow that is not there", () =>
    Effect.gen(function* () {
      const none = WorkflowId.make("wf_none")
      const { create, list } = yield* Triggers
      for (const enabled of [true, false]) {
        const refused = yield* Effect.flip(create(account, none, { everySeconds: 60, enabled }))
        assert.strictEqual(refused._tag, "WorkflowNotFound")
      }
      assert.strictEqual((yield* Effect.flip(list(account, none)))._tag, "WorkflowNotFound")
    }).pipe(at),
  )

  it.effect("if a start with its values would be, unless it is off", () =>
    Effect.gen(function* () {
      const fields = [{ name: "order", type: "number", required: true }]
      const { id } = yield* save([node("in", "request", { fields })])
      const { create, update } = yield* Triggers
      const refused = yield* Effect.flip(create(account, id, { everySeconds: 60 }))
      assert.strictEqual(refused._tag, "InvalidGraph")
      assert.include(refused.message, "order")
      const off = yield* create(account, id, { everySeconds: 60, enabled: false })
      assert.deepInclude(off, { nextAt: null, dueAt: null })
      assert.deepStrictEqual(off.nextTimes, [])
      const on = yield* Effect.flip(update(off, { enabled: true }))
      assert.strictEqual(on._tag, "InvalidGraph")
      const fit = yield* update(off, { enabled: true, values: { order: 1 } })
      assert.lengthOf(fit.nextTimes, 10)
    }).pipe(at),
  )
})

describe("a schedule", () => {
  it.effect("shows ten times, and of those that are ten years away only the first one", () =>
    Effect.gen(function* () {
      const { id } = yield* save([node("a", "pass")])
      const { create, get } = yield* Triggers
      const [minute, year] = [60_000, 366 * 86_400_000]
      const often = yield* create(account, id, { everySeconds: 60 })
      const ten = Array.from({ length: 10 }, (_, at) => (at + 1) * minute)
      assert.deepStrictEqual(often.nextTimes, ten)
      assert.deepStrictEqual(yield* get(often), often)
      const seldom = yield* create(account, id, { everySeconds: year / 1_000 })
      const nine = Array.from({ length: 9 }, (_, at) => (at + 1) * year)
      assert.deepStrictEqual(seldom.nextTimes, nine)
      const startAt = 50 * year
      const late = yield* create(account, id, { everySeconds: 60, startAt })
      assert.deepStrictEqual(late.nextTimes, [startAt])
      const last = yield* create(account, id, { everySeconds: 60, endAt: 3 * minute })
      assert.deepStrictEqual(last.nextTimes, [minute, 2 * minute])
      const off = yield* create(account, id, { everySeconds: 60, enabled: false })
      assert.deepStrictEqual(off.nextTimes, [])
    }).pipe(at),
  )
})

describe("a change of a schedule", () => {
  it.effect("of its time begins now, and any other leaves the time as it is", () =>
    Effect.gen(function* () {
      const { id } = yield* save([node("a", "pass")])
      const { create, get, update } = yield* Triggers
      const made = yield* create(account, id, { everySeconds: 60 })
      assert.strictEqual(made.nextAt, 60_000)
      yield* TestClock.adjust("90 seconds")
      const same = yield* update(made, { overlap: "skip", cron: undefined })
      assert.deepInclude(same, { nextAt: 60_000, overlap: "skip", updatedAt: 90_000 })
      const moved = yield* update(made, { everySeconds: 3_600 })
      assert.deepInclude(moved, { nextAt: 3_600_000, everySeconds: 3_600, overlap: "skip" })
      const refused = yield* Effect.flip(update(made, { everySeconds: null }))
      assert.strictEqual(refused._tag, "InvalidTrigger")
      const text = yield* Effect.flip(update(made, { cron: "0 * * * *" }))
      assert.match(text.message, /^cron: this engine reads no cron texts; use everySeconds/)
      assert.deepInclude(yield* get(made), { cron: null, everySeconds: 3_600 })
      const kept = yield* update(made, { cron: null })
      assert.deepInclude(kept, { cron: null, everySeconds: 3_600, nextAt: 3_600_000 })
    }).pipe(at),
  )

  it.effect("is judged by the version that it names", () =>
    Effect.gen(function* () {
      const { id } = yield* save([node("a", "pass")])
      const { publish } = yield* WorkflowStore
      const head = { account, id, expectedRevision: 1, number: 1, note: null }
      yield* publish({ ...head, publishedAt: 0, mostVersions: 10 })
      yield* (yield* Workflows).update(account, id, { nodes: [node("a", "nothing")] })
      const { create, update } = yield* Triggers
      const made = yield* create(account, id, { everySeconds: 60 })
      const refused = yield* Effect.flip(update(made, { version: "draft" }))
      assert.strictEqual(refused._tag, "InvalidGraph")
      assert.strictEqual((yield* update(made, { version: 1 })).version, 1)
    }).pipe(at),
  )

  it.effect("is none of a trigger of another type, which is shown as it is", () =>
    Effect.gen(function* () {
      const { id: workflowId } = yield* save([node("a", "pass")])
      const { create, get, update } = yield* Triggers
      const { accountId, createdAt, fence, updatedAt } = yield* create(account, workflowId, {
        everySeconds: 60,
      })
      const webhook: InboundWebhook = {
        id: TriggerId.make("trg_webhook"),
        accountId,
        workflowId,
        type: "webhook",
        methods: ["POST"],
        verify: { type: "none" },
        networks: null,
        respond: "at_once",
        into: null,
        dedupeHeader: null,
        values: {},
        enabled: true,
        addressHash: "hash",
        createdAt,
        updatedAt,
        fence,
        ...webhookDefaults,
      }
      yield* (yield* TriggerStore).insert(webhook)
      const refused = yield* Effect.flip(update(webhook, { enabled: false }))
      assert.deepInclude(refused, { _tag: "TriggerNotFound", triggerId: webhook.id })
      assert.deepStrictEqual(yield* get(webhook), webhook)
    }).pipe(at),
  )

  it.effect("is tried again while the schedule is started, but not for ever", () =>
    Effect.gen(function* () {
      const { id } = yield* save([node("a", "pass")])
      const { create, update } = yield* Triggers
      const made = yield* create(account, id, { everySeconds: 60 })
      trouble.lost = triggerWriteAttempts - 1
      assert.strictEqual((yield* update(made, { overlap: "skip" })).overlap, "skip")
      trouble.lost = triggerWriteAttempts
      const refused = yield* Effect.flip(update(made, { overlap: "allow" }))
      assert.strictEqual(refused._tag, "StorageError")
      assert.include(refused.message, "is started too often to be changed")
    }).pipe(at),
  )

  it.effect("of one that is not there, or is removed, is refused", () =>
    Effect.gen(function* () {
      const { id } = yield* save([node("a", "pass")])
      const { create, get, list, remove, update } = yield* Triggers
      const made = yield* create(account, id, { everySeconds: 60 })
      assert.deepStrictEqual(
        (yield* list(account, id)).map((each) => each.id),
        [made.id],
      )
      yield* remove(made)
      const none = { ...made, id: TriggerId.make("trg_none") }
      for (const key of [made, none]) {
        const message = `Trigger ${key.id} does not exist`
        const calls = [get(key), update(key, { enabled: false }), remove(key)]
        for (const call of calls) {
          const refused = yield* Effect.flip(call)
          assert.strictEqual(refused.message, message)
        }
      }
      assert.deepStrictEqual(yield* list(account, id), [])
    }).pipe(at),
  )
})
