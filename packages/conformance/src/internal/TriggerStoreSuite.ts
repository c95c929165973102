/**
 * How every store must keep triggers: one claimer for each that is due, no write with an outdated
 * fence, nothing of one account for another, and nothing left of a workflow that is gone.
 */
import { assert, describe } from "@effect/vitest"
import { RunId, TriggerId, WorkflowId } from "@millrace/core/domain/Id"
import * as Ledger from "@millrace/core/domain/Ledger"
import { triggersPerWorkflow } from "@millrace/core/domain/Limits"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect, Option, Result } from "effect"
import * as Samples from "../Samples.ts"
import type { Tests } from "./TriggerScenes.ts"
import { hour, scene } from "./TriggerScenes.ts"

const keeps = (it: Tests): void => {
  it.effect("gives a trigger back as it was stored, and lists the oldest first", () =>
    Effect.gen(function* () {
      const { store, trigger, workflow, samples } = yield* scene
      const [one, two] = [
        trigger(),
        trigger({
          cron: null,
          everySeconds: 90,
          startAt: 5,
          endAt: 6,
          waitingAt: 5,
          lastError: "a\u0000",
        }),
      ]
      assert.isTrue(yield* store.insert(two))
      assert.isTrue(yield* store.insert(one))
      assert.deepStrictEqual(yield* store.list(samples.account, workflow.id), [one, two])
      assert.deepStrictEqual(yield* store.find(two), Option.some(two))
      assert.isTrue(yield* store.remove(two))
      assert.isFalse(yield* store.remove(two))
      assert.deepStrictEqual(yield* store.find(two), Option.none())
    }),
  )

  it.effect("shows nothing of one account or workflow to another", () =>
    Effect.gen(function* () {
      const { store, trigger, workflow, samples } = yield* scene
      const one = trigger()
      yield* store.insert(one)
      const foreign = [
        { ...one, accountId: samples.stranger },
        { ...one, workflowId: WorkflowId.make("wf_other") },
      ]
      for (const key of foreign) {
        assert.deepStrictEqual(yield* store.find(key), Option.none())
        assert.isFalse(yield* store.remove(key))
        assert.isFalse(yield* store.replace(key))
        assert.deepStrictEqual(yield* store.list(key.accountId, key.workflowId), [])
        assert.isFalse(yield* store.insert({ ...key, id: TriggerId.make("trg_x") }))
      }
      assert.deepStrictEqual(yield* store.list(samples.account, workflow.id), [one])
    }),
  )

  it.effect("keeps exactly as many for a workflow as it may have", () =>
    Effect.gen(function* () {
      const { store, trigger, workflow, samples } = yield* scene
      const all = Array.from({ length: triggersPerWorkflow + 5 }, () => trigger())
      const stored = yield* Effect.forEach(all, (each) => Effect.result(store.insert(each)), {
        concurrency: 10,
      })
      assert.lengthOf(
        stored.filter(({ _tag }) => _tag === "Success"),
        triggersPerWorkflow,
      )
      const kept = yield* store.list(samples.account, workflow.id)
      assert.lengthOf(kept, triggersPerWorkflow)
    }),
  )
}

const bounds = (it: Tests): void => {
  it.effect("loses the triggers of a workflow with the workflow", () =>
    Effect.gen(function* () {
      const { claim, due, samples, store, workflow, workflows } = yield* scene
      const one = due()
      yield* store.insert(one)
      yield* workflows.remove(samples.account, workflow.id)
      assert.deepStrictEqual(yield* store.find(one), Option.none())
      assert.deepStrictEqual((yield* claim()).triggers, [])
      assert.isFalse(yield* store.insert(one))
    }),
  )
}

const claims = (it: Tests): void => {
  it.effect("claims what is due, each for one claimer, with a higher fence and a lease", () =>
    Effect.gen(function* () {
      const { claim, due, store, trigger } = yield* scene
      const all = [due(), due(), due(), due()]
      for (const each of [...all, trigger(), due({ dueAt: null, nextAt: null })]) {
        yield* store.insert(each)
      }
      const claimed = yield* Effect.all([claim(), claim(), claim()], { concurrency: 3 })
      const triggers = claimed.flatMap((each) => each.triggers)
      assert.sameMembers(
        triggers.map(({ id }) => id),
        all.map(({ id }) => id),
      )
      for (const [index, { now, triggers: own }] of claimed.entries()) {
        assert.strictEqual(claimed[index]!.now, now)
        for (const each of own) {
          assert.strictEqual(each.fence, 1)
          assert.strictEqual(each.dueAt, now + hour)
          assert.strictEqual(each.nextAt, all[0]!.nextAt)
        }
      }
      assert.deepStrictEqual((yield* claim()).triggers, [])
    }),
  )

  it.effect("claims again what a claimer did not advance within its lease", () =>
    Effect.gen(function* () {
      const { claim, due, store } = yield* scene
      yield* store.insert(due())
      assert.lengthOf((yield* claim(0)).triggers, 1)
      const { triggers } = yield* claim()
      assert.deepStrictEqual(
        triggers.map(({ fence }) => fence),
        [2],
      )
    }),
  )

  it.effect("says when the next one is due, and claims no more than asked", () =>
    Effect.gen(function* () {
      const { claim, due, now, store, trigger } = yield* scene
      yield* store.insert(trigger({ nextAt: now + 60_000, dueAt: now + 60_000 }))
      const { nextDueAt } = yield* claim()
      assert.isAtMost(nextDueAt!, now + 60_000)
      yield* store.insert(due({ dueAt: 1, nextAt: 1 }))
      yield* store.insert(due({ dueAt: 2, nextAt: 2 }))
      const first = yield* store.claimDue({ limit: 1, leaseMillis: hour })
      assert.lengthOf(first.triggers, 1)
      assert.lengthOf((yield* store.claimDue({ limit: 0, leaseMillis: hour })).triggers, 0)
      yield* claim()
    }),
  )
}

const writes = (it: Tests): void => {
  it.effect("advances a trigger once for each claim, and keeps what an advance leaves out", () =>
    Effect.gen(function* () {
      const { claim, due, now, store } = yield* scene
      const one = due()
      yield* store.insert(one)
      const [claimed] = (yield* claim()).triggers
      const next = { nextAt: now + hour, waitingAt: now - 1_000, dueAt: now + hour + 5 }
      const lastRunId = RunId.make("run_1")
      const advance = { id: one.id, fence: claimed!.fence, ...next, missed: 2 }
      const first = { ...advance, lastAt: 7, lastRunId, lastMissedAt: 8, lastError: "why" }
      yield* store.advance([first, { ...advance, fence: 0, nextAt: 1 }])
      yield* store.advance([{ ...first, nextAt: 1 }])
      const stored = { ...one, ...first, fence: 2 }
      assert.deepStrictEqual(yield* store.find(one), Option.some(stored))
      yield* store.advance([
        { ...advance, fence: 2, nextAt: null, waitingAt: null, dueAt: null, missed: 1 },
      ])
      const ended = { ...stored, nextAt: null, waitingAt: null, dueAt: null, missed: 3, fence: 3 }
      assert.deepStrictEqual(yield* store.find(one), Option.some(ended))
    }),
  )

  it.effect("replaces a trigger with the fence that was read, and keeps what became of it", () =>
    Effect.gen(function* () {
      const { claim, due, now, store } = yield* scene
      const one = due()
      yield* store.insert(one)
      const [claimed] = (yield* claim()).triggers
      const off = { ...one, enabled: false, nextAt: null, dueAt: null, values: {}, missed: 9 }
      assert.isFalse(yield* store.replace(off))
      const changed = { ...off, fence: claimed!.fence }
      assert.isTrue(yield* store.replace(changed))
      // The claimer comes too late.
      const next = { nextAt: now + 1, waitingAt: null, dueAt: now + 1, missed: 1 }
      yield* store.advance([{ id: one.id, fence: claimed!.fence, ...next }])
      const stored = { ...changed, missed: 0, fence: claimed!.fence + 1 }
      assert.deepStrictEqual(yield* store.find(one), Option.some(stored))
      assert.deepStrictEqual((yield* claim()).triggers, [])
    }),
  )

  it.effect("lists the runs of a trigger", () =>
    Effect.gen(function* () {
      const { samples, trigger } = yield* scene
      const runs = yield* RunStore
      const [one, two] = [trigger().id, trigger().id]
      const [c, b, a] = [
        samples.run({ triggerId: one, source: "schedule" }),
        samples.run({ triggerId: two, source: "schedule" }),
        samples.run(),
      ]
      for (const run of [a, b, c]) yield* runs.commit(Samples.newRun(run))
      const listed = (triggerId: TriggerId) =>
        Effect.map(runs.list({ account: samples.account, triggerId, limit: 10 }), ({ items }) => [
          ...items,
        ])
      assert.deepStrictEqual(yield* listed(one), [c])
      assert.deepStrictEqual(yield* listed(two), [b])
      assert.deepStrictEqual(yield* listed(TriggerId.make("trg_none")), [])
    }),
  )
}

const fences = (it: Tests): void => {
  it.effect("stores a new run for a trigger only with the fence of its last claim", () =>
    Effect.gen(function* () {
      const { claim, due, samples, store } = yield* scene
      const runs = yield* RunStore
      /** Starts runs at once, one with each fence. */
      const start = (triggerId: TriggerId, given: ReadonlyArray<number>) =>
        Effect.forEach(
          given,
          (claimFence) => {
            const run = samples.run({ triggerId, source: "schedule", estimatedCredits: 1 })
            const definition = Samples.definitionFor(run)
            const expected = { _tag: "New" as const, definition, isCurrent: false, claimFence }
            const credits = [Ledger.reserve(1, run.createdAt)]
            return Effect.result(runs.commit(Samples.newRun(run, { expected, credits })))
          },
          { concurrency: "unbounded" },
        ).pipe(Effect.map((all) => all.map(Result.isSuccess)))
      const [one, two] = [due(), due()]
      for (const each of [one, two]) yield* store.insert(each)
      const claimed = (yield* claim(0)).triggers.map(({ fence }) => fence)
      assert.deepStrictEqual(claimed, [one.fence + 1, one.fence + 1])
      const [before, fence] = [one.fence, one.fence + 1]
      assert.deepStrictEqual(yield* start(one.id, [fence, before, fence + 1]), [true, false, false])
      yield* claim()
      assert.deepStrictEqual(yield* start(one.id, [fence, fence + 1, fence]), [false, true, false])
      assert.isTrue(yield* store.replace({ ...one, fence: fence + 1 }))
      assert.deepStrictEqual(yield* start(one.id, [fence + 1, fence + 2]), [false, true])
      assert.isTrue(yield* store.remove(one))
      assert.deepStrictEqual(yield* start(one.id, [fence + 2]), [false])
      assert.deepStrictEqual(yield* start(two.id, [fence + 1]), [true])
      const { account } = yield* LedgerStore.use((ledger) => ledger.find(samples.account))
      assert.strictEqual(account.reserved, 4)
    }),
  )
}

const tells = (it: Tests): void => {
  it.effect("stores the delivery of an advance with it, and none where the fence is outdated", () =>
    Effect.gen(function* () {
      const { claim, due, now, samples, store } = yield* scene
      const deliveries = yield* WebhookStore
      const all = [due({ webhook: { ...Samples.webhook, events: null } }), due()]
      for (const each of all) yield* store.insert(each)
      assert.deepStrictEqual(yield* store.find(all[0]!), Option.some(all[0]!))
      const [one, two] = (yield* claim()).triggers
      const later = { nextAt: now + 1, waitingAt: null, dueAt: now + hour, missed: 2 }
      const [a, b, c] = [samples.delivery(), samples.delivery(), samples.delivery()]
      const first = { ...one!, ...later, delivery: a }
      yield* store.advance([first, { ...two!, ...later }])
      yield* store.advance([first, { ...two!, ...later, delivery: b }])
      const { items } = yield* deliveries.list({ account: samples.account, limit: 10 })
      assert.deepStrictEqual(
        items.map(({ id, state }) => [id, state]),
        [[a.id, "PENDING"]],
      )
      const [stored] = Option.toArray(yield* deliveries.find(samples.account, a.id))
      assert.strictEqual(stored?.body, a.body)
      const claimed = yield* deliveries.claim([a.id, b.id, c.id], 1_000)
      assert.deepStrictEqual(
        claimed.map(({ id }) => id),
        [a.id],
      )
    }),
  )
}

const addresses = (it: Tests): void => {
  it.effect("finds a webhook by the hash of its address, of any account", () =>
    Effect.gen(function* () {
      const { claim, samples, store, trigger, webhook, workflow } = yield* scene
      const [one, two] = [webhook(), webhook()]
      for (const each of [two, trigger(), one]) assert.isTrue(yield* store.insert(each))
      assert.deepStrictEqual(yield* store.findByAddress(one.addressHash), Option.some(one))
      assert.deepStrictEqual(yield* store.find(two), Option.some(two))
      assert.deepStrictEqual(yield* store.findByAddress(`${one.addressHash}0`), Option.none())
      const listed = yield* store.list(samples.account, workflow.id)
      assert.sameDeepMembers(
        listed.filter(({ type }) => type === "webhook"),
        [one, two],
      )
      assert.deepStrictEqual((yield* claim()).triggers, [])
      assert.isTrue(yield* store.remove(one))
      assert.deepStrictEqual(yield* store.findByAddress(one.addressHash), Option.none())
    }),
  )

  it.effect("finds no webhook that is switched off, and none at an address that it had", () =>
    Effect.gen(function* () {
      const { store, webhook } = yield* scene
      const one = webhook()
      yield* store.insert(one)
      assert.isTrue(yield* store.replace({ ...one, enabled: false }))
      assert.deepStrictEqual(yield* store.findByAddress(one.addressHash), Option.none())
      assert.isFalse(yield* store.replace(one))
      const moved = { ...one, fence: 1, addressHash: `${one.addressHash}-2`, into: null }
      assert.isTrue(yield* store.replace(moved))
      const stored = Option.some({ ...moved, fence: 2 })
      assert.deepStrictEqual(yield* store.findByAddress(one.addressHash), Option.none())
      assert.deepStrictEqual(yield* store.findByAddress(moved.addressHash), stored)
    }),
  )

  it.effect("finds no webhook of a workflow that is gone", () =>
    Effect.gen(function* () {
      const { samples, store, webhook, workflow, workflows } = yield* scene
      const one = webhook()
      yield* store.insert(one)
      yield* workflows.remove(samples.account, workflow.id)
      assert.deepStrictEqual(yield* store.findByAddress(one.addressHash), Option.none())
    }),
  )
}

const pauses = (it: Tests): void => {
  it.effect("says since when the triggers of an account are paused, and of no other", () =>
    Effect.gen(function* () {
      const { now, samples, store } = yield* scene
      const { account, stranger } = samples
      assert.isNull(yield* store.pausedAt(account))
      yield* store.resume(account, now)
      assert.strictEqual(yield* store.pause(account, now), now)
      assert.strictEqual(yield* store.pause(account, now + 5), now)
      assert.strictEqual(yield* store.pausedAt(account), now)
      assert.isNull(yield* store.pausedAt(stranger))
      yield* store.resume(stranger, now + 6)
      assert.strictEqual(yield* store.pausedAt(account), now)
      yield* store.resume(account, now + 7)
      yield* store.resume(account, now + 8)
      assert.isNull(yield* store.pausedAt(account))
      assert.strictEqual(yield* store.pause(account, now + 9), now + 9)
    }),
  )

  it.effect("names the pauses of the accounts of what is claimed, also those that are over", () =>
    Effect.gen(function* () {
      const { claim, due, now, samples, store } = yield* scene
      const { account, stranger } = samples
      const claimed = Effect.gen(function* () {
        yield* store.insert(due())
        const found = yield* claim()
        assert.lengthOf(found.triggers, 1)
        return found.pauses.filter(({ accountId }) => [account, stranger].includes(accountId))
      })
      yield* store.pause(stranger, now)
      assert.deepStrictEqual(yield* claimed, [])
      yield* store.pause(account, now)
      assert.deepStrictEqual(yield* claimed, [{ accountId: account, since: now, until: null }])
      yield* store.resume(account, now + 5)
      assert.deepStrictEqual(yield* claimed, [{ accountId: account, since: now, until: now + 5 }])
    }),
  )

  it.effect("finds no webhook of an account whose triggers are paused", () =>
    Effect.gen(function* () {
      const { now, samples, store, webhook } = yield* scene
      const one = webhook()
      yield* store.insert(one)
      yield* store.pause(samples.stranger, now)
      assert.deepStrictEqual(yield* store.findByAddress(one.addressHash), Option.some(one))
      yield* store.pause(samples.account, now)
      assert.deepStrictEqual(yield* store.findByAddress(one.addressHash), Option.none())
      yield* store.resume(samples.account, now)
      assert.deepStrictEqual(yield* store.findByAddress(one.addressHash), Option.some(one))
    }),
  )
}

/** Registers the tests. */
export const triggerStoreSuite = (it: Tests): void => {
  describe("TriggerStore", () => {
    keeps(it)
    bounds(it)
    writes(it)
    fences(it)
    tells(it)
  })
  describe("TriggerStore.findByAddress", () => {
    addresses(it)
  })
  describe("TriggerStore.pause", () => {
    pauses(it)
  })
  describe("TriggerStore.claimDue", () => {
    claims(it)
  })
}
