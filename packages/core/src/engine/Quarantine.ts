/**
 * The operations on runs in quarantine: list them, release them, end them.
 *
 * Guarantees: a run that was ended writes nothing more, wherever it was executing. Leaves out: who
 * may do so, and which runs are in quarantine; the store decides that with each claim. See decision
 * 0054.
 */
import { Clock, Context, Effect, Layer, Option, Result } from "effect"
import type { RunId } from "../domain/Id.ts"
import { RunnerId } from "../domain/Id.ts"
import { suspectsListed } from "../domain/Limits.ts"
import { sentenceOf } from "../domain/Loss.ts"
import type { Run } from "../domain/Run.ts"
import type { Suspect } from "../ports/RunStore.ts"
import { RunStore } from "../ports/RunStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import { commitDurably } from "./internal/Commit.ts"
import { Ids } from "./Ids.ts"
import { NotInQuarantine } from "./Refusals.ts"
import { RunNotifier } from "./RunNotifier.ts"
import { giveUp } from "./internal/Cancelation.ts"

type Refusal = NotInQuarantine | StorageError

export class Quarantine extends Context.Service<
  Quarantine,
  {
    /** Open runs that have lost owners, of all accounts, oldest first, `suspectsListed` at most. */
    readonly list: Effect.Effect<ReadonlyArray<Suspect>, StorageError>
    /** Forgets the losses of a run: it is claimed like any other from now on. */
    readonly release: (id: RunId) => Effect.Effect<void, Refusal>
    /** Ends a run at once. It is FAILED, and its error says that an operator ended it, and why. */
    readonly end: (id: RunId) => Effect.Effect<Run, Refusal>
  }
>()("@millrace/core/engine/Quarantine") {
  /** Needs no runner, so a command can use it without a server. */
  static readonly layer: Layer.Layer<Quarantine, never, RunStore | RunNotifier | Ids> =
    Layer.effect(
      Quarantine,
      Effect.suspend(() => make),
    )
}

const make = Effect.gen(function* () {
  const runs = yield* RunStore
  const ids = yield* Ids
  const clock = yield* Clock.Clock
  const notifier = yield* RunNotifier
  // This owner has no lease, so if the process dies, any runner may claim the run at once.
  const self = Effect.map(ids.make("execution"), (id) => RunnerId.make(id))

  const end = Effect.fn("Quarantine.end")(function* (id: RunId) {
    const owner = yield* self
    while (true) {
      const suspects = yield* runs.suspects(suspectsListed)
      const found = suspects.find(({ record }) => record.run.id === id)
      if (found === undefined) return yield* new NotInQuarantine({ runId: id })
      // From here on no other process can write the run, so the next commit is not refused.
      const taken = yield* runs.takeOver(found.record.run.accountId, id, owner)
      if (Option.isNone(taken)) continue
      const { definition, run } = found.record
      const story = sentenceOf(run.losses, definition.nodes)
      const error = `The run was ended by an operator: ${story}`
      const commit = giveUp(taken.value, error, clock.currentTimeMillisUnsafe())
      const committed = Effect.provideService(commitDurably(runs, commit), RunNotifier, notifier)
      const stored = yield* Effect.result(committed)
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
