/**
 * Where runs are kept, and the one place where their safety lives: every write of a run carries
 * its fence and revision, and a store applies all of a commit or none of it. Stores hold no rules;
 * what to write was decided before, by pure functions.
 *
 * Leases are of runners, not of runs: one heartbeat keeps everything a runner owns.
 */
import type { Effect, Option } from "effect"
import { Context, Schema } from "effect"
import type { Delivery } from "../domain/Delivery.ts"
import type { AccountId, RunId, RunnerId, WorkflowId } from "../domain/Id.ts"
import type { KnownStart, IdempotencyKey } from "../domain/Idempotency.ts"
import type { JsonObject } from "../domain/Json.ts"
import type { RunEntry } from "../domain/Ledger.ts"
import type { Blocked } from "../domain/Loss.ts"
import type { Message, NewMessage } from "../domain/Message.ts"
import type { Page, PageRequest } from "../domain/Page.ts"
import type { Definition, NodeRun, Run, RunRecord, RunStatus } from "../domain/Run.ts"
import type { RunEvent } from "../domain/RunEvent.ts"
import type { InsufficientCredits } from "./LedgerStore.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import type { StorageError } from "./StorageError.ts"

/** What a commit was decided on: a run that does not exist yet, or one fence and revision. */
export type Expected =
  | {
      readonly _tag: "New"
      readonly definition: Definition
      /** Also that no run of the account was started under this name, which it takes. */
      readonly idempotencyKey?: IdempotencyKey | undefined
      /**
       * Also that the run's account still has its workflow, and at the run's `workflowRevision`.
       * So a workflow that was read earlier need not be read again.
       */
      readonly isCurrent?: boolean | undefined
    }
  | { readonly _tag: "Existing"; readonly fence: number; readonly revision: number }

/** A message that a node takes with a commit. */
export interface TakenMessage {
  readonly number: number
  readonly nodeId: string
}

/** A message from one run to another one of its account. */
export interface SentMessage {
  readonly runId: RunId
  readonly message: NewMessage
}

/**
 * A run that the commit of another one starts: of the same account, QUEUED and without an owner, so
 * that caps hold for it as for every queued run, and at revision 1. It takes no idempotency key,
 * because the commit that starts it is made once, and it asks nothing of its workflow.
 */
export interface StartedRun extends Pick<RunCommit, "run" | "credits"> {
  readonly definition: Definition
}

/**
 * One atomic change of a run: its next row and everything that goes with it. Of a run that exists
 * it changes neither what was written with its insert, nor its fence, nor the number of its last
 * message. Its owner it changes only
 * where it parks the run (`dueAt` is set): from then on it has none. Otherwise runs change hands by
 * `claim`, `takeOver` and `requeue` alone. The losses of the run it changes only where it clears
 * them.
 *
 * `run.revision` is the expected revision plus one (1 for a new run).
 */
export interface RunCommit {
  readonly expected: Expected
  readonly run: Run
  /** Also that the losses of the run are forgotten: it has made progress. Not for a new run. */
  readonly clearsLosses?: boolean | undefined
  /**
   * Number of the last message of the run that this was decided on: with a later one in the inbox
   * the commit is stale. Absent where messages make no difference. Not for a new run.
   */
  readonly seen?: number | undefined
  /**
   * Messages that nodes of the run take. That nobody took them before follows from the fence and
   * the revision, because only commits of the run take any.
   */
  readonly taken?: ReadonlyArray<TakenMessage> | undefined
  /** First rows of nodes: they finished, or have to wait. */
  readonly nodeRuns: ReadonlyArray<NodeRun>
  /** Rows that take the place of the one their node has, because it had to wait. */
  readonly rewritten: ReadonlyArray<NodeRun>
  /** To append: what the run itself goes through. The end of a node is told by its row. */
  readonly events: ReadonlyArray<RunEvent>
  /**
   * To append to the ledger of the run's account. What they set aside has to be available where the
   * account is metered; of several commits on one account those that came first have it first.
   */
  readonly credits?: ReadonlyArray<RunEntry>
  /** To be sent: what the run's webhook wants of these events and of the ends of these nodes. */
  readonly deliveries: ReadonlyArray<Delivery>
  /**
   * Runs to start. Each in turn sets aside what it costs, after the commit itself; where one is not
   * covered, or exists already (`StaleRun` names it), nothing is written, of the commit neither.
   */
  readonly starts?: ReadonlyArray<StartedRun> | undefined
  /**
   * Messages to other runs, as by `RunStore.send`, but that they do not count in an inbox and are
   * kept until they are taken. One to a run that has ended, or that the account does not have, is
   * dropped; one whose id the run knows is there already.
   */
  readonly messages?: ReadonlyArray<SentMessage> | undefined
}

/**
 * The run is not as the decision saw it: another runner claimed it, somebody canceled it, it is
 * terminal, it has a message that the decision did not see, or (for a new run) it exists already,
 * its start has a name that is taken, or its workflow is not current where that was expected.
 * Nothing was written.
 */
export class StaleRun extends Schema.TaggedError<StaleRun>()("StaleRun", {
  runId: Schema.String,
}) {
  override get message(): string {
    return `Run ${this.runId} was changed by somebody else`
  }
}

/** What became of a message that was sent. */
export type SendResult =
  /** It is in the inbox under this number; `isReplay` where it was there before. */
  | { readonly _tag: "Sent"; readonly number: number; readonly isReplay: boolean }
  /** The account has no such run. */
  | { readonly _tag: "NotFound" }
  /** The run has ended. */
  | { readonly _tag: "Ended"; readonly status: RunStatus }
  /** The inbox holds `messagesPerRun` messages that no node has taken. */
  | { readonly _tag: "Full" }

/** Which messages of a run to read. */
export interface InboxRequest {
  readonly runId: RunId
  /** Those with a larger number that no node has taken and that are still kept; all, from 0. */
  readonly after: number
  /** Also these, by their numbers, although nodes have taken them. */
  readonly held: ReadonlyArray<number>
}

/** The messages of one run, in the order of their numbers. */
export interface Inbox {
  readonly runId: RunId
  readonly messages: ReadonlyArray<Message>
}

/** What a claim asks for. */
export interface ClaimRequest {
  readonly runner: RunnerId
  /** How long the runner's lease holds from now, by the store's clock. */
  readonly leaseMillis: number
  readonly limit: number
  /** Runs that the runner cannot execute; left to others. */
  readonly except?: ReadonlyArray<RunId> | undefined
  /** Among the accounts whose runs are queued, those behind this one are first in turn. */
  readonly after?: AccountId | undefined
  /** How many queued runs of one account this claim takes at most; all where it is absent. */
  readonly roomPerAccount?: number | undefined
  /** Likewise for some accounts, of which the runner has as many already: in its place. */
  readonly rooms?: ReadonlyMap<AccountId, number> | undefined
  /**
   * An account that has as many runs with an owner gets no further one out of the queue. One with a
   * cap of its own (`Account.runsAtOnce`) has that in place of this number, which may be
   * `Infinity`. Where it is absent no account is capped.
   */
  readonly runsPerAccount?: number | undefined
  /** Likewise for a workflow of an account. */
  readonly runsPerWorkflow?: number | undefined
}

/** A run in quarantine, and the runner that holds it; `null` where nobody with a lease does. */
export interface Suspect {
  readonly record: RunRecord
  readonly holder: RunnerId | null
}

/** Which runs of an account to list. */
export interface RunQuery extends PageRequest {
  readonly account: AccountId
  readonly workflowId?: WorkflowId | undefined
  readonly status?: RunStatus | undefined
  /** Part of the workflow's name or of the error, in any case; or the beginning of the run's id. */
  readonly search?: string | undefined
}

export class RunStore extends Context.Service<
  RunStore,
  {
    /** Applies all of a commit, or none of it. */
    readonly commit: (
      commit: RunCommit,
    ) => Effect.Effect<void, StaleRun | InsufficientCredits | StorageError>
    /**
     * Takes runs over for a runner and renews its lease: first open runs whose owner's lease has
     * run out (oldest first), then queued runs, turn by turn: the first of each account, then the
     * second of each, and so on. A parked run whose time has come by the store's clock is queued.
     * In the queue of an account runs stand by the time since which they could be taken: that at
     * which they were due, else that of their creation. Each claimed run's fence is raised by one
     * and its owner set.
     *
     * Of the parked runs that are due a claim knows the thousand longest due ones at least, and a
     * store goes on until it knows them all.
     *
     * A run whose owner did not end its lease, but let it run out, while attempts of the run were
     * in progress, has lost that owner: the claim by somebody else appends a `died` to its losses,
     * as long as those are fewer than `lossesPerRun`. Nothing else of a claimed run changes.
     *
     * Runs with losses, this claim's included, are suspects, also those that somebody gave back.
     * They are taken with the expired ones and in one line, oldest first, which ends at the first
     * that may not be taken: one with a single loss only while the runner owns no run with more
     * and fewer than `suspectsAtOnce` with one; one with more losses only while the runner owns no
     * suspect, and no further one with it. What a runner's own lease has lost it takes back freely.
     *
     * The caps hold exactly, over all runners that ask for the same ones. They hold back queued
     * runs only: expired ones and suspects have been out of the queue before. Those count, too.
     */
    readonly claim: (request: ClaimRequest) => Effect.Effect<ReadonlyArray<RunRecord>, StorageError>
    /**
     * Takes one open run over, whoever owns it, by raising its fence: from then on the caller is
     * its only writer, and if the run was parked it no longer is. Used to cancel. None when the
     * account has no such run; a terminal run is returned unchanged.
     */
    readonly takeOver: (
      account: AccountId,
      id: RunId,
      runner: RunnerId,
    ) => Effect.Effect<Option.Option<RunRecord>, StorageError>
    /**
     * Renews the runner's lease and returns the open runs that it still owns, with their fence.
     *
     * A runner that lives has not died: every `died` that names it is taken back from the losses of
     * open runs. If it says which run had blocked it, that run's `died` becomes a `blocked`.
     */
    readonly heartbeat: (
      runner: RunnerId,
      leaseMillis: number,
      blocked?: Blocked,
    ) => Effect.Effect<ReadonlyMap<RunId, number>, StorageError>
    /**
     * Gives back those of these runs that are open and the runner's own: their fence is raised and
     * they have no owner, so that whoever claims next can have them.
     */
    readonly requeue: (
      runner: RunnerId,
      ids: ReadonlyArray<RunId>,
    ) => Effect.Effect<void, StorageError>
    /**
     * Appends a message to a run's inbox and wakes the run: a parked one that is not due is queued
     * from now on and has no due time, any other stays where it is. Neither happens without the
     * other. A message whose `id` the run knows is not appended again, whatever else it says, also
     * after the end of the run. One that no node takes within `messageMillis` by the store's clock
     * is not kept.
     */
    readonly send: (
      account: AccountId,
      id: RunId,
      message: NewMessage,
    ) => Effect.Effect<SendResult, StorageError>
    /**
     * Messages of runs, for whoever executes them. Runs that have none are left out, in any order.
     */
    readonly inboxes: (
      requests: ReadonlyArray<InboxRequest>,
    ) => Effect.Effect<ReadonlyArray<Inbox>, StorageError>
    /**
     * The time by the store's clock, in whole milliseconds since the epoch, rounded down. All
     * servers on a store are told the same, whatever their own clocks say. Changes nothing.
     */
    readonly now: Effect.Effect<Timestamp, StorageError>
    /**
     * Ends the runner's lease at once, so that others can claim what it owned. Its losses are taken
     * back as by a heartbeat. If it says which run blocks it, and still owns that with attempts in
     * progress, a `blocked` is appended to the run's losses, as by a claim.
     */
    readonly endLease: (runner: RunnerId, blocked?: Blocked) => Effect.Effect<void, StorageError>
    /** Accounts with caps of their own, in any order, as many as are asked for. */
    readonly cappedAccounts: (limit: number) => Effect.Effect<ReadonlySet<AccountId>, StorageError>
    /** Open runs with losses, of all accounts, oldest first, as many as are asked for. */
    readonly suspects: (limit: number) => Effect.Effect<ReadonlyArray<Suspect>, StorageError>
    /**
     * Forgets the losses of an open run, whoever owns it; nothing else of it changes. False where
     * there is no such run with losses.
     */
    readonly clearLosses: (id: RunId) => Effect.Effect<boolean, StorageError>
    readonly find: (
      account: AccountId,
      id: RunId,
    ) => Effect.Effect<Option.Option<RunRecord>, StorageError>
    /**
     * Records of those ids that the account has, in any order; the others are left out. With
     * `mostBytes` payloads are given as long as they fit, in the order of the ids: see
     * `RunPayload.withinBytes`.
     */
    readonly findMany: (
      account: AccountId,
      ids: ReadonlyArray<RunId>,
      mostBytes?: number,
    ) => Effect.Effect<ReadonlyArray<RunRecord>, StorageError>
    /**
     * For each of these nodes the output of its latest COMPLETED node run in any run of the
     * workflow (by the run's creation; among the last thousand runs). Nodes without one are absent.
     */
    readonly latestOutputs: (
      account: AccountId,
      workflowId: WorkflowId,
      nodeIds: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyMap<string, JsonObject>, StorageError>
    /**
     * The run that the account has started under this name, as long as the name holds: for
     * `startKeyMillis` from its commit on, by the store's clock.
     */
    readonly findStart: (
      account: AccountId,
      key: string,
    ) => Effect.Effect<Option.Option<KnownStart>, StorageError>
    /** Newest first. */
    readonly list: (query: RunQuery) => Effect.Effect<Page<Run>, StorageError>
    /**
     * Events with a sequence above `after`, in order: the run's own and, as `RunEvent.ofNode` has
     * it, those that its node runs tell of. Empty for an unknown run.
     */
    readonly events: (
      account: AccountId,
      id: RunId,
      after: number,
    ) => Effect.Effect<ReadonlyArray<RunEvent>, StorageError>
  }
>()("@millrace/core/ports/RunStore") {}
