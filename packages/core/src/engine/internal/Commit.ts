/**
 * Committing through trouble: a decision that was made stays made while the store is away, and an
 * answer that got lost is found by reading, never guessed. Whoever listens in this process is told.
 */
import { Duration, Effect, Option, Schedule } from "effect"
import type { InsufficientCredits } from "../../ports/LedgerStore.ts"
import type { Message } from "../../domain/Message.ts"
import type { InboxRequest, RunCommit, RunStore, StaleRun } from "../../ports/RunStore.ts"
import { CurrentRunNotifier } from "../RunNotifier.ts"
import type { Step } from "./Step.ts"

/** Pauses between tries: from 50 ms, doubling to 5 s, with jitter, without an end. */
const retryPauses = Schedule.exponential("50 millis").pipe(
  Schedule.modifyDelay(({ duration }) =>
    Effect.succeed(Duration.min(duration, Duration.seconds(5))),
  ),
  Schedule.jittered,
)

/** True when the stored run is exactly what this commit makes of it. */
const hasLanded = (store: RunStore["Service"], commit: RunCommit) =>
  Effect.map(
    store.find(commit.run.accountId, commit.run.id),
    Option.exists(
      ({ run }) => run.fence === commit.run.fence && run.revision === commit.run.revision,
    ),
  )

/** Why a commit is refused for good. */
type Refusal = StaleRun | InsufficientCredits

/** What is left to do after a first try that failed in the store: try on, and read in doubt. */
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

/**
 * Commits once, however often it takes. A refusal after a failure may be our own write, whose
 * answer was lost: the stored row tells.
 */
export const commitDurably = (
  store: RunStore["Service"],
  commit: RunCommit,
): Effect.Effect<void, Refusal> =>
  Effect.flatMap(
    Effect.catchTag(store.commit(commit), "StorageError", () => persist(store, commit)),
    () => Effect.map(CurrentRunNotifier, (signals) => signals.tell(commit.run.id)),
  )

/** Reads the messages of a run, however often it takes. */
export const readInbox = (
  store: RunStore["Service"],
  request: InboxRequest,
): Effect.Effect<ReadonlyArray<Message>> =>
  store.inboxes([request]).pipe(
    Effect.map((inboxes) => inboxes[0]?.messages ?? []),
    Effect.retry(retryPauses),
    Effect.catchTag("StorageError", Effect.die),
  )

/** The messages that a commit did not see, if they are why it was refused; else `undefined`. */
const unseenBy = Effect.fnUntraced(function* (store: RunStore["Service"], commit: RunCommit) {
  const { expected, run, seen } = commit
  if (seen === undefined || expected._tag === "New") return undefined
  const found = yield* store
    .find(run.accountId, run.id)
    .pipe(Effect.retry(retryPauses), Effect.catchTag("StorageError", Effect.die))
  const stored = Option.getOrUndefined(found)?.run
  const isSame = stored?.fence === expected.fence && stored.revision === expected.revision
  if (!isSame || stored.messages <= seen) return undefined
  return yield* readInbox(store, { runId: run.id, after: seen, held: [] })
})

/**
 * Commits what a step asks for; or what it asks for where credits do not cover that, or where the
 * run has messages that the step did not see.
 */
export const commitStep = (store: RunStore["Service"], step: Step): Effect.Effect<Step, StaleRun> =>
  commitDurably(store, step.commit).pipe(
    Effect.as(step),
    Effect.catchTags({
      InsufficientCredits: (refusal) =>
        step.otherwise === undefined
          ? Effect.die(refusal)
          : commitStep(store, step.otherwise(refusal)),
      StaleRun: (stale) =>
        Effect.flatMap(unseenBy(store, step.commit), (messages) =>
          messages === undefined || step.unseen === undefined
            ? Effect.fail(stale)
            : commitStep(store, step.unseen(messages)),
        ),
    }),
  )
