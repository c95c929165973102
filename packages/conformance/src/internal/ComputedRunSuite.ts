/**
 * What every run store must do with runs that were computed before they are stored: the commit that
 * starts them, their own or that of their parent, has their end.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import * as Ledger from "@millrace/core/domain/Ledger"
import type { AccountId, RunnerId } from "@millrace/core/domain/Id"
import type { Run } from "@millrace/core/domain/Run"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import type { StartedRun } from "@millrace/core/ports/RunStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Option } from "effect"
import * as Scenes from "../RunScenes.ts"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<RunStore | LedgerStore>

/** The item of a loop with this number, computed. */
const itemOf = (samples: Samples.Samples, parent: Run, index: number): StartedRun => {
  const run = samples.run({
    mode: "item",
    status: index % 2 === 0 ? "COMPLETED" : "FAILED",
    error: index % 2 === 0 ? null : 'Node "a" failed: \u0000',
    output: [index, { ...Samples.hardJson }],
    startedAt: Samples.epoch + 1,
    finishedAt: Samples.epoch + 2,
    sequence: 3,
    attempts: 1,
    nodeRunCount: 1,
    parent: { runId: parent.id, nodeId: "each", index, rootRunId: parent.id, depth: 1 },
  })
  return {
    run,
    definition: Samples.definitionFor(run),
    nodeRuns: [
      Samples.nodeRun("a", { sequence: 2 }),
      Samples.nodeRun("b", { ordinal: 1, input: null, output: { item: index }, credits: 0 }),
    ],
    implied: new Map([["a", ["text"]]]),
    events: [Samples.event(run, 1), Samples.event(run, 3, { type: "run.completed" })],
  }
}

/** A commit that starts a run and ends it. */
const whole = (samples: Samples.Samples, owner: RunnerId) => {
  const run = samples.run({
    status: "COMPLETED",
    owner,
    fence: 1,
    revision: 1,
    output: { ...Samples.hardJson },
    startedAt: Samples.epoch,
    finishedAt: Samples.epoch + 2,
    sequence: 3,
    attempts: 1,
    nodeRunCount: 1,
  })
  return {
    ...Samples.newRun(run),
    nodeRuns: [Samples.nodeRun("a", { sequence: 2 })],
    events: [Samples.event(run, 1), Samples.event(run, 3, { type: "run.completed" })],
  }
}

const storing = (it: Tests): void => {
  it.effect("stores a run that its own start ends, which nobody owns and nobody claims", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const owner = samples.runner()
      const commit = whole(samples, owner)
      const { id } = commit.run
      yield* store.commit(commit)
      const found = Option.getOrThrow(yield* store.find(samples.account, id))
      assert.deepStrictEqual([found.run, found.nodeRuns], [commit.run, commit.nodeRuns])
      const told = yield* store.events(samples.account, id, 0)
      assert.deepStrictEqual(
        told.map(({ sequence, type }) => `${sequence} ${type}`),
        ["1 run.started", "2 node.completed", "3 run.completed"],
      )
      assert.strictEqual((yield* store.heartbeat(owner, Scenes.hourMillis)).size, 0)
      const load = yield* store.load({ account: samples.account, limit: 9 })
      assert.deepStrictEqual([load.queued, load.owned], [0, 0])
      assert.deepStrictEqual(yield* Scenes.claim(samples.runner(), 9), [])
      const next = yield* Effect.flip(store.commit(Samples.step(commit.run, {})))
      assert.strictEqual(next._tag, "StaleRun")
    }),
  )
}

const storingItems = (it: Tests): void => {
  it.effect("stores runs that their parent has computed as they ended, and hands out none", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const parent = yield* Scenes.owned(samples)
      const items = Array.from({ length: 300 }, (_, index) => itemOf(samples, parent, index))
      const place = { runId: parent.id, nodeId: "each", index: 300, rootRunId: parent.id, depth: 1 }
      const queued = samples.run({ mode: "item", parent: place })
      const last = { run: queued, definition: Samples.definitionFor(queued) }
      yield* store.commit(Samples.step(parent, {}, { starts: [...items, last] }))
      for (const { events, nodeRuns, run } of [items[0]!, items[299]!]) {
        const found = Option.getOrThrow(yield* store.find(samples.account, run.id))
        assert.deepStrictEqual(found.run, run)
        assert.deepStrictEqual(found.nodeRuns, nodeRuns)
        const told = yield* store.events(samples.account, run.id, 0)
        assert.deepStrictEqual([told[0], told[2]], [events![0], events![1]])
        assert.deepStrictEqual(
          told.map(({ sequence, type }) => `${sequence} ${type}`),
          ["1 run.started", "2 node.completed", "3 run.completed"],
        )
      }
      const query = { account: samples.account, parentRunId: parent.id, nodeId: "each" }
      const listed = yield* store.children({ ...query, after: 197, limit: 200 })
      assert.deepStrictEqual(
        listed.map(({ id }) => id),
        [...items.slice(198), last].map(({ run }) => run.id),
      )
      const failed = yield* store.children({ ...query, after: -1, limit: 500, status: "FAILED" })
      assert.strictEqual(failed.length, 150)
      const load = yield* store.load({ account: samples.account, limit: 9 })
      assert.deepStrictEqual([load.queued, load.owned], [1, 1])
      const claimed = yield* Scenes.claim(samples.runner(), 9)
      assert.deepStrictEqual(
        claimed.map(({ run }) => run.id),
        [last.run.id],
      )
      const message = { id: "late", name: "go", payload: null }
      const sent = yield* store.send(samples.account, items[1]!.run.id, message)
      assert.deepStrictEqual(sent, { _tag: "Ended", status: "FAILED" })
    }),
  )

  it.effect("stores none of them where one is there already", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const parent = yield* Scenes.owned(samples)
      const items = [0, 1, 2].map((index) => itemOf(samples, parent, index))
      const next = Samples.step(parent, {}, { starts: [items[1]!] })
      yield* store.commit(next)
      const again = Samples.step(next.run, {}, { starts: items })
      const refusal = yield* Effect.flip(store.commit(again))
      assert.isTrue(refusal._tag === "StaleRun" && refusal.runId === items[1]!.run.id)
      assert.deepStrictEqual(yield* Scenes.runOf(parent), next.run)
      assert.isTrue(Option.isNone(yield* store.find(samples.account, items[0]!.run.id)))
    }),
  )
}

/** The item, which has set aside 6 and cost so much. */
const priced = <A extends Pick<StartedRun, "run">>({ run, ...item }: A, cost: number) => ({
  ...item,
  run: { ...run, estimatedCredits: 6, actualCredits: cost, heldCredits: 0 },
  credits: [
    Ledger.reserve(6, Samples.epoch),
    Ledger.post(6, "a", 1, cost, Samples.epoch),
    Ledger.voidRest(6 - cost, Samples.epoch),
  ],
})

/** Gives an account so many credits, and no more. */
const grant = Effect.fnUntraced(function* (accountId: AccountId, amount: number) {
  const ledger = yield* LedgerStore
  const by = { accountId, actor: "ada", reason: "a test" }
  yield* ledger.meter({ ...by, id: "m" }, true)
  yield* ledger.grant({ ...by, id: "g", amount, priority: 0, expiresAt: null })
})

const costing = (it: Tests): void => {
  it.effect("books what a run has cost that its own start ends, or stores nothing of it", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const ledger = yield* LedgerStore
      const { account } = samples
      yield* grant(account, 7)
      const [first, second] = [whole(samples, samples.runner()), whole(samples, samples.runner())]
      const bill = (commit: typeof first) => ({ ...commit, ...priced(commit, 2) })
      yield* store.commit(bill(first))
      const refusal = yield* Effect.flip(store.commit(bill(second)))
      assert.strictEqual(refusal._tag, "InsufficientCredits")
      assert.isTrue(Option.isNone(yield* store.find(account, second.run.id)))
      const { posted, reserved } = (yield* ledger.find(account)).account
      assert.deepStrictEqual([posted, reserved], [5, 0])
      const { days } = yield* ledger.usage({ account, from: 0, until: Samples.epoch * 2 })
      const sums = days.map((day) => [day.runs, day.estimatedCredits, day.actualCredits])
      assert.deepStrictEqual(sums, [[1, 6, 2]])
    }),
  )

  it.effect("lets each of them set aside what those before it gave back, and names the first", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const ledger = yield* LedgerStore
      const { account } = samples
      yield* grant(account, 10)
      const parent = yield* Scenes.owned(samples)
      const items = [0, 1, 2, 3].map((index) => priced(itemOf(samples, parent, index), 2))
      const dear = Samples.step(parent, {}, { starts: items })
      const refusal = yield* Effect.flip(store.commit(dear))
      assert.isTrue(refusal._tag === "InsufficientCredits")
      if (refusal._tag !== "InsufficientCredits") return
      const { available, required, runId } = refusal
      assert.deepStrictEqual([required, available, runId], [6, 4, items[3]!.run.id])
      assert.isTrue(Option.isNone(yield* store.find(account, items[0]!.run.id)))
      yield* store.commit(Samples.step(parent, {}, { starts: items.slice(0, 3) }))
      const { posted, reserved } = (yield* ledger.find(account)).account
      assert.deepStrictEqual([posted, reserved], [4, 0])
      const { days } = yield* ledger.usage({ account, from: 0, until: Samples.epoch * 2 })
      const sums = days.map((day) => [day.runs, day.estimatedCredits, day.actualCredits])
      assert.deepStrictEqual(sums, [[4, 18 + parent.estimatedCredits, 6]])
    }),
  )
}

/** Registers the suite; what needs credits only where the store has them. */
export const computedRunSuite = (it: Tests, hasLedger: boolean): void => {
  describe("RunStore.commit of runs that were computed", () => {
    storing(it)
    storingItems(it)
    if (hasLedger) costing(it)
  })
}
