/**
 * The port for deliveries, the logs of their attempts, and signing secrets. Commits of runs store
 * the deliveries (`RunStore.commit`).
 *
 * Due times, visibility and the expiry of secrets follow the store's clock, because several servers
 * share the work. A claim has a fence, and a record without the current fence is refused. Reads
 * take an account; `null` means the operator, who sees all accounts.
 */
import type { Effect, Option } from "effect"
import { Context } from "effect"
import type { Delivery, DeliveryItem, DeliveryRecord, DeliveryState } from "../domain/Delivery.ts"
import type { ClaimProgress, RecordedOutcome } from "../domain/DeliveryStep.ts"
import type { AccountId, DeliveryId, RunId, WorkflowId } from "../domain/Id.ts"
import type { Page, PageRequest } from "../domain/Page.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import type { StorageError } from "./StorageError.ts"

/** The deliveries of one account; `null` for those of all, which only operators may see. */
export type Scope = AccountId | null

/**
 * A claim of a delivery, for one of two purposes: to make its next attempt, or to record that an
 * earlier attempt was lost (`lostAt` is set), without sending anything.
 */
export interface Claim extends Omit<ClaimProgress, "createdAt"> {
  readonly id: DeliveryId
  readonly fence: number
  /** The live signing secrets of the account, sealed, oldest first. */
  readonly secrets: ReadonlyArray<string>
}

/** A claim together with its delivery. */
export interface ClaimedDelivery extends Claim, ClaimProgress {
  readonly delivery: Delivery
}

/** How many claimed deliveries of one account to one origin a dispatcher has. */
export interface Busy {
  readonly accountId: AccountId
  readonly origin: string
  readonly count: number
}

/** A claim of due deliveries. */
export interface DueRequest {
  readonly limit: number
  /** How many claimed deliveries to one origin the dispatcher may have, including `busy`. */
  readonly perOrigin: number
  /** How many claimed deliveries of one account the dispatcher may have, including `busy`. */
  readonly perAccount: number
  /** What the dispatcher has claimed already. */
  readonly busy: ReadonlyArray<Busy>
  /** How long nobody else may claim these deliveries, unless they are recorded earlier. */
  readonly visibilityMillis: number
}

/** The outcome of a claim, with the delivery's identifier. */
export type AttemptRecord = RecordedOutcome & { readonly id: DeliveryId }

/** Which deliveries to list. */
export interface DeliveryQuery extends PageRequest {
  readonly account: Scope
  readonly runId?: RunId | undefined
  readonly state?: DeliveryState | undefined
  /** Only deliveries of runs of these workflows. */
  readonly workflows?: ReadonlyArray<WorkflowId> | undefined
}

/** A signing secret, sealed. Live until it expires; `null`: until it is rotated. */
export interface StoredSecret {
  readonly id: string
  readonly accountId: AccountId
  readonly sealed: string
  readonly createdAt: Timestamp
  readonly expiresAt: Timestamp | null
}

export class WebhookStore extends Context.Service<
  WebhookStore,
  {
    /**
     * Claims deliveries that are due and that no dispatcher holds, oldest first, within the bounds.
     * Deliveries that wait for a full origin or account never hold up others. Each claim raises the
     * fence by one. It raises the number of attempts by one, too, unless an earlier attempt was
     * claimed and not recorded in time. Then the claim is for recording that attempt, and `lostAt`
     * says when the attempt began.
     */
    readonly claimDue: (
      request: DueRequest,
    ) => Effect.Effect<ReadonlyArray<ClaimedDelivery>, StorageError>
    /**
     * The same for those of these deliveries that are due and that no dispatcher holds. It returns
     * no contents: the caller has just stored these deliveries and has their contents.
     */
    readonly claim: (
      ids: ReadonlyArray<DeliveryId>,
      visibilityMillis: number,
    ) => Effect.Effect<ReadonlyArray<Claim>, StorageError>
    /**
     * Records the outcome of a claim: the attempt, and when the next one is due, if any. A claim
     * that sent nothing gives its attempt number back. If the receiver is gone, all deliveries of
     * the run that no dispatcher holds are due at once, so they end soon. False: the fence has
     * risen, and nothing was written.
     *
     * One exception: a success is recorded even with an old fence, because the receiver has the
     * delivery. If the attempt of this number is logged as `unknown`, or not yet recorded, it
     * becomes the attempt that delivered. The delivery is DELIVERED, also if it had FAILED. A
     * dispatcher that holds the delivery loses it, and an attempt in progress is logged as
     * `unknown`. If somebody asked for a redelivery after that attempt, the delivery is sent again
     * all the same.
     */
    readonly record: (record: AttemptRecord) => Effect.Effect<boolean, StorageError>
    /** Stores a delivery that no run brings. */
    readonly insert: (delivery: Delivery) => Effect.Effect<void, StorageError>
    /** Newest first. */
    readonly list: (query: DeliveryQuery) => Effect.Effect<Page<DeliveryItem>, StorageError>
    readonly find: (
      account: Scope,
      id: DeliveryId,
    ) => Effect.Effect<Option.Option<DeliveryRecord>, StorageError>
    /**
     * Makes a delivery due now, whatever its state, with as many attempts as a new one has. A
     * delivery that a dispatcher holds stays as it is. The receiver of its run no longer counts as
     * gone, so deliveries of the run that were due at once for that reason are sent at once. None:
     * there is no such delivery.
     */
    readonly redeliver: (
      account: Scope,
      id: DeliveryId,
    ) => Effect.Effect<Option.Option<DeliveryItem>, StorageError>
    /**
     * The same for all FAILED deliveries whose event is not older, or of these of runs of some
     * workflows; returns their number.
     */
    readonly redeliverFailed: (
      account: Scope,
      since: Timestamp,
      workflows?: ReadonlyArray<WorkflowId>,
    ) => Effect.Effect<number, StorageError>
    /**
     * Removes at most `limit` deliveries that ended so long ago, with their logs; returns how many.
     */
    readonly forget: (endedMillis: number, limit: number) => Effect.Effect<number, StorageError>
    /** The account's live secrets, oldest first. */
    readonly secrets: (
      account: AccountId,
    ) => Effect.Effect<ReadonlyArray<StoredSecret>, StorageError>
    /** For each master key that sealed live secrets of any account, one of those secrets. */
    readonly secretOfEachKey: Effect.Effect<ReadonlyArray<StoredSecret>, StorageError>
    /** At most so many live secrets of any account that other keys than this one have sealed. */
    readonly sealedOtherwise: (
      keyName: string,
      limit: number,
    ) => Effect.Effect<ReadonlyArray<StoredSecret>, StorageError>
    /** Replaces a seal, if it is still the stored one. */
    readonly reseal: (secret: StoredSecret, sealed: string) => Effect.Effect<void, StorageError>
    /** Stores a secret unless the account has a live one; returns the live ones. */
    readonly ensureSecret: (
      secret: StoredSecret,
    ) => Effect.Effect<ReadonlyArray<StoredSecret>, StorageError>
    /** Stores a secret. The account's other secrets expire at most `overlapMillis` from now. */
    readonly rotateSecret: (
      secret: StoredSecret,
      overlapMillis: number,
    ) => Effect.Effect<ReadonlyArray<StoredSecret>, StorageError>
  }
>()("@millrace/core/ports/WebhookStore") {}
