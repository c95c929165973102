/**
 * What every run store must do with messages to runs, and with what a commit starts and sends.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import type { RunId } from "@millrace/core/domain/Id"
import * as Ledger from "@millrace/core/domain/Ledger"
import { messagesPerRun } from "@millrace/core/domain/Limits"
import type { NewMessage } from "@millrace/core/domain/Message"
import { ownMessageId } from "@millrace/core/domain/Message"
import type { Run } from "@millrace/core/domain/Run"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import type { SentMessage, StartedRun } from "@millrace/core/ports/RunStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Option } from "effect"
import * as Scenes from "../RunScenes.ts"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<RunStore | LedgerStore>

const messageOf = (id: string, change?: Partial<NewMessage>): NewMessage => ({
  id,
  name: "go",
  payload: { from: id },
  ...change,
})

const send = (run: Run, id: string, change?: Partial<NewMessage>) =>
  RunStore.use((store) => store.send(run.accountId, run.id, messageOf(id, change)))

/** The messages of a run as `number name`. */
const inboxOf = Effect.fnUntraced(function* (
  run: Run,
  after: number = 0,
  held: ReadonlyArray<number> = [],
) {
  const store = yield* RunStore
  const inboxes = yield* store.inboxes([{ runId: run.id, after, held }])
  return inboxes.flatMap(({ messages }) => messages.map(({ name, number }) => `${number} ${name}`))
})

const claimedIds = Effect.fnUntraced(function* (samples: Samples.Samples) {
  const records = yield* Scenes.claim(samples.runner(), 9)
  return records.map(({ run }) => [run.id, run.dueAt, run.messages] as const)
})

const isStale = Effect.fnUntraced(function* (commit: Parameters<RunStore["Service"]["commit"]>[0]) {
  const store = yield* RunStore
  const result = yield* Effect.result(store.commit(commit))
  return result._tag === "Failure" ? result.failure._tag : "applied"
})

const sending = (it: Tests): void => {
  it.effect("numbers the messages of a run from 1, and gives each back as it was sent", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const run = yield* Scenes.owned(samples)
      const other = yield* Scenes.owned(samples)
      const hard = { ...Samples.hardJson }
      const before = yield* store.now
      yield* send(run, "a", { name: "a\u0000\ud800", payload: hard })
      yield* send(other, "a")
      const sent = yield* send(run, "b", { payload: null })
      const after = yield* store.now
      assert.deepStrictEqual(sent, { _tag: "Sent", number: 2, isReplay: false })
      const inboxes = yield* store.inboxes([
        { runId: run.id, after: 0, held: [] },
        { runId: other.id, after: 1, held: [] },
        { runId: samples.run().id, after: 0, held: [1] },
      ])
      assert.deepStrictEqual(
        inboxes.map(({ runId }) => runId),
        [run.id],
      )
      const messages = inboxes[0]!.messages.map(({ at, ...message }) => {
        assert.isTrue(at >= before && at <= after, `${before} ${at} ${after}`)
        return message
      })
      assert.deepStrictEqual(messages, [
        { number: 1, name: "a\u0000\ud800", payload: hard },
        { number: 2, name: "go", payload: null },
      ])
      assert.strictEqual((yield* Scenes.runOf(run)).messages, 2)
      assert.deepStrictEqual(yield* Scenes.runOf(run), { ...run, messages: 2 })
    }),
  )
}

const bounds = (it: Tests): void => {
  it.effect("makes one message of one id, also of many at once, and after the end", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const run = yield* Scenes.parked(samples, Scenes.never)
      const all = yield* Effect.forEach(
        Array.from({ length: 40 }, (_, n) => `id ${n % 4}`),
        (id) => send(run, id),
        { concurrency: "unbounded" },
      )
      const numbers = all.map((sent) => (sent._tag === "Sent" ? sent.number : 0))
      assert.deepStrictEqual(
        [...new Set(numbers)].toSorted((a, b) => a - b),
        [1, 2, 3, 4],
      )
      const first = all.filter((sent) => sent._tag === "Sent" && !sent.isReplay)
      assert.strictEqual(first.length, 4)
      assert.deepStrictEqual(yield* inboxOf(run), ["1 go", "2 go", "3 go", "4 go"])
      const woken = yield* Scenes.runOf(run)
      yield* store.commit(Samples.step(woken, { status: "CANCELED" }))
      const again = yield* send(run, "id 1", { name: "other" })
      assert.isTrue(again._tag === "Sent" && again.isReplay)
      const late = yield* send(run, "another")
      assert.deepStrictEqual(late, { _tag: "Ended", status: "CANCELED" })
      assert.strictEqual((yield* Scenes.runOf(run)).messages, 4)
    }),
  )

  it.effect("knows no run of another account, nor one that is not there", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const run = yield* Scenes.parked(samples, Scenes.never)
      const answers = [
        yield* store.send(samples.stranger, run.id, messageOf("a")),
        yield* store.send(samples.account, samples.run().id, messageOf("a")),
      ]
      assert.deepStrictEqual(answers, [{ _tag: "NotFound" }, { _tag: "NotFound" }])
      assert.deepStrictEqual(yield* Scenes.runOf(run), run)
      assert.deepStrictEqual(yield* claimedIds(samples), [])
    }),
  )

  it.effect("holds so many messages that nobody has taken, under any race, and no more", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const run = yield* Scenes.owned(samples)
      const all = yield* Effect.forEach(
        Array.from({ length: messagesPerRun + 9 }, (_, n) => `${n}`),
        (id) => send(run, id),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(all.filter(({ _tag }) => _tag === "Full").length, 9)
      assert.strictEqual((yield* inboxOf(run)).length, messagesPerRun)
      const taken = [{ number: 3, nodeId: "a" }]
      const next = Samples.step(run, {}, { taken })
      yield* store.commit(next)
      assert.strictEqual((yield* send(run, "more"))._tag, "Sent")
      assert.strictEqual((yield* send(run, "too many"))._tag, "Full")
    }),
  )
}

const waking = (it: Tests): void => {
  it.effect("has a parked run be queued at once, without a due time", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const run = yield* Scenes.parked(samples, Scenes.never)
      assert.deepStrictEqual(yield* claimedIds(samples), [])
      yield* send(run, "a")
      assert.deepStrictEqual(yield* Scenes.runOf(run), { ...run, dueAt: null, messages: 1 })
      assert.deepStrictEqual(yield* claimedIds(samples), [[run.id, null, 1]])
      assert.deepStrictEqual(yield* claimedIds(samples), [])
    }),
  )

  it.effect("has it stand in the queue by when it was woken, also under caps", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const old = yield* Scenes.parked(samples, Scenes.never)
      const createdAt = yield* store.now
      const first = yield* Scenes.started(samples.run({ createdAt: createdAt - 5_000 }))
      const last = yield* Scenes.started(samples.run({ createdAt: createdAt + 60_000 }))
      yield* send(old, "a")
      const capped = { runsPerAccount: 2 }
      const records = yield* Scenes.claim(samples.runner(), 9, capped)
      assert.deepStrictEqual(
        records.map(({ run }) => run.id),
        [first.id, old.id],
      )
      assert.strictEqual((yield* claimedIds(samples))[0]?.[0], last.id)
    }),
  )

  it.effect("leaves a run where it is that has an owner, is queued or is due", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const owned = yield* Scenes.owned(samples)
      const queued = yield* Scenes.started(samples.run())
      const due = yield* Scenes.parked(samples, Scenes.longAgo)
      for (const run of [owned, queued, due]) {
        yield* send(run, "a")
        assert.deepStrictEqual(yield* Scenes.runOf(run), { ...run, messages: 1 })
      }
      const fences = yield* store.heartbeat(owned.owner!, Scenes.hourMillis)
      assert.deepStrictEqual(fences, new Map([[owned.id, owned.fence]]))
      const ids = (yield* claimedIds(samples)).map(([id]) => id)
      assert.sameMembers(ids, [queued.id, due.id])
    }),
  )
}

const committing = (it: Tests): void => {
  it.effect("refuses a commit that has not seen the last message, whole, and no other", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const run = yield* Scenes.owned(samples)
      yield* send(run, "a")
      yield* send(run, "b")
      const parks = { dueAt: Scenes.never, owner: null }
      const more = { nodeRuns: [Samples.nodeRun("a")], taken: [{ number: 1, nodeId: "a" }] }
      for (const seen of [0, 1]) {
        assert.strictEqual(yield* isStale(Samples.step(run, parks, { ...more, seen })), "StaleRun")
      }
      assert.deepStrictEqual(yield* Scenes.runOf(run), { ...run, messages: 2 })
      assert.deepStrictEqual(yield* inboxOf(run), ["1 go", "2 go"])
      const next = Samples.step(run, parks, { ...more, seen: 2 })
      yield* store.commit(next)
      assert.deepStrictEqual(yield* Scenes.runOf(run), { ...next.run, messages: 2 })
      assert.deepStrictEqual(yield* inboxOf(run), ["2 go"])
      assert.deepStrictEqual(yield* claimedIds(samples), [])
    }),
  )
}

const racing = (it: Tests): void => {
  it.effect("either parks a run before a message wakes it, or not at all, whoever is first", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const runs = yield* Effect.forEach(Array.from({ length: 30 }), () => Scenes.owned(samples))
      const parks = { dueAt: Scenes.never, owner: null }
      const outcomes = yield* Effect.forEach(
        runs,
        (run) =>
          Effect.map(
            Effect.all([isStale(Samples.step(run, parks, { seen: 0 })), send(run, "a")], {
              concurrency: "unbounded",
            }),
            ([outcome]) => outcome,
          ),
        { concurrency: "unbounded" },
      )
      const woken = new Set<RunId>()
      for (let found = -1; found !== 0;) {
        const records = yield* store.claim({
          runner: samples.runner(),
          leaseMillis: Scenes.hourMillis,
          limit: 100,
        })
        for (const { run } of records) woken.add(run.id)
        found = records.length
      }
      for (const [index, run] of runs.entries()) {
        assert.strictEqual(woken.has(run.id), outcomes[index] === "applied", outcomes[index])
      }
    }),
  )

  it.effect("gives what nodes have taken to those who ask for it by its number", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const run = yield* Scenes.owned(samples)
      for (const id of ["a", "b", "c"]) yield* send(run, id, { name: id })
      const taken = [
        { number: 1, nodeId: "a" },
        { number: 3, nodeId: "b" },
      ]
      const next = Samples.step(run, {}, { taken })
      yield* store.commit(next)
      assert.deepStrictEqual(yield* inboxOf(run), ["2 b"])
      assert.deepStrictEqual(yield* inboxOf(run, 0, [3]), ["2 b", "3 c"])
      assert.deepStrictEqual(yield* inboxOf(run, 2, [1]), ["1 a"])
      assert.deepStrictEqual(yield* inboxOf(run, 3), [])
    }),
  )
}

const startOf = (run: Run, more?: Partial<StartedRun>): StartedRun => ({
  run,
  definition: Samples.definitionFor(run),
  ...more,
})

const sentTo = (run: Run, id: string): SentMessage => ({ runId: run.id, message: messageOf(id) })

const carrying = (it: Tests): void => {
  it.effect("stores runs and messages with the commit that brings them, or none of it", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const run = yield* Scenes.owned(samples)
      const waits = yield* Scenes.parked(samples, Scenes.never)
      const children = [samples.run(), samples.run()]
      const nodeRuns = [Samples.nodeRun("given", { output: { output: Samples.hardJson } })]
      const [first, second] = children.map((child) => startOf(child))
      const more = {
        starts: [first!, { ...second!, nodeRuns }],
        messages: [sentTo(waits, "a"), sentTo(waits, "b")],
      }
      const stale = Samples.step({ ...run, fence: run.fence + 1 }, {}, more)
      assert.strictEqual(yield* isStale(stale), "StaleRun")
      assert.deepStrictEqual(yield* claimedIds(samples), [])
      const parks = { dueAt: Scenes.never, owner: null }
      yield* store.commit(Samples.step(run, parks, { ...more, seen: 0 }))
      assert.strictEqual((yield* Scenes.runOf(run)).dueAt, Scenes.never)
      assert.deepStrictEqual(yield* Scenes.runOf(children[0]!), children[0])
      const found = Option.getOrThrow(yield* store.find(samples.account, children[1]!.id))
      assert.deepStrictEqual(found.definition, Samples.definitionFor(children[1]!))
      assert.deepStrictEqual(found.nodeRuns, nodeRuns)
      assert.deepStrictEqual(yield* inboxOf(waits), ["1 go", "2 go"])
      const ids = (yield* claimedIds(samples)).map(([id]) => id)
      assert.sameMembers(ids, [waits.id, ...children.map(({ id }) => id)])
    }),
  )

  it.effect(
    "takes no message of the engine for one of the same id from outside, nor that for it",
    () =>
      Effect.gen(function* () {
        const samples = yield* Scenes.quiet
        const store = yield* RunStore
        const run = yield* Scenes.owned(samples)
        const [early, late] = [
          yield* Scenes.parked(samples, Scenes.never),
          yield* Scenes.parked(samples, Scenes.never),
        ]
        yield* send(early, run.id)
        const messages = [sentTo(early, ownMessageId(run.id)), sentTo(late, ownMessageId(run.id))]
        yield* store.commit(Samples.step(run, {}, { messages }))
        yield* send(late, run.id)
        for (const each of [early, late]) {
          assert.deepStrictEqual(yield* inboxOf(each), ["1 go", "2 go"])
        }
      }),
  )

  it.effect("starts nothing, and writes nothing, where one of the runs is there already", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const run = yield* Scenes.owned(samples)
      const known = yield* Scenes.owned(samples)
      const fresh = samples.run()
      const starts = [startOf(fresh), startOf(known)]
      const commit = Samples.step(run, {}, { starts, messages: [sentTo(known, "a")] })
      const refusal = yield* Effect.flip(store.commit(commit))
      assert.isTrue(refusal._tag === "StaleRun" && refusal.runId === known.id)
      assert.deepStrictEqual(yield* Scenes.runOf(run), run)
      assert.deepStrictEqual(yield* Scenes.runOf(known), known)
      assert.isTrue(Option.isNone(yield* store.find(samples.account, fresh.id)))
    }),
  )
}

const costing = (it: Tests): void => {
  it.effect("sets aside what each of the runs costs, one after the other, or starts none", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const ledger = yield* LedgerStore
      const by = { accountId: samples.account, actor: "ada", reason: "a test" }
      yield* ledger.meter({ ...by, id: "m" }, true)
      yield* ledger.grant({ ...by, id: "g", amount: 10, priority: 0, expiresAt: null })
      const run = yield* Scenes.owned(samples)
      const pricey = (amount: number) =>
        startOf(samples.run({ estimatedCredits: amount, heldCredits: amount }), {
          credits: [Ledger.reserve(amount, Samples.epoch)],
        })
      const dear = Samples.step(run, {}, { starts: [pricey(6), pricey(5)] })
      const refusal = yield* Effect.flip(store.commit(dear))
      assert.isTrue(refusal._tag === "InsufficientCredits")
      if (refusal._tag !== "InsufficientCredits") return
      assert.deepStrictEqual([refusal.required, refusal.available], [5, 4])
      assert.strictEqual((yield* ledger.find(samples.account)).account.reserved, 0)
      yield* store.commit(Samples.step(run, {}, { starts: [pricey(6), pricey(4)] }))
      assert.strictEqual((yield* ledger.find(samples.account)).account.reserved, 10)
    }),
  )
}

const refusing = (it: Tests): void => {
  it.effect("drops a message to a run that has ended, is foreign, or is not there", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const run = yield* Scenes.owned(samples)
      const ended = yield* Scenes.started(samples.run({ status: "COMPLETED" }))
      const foreign = yield* Scenes.parked(samples, Scenes.never, { accountId: samples.stranger })
      const messages = [ended, foreign, samples.run()].map((each) => sentTo(each, "a"))
      yield* store.commit(Samples.step(run, {}, { messages }))
      assert.strictEqual((yield* Scenes.runOf(run)).revision, run.revision + 1)
      assert.deepStrictEqual(yield* Scenes.runOf(ended), ended)
      assert.deepStrictEqual(yield* Scenes.runOf(foreign), foreign)
    }),
  )

  it.effect("lets runs send each other messages at once, also beyond what an inbox holds", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const left = yield* Scenes.owned(samples)
      const right = yield* Scenes.owned(samples)
      for (let n = 0; n < messagesPerRun; n++) yield* send(left, `${n}`)
      let [from, to] = [left, right]
      for (let n = 0; n < 4; n++) {
        const commits = [
          Samples.step(from, {}, { messages: [sentTo(to, `of the commit ${n}`)] }),
          Samples.step(to, {}, { messages: [sentTo(from, `of the commit ${n}`)] }),
        ]
        yield* Effect.forEach(
          commits,
          (commit) => Effect.retry(store.commit(commit), { times: 5 }),
          {
            concurrency: "unbounded",
          },
        )
        from = commits[1]!.run
        to = commits[0]!.run
      }
      const counts = [yield* inboxOf(left), yield* inboxOf(right)].map(({ length }) => length)
      assert.deepStrictEqual(counts, [messagesPerRun + 4, 4])
    }),
  )
}

/** Registers the suite; what needs credits only where the store has them. */
export const inboxSuite = (it: Tests, hasLedger: boolean): void => {
  describe("RunStore.send", () => {
    sending(it)
    bounds(it)
    waking(it)
  })
  describe("RunStore.commit of a run with messages", () => {
    committing(it)
    racing(it)
  })
  describe("RunStore.commit that starts and sends", () => {
    carrying(it)
    if (hasLedger) costing(it)
    refusing(it)
  })
}
