/**
 * Canceling a run, and waiting for its end.
 *
 * Guarantees: a canceled run writes nothing more, wherever it was executing.
 */
import type { Clock } from "effect"
import { Effect, Option, Queue, Result } from "effect"
import type { AccountId, RunId } from "../../domain/Id.ts"
import { isTerminal } from "../../domain/Run.ts"
import type { RunStore } from "../../ports/RunStore.ts"
import { RunEnded, RunNotFound } from "../Refusals.ts"
import type { Runner } from "../Runner.ts"
import { RunNotifier } from "../RunNotifier.ts"
import { commitDurably, hasRunsToClaim } from "./Commit.ts"
import { cancel as cancelation } from "./Cancelation.ts"

/** What ending a run needs. */
interface Parts {
  readonly clock: Clock.Clock
  readonly notifier: RunNotifier["Service"]
  readonly runner: Runner["Service"]
  readonly runs: RunStore["Service"]
}

/**
 * How long `wait` leaves a run alone that executes in another process, or nowhere yet: a tenth of
 * the time that it has waited, within these bounds.
 */
const [shortestPauseMillis, longestPauseMillis] = [100, 1_000]

/** And so long for every wait of this process, so that they leave the store to the runs. */
const pausePerWaitMillis = 2

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
      const commit = cancelation(taken.value, now, runner.chargedBeyond(run))
      const committed = Effect.provideService(commitDurably(runs, commit), RunNotifier, notifier)
      const stored = yield* Effect.result(committed)
      if (Result.isFailure(stored)) continue
      yield* runner.stop(id)
      if (hasRunsToClaim(commit)) yield* runner.look
      return commit.run
    }
  }, Effect.uninterruptible)

/** Waits until a run has ended, and returns it. */
export const wait = (parts: Parts) => {
  const elsewhere = awaitElsewhere(parts)
  return (account: AccountId, id: RunId) =>
    Effect.flatMap(endedHere(parts, account, id), (record) =>
      record === undefined ? elsewhere(account, id) : Effect.succeed(record),
    )
}

/** The end of a run that this process executes, or remembers. */
const endedHere = ({ runner }: Parts, account: AccountId, id: RunId) =>
  Effect.suspend(() => Option.getOrElse(runner.ended(account, id), () => Effect.undefined))

/** Reads a run until it has ended: now and then, and after every commit of this process. */
const awaitElsewhere = (parts: Parts) => {
  const { clock, notifier, runs } = parts
  let waits = 0
  return Effect.fnUntraced(function* (account: AccountId, id: RunId) {
    const begun = clock.currentTimeMillisUnsafe()
    yield* Effect.acquireRelease(
      Effect.sync(() => (waits += 1)),
      () => Effect.sync(() => (waits -= 1)),
    )
    const commits = yield* Queue.sliding<void>(1)
    yield* notifier.listen(id, () => void Queue.offerUnsafe(commits, undefined))
    while (true) {
      const found = yield* runs.find(account, id)
      if (Option.isNone(found)) return yield* new RunNotFound({ runId: id })
      if (isTerminal(found.value.run.status)) return found.value
      const tenth = Math.min((clock.currentTimeMillisUnsafe() - begun) / 10, longestPauseMillis)
      const duration = Math.max(tenth, shortestPauseMillis, waits * pausePerWaitMillis)
      yield* Effect.timeoutOrElse(Queue.take(commits), { duration, orElse: () => Effect.void })
      const ended = yield* endedHere(parts, account, id)
      if (ended !== undefined) return ended
    }
  }, Effect.scoped)
}
