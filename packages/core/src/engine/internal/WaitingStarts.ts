/**
 * Whether a start may wait that cannot begin at once: not if it says so, and not if too many runs
 * of its account wait already.
 *
 * Guarantees: what finds a slot at once asks nothing. How many runs of an account wait is read once
 * a second at most, however many starts there are, and this process lets no more of them wait than
 * there was room for then. Leaves out: what other processes let wait in the same second; caps and
 * keys themselves, which hold exactly, by the store's claims.
 */
import { Clock, Effect } from "effect"
import type { AccountLoad } from "../../domain/AccountLoad.ts"
import type { AccountId } from "../../domain/Id.ts"
import { accountsKnown, CurrentLimits, mostConcurrency } from "../../domain/Limits.ts"
import type { Run } from "../../domain/Run.ts"
import { RunStore } from "../../ports/RunStore.ts"
import type { StorageError } from "../../ports/StorageError.ts"
import { BoundedMap } from "../BoundedMap.ts"
import { QueueFull, RunsFull } from "../Refusals.ts"
import { Runner } from "../Runner.ts"
import { monotonicMillis } from "../StoreClock.ts"

/** How long it is believed how many runs of an account wait. */
const knownMillis = 1_000

/** How many seconds a refused start is asked to wait. */
const retryAfterSeconds = 1

/** How many more runs of an account may wait. Mutable. */
interface Room {
  left: number
}

/** A read of the store that all starts of an account share, since a monotonic time. */
interface Reading {
  readonly since: number
  readonly room: Effect.Effect<Room, StorageError>
}

/** Decides about the starts of this process that have to wait. */
export interface WaitingStarts {
  readonly admit: (
    run: Run,
    whenFull: "wait" | "refuse" | undefined,
  ) => Effect.Effect<void, RunsFull | QueueFull | StorageError>
}

/** Why a run would wait although this process has a slot for it; `undefined` if it would not. */
const waitOf = (
  { concurrency, concurrencyKey }: Run,
  { ofKey, owned, queued, runsAtOnce }: AccountLoad,
  runsPerAccount: number,
): string | undefined => {
  if (concurrencyKey !== null && ofKey >= (concurrency ?? 1)) {
    return "as many runs as may have its concurrency key are open"
  }
  const cap = runsAtOnce ?? runsPerAccount
  const isFull = queued + owned >= cap || queued >= mostConcurrency
  return isFull ? "the account has as many runs at work as it may" : undefined
}

/** Needs the store and the runner of this process. */
export const make: Effect.Effect<WaitingStarts, never, RunStore | Runner> = Effect.gen(
  function* () {
    const store = yield* RunStore
    const runner = yield* Runner
    const clock = yield* Clock.Clock
    const { runsPerAccount, runsQueuedPerAccount } = yield* CurrentLimits
    const readings = new BoundedMap<AccountId, Reading>(accountsKnown)

    /** Refuses a run that would wait, as far as this process and the store can tell. */
    const admitAtOnce = Effect.fnUntraced(function* (run: Run) {
      const { accountId: account, concurrencyKey, workflowId } = run
      const refuse = (reason: string) => new RunsFull({ reason, retryAfterSeconds })
      if (!runner.hasSlot(account)) return yield* refuse("this server has no slot for the account")
      const key = concurrencyKey === null ? undefined : { workflowId, concurrencyKey }
      const load = yield* store.load({ account, key, limit: mostConcurrency })
      const reason = waitOf(run, load, runsPerAccount)
      if (reason !== undefined) return yield* refuse(reason)
    })

    const read = (account: AccountId) =>
      store.load({ account, limit: runsQueuedPerAccount }).pipe(
        Effect.map(({ keyless, queued }): Room => ({
          left: runsQueuedPerAccount - queued - keyless,
        })),
        // Whoever asks next asks the store again.
        Effect.tapError(() => Effect.sync(() => readings.delete(account))),
      )

    const roomOf = Effect.fnUntraced(function* (account: AccountId) {
      const now = monotonicMillis(clock)
      const known = readings.get(account)
      if (known !== undefined && now - known.since < knownMillis) return yield* known.room
      const room = yield* Effect.cached(read(account))
      readings.set(account, { since: now, room })
      return yield* room
    })

    return {
      admit: Effect.fnUntraced(function* (run, whenFull) {
        if (whenFull === "refuse") return yield* admitAtOnce(run)
        if (!Number.isFinite(runsQueuedPerAccount)) return
        const room = yield* roomOf(run.accountId)
        if (room.left <= 0) {
          return yield* new QueueFull({ limit: runsQueuedPerAccount, retryAfterSeconds })
        }
        room.left -= 1
      }),
    }
  },
)
