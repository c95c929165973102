// Who hears of commits of a run in this process.
import { AccountId, RunId } from "@millrace/core/domain/Id"
import { RunNotifier } from "@millrace/core/engine/RunNotifier"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"

const [one, two] = [RunId.make("run_1"), RunId.make("run_2")]
const mine = AccountId.make("acc_mine")

describe("RunNotifier", () => {
  it.effect("tells every listener of the run, as often as it listens, and no other one", () =>
    Effect.gen(function* () {
      const notifier = yield* RunNotifier
      notifier.tell(one, mine)
      const heard: Array<string> = []
      const twice = () => void heard.push("twice")
      yield* notifier.listen(one, twice)
      yield* notifier.listen(one, twice)
      yield* notifier.listen(two, () => void heard.push("other"))
      notifier.tell(RunId.make("run_3"), mine)
      assert.deepStrictEqual(heard, [])
      notifier.tell(one, mine)
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
      notifier.tell(one, mine)
      yield* listen("later")
      notifier.tell(one, mine)
      assert.deepStrictEqual(heard, ["stays", "stays", "later"])
    }).pipe(Effect.provide(RunNotifier.layer)),
  )

  it.effect("tells the listeners of an account of the commits of all its runs", () =>
    Effect.gen(function* () {
      const notifier = yield* RunNotifier
      const heard: Array<string> = []
      yield* notifier.listen(mine, () => void heard.push("mine"))
      notifier.tell(one, mine)
      notifier.tell(two, mine)
      notifier.tell(one, AccountId.make("acc_other"))
      assert.deepStrictEqual(heard, ["mine", "mine"])
    }).pipe(Effect.provide(RunNotifier.layer)),
  )
})
