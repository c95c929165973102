/**
 * Canceling a run, and waiting for its end.
 *
 * Guarantees: a canceled run writes nothing more, wherever it was executing.
 */
import type { Clock } from "effect"
import { Effect, Option, Result } from "effect"
import type { AccountId, RunId } from "../../domain/Id.ts"
import { isTerminal } from "../../domain/Run.ts"
import type { RunStore } from "../../ports/RunStore.ts"
import { RunEnded, RunNotFound } from "../Refusals.ts"
import type { Runner } from "../Runner.ts"
import { RunNotifier } from "../RunNotifier.ts"
import { commitDurably } from "./Commit.ts"
import { cancel as cancelation } from "./Step.ts"

/** What ending a run needs. */
interface Parts {
  readonly clock: Clock.Clock
  readonly notifier: RunNotifier["Service"]
  readonly runner: Runner["Service"]
  readonly runs: RunStore["Service"]
}

/** How often `wait` reads a run that executes in another process. */
const lookAgain = "100 millis"

/** Cancels an open run at once. */
export const cancel = ({ clock, notifier, runner, runs }: Parts) =>
  Effect.fn("Runs.cancel")(function* (account: AccountId, id: RunId) {
    while (true) {
      // From here on no other process can write the run, so the next commit is not refused.
      const taken = yield* runs.takeOver(account, id, runner.id)
      if (Option.isNone(taken)) return yield* new RunNotFound({ runId: id })
      const { run } = taken.value
      if (run.status === "CANCELED") {
        // Another process may have canceled the run, and this one may still execute it.
        yield* runner.stop(id)
        return run
      }
      if (isTerminal(run.status)) return yield* new RunEnded({ runId: id, status: run.status })
      const now = clock.currentTimeMillisUnsafe()
      const commit = cancelation(taken.value, now, runner.spentOf(id))
      const committed = Effect.provideService(commitDurably(runs, commit), RunNotifier, notifier)
      const stored = yield* Effect.result(committed)
      if (Result.isFailure(stored)) continue
      yield* runner.stop(id)
      return commit.run
    }
  }, Effect.uninterruptible)

/** Waits until a run has ended, and returns it. */
export const wait = ({ runner, runs }: Pick<Parts, "runner" | "runs">) =>
  Effect.fnUntraced(function* (account: AccountId, id: RunId) {
    while (true) {
      const here = runner.ended(account, id)
      const ended = Option.isSome(here) ? yield* here.value : undefined
      if (ended !== undefined) return ended
      const found = yield* runs.find(account, id)
      if (Option.isNone(found)) return yield* new RunNotFound({ runId: id })
      if (isTerminal(found.value.run.status)) return found.value
      yield* Effect.sleep(lookAgain)
    }
  })
