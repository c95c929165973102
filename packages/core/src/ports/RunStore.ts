/**
 * The port for runs, and the one place where their safety lives. Every write of a run carries its
 * fence and revision, and a store applies all of a commit or none of it. Stores hold no rules: pure
 * functions decide before what to write.
 *
 * A lease belongs to a runner, not to a run: one heartbeat keeps all runs that the runner owns.
 */
import type { Effect, Option } from "effect"
import { Context, Schema } from "effect"
import type { AccountLoad, LoadQuery } from "../domain/AccountLoad.ts"
import type { Delivery } from "../domain/Delivery.ts"
import type { AccountId, RunId, RunnerId, TriggerId, WorkflowId } from "../domain/Id.ts"
import type { KnownStart, IdempotencyKey } from "../domain/Idempotency.ts"
import type { InputPorts } from "../domain/ImpliedInput.ts"
import type { JsonObject } from "../domain/Json.ts"
import type { PlacedValues } from "../domain/LargeValue.ts"
import type { RunEntry } from "../domain/Ledger.ts"
import type { Blocked } from "../domain/Loss.ts"
import type { NewMessage } from "../domain/Message.ts"
import { runsReadBySearch } from "../domain/Limits.ts"
import type { Page, PageRequest } from "../domain/Page.ts"
import type { Definition, NodeRun, Run, RunRecord, RunSource, RunStatus } from "../domain/Run.ts"
import type { RunEvent } from "../domain/RunEvent.ts"
import type { InsufficientCredits } from "./LedgerStore.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import type { OldestVersions, TypeUse } from "../domain/TypeUse.ts"
import type { NewWorkflowSignal, SignalKey, SignalWait } from "../domain/WorkflowSignal.ts"
import type { Inbox, InboxRequest, SendResult, SignalResult } from "../domain/Inbox.ts"
import type { StorageError } from "./StorageError.ts"

export type { Inbox, InboxRequest, SendResult, SignalResult } from "../domain/Inbox.ts"

/** The condition of a commit: the run does not exist yet, or it has this fence and revision. */
export type Expected =
  | {
      readonly _tag: "New"
      readonly definition: Definition
      /** A further condition: the account has no run with this key. The run then has it. */
      readonly idempotencyKey?: IdempotencyKey | undefined
      /**
       * A further condition: the run's `workflowVersion` is the published one of its workflow; or
       * it is `null`, none is published, and the account still has the workflow at the run's
       * `workflowRevision`. So a start can use a workflow that was read earlier.
       */
      readonly isCurrent?: boolean | undefined
      /**
       * A further condition: the run's trigger (`run.triggerId`) has this fence; or, of a run that
       * follows another one (`run.after`), the end of that one does. So nobody starts a run for a
       * time or an end that another process has claimed since.
       */
      readonly claimFence?: number | undefined
    }
  | { readonly _tag: "Existing"; readonly fence: number; readonly revision: number }

/** A message that a node takes with a commit. */
export interface TakenMessage {
  readonly number: number
  readonly nodeId: string
}

/** The waits of a run for signals to its workflow, before and after a commit. */
export interface WaitsChanged {
  /** All that the run has now. They replace those that are stored. */
  readonly waits: ReadonlyArray<SignalWait>
  /** What the run waited for before. */
  readonly before: ReadonlyArray<SignalKey>
}

/** A message from a run to another run of the same account. */
export interface SentMessage {
  readonly runId: RunId
  readonly message: NewMessage
}

/**
 * A run that a commit of another run starts. It belongs to the same account and has revision 1. It
 * is QUEUED without an owner, so caps hold for it as for every queued run. Or it has ended: its
 * parent has computed it. Then it is stored as by a commit that inserts it, and nobody claims it.
 * It has no idempotency key, because the commit that starts it is applied once. It has no condition
 * on its workflow.
 */
export interface StartedRun
  extends
    Pick<RunCommit, "run" | "credits">,
    Partial<Pick<RunCommit, "nodeRuns" | "implied" | "events" | "deliveries">> {
  readonly definition: Definition
}

/**
 * One atomic change of a run: its next row and everything that goes with it. A commit of an
 * existing run does not change
 *
 * - the columns that are written once, with the insert;
 * - the fence, and the number of the last message;
 * - the owner, unless it parks the run (`dueAt` is set). A parked run has no owner. Only `claim`,
 *   `takeOver` and `requeue` change the owner otherwise;
 * - the losses, unless it clears them.
 *
 * A commit that ends a run also stores, for every trigger that `RunEndTrigger.follows` it, that
 * this end waits: then `TriggerStore.claimDue` finds it.
 *
 * `run.revision` is the expected revision plus one (1 for a new run).
 */
export interface RunCommit {
  readonly expected: Expected
  readonly run: Run
  /** The losses of the run are forgotten, because it has made progress. Not for a new run. */
  readonly clearsLosses?: boolean | undefined
  /**
   * The number of the last message that the decision saw. The commit is stale if the inbox has a
   * later one. Absent if messages make no difference. Not for a new run.
   */
  readonly seen?: number | undefined
  /**
   * Messages that nodes of the run take. Only commits of the run take messages, so fence and
   * revision already exclude that one is taken twice.
   */
  readonly taken?: ReadonlyArray<TakenMessage> | undefined
  /** New rows, of nodes that have finished or begin to wait. */
  readonly nodeRuns: ReadonlyArray<NodeRun>
  /** Rows that replace the stored row of a node, because the node had to wait. */
  readonly rewritten: ReadonlyArray<NodeRun>
  /**
   * The ports of inputs that are implied, by node: a store may keep them in place of the input of
   * such a row, and restore that with `ImpliedInput.withInputs`. Reads give every input in full.
   */
  readonly implied?: ReadonlyMap<string, InputPorts> | undefined
  /**
   * Events of the run itself, to append. The row of a node stands for the event of its end. No
   * event has a larger sequence than the run (`run.sequence`).
   */
  readonly events: ReadonlyArray<RunEvent>
  /**
   * Entries to append to the ledger of the run's account. If the account is metered, what they
   * reserve must be available. Commits on one account reserve in the order in which they came.
   */
  readonly credits?: ReadonlyArray<RunEntry>
  /**
   * Deliveries to send: for those of these events and node ends that the run's webhook asks for.
   */
  readonly deliveries: ReadonlyArray<Delivery>
  /**
   * Runs to start. They move their credits one after the other, after the commit itself. If one
   * is not covered (`InsufficientCredits` names it), or exists already (`StaleRun` names it),
   * nothing of the whole commit is written.
   */
  readonly starts?: ReadonlyArray<StartedRun> | undefined
  /**
   * Messages to other runs, as by `RunStore.send`, with two differences: they do not count towards
   * `messagesPerRun`, and they are kept until a node takes them. A message to an ended or unknown
   * run is dropped. A message whose id the run has received before is not appended again.
   */
  readonly messages?: ReadonlyArray<SentMessage> | undefined
  /**
   * Present if the waits for signals to the workflow change. Then, in this order: signals in the
   * run's inbox that no node has taken go to other runs that wait for them, or are kept; and each
   * of the waits gets the oldest signal that is kept and fits, as by `RunStore.signal`.
   */
  readonly signals?: WaitsChanged | undefined
}

/**
 * The run is not as the decision saw it. Another runner claimed it, somebody canceled it, it has
 * ended, or it has a message that the decision did not see. For a new run: it exists already, its
 * idempotency key is taken, or its workflow is not current although the commit expected that.
 * Nothing was written.
 */
export class StaleRun extends Schema.TaggedError<StaleRun>()("StaleRun", {
  runId: Schema.String,
}) {
  override get message(): string {
    return `Run ${this.runId} was changed by somebody else`
  }
}

/** A search would have to read more runs than a store reads for one page. */
export class SearchTooBroad extends Schema.TaggedError<SearchTooBroad>()("SearchTooBroad", {}) {
  override get message(): string {
    return (
      `search: more than ${runsReadBySearch} runs would have to be read; ` +
      "narrow it by workflowId or status, or search for more of the text"
    )
  }
}

/** Which events of a run to read: those with a larger sequence than `after`. */
export interface EventsRequest {
  readonly account: AccountId
  readonly runId: RunId
  readonly after: number
  /** The run is also found if it has another revision than this one; absent: only with events. */
  readonly revision?: number | undefined
}

/** Events of one run, in order, and its revision. None if only the revision is another one. */
export interface EventsFound {
  readonly runId: RunId
  readonly revision: number
  readonly events: ReadonlyArray<RunEvent>
}

/** A claim of runs. */
export interface ClaimRequest {
  readonly runner: RunnerId
  /** How long the runner's lease holds from now, by the store's clock. */
  readonly leaseMillis: number
  readonly limit: number
  /** Runs that the runner cannot execute. Other runners may claim them. */
  readonly except?: ReadonlyArray<RunId> | undefined
  /** The round over accounts with queued runs begins after this account. */
  readonly after?: AccountId | undefined
  /** How many queued runs of one account this claim takes at most; absent: no bound. */
  readonly roomPerAccount?: number | undefined
  /** Replaces `roomPerAccount` for accounts of which the runner already executes runs. */
  readonly rooms?: ReadonlyMap<AccountId, number> | undefined
  /**
   * The cap of an account: with so many owned runs, none of its queued runs is claimed. An
   * account's own cap (`Account.runsAtOnce`) replaces this number. `Infinity`: only own caps hold.
   * Absent: no account is capped.
   */
  readonly runsPerAccount?: number | undefined
  /** The same for each workflow of an account. */
  readonly runsPerWorkflow?: number | undefined
}

/** A run in quarantine, and its owner; `null` if it has none with a valid lease. */
export interface Suspect {
  readonly record: RunRecord
  readonly holder: RunnerId | null
}

/** What a node of a run has put out. */
export interface LatestOutput {
  readonly runId: RunId
  readonly output: JsonObject
  /** As in the node run. */
  readonly largeValues: PlacedValues
}

/** Which runs of an account to list. */
export interface RunQuery extends PageRequest {
  readonly account: AccountId
  readonly workflowId?: WorkflowId | undefined
  readonly status?: RunStatus | undefined
  /** Who asked for them. */
  readonly source?: RunSource | undefined
  readonly triggerId?: TriggerId | undefined
  /** The children of this run only. */
  readonly parentRunId?: RunId | undefined
  /** True: only runs that have no parent. */
  readonly isRoot?: boolean | undefined
  /** Runs that were created then or later. */
  readonly from?: Timestamp | undefined
  /** Runs that were created before. */
  readonly to?: Timestamp | undefined
  /**
   * A part of the workflow's name or of the error, case ignored; or the beginning of the run's id.
   */
  readonly search?: string | undefined
}

/** Which children of a node of a run to read. */
export interface ChildQuery {
  readonly account: AccountId
  readonly parentRunId: RunId
  readonly nodeId: string
  /** Only children with a larger index; -1 for all. */
  readonly after: number
  readonly status?: RunStatus | undefined
  readonly limit: number
}

/** Which workflows of an account to look at, and since when. */
export interface ActivityQuery {
  readonly account: AccountId
  readonly workflowIds: ReadonlyArray<WorkflowId>
  /** The beginning of a day in UTC. Runs that were created then or later are counted. */
  readonly since: Timestamp
  /** Failures are counted among so many of the account, the newest. */
  readonly failuresRead: number
}

/** What has become of a workflow's runs lately. */
export interface WorkflowActivity {
  /** The newest run, whenever it was, that is no item of a loop. */
  readonly lastRun: Run
  readonly runs: number
  /** How many of them have FAILED. */
  readonly failed: number
}

export class RunStore extends Context.Service<
  RunStore,
  {
    /** Applies all of a commit, or none of it. A `CallbackEffect` costs the engine least. */
    readonly commit: (
      commit: RunCommit,
    ) => Effect.Effect<void, StaleRun | InsufficientCredits | StorageError>
    /**
     * Makes a runner the owner of runs and renews its lease. Each claimed run's fence rises by one.
     *
     * Order: first open runs whose owner's lease has run out, oldest first. Then queued runs in
     * rounds: the first of each account, then the second of each account, and so on. A parked run
     * that is due by the store's clock is queued. The queue of an account is ordered by
     * `Priority.placeOf` of the time at which a run was due, else of its creation. A claim
     * considers at least the thousand parked runs that have been due longest.
     *
     * Losses: a run has lost its owner if the owner's lease ran out, was not ended by the owner,
     * and attempts of the run were in progress. A claim by another runner then appends a `died` to
     * the run's losses, unless it has `lossesPerRun` of them. Nothing else of a claimed run
     * changes.
     *
     * Suspects: a run with losses is a suspect, also if this claim adds the first loss, and also if
     * its owner gave it back. Suspects and expired runs form one line, oldest first. The line ends
     * at the first suspect that may not be taken:
     *
     * - A suspect with one loss may be taken while the runner owns no suspect with more losses and
     *   fewer than `suspectsAtOnce` with one.
     * - A suspect with more losses may be taken while the runner owns no suspect, and alone.
     * - A runner may always take back a run of its own whose lease ran out.
     *
     * Keys: a queued run with a `concurrencyKey` waits until it is given its key. At the beginning
     * of a claim, keys are given in the order of the queue: the first run that waits for a key gets
     * it, as long as fewer than the `concurrency` of that run hold it; then the next. A run holds
     * its key until it has ended, whoever owns it. A run that is stored with an owner, or RUNNING,
     * holds it from then on. Runs of different workflows have different keys. A run that waits for
     * its key is not claimed, and has no place among the others; one that lost its owner waits.
     *
     * Caps hold exactly, over all runners that ask for the same caps. They hold back queued runs
     * only: expired runs and suspects left the queue before. All owned runs count towards a cap.
     */
    readonly claim: (request: ClaimRequest) => Effect.Effect<ReadonlyArray<RunRecord>, StorageError>
    /**
     * Makes the runner the owner of one open run, whoever owned it, and raises the fence. From then
     * on the caller is its only writer. A parked run is no longer parked. `Runs.cancel` uses this.
     * None: the account has no such run. A run that has ended is returned unchanged.
     */
    readonly takeOver: (
      account: AccountId,
      id: RunId,
      runner: RunnerId,
    ) => Effect.Effect<Option.Option<RunRecord>, StorageError>
    /**
     * Renews the runner's lease and returns the open runs that it still owns, with their fences.
     *
     * The runner is alive, so every `died` that names it is removed from the losses of open runs.
     * If the runner says which run blocked it, that run's `died` becomes a `blocked` instead.
     */
    readonly heartbeat: (
      runner: RunnerId,
      leaseMillis: number,
      blocked?: Blocked,
    ) => Effect.Effect<ReadonlyMap<RunId, number>, StorageError>
    /**
     * Gives back those of these runs that are open and that the runner owns. Their fence rises and
     * they have no owner, so any runner may claim them.
     */
    readonly requeue: (
      runner: RunnerId,
      ids: ReadonlyArray<RunId>,
    ) => Effect.Effect<void, StorageError>
    /**
     * Appends a message to a run's inbox and wakes the run, in one step. To wake means: a parked
     * run that has started and is not due yet is queued from now on; any other run stays as it is.
     * A message whose `id` the run has received before is not appended again, even if its content
     * differs, and also after the run has ended. A message that no node takes within
     * `messageMillis` by the store's clock is not kept.
     */
    readonly send: (
      account: AccountId,
      id: RunId,
      message: NewMessage,
    ) => Effect.Effect<SendResult, StorageError>
    /**
     * Gives a signal to the oldest wait that it fits, of a run of the workflow: appends it to the
     * run's inbox, as a message of another run, and wakes the run. The wait is then over for
     * further signals. If it fits none, keeps it for `messageMillis`, for the first wait that it
     * fits. All in one step, and exactly once, under any race of signals and commits. Its
     * message is `WorkflowSignal.messageOf`.
     */
    readonly signal: (
      account: AccountId,
      workflowId: WorkflowId,
      signal: NewWorkflowSignal,
    ) => Effect.Effect<SignalResult, StorageError>
    /**
     * The messages of runs, for their owner. Runs without messages are left out. In any order.
     */
    readonly inboxes: (
      requests: ReadonlyArray<InboxRequest>,
    ) => Effect.Effect<ReadonlyArray<Inbox>, StorageError>
    /**
     * The time by the store's clock, in whole milliseconds since the epoch, rounded down. It is the
     * same for all servers on a store, whatever their own clocks say. Changes nothing.
     */
    readonly now: Effect.Effect<Timestamp, StorageError>
    /**
     * Ends the runner's lease at once, so other runners can claim its runs. Every `died` that names
     * the runner is removed, as by a heartbeat. If the runner says which run blocks it, and owns
     * that run with attempts in progress, a `blocked` is appended to the run's losses.
     */
    readonly endLease: (runner: RunnerId, blocked?: Blocked) => Effect.Effect<void, StorageError>
    /** Accounts with a cap of their own, in any order, at most `limit`. */
    readonly cappedAccounts: (limit: number) => Effect.Effect<ReadonlySet<AccountId>, StorageError>
    /**
     * How many runs wait for a claim, of all accounts: the queue and the parked runs that are due
     * by the store's clock. Counts to `limit`. Leaves out lost runs, and those that need their key.
     */
    readonly queueLength: (limit: number) => Effect.Effect<number, StorageError>
    /** How many runs of an account are at work or wait. */
    readonly load: (query: LoadQuery) => Effect.Effect<AccountLoad, StorageError>
    /** Open runs with losses, of all accounts, oldest first, at most `limit`. */
    readonly suspects: (limit: number) => Effect.Effect<ReadonlyArray<Suspect>, StorageError>
    /**
     * Forgets the losses of an open run, whoever owns it. Nothing else of it changes. False: there
     * is no such run with losses.
     */
    readonly clearLosses: (id: RunId) => Effect.Effect<boolean, StorageError>
    /**
     * Where nodes of each version of each type are, in all accounts, in no order. A node that names
     * no version counts for the oldest one of its type. Reads every drawing; see `TypeUse`.
     */
    readonly typesInUse: (
      oldest: OldestVersions,
    ) => Effect.Effect<ReadonlyArray<TypeUse>, StorageError>
    readonly find: (
      account: AccountId,
      id: RunId,
    ) => Effect.Effect<Option.Option<RunRecord>, StorageError>
    /**
     * The records of those ids that the account has, in any order; unknown ids are left out. With
     * `mostBytes`, payloads are included in the order of the ids as long as they fit: see
     * `RunPayload.withinBytes`.
     */
    readonly findMany: (
      account: AccountId,
      ids: ReadonlyArray<RunId>,
      mostBytes?: number,
    ) => Effect.Effect<ReadonlyArray<RunRecord>, StorageError>
    /**
     * For each of these nodes, the output of its latest COMPLETED node run in the last thousand
     * runs of the workflow, by the runs' creation. A node without one is absent; a pinned output
     * does not count, nor does a run of mode `item`.
     */
    readonly latestOutputs: (
      account: AccountId,
      workflowId: WorkflowId,
      nodeIds: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyMap<string, LatestOutput>, StorageError>
    /**
     * The run that the account has started with this idempotency key. A key holds for
     * `idempotencyKeyMillis` from the commit on, by the store's clock.
     */
    readonly findStart: (
      account: AccountId,
      key: string,
    ) => Effect.Effect<Option.Option<KnownStart>, StorageError>
    /**
     * Newest first. A store may refuse a search for which it would have to read more than
     * `runsReadBySearch` runs; what it does answer is exact.
     */
    readonly list: (query: RunQuery) => Effect.Effect<Page<Run>, SearchTooBroad | StorageError>
    /** The children that a node of a run has started, by their index. */
    readonly children: (query: ChildQuery) => Effect.Effect<ReadonlyArray<Run>, StorageError>
    /** The last run of each of these workflows and counts. Without runs, a workflow is absent. */
    readonly activity: (
      query: ActivityQuery,
    ) => Effect.Effect<ReadonlyMap<WorkflowId, WorkflowActivity>, StorageError>
    /**
     * Events with a sequence above `after`, in order: the events of the run itself, and the events
     * that `RunEvent.ofNode` makes of its node runs. Empty for an unknown run.
     */
    readonly events: (
      account: AccountId,
      id: RunId,
      after: number,
    ) => Effect.Effect<ReadonlyArray<RunEvent>, StorageError>
    /**
     * The same for many runs of any accounts, each of which is asked for once. Runs without such
     * events are left out, but for those whose revision has moved. In any order.
     */
    readonly eventsOfMany: (
      requests: ReadonlyArray<EventsRequest>,
    ) => Effect.Effect<ReadonlyArray<EventsFound>, StorageError>
  }
>()("@millrace/core/ports/RunStore") {}
