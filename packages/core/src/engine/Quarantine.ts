/**
 * What operators are told of runs that have lost owners, and what they may do about them.
 *
 * Guarantees: a run that was ended writes nothing more, wherever it was executing. Leaves out: who
 * may do so; which runs are in quarantine, which the store decides with each claim. See decision
 * 0054.
 */
import { Clock, Context, Effect, Layer, Option, Result } from "effect"
import type { RunId } from "../domain/Id.ts"
import { RunnerId } from "../domain/Id.ts"
import { suspectsListed } from "../domain/Limits.ts"
import { sentenceOf } from "../domain/Loss.ts"
import type { Run } from "../domain/Run.ts"
import { isTerminal } from "../domain/Run.ts"
import type { Suspect } from "../ports/RunStore.ts"
import { RunStore } from "../ports/RunStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import { commitDurably } from "./internal/Commit.ts"
import { Ids } from "./Ids.ts"
import { NotInQuarantine } from "./Refusals.ts"
import { giveUp } from "./internal/Step.ts"

type Refusal = NotInQuarantine | StorageError

export class Quarantine extends Context.Service<
  Quarantine,
  {
    /** Open runs that have lost owners, of all accounts, oldest first, `suspectsListed` at most. */
    readonly list: Effect.Effect<ReadonlyArray<Suspect>, StorageError>
    /** Forgets what a run has lost: it is claimed like any other from now on. */
    readonly release: (id: RunId) => Effect.Effect<void, Refusal>
    /** Ends a run at once: it is FAILED, and its error says by whom and what had happened. */
    readonly end: (id: RunId) => Effect.Effect<Run, Refusal>
  }
>()("@millrace/core/engine/Quarantine") {
  /** Needs no runner: a command beside the servers may do all of it. */
  static readonly layer: Layer.Layer<Quarantine, never, RunStore | Ids> = Layer.effect(
    Quarantine,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const runs = yield* RunStore
  const ids = yield* Ids
  const clock = yield* Clock.Clock
  // It holds no lease, so whoever comes next can have what it leaves behind.
  const self = Effect.map(ids.make("execution"), (id) => RunnerId.make(id))

  const end = Effect.fn("Quarantine.end")(function* (id: RunId) {
    const owner = yield* self
    while (true) {
      const suspects = yield* runs.suspects(suspectsListed)
      const found = suspects.find(({ record }) => record.run.id === id)
      if (found === undefined) return yield* new NotInQuarantine({ runId: id })
      // From here on nobody else can write the run, so what is decided is what happens.
      const taken = yield* runs.takeOver(found.record.run.accountId, id, owner)
      if (Option.isNone(taken) || isTerminal(taken.value.run.status)) continue
      const { definition, run } = found.record
      const story = sentenceOf(run.losses, definition.nodes)
      const error = `The run was ended by an operator: ${story}`
      const commit = giveUp(taken.value, error, clock.currentTimeMillisUnsafe())
      const stored = yield* Effect.result(commitDurably(runs, commit))
      if (Result.isSuccess(stored)) return commit.run
    }
  }, Effect.uninterruptible)

  return Quarantine.of({
    list: runs.suspects(suspectsListed),
    release: Effect.fn("Quarantine.release")(function* (id) {
      const isReleased = yield* runs.clearLosses(id)
      if (!isReleased) return yield* new NotInQuarantine({ runId: id })
    }),
    end,
  })
})
