/**
 * What every key store must do with a request's key: exact windows, both or neither, an end that
 * holds at once, and nothing read for whoever is not admitted.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import type { ApiKey } from "@millrace/core/domain/ApiKey"
import { WorkflowId } from "@millrace/core/domain/Id"
import { dayMillis, minuteMillis } from "@millrace/core/domain/Timestamp"
import { type Admission, KeyStore } from "@millrace/core/ports/KeyStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Clock, Effect, Option, Schedule } from "effect"
import * as Samples from "../Samples.ts"

type Tests<R = never> = Vitest.MethodsNonLive<KeyStore | R>

/** By how much the clock of a store may differ from that of the tests. */
const slackMillis = 5_000

/** A stored key of an account of its own, with its hash. */
const make = Effect.fnUntraced(function* (change?: Partial<ApiKey>) {
  const samples = yield* Samples.make
  const store = yield* KeyStore
  yield* store.insertAccount(samples.accountOf())
  const key = samples.key(change)
  const hash = samples.hash()
  yield* store.insert(key, hash)
  return { samples, key, hash, admit: store.admit(hash) }
})

const isAdmitted = (answer: Admission) => answer._tag === "Admitted"

const count = (answers: ReadonlyArray<Admission>) => answers.filter(isAdmitted).length

const resetOf = (answer: Admission) => (answer._tag === "Refused" ? 0 : answer.window.resetAt)

/**
 * Asks so often in one go, again with a new key when the clock moved into the next window
 * meanwhile.
 */
const inOneWindow = Effect.fnUntraced(function* (
  times: number,
  change: Partial<ApiKey>,
  concurrency: number | "unbounded" = "unbounded",
) {
  for (;;) {
    const { admit, key, samples } = yield* make(change)
    const ask = Array.from({ length: times }, () => admit)
    const before = yield* Clock.currentTimeMillis
    const answers = yield* Effect.all(ask, { concurrency })
    const after = yield* Clock.currentTimeMillis
    const sameMinute = Math.floor(before / minuteMillis) === Math.floor(after / minuteMillis)
    const resets = new Set(answers.filter((a) => !isAdmitted(a)).map(resetOf))
    if (sameMinute && resets.size <= 1) return { answers, admit, key, samples }
  }
})

const windows = (it: Tests): void => {
  it.effect("admits with the account, the key and what is left of the tighter window", () =>
    Effect.gen(function* () {
      const { answers, key } = yield* inOneWindow(2, { perMinute: 5, perDay: 5 }, 1)
      for (const [n, answer] of answers.entries()) {
        assert.strictEqual(answer._tag, "Admitted")
        if (answer._tag !== "Admitted") continue
        assert.strictEqual(answer.accountId, key.accountId)
        assert.strictEqual(answer.keyId, key.id)
        assert.strictEqual(answer.window.remaining, 4 - n)
        assert.strictEqual(answer.window.resetAt % dayMillis, 0)
      }
    }),
  )

  it.effect("reports the minute where less is left of it", () =>
    Effect.gen(function* () {
      const { answers } = yield* inOneWindow(1, { perMinute: 3, perDay: 5_000 })
      const now = yield* Clock.currentTimeMillis
      const [answer] = answers
      assert.isTrue(answer!._tag === "Admitted" && answer!.window.remaining === 2)
      assert.strictEqual(resetOf(answer!) % minuteMillis, 0)
      assert.isAtMost(Math.abs(resetOf(answer!) - now), 2 * minuteMillis)
    }),
  )

  it.effect("admits exactly the minute's limit of 200 concurrent requests", () =>
    Effect.gen(function* () {
      const { answers } = yield* inOneWindow(200, { perMinute: 60, perDay: 1_000 })
      assert.strictEqual(count(answers), 60)
      for (const answer of answers) {
        if (answer._tag === "Admitted") continue
        assert.strictEqual(answer._tag, "Limited")
        if (answer._tag !== "Limited") continue
        assert.strictEqual(answer.window.remaining, 0)
        assert.strictEqual(answer.window.resetAt % minuteMillis, 0)
        assert.isAtMost(answer.retryAfterMillis, minuteMillis)
        assert.isAtLeast(answer.retryAfterMillis, 0)
      }
      const left = answers.flatMap((a) => (a._tag === "Admitted" ? [a.window.remaining] : []))
      assert.deepStrictEqual(
        left.toSorted((a, b) => b - a),
        Array.from({ length: 60 }, (_, n) => 59 - n),
      )
    }),
  )

  it.effect("admits exactly the day's limit of 200 concurrent requests", () =>
    Effect.gen(function* () {
      const { answers } = yield* inOneWindow(200, { perMinute: 10_000, perDay: 60 })
      assert.strictEqual(count(answers), 60)
      const refused = answers.find((answer) => answer._tag === "Limited")
      assert.isTrue(refused?._tag === "Limited" && refused.retryAfterMillis <= dayMillis)
      assert.strictEqual(resetOf(refused!) % dayMillis, 0)
    }),
  )

  it.effect("reports the day when both windows are used up", () =>
    Effect.gen(function* () {
      const { answers } = yield* inOneWindow(3, { perMinute: 2, perDay: 2 }, 1)
      assert.strictEqual(answers[2]?._tag, "Limited")
      assert.strictEqual(resetOf(answers[2]!) % dayMillis, 0)
    }),
  )
}

const changes = (it: Tests): void => {
  it.effect("takes nothing out of either window when it refuses", () =>
    Effect.gen(function* () {
      const store = yield* KeyStore
      const byMinute = yield* inOneWindow(12, { perMinute: 2, perDay: 100 }, 1)
      assert.strictEqual(count(byMinute.answers), 2)
      yield* store.update(byMinute.samples.account, byMinute.key.id, { perMinute: 10_000 })
      const third = yield* byMinute.admit
      assert.isTrue(third._tag === "Admitted" && third.window.remaining === 97)

      const byDay = yield* inOneWindow(12, { perMinute: 5_000, perDay: 2 }, 1)
      assert.strictEqual(count(byDay.answers), 2)
      yield* store.update(byDay.samples.account, byDay.key.id, { perDay: 100_000 })
      const next = yield* byDay.admit
      assert.strictEqual(next._tag, "Admitted")
      // 4,997 within the same minute; a new minute would have 4,999 left.
      assert.isTrue(next._tag === "Admitted" && [4_997, 4_999].includes(next.window.remaining))
    }),
  )

  it.effect("holds a changed limit at once and keeps the usage", () =>
    Effect.gen(function* () {
      const store = yield* KeyStore
      const { admit, key, samples } = yield* inOneWindow(4, { perMinute: 10_000, perDay: 10 })
      yield* store.update(samples.account, key.id, { perDay: 4 })
      assert.strictEqual((yield* admit)._tag, "Limited")
      yield* store.update(samples.account, key.id, { perDay: 6 })
      const answer = yield* admit
      assert.isTrue(answer._tag === "Admitted" && answer.window.remaining === 1)
    }),
  )

  it.effect("counts each key for itself", () =>
    Effect.gen(function* () {
      const one = yield* inOneWindow(5, { perMinute: 10_000, perDay: 2 })
      const two = yield* inOneWindow(5, { perMinute: 10_000, perDay: 3 })
      assert.deepStrictEqual([count(one.answers), count(two.answers)], [2, 3])
    }),
  )
}

/** A key that was admitted and soon expires: later where a store took too long to admit it. */
const shortLived = Effect.gen(function* () {
  for (let lifeMillis = 500; ; lifeMillis *= 2) {
    const expiresAt = (yield* Clock.currentTimeMillis) + lifeMillis
    const { admit } = yield* make({ expiresAt, perMinute: 10_000, perDay: 100_000 })
    const answer = yield* admit
    if (isAdmitted(answer)) return { admit, expiresAt }
    assert.isAtLeast(yield* Clock.currentTimeMillis, expiresAt)
  }
})

const ends = (it: Tests): void => {
  it.effect("refuses a key that nobody has", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* KeyStore
      assert.deepStrictEqual(yield* store.admit(samples.hash()), { _tag: "Refused" })
      assert.deepStrictEqual(yield* store.admit(new Uint8Array(0)), { _tag: "Refused" })
    }),
  )

  it.effect("refuses a revoked key from the next request on, and no other", () =>
    Effect.gen(function* () {
      const store = yield* KeyStore
      const { admit, key, samples } = yield* make()
      const other = samples.hash()
      yield* store.insert(samples.key(), other)
      assert.isTrue(isAdmitted(yield* admit))
      yield* store.revoke(samples.account, key.id)
      assert.deepStrictEqual(yield* admit, { _tag: "Refused" })
      assert.isTrue(isAdmitted(yield* store.admit(other)))
    }),
  )

  it.effect("refuses a key that has expired", () =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const past = yield* make({ expiresAt: now - dayMillis })
      assert.deepStrictEqual(yield* past.admit, { _tag: "Refused" })
      const future = yield* make({ expiresAt: now + dayMillis })
      assert.isTrue(isAdmitted(yield* future.admit))
    }),
  )

  it.effect("refuses a key as soon as it expires", () =>
    Effect.gen(function* () {
      const { admit, expiresAt } = yield* shortLived
      const refused = yield* Effect.repeat(admit, {
        until: (answer) => answer._tag === "Refused",
        schedule: Schedule.spaced("20 millis"),
        times: 500,
      })
      assert.deepStrictEqual(refused, { _tag: "Refused" })
      assert.isAtLeast(yield* Clock.currentTimeMillis, expiresAt)
    }),
  )
}

const reads = (it: Tests<WorkflowStore>): void => {
  it.effect("tells when a key last admitted a request, and of no refused one", () =>
    Effect.gen(function* () {
      const store = yield* KeyStore
      const { admit, key, samples } = yield* make({ perDay: 1 })
      const list = Effect.map(store.list(samples.account), ([found]) => found?.lastUsedAt ?? null)
      assert.isNull(yield* list)
      const before = yield* Clock.currentTimeMillis
      yield* admit
      const used = (yield* list) ?? 0
      assert.isAtLeast(used, before - slackMillis)
      assert.isAtMost(used, (yield* Clock.currentTimeMillis) + slackMillis)
      assert.strictEqual((yield* admit)._tag, "Limited")
      assert.strictEqual(yield* list, used)
      const updated = yield* store.update(samples.account, key.id, { perDay: 2 })
      assert.strictEqual(Option.getOrUndefined(updated)?.lastUsedAt, used)
    }),
  )

  it.effect("brings the account's own workflow along, if any, and only when it admits", () =>
    Effect.gen(function* () {
      const workflows = yield* WorkflowStore
      const one = yield* make({ perDay: 3 })
      const store = yield* KeyStore
      const own = one.samples.workflow()
      const foreign = one.samples.workflow({ accountId: one.samples.stranger })
      yield* workflows.insert(own)
      yield* workflows.insert(foreign)
      const ask = (id: string) => store.admit(one.hash, WorkflowId.make(id))
      const answers = yield* Effect.all(
        [ask(own.id), ask(foreign.id), ask("wf_\u0000none"), ask(own.id), ask(own.id)],
        { concurrency: "unbounded" },
      )
      for (const [index, answer] of answers.entries()) {
        if (answer._tag !== "Admitted") {
          assert.notProperty(answer, "workflow")
        } else if (answer.workflow !== undefined) {
          const isOwn = index === 0 || index > 2
          const expected = isOwn ? Option.some(own) : Option.none()
          assert.deepStrictEqual(answer.workflow, expected)
        }
      }
      // Those that are on their way at once may overtake each other.
      assert.strictEqual(answers.filter(({ _tag }) => _tag === "Admitted").length, 3)
      const unasked = yield* make()
      assert.notProperty(yield* unasked.admit, "workflow")
    }),
  )
}

const crowds = (it: Tests): void => {
  it.effect("counts many keys that arrive at once, in any order, each for itself", () =>
    Effect.gen(function* () {
      const keys = yield* Effect.forEach([1, 2, 3, 4, 5, 6], (perDay) => make({ perDay }))
      const turns = Array.from({ length: 60 }, (_, turn) => turn)
      const answers = yield* Effect.forEach(
        turns,
        (turn) => {
          const index = (turn * 7 + Math.floor(turn / 6)) % keys.length
          return Effect.map(keys[index]!.admit, (answer) => [index, answer] as const)
        },
        { concurrency: "unbounded" },
      )
      for (const [index, { key }] of keys.entries()) {
        const own = answers.flatMap(([each, answer]) => (each === index ? [answer] : []))
        assert.strictEqual(own.length, 10)
        assert.strictEqual(count(own), key.perDay)
        for (const answer of own) if (isAdmitted(answer)) assert.include(answer, { keyId: key.id })
      }
    }),
  )
}

/** Registers the tests of `KeyStore.admit`. */
export const admitSuite = (it: Tests<WorkflowStore>): void => {
  describe("KeyStore.admit", () => {
    reads(it)
    crowds(it)
    windows(it)
    changes(it)
    ends(it)
  })
}
