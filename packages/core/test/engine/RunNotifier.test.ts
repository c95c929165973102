// Who hears of commits of a run in this process.
import { AccountId, RunId } from "@millrace/core/domain/Id"
import { RunNotifier } from "@millrace/core/engine/RunNotifier"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Queue, Scope } from "effect"

const [one, two] = [RunId.make("run_1"), RunId.make("run_2")]
const mine = AccountId.make("acc_mine")

const runOf = (id: RunId, accountId = mine) => ({
  id,
  accountId,
  mode: "full" as const,
  parent: null,
  status: "RUNNING" as const,
})

describe("RunNotifier", () => {
  it.effect("tells every listener of the run, as often as it listens, and no other one", () =>
    Effect.gen(function* () {
      const notifier = yield* RunNotifier
      notifier.tell(runOf(one))
      const heard: Array<string> = []
      const twice = () => void heard.push("twice")
      yield* notifier.listen(one, twice)
      yield* notifier.listen(one, twice)
      yield* notifier.listen(two, () => void heard.push("other"))
      notifier.tell(runOf(RunId.make("run_3")))
      assert.deepStrictEqual(heard, [])
      notifier.tell(runOf(one))
      assert.deepStrictEqual(heard, ["twice", "twice"])
    }).pipe(Effect.provide(RunNotifier.layer)),
  )

  it.effect("forgets a listener with its scope, and tells the others, also later ones", () =>
    Effect.gen(function* () {
      const notifier = yield* RunNotifier
      const heard: Array<string> = []
      const scope = yield* Scope.make()
      const listen = (name: string) => notifier.listen(one, () => void heard.push(name))
      yield* Effect.provideService(listen("gone"), Scope.Scope, scope)
      yield* listen("stays")
      yield* Scope.close(scope, Exit.void)
      notifier.tell(runOf(one))
      yield* listen("later")
      notifier.tell(runOf(one))
      assert.deepStrictEqual(heard, ["stays", "stays", "later"])
    }).pipe(Effect.provide(RunNotifier.layer)),
  )

  it.effect("tells the listeners of an account of the commits of all its runs", () =>
    Effect.gen(function* () {
      const notifier = yield* RunNotifier
      const heard: Array<string> = []
      yield* notifier.listen(mine, () => void heard.push("mine"))
      notifier.tell(runOf(one))
      notifier.tell(runOf(two))
      notifier.tell(runOf(one, AccountId.make("acc_other")))
      assert.deepStrictEqual(heard, ["mine", "mine"])
    }).pipe(Effect.provide(RunNotifier.layer)),
  )

  it.effect("has something once runs have ended that triggers may follow", () =>
    Effect.gen(function* () {
      const notifier = yield* RunNotifier
      const ended = { ...runOf(one), status: "FAILED" as const }
      notifier.tell(runOf(one))
      notifier.tell({ ...ended, mode: "single" })
      assert.strictEqual(yield* Queue.size(notifier.ends), 0)
      for (const run of [ended, { ...ended, mode: "rerun" as const }]) notifier.tell(run)
      assert.strictEqual(yield* Queue.size(notifier.ends), 1)
    }).pipe(Effect.provide(RunNotifier.layer)),
  )
})
