/**
 * The port for triggers. A store keeps them, and says which schedules are due, which ends of runs
 * wait for triggers that follow them, and which webhook has an address.
 *
 * Guarantees: a trigger belongs to a workflow, and is gone with it. A trigger that is claimed is
 * claimed by one process, until its lease runs out by the store's clock. Whoever writes names the
 * fence that it has read, and a write with another one changes nothing. Leaves out: which times a
 * trigger has, and starting runs.
 */
import type { Effect, Option } from "effect"
import { Context, Schema } from "effect"
import type { Delivery } from "../domain/Delivery.ts"
import type { AccountId, RunId, TriggerId, WorkflowId } from "../domain/Id.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import type { InboundWebhook } from "../domain/InboundWebhook.ts"
import type { RunEndTrigger } from "../domain/RunEndTrigger.ts"
import type { Schedule, Trigger } from "../domain/Trigger.ts"
import type { TriggerFacts } from "../domain/TriggerFacts.ts"
import type { ReceivedRequest, WebhookTest } from "../domain/WebhookTest.ts"
import type { StorageError } from "./StorageError.ts"

/** A trigger of a workflow of an account. */
export interface TriggerKey {
  readonly accountId: AccountId
  readonly workflowId: WorkflowId
  readonly id: TriggerId
}

/** How to claim. */
export interface TriggerClaim {
  /** Of schedules, and of ends. With 0 nothing is claimed. */
  readonly limit: number
  readonly leaseMillis: number
}

/** The end of a run for which a trigger is to start one. */
export interface ClaimedEnd {
  readonly triggerId: TriggerId
  readonly runId: RunId
  /** Raised by every claim; only the last claim may finish it. */
  readonly fence: number
  /** The trigger as it is now; `null` if it is gone. */
  readonly trigger: RunEndTrigger | null
}

/** The triggers of an account are paused, or were; the last time that they were. */
export interface TriggerPause {
  readonly accountId: AccountId
  readonly since: Timestamp
  /** When they were resumed; `null`: they are paused now. */
  readonly until: Timestamp | null
}

/** What a claim has taken. */
export interface ClaimedTriggers {
  /** The time by the store's clock. */
  readonly now: Timestamp
  /** The triggers with their new fences, those that were due first first. */
  readonly triggers: ReadonlyArray<Schedule>
  /** The ends that wait, those that were due first first. */
  readonly ends: ReadonlyArray<ClaimedEnd>
  /** The pauses of the accounts of what is claimed. */
  readonly pauses: ReadonlyArray<TriggerPause>
  /** When the next of the others is due, later than `now`; `null` if none is. */
  readonly nextDueAt: Timestamp | null
}

/** What became of the times of a claimed trigger, and when it is due again. */
export interface TriggerAdvance
  extends
    Pick<Schedule, "id" | "fence" | "nextAt" | "waitingAt" | "dueAt">,
    Partial<Pick<Schedule, "lastAt" | "lastRunId" | "lastMissedAt" | "lastError">> {
  /** How many more times have started no run. */
  readonly missed: number
  /** What tells of that. */
  readonly delivery?: Delivery | undefined
}

/** What became of a claimed end. What is absent of the trigger's facts stays. */
export interface FinishedEnd
  extends Pick<ClaimedEnd, "triggerId" | "runId" | "fence">, Partial<Omit<TriggerFacts, "missed">> {
  /** 1 if it has started no run although the trigger follows it. */
  readonly missed: 0 | 1
}

/** The workflow has as many triggers as it may. Nothing was stored. */
export class TooManyTriggers extends Schema.TaggedError<TooManyTriggers>()("TooManyTriggers", {
  limit: Schema.Int,
}) {
  override get message(): string {
    return `The workflow already has ${this.limit} triggers; remove one first`
  }
}

export class TriggerStore extends Context.Service<
  TriggerStore,
  {
    /**
     * Stores a new trigger. False: the account has no such workflow, or none that the trigger would
     * watch. A workflow never has more than `triggersPerWorkflow`.
     */
    readonly insert: (trigger: Trigger) => Effect.Effect<boolean, TooManyTriggers | StorageError>
    /**
     * Replaces a trigger if its fence is still the given one, and raises the fence. What became of
     * its times stays as it is stored. False: it has another fence, or is gone. If it is switched
     * off, the ends that wait for it are forgotten.
     */
    readonly replace: (trigger: Trigger) => Effect.Effect<boolean, StorageError>
    /** Removes a trigger. False: there was none. */
    readonly remove: (key: TriggerKey) => Effect.Effect<boolean, StorageError>
    readonly find: (key: TriggerKey) => Effect.Effect<Option.Option<Trigger>, StorageError>
    /**
     * The inbound webhook, of any account, whose address has this hash. None: there is none, it is
     * switched off, or the triggers of its account are paused.
     */
    readonly findByAddress: (
      addressHash: string,
    ) => Effect.Effect<Option.Option<InboundWebhook>, StorageError>
    /** The triggers of a workflow, the oldest first. */
    readonly list: (
      account: AccountId,
      workflowId: WorkflowId,
    ) => Effect.Effect<ReadonlyArray<Trigger>, StorageError>
    /**
     * Claims schedules of all accounts that are due, and ends of runs that wait for triggers: their
     * fences are raised, and they are due again when the lease has run out.
     */
    readonly claimDue: (claim: TriggerClaim) => Effect.Effect<ClaimedTriggers, StorageError>
    /**
     * Advances those of these triggers that still have the fence of their claim, and raises it.
     * What an advance leaves out stays. The deliveries of these are stored in the same step.
     */
    readonly advance: (advances: ReadonlyArray<TriggerAdvance>) => Effect.Effect<void, StorageError>
    /**
     * Forgets those of these ends that still have the fence of their claim, and notes on their
     * triggers what became of them.
     */
    readonly finish: (ends: ReadonlyArray<FinishedEnd>) => Effect.Effect<void, StorageError>
    /**
     * Gives an inbound webhook a test address for so long, by the store's clock, and forgets what
     * arrived at the one before. When it expires; none: there is no such webhook.
     */
    readonly beginTest: (
      key: TriggerKey,
      addressHash: string,
      millis: number,
    ) => Effect.Effect<Option.Option<Timestamp>, StorageError>
    /** Takes it away, with what arrived there. False: there is no such webhook. */
    readonly endTest: (key: TriggerKey) => Effect.Effect<boolean, StorageError>
    /** The test of an inbound webhook, also one that has expired. None: no such webhook. */
    readonly findTest: (key: TriggerKey) => Effect.Effect<Option.Option<WebhookTest>, StorageError>
    /**
     * The inbound webhook, of any account, whose test address has this hash; also one that is
     * switched off or paused. None: there is none, or it has expired.
     */
    readonly findByTestAddress: (
      addressHash: string,
    ) => Effect.Effect<Option.Option<InboundWebhook>, StorageError>
    /** Keeps a request of the test of a webhook, if it has one, with the last `keptRequests`. */
    readonly noteRequest: (
      id: TriggerId,
      request: ReceivedRequest,
    ) => Effect.Effect<void, StorageError>
    /** Pauses all triggers of an account, also those made later. Says since when they are. */
    readonly pause: (account: AccountId, at: Timestamp) => Effect.Effect<Timestamp, StorageError>
    /** Resumes them. */
    readonly resume: (account: AccountId, at: Timestamp) => Effect.Effect<void, StorageError>
    /** Since when they are paused; `null` if they are not. */
    readonly pausedAt: (account: AccountId) => Effect.Effect<Timestamp | null, StorageError>
  }
>()("@millrace/core/ports/TriggerStore") {}
