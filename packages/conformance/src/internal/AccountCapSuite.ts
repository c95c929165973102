/**
 * What every store must do with caps that accounts have of their own: keep them, tell of them, and
 * obey them in claims that ask for caps.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import { AccountId } from "@millrace/core/domain/Id"
import type { RunRecord } from "@millrace/core/domain/Run"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Option } from "effect"
import * as Scenes from "../RunScenes.ts"
import type * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<KeyStore | RunStore>

const idOf = (samples: Samples.Samples, name: string) =>
  AccountId.make(`${samples.account}_${name}`)

/** An account with a cap of its own, and so many queued runs. */
const account = Effect.fnUntraced(function* (
  samples: Samples.Samples,
  name: string,
  runsAtOnce: number | null,
  count: number,
) {
  const id = idOf(samples, name)
  const store = yield* KeyStore
  yield* store.insertAccount(samples.accountOf({ id }))
  if (runsAtOnce !== null) yield* store.updateAccount(id, { runsAtOnce })
  for (let n = 0; n < count; n++) yield* Scenes.started(samples.run({ accountId: id }))
  return id
})

/** How many runs there are of each account, by the last letter of its name. */
const countsOf = (records: ReadonlyArray<RunRecord>): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const { run } of records) {
    const name = run.accountId.at(-1)!
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

const kept = (it: Tests): void => {
  it.effect("are set and taken back, and nothing else of the account changes", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* KeyStore
      const id = yield* account(samples, "a", null, 0)
      const before = Option.getOrThrow(yield* store.findAccount(id))
      assert.strictEqual(before.runsAtOnce, null)
      for (const runsAtOnce of [2, 1_000_000, null]) {
        const changed = { ...before, runsAtOnce }
        const expected = Option.some(changed)
        assert.deepStrictEqual(yield* store.updateAccount(id, { runsAtOnce }), expected)
        assert.deepStrictEqual(yield* store.findAccount(id), expected)
        const listed = (yield* store.listAccounts).find((each) => each.id === id)
        assert.deepStrictEqual(listed, changed)
      }
      const none = yield* store.updateAccount(idOf(samples, "none"), { runsAtOnce: 1 })
      assert.deepStrictEqual(none, Option.none())
    }),
  )

  it.effect("are told of, no more than were asked for", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const [runs, keys] = [yield* RunStore, yield* KeyStore]
      const a = yield* account(samples, "a", 1, 0)
      const b = yield* account(samples, "b", 2, 0)
      const c = yield* account(samples, "c", null, 0)
      const told = yield* runs.cappedAccounts(100_000)
      assert.deepStrictEqual(
        [a, b, c].map((id) => told.has(id)),
        [true, true, false],
      )
      assert.strictEqual((yield* runs.cappedAccounts(1)).size, 1)
      yield* keys.updateAccount(a, { runsAtOnce: null })
      assert.isFalse((yield* runs.cappedAccounts(100_000)).has(a))
    }),
  )
}

const obeyed = (it: Tests): void => {
  it.effect("hold in place of the general one, be they lower or higher", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      yield* account(samples, "a", 1, 5)
      yield* account(samples, "b", 4, 5)
      yield* account(samples, "c", null, 5)
      const records = yield* Scenes.claim(samples.runner(), 99, { runsPerAccount: 2 })
      assert.deepStrictEqual(countsOf(records), { a: 1, b: 4, c: 2 })
      assert.deepStrictEqual(yield* Scenes.claim(samples.runner(), 99, { runsPerAccount: 2 }), [])
    }),
  )

  it.effect("hold alone where there is no general one, and beside that of workflows", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      yield* account(samples, "a", 2, 5)
      yield* account(samples, "c", null, 5)
      const runsPerAccount = Number.POSITIVE_INFINITY
      const runner = samples.runner()
      const first = yield* Scenes.claim(runner, 99, { runsPerAccount })
      assert.deepStrictEqual(countsOf(first), { a: 2, c: 5 })
      yield* (yield* RunStore).requeue(
        runner,
        first.map(({ run }) => run.id),
      )
      const wishes = { runsPerAccount, runsPerWorkflow: 3 }
      const workflows = new Set(first.map(({ run }) => run.workflowId))
      const second = yield* Scenes.claim(runner, 99, wishes)
      assert.strictEqual(countsOf(second).a, 2)
      assert.isAtMost(countsOf(second).c!, 3 * workflows.size)
    }),
  )

  it.effect("are taken from the next claim on, also those that were raised", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const keys = yield* KeyStore
      const id = yield* account(samples, "a", 1, 9)
      const claim = () =>
        Effect.map(
          Scenes.claim(samples.runner(), 99, { runsPerAccount: Number.POSITIVE_INFINITY }),
          ({ length }) => length,
        )
      const counts = [yield* claim()]
      for (const runsAtOnce of [4, 2, 5, null]) {
        yield* keys.updateAccount(id, { runsAtOnce })
        counts.push(yield* claim())
      }
      assert.deepStrictEqual(counts, [1, 3, 0, 1, 4])
    }),
  )

  it.effect("hold exactly, however many claim at once, and keep no other account waiting", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      yield* account(samples, "a", 3, 20)
      yield* account(samples, "b", null, 8)
      const runners = Array.from({ length: 8 }, () => samples.runner())
      const claims = yield* Effect.forEach(
        runners,
        (runner) => Scenes.claim(runner, 4, { runsPerAccount: Number.POSITIVE_INFINITY }),
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual(countsOf(claims.flat()), { a: 3, b: 8 })
    }),
  )
}

/** The tests of a store's caps per account. */
export const accountCapSuite = (it: Tests): void => {
  describe("Caps that accounts have of their own", () => {
    kept(it)
    obeyed(it)
  })
}
