/**
 * Where deliveries wait, their attempts are logged, and signing secrets are kept. Deliveries come
 * to it with the commits of runs.
 *
 * What is due, visibility and the expiry of secrets follow the store's clock, because several
 * servers share the work. Whoever claims holds a fence; without it nothing can be said about a
 * delivery. Tenants' reads take the account; `null` stands for the operator, who sees all.
 */
import type { Effect, Option } from "effect"
import { Context } from "effect"
import type { Delivery, DeliveryItem, DeliveryRecord, DeliveryState } from "../domain/Delivery.ts"
import type { ClaimProgress, RecordedOutcome } from "../domain/DeliveryStep.ts"
import type { AccountId, DeliveryId, RunId } from "../domain/Id.ts"
import type { Page, PageRequest } from "../domain/Page.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import type { StorageError } from "./StorageError.ts"

/** Whose deliveries: an account's, or `null` for the operator's view of all. */
export type Scope = AccountId | null

/**
 * A claim of a delivery: its next attempt has begun, as far as the store knows; or one before that
 * was never recorded is to be recorded now, and nothing is to be sent.
 */
export interface Claim extends Omit<ClaimProgress, "createdAt"> {
  readonly id: DeliveryId
  readonly fence: number
  /** The live signing secrets of its account, sealed, oldest first. */
  readonly secrets: ReadonlyArray<string>
}

/** A claim together with what it is a claim of. */
export interface ClaimedDelivery extends Claim, ClaimProgress {
  readonly delivery: Delivery
}

/** How many deliveries of one kind a dispatcher has in hand. */
export interface Busy {
  readonly accountId: AccountId
  readonly origin: string
  readonly count: number
}

/** What a look for due deliveries asks for. */
export interface DueRequest {
  readonly limit: number
  /** How many of one origin the dispatcher may have in hand, those in `busy` included. */
  readonly perOrigin: number
  /** The same of one account. */
  readonly perAccount: number
  /** What it has in hand already. */
  readonly busy: ReadonlyArray<Busy>
  /** From when on somebody else may take what was not recorded, from now. */
  readonly visibilityMillis: number
}

/** An outcome, the claim it came of, and the delivery. */
export type AttemptRecord = RecordedOutcome & { readonly id: DeliveryId }

/** Which deliveries to list. */
export interface DeliveryQuery extends PageRequest {
  readonly account: Scope
  readonly runId?: RunId | undefined
  readonly state?: DeliveryState | undefined
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
     * Takes deliveries that are due and in nobody's hand, oldest first within the bounds, so that
     * what waits for one origin or account never hides what waits for others. Each claim raises the
     * fence by one, and the count of attempts, too: except where an attempt was claimed before and
     * not recorded in time. Such a claim is for recording that attempt, and says when it began.
     */
    readonly claimDue: (
      request: DueRequest,
    ) => Effect.Effect<ReadonlyArray<ClaimedDelivery>, StorageError>
    /**
     * The same for those of these that are due and in nobody's hand. What they are is not read:
     * whoever knows their identifiers has stored them.
     */
    readonly claim: (
      ids: ReadonlyArray<DeliveryId>,
      visibilityMillis: number,
    ) => Effect.Effect<ReadonlyArray<Claim>, StorageError>
    /**
     * Records what came of a claim: the attempt, and when the next one is due or that none is. A
     * claim that sent nothing gives its number back. Where the receiver is gone, everything of the
     * run that is in nobody's hand is due at once, so that it is ended soon. False, and nothing is
     * written, when the fence is not the caller's any more.
     *
     * With one exception: that the receiver has taken the delivery is a fact, however late it is
     * told. Where the attempt of this number is logged as `unknown`, or not recorded yet, it
     * becomes the one that delivered; the delivery is DELIVERED, also if it was given up, and
     * whoever holds it has lost it: an attempt that is under way is then logged as `unknown`. Where
     * somebody has asked for the delivery since, it is sent all the same.
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
     * Makes a delivery due now, whatever became of it, with as many further attempts as a new one
     * has; one that is in somebody's hand stays as it is. Its run's receiver is no longer gone.
     * None when there is no such delivery.
     */
    readonly redeliver: (
      account: Scope,
      id: DeliveryId,
    ) => Effect.Effect<Option.Option<DeliveryItem>, StorageError>
    /** The same for all FAILED ones whose event is not older; returns how many they are. */
    readonly redeliverFailed: (
      account: Scope,
      since: Timestamp,
    ) => Effect.Effect<number, StorageError>
    /** Removes up to so many that ended so long ago, with their logs; returns how many. */
    readonly forget: (endedMillis: number, limit: number) => Effect.Effect<number, StorageError>
    /** The account's live secrets, oldest first. */
    readonly secrets: (
      account: AccountId,
    ) => Effect.Effect<ReadonlyArray<StoredSecret>, StorageError>
    /** Of all accounts' live secrets one for each key that they were sealed with. */
    readonly secretOfEachKey: Effect.Effect<ReadonlyArray<StoredSecret>, StorageError>
    /** Stores a secret unless the account has a live one; returns the live ones. */
    readonly ensureSecret: (
      secret: StoredSecret,
    ) => Effect.Effect<ReadonlyArray<StoredSecret>, StorageError>
    /** Stores a secret and lets the others expire no later than so long from now. */
    readonly rotateSecret: (
      secret: StoredSecret,
      overlapMillis: number,
    ) => Effect.Effect<ReadonlyArray<StoredSecret>, StorageError>
  }
>()("@millrace/core/ports/WebhookStore") {}
