/**
 * Commits a step even if the store fails. A commit is repeated, unchanged, until the store answers.
 * If an answer was lost, reading the row tells whether the commit was applied. Listeners in this
 * process are notified.
 */
import { Cause, Duration, Effect, Option, Schedule } from "effect"
import type { InsufficientCredits } from "../../ports/LedgerStore.ts"
import type { Message } from "../../domain/Message.ts"
import type { InboxRequest, RunCommit, RunStore, StaleRun } from "../../ports/RunStore.ts"
import type { StorageError } from "../../ports/StorageError.ts"
import { RunNotifier } from "../RunNotifier.ts"
import type { Step } from "./Step.ts"

/** Pauses between tries: from 50 ms, doubling to 5 s, with jitter, without an end. */
const retryPauses = Schedule.exponential("50 millis").pipe(
  Schedule.modifyDelay(({ duration }) =>
    Effect.succeed(Duration.min(duration, Duration.seconds(5))),
  ),
  Schedule.jittered,
)

/** True if the stored run is exactly what this commit makes of it. */
const hasLanded = (store: RunStore["Service"], commit: RunCommit) =>
  Effect.map(
    store.find(commit.run.accountId, commit.run.id),
    Option.exists(
      ({ run }) => run.fence === commit.run.fence && run.revision === commit.run.revision,
    ),
  )

/** Why a commit is refused for good. */
type Refusal = StaleRun | InsufficientCredits

/** Repeats a commit whose first try failed in the store, and reads the row after a refusal. */
const persist = (store: RunStore["Service"], commit: RunCommit): Effect.Effect<void, Refusal> =>
  Effect.suspend(() => store.commit(commit)).pipe(
    Effect.catchTag(["StaleRun", "InsufficientCredits"], (refusal) =>
      Effect.flatMap(hasLanded(store, commit), (landed) =>
        landed ? Effect.void : Effect.fail(refusal),
      ),
    ),
    Effect.retry({ schedule: retryPauses, while: (error) => error._tag === "StorageError" }),
    Effect.catchTag("StorageError", Effect.die),
  )

/** Tells listeners of a commit once it is stored. */
const telling = <E>({ run }: RunCommit, stored: Effect.Effect<void, E>) =>
  Effect.flatMap(stored, () => Effect.map(RunNotifier, (notifier) => notifier.tell(run)))

/**
 * Applies a commit exactly once, with as many tries as that takes. A refusal after a failure may
 * come from our own earlier try, whose answer was lost; the stored row tells.
 */
export const commitDurably = (
  store: RunStore["Service"],
  commit: RunCommit,
): Effect.Effect<void, Refusal, RunNotifier> =>
  telling(
    commit,
    Effect.catchTag(store.commit(commit), "StorageError", () => persist(store, commit)),
  )

/** Reads the messages of a run, with as many tries as that takes. */
export const readInbox = (
  store: RunStore["Service"],
  request: InboxRequest,
): Effect.Effect<ReadonlyArray<Message>> =>
  store.inboxes([request]).pipe(
    Effect.map((inboxes) => inboxes[0]?.messages ?? []),
    Effect.retry(retryPauses),
    Effect.catchTag("StorageError", Effect.die),
  )

/**
 * The messages that a commit did not see, if they are why it was refused; else `undefined`. Those
 * that have expired can be read no more: then whoever takes the run up next begins after them.
 */
const unseenBy = Effect.fnUntraced(function* (store: RunStore["Service"], commit: RunCommit) {
  const { expected, run, seen } = commit
  if (seen === undefined || expected._tag === "New") return undefined
  const found = yield* store
    .find(run.accountId, run.id)
    .pipe(Effect.retry(retryPauses), Effect.catchTag("StorageError", Effect.die))
  const stored = Option.getOrUndefined(found)?.run
  const isSame = stored?.fence === expected.fence && stored.revision === expected.revision
  if (!isSame || stored.messages <= seen) return undefined
  const messages = yield* readInbox(store, { runId: run.id, after: seen, held: [] })
  return messages.length === 0 ? undefined : messages
})

/** Commits the alternative of a step whose commit was refused, if there is one. */
const commitInstead = (store: RunStore["Service"], step: Step, refusal: Refusal) => {
  if (refusal._tag === "InsufficientCredits") {
    const { otherwise } = step
    return otherwise === undefined ? Effect.die(refusal) : commitStep(store, otherwise(refusal))
  }
  return Effect.flatMap(unseenBy(store, step.commit), (messages) =>
    messages === undefined || step.unseen === undefined
      ? Effect.fail(refusal)
      : commitStep(store, step.unseen(messages)),
  )
}

/**
 * Goes on with a step whose commit was not stored at the first try. If credits do not cover it, or
 * the run has messages that the step did not see, commits the step's alternative.
 */
export const commitAfterFailure = (
  store: RunStore["Service"],
  step: Step,
  cause: Cause.Cause<Refusal | StorageError>,
): Effect.Effect<Step, StaleRun, RunNotifier> => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (error === undefined) return Effect.failCause(cause as Cause.Cause<never>)
  if (error._tag !== "StorageError") return commitInstead(store, step, error)
  const { commit } = step
  return Effect.catch(Effect.as(telling(commit, persist(store, commit)), step), (refusal) =>
    commitInstead(store, step, refusal),
  )
}

/** Commits a step, or its alternative. */
export const commitStep = (
  store: RunStore["Service"],
  step: Step,
): Effect.Effect<Step, StaleRun, RunNotifier> =>
  Effect.catchCause(Effect.as(telling(step.commit, store.commit(step.commit)), step), (cause) =>
    commitAfterFailure(store, step, cause),
  )

/** True if there may be runs to claim after a commit: it starts, wakes or makes way for some. */
export const hasRunsToClaim = ({ messages, run, signals, starts = [] }: RunCommit): boolean =>
  (run.concurrencyKey !== null && run.finishedAt !== null) ||
  messages !== undefined ||
  signals !== undefined ||
  starts.some((each) => each.run.finishedAt === null)
