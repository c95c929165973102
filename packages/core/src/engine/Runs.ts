/**
 * Starting, canceling and awaiting runs.
 *
 * Guarantees: when a start returns, its run is stored. Starts with the same idempotency key make
 * one run. A canceled run writes nothing more, wherever it was executing. Leaves out: reads, which
 * go straight to the store.
 */
import { Clock, Context, Effect, Layer, Option, Result } from "effect"
import type { MicroCredits } from "../domain/Credits.ts"
import { type AccountId, RunId, type WorkflowId } from "../domain/Id.ts"
import type { IdempotencyKey } from "../domain/Idempotency.ts"
import type { NewMessage } from "../domain/Message.ts"
import { rerunIdOf, type Run, waitsToStart, type RunRecord } from "../domain/Run.ts"
import type { Workflow } from "../domain/Workflow.ts"
import type { InsufficientCredits } from "../ports/LedgerStore.ts"
import type { RunCommit } from "../ports/RunStore.ts"
import { CurrentEvaluator } from "../ports/Evaluator.ts"
import { RunStore, type StaleRun } from "../ports/RunStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import type { StoreManifest } from "../ports/StoreManifest.ts"
import type { Transactions } from "../ports/Transactions.ts"
import type { Vault } from "../ports/Vault.ts"
import type { WebhookTargets } from "../ports/WebhookTargets.ts"
import { WorkflowStore } from "../ports/WorkflowStore.ts"
import { CommitBuilder } from "./internal/CommitBuilder.ts"
import { cancel, wait } from "./internal/Ending.ts"
import { environmentOf } from "./internal/FirstStep.ts"
import { CurrentValues } from "./internal/CurrentValues.ts"
import { GraphCache } from "./GraphCache.ts"
import type { Problem } from "../graph/internal/Problem.ts"
import { Ids } from "./Ids.ts"
import type { Asked, StartRequest } from "./internal/NewRun.ts"
import { mayRetry, newRunOf, pinnedRowsOf } from "./internal/NewRun.ts"
import type { StartedOnce } from "./internal/StartOnce.ts"
import { once } from "./internal/StartOnce.ts"
import { planKept, planOf, services as planServices } from "./internal/StartPlan.ts"
import { choiceOf, takenWorkflow } from "./internal/TakenWorkflow.ts"
import { type KeptWorkflow, WorkflowCache } from "./internal/WorkflowCache.ts"
import type { Plan, Price } from "./internal/Plan.ts"
import { rerunFailed, type RerunBatch } from "./internal/RerunFailed.ts"
import type { RerunRequest } from "./internal/Reruns.ts"
import { prepareRerun } from "./internal/Reruns.ts"
import type { RerunPlan } from "../graph/internal/Rerun.ts"
import type { InvalidWebhook, QueueFull, RunEnded, RunOpen, RunsFull } from "./Refusals.ts"
import {
  BeyondMaxCredits,
  type IdempotencyKeyTaken,
  InvalidGraph,
  RunNotFound,
  type VersionNotFound,
  type WorkflowNotFound,
} from "./Refusals.ts"
import { Runner } from "./Runner.ts"
import { RunNotifier } from "./RunNotifier.ts"
import { send, type SendRefusal, signal, type Signal } from "./internal/Sending.ts"
import { evaluateText, type TextInNode, type TextValue } from "./internal/Evaluation.ts"
import { validated, type ValidationRequest } from "./internal/Validating.ts"
import type { Validation } from "./internal/Validation.ts"
import * as WaitingStarts from "./internal/WaitingStarts.ts"
import * as TransactionalStarts from "./internal/TransactionalStarts.ts"
import { makeAdmit } from "./Webhooks.ts"

export type { RerunBatch } from "./internal/RerunFailed.ts"
export type { StartRequest } from "./internal/NewRun.ts"
export type { ValidationRequest } from "./internal/Validating.ts"
export type { StartedOnce } from "./internal/StartOnce.ts"

/** Why a start is refused. */
export type StartRefusal =
  | WorkflowNotFound
  | VersionNotFound
  | InvalidGraph
  | InvalidWebhook
  | InsufficientCredits
  | BeyondMaxCredits
  | RunsFull
  | QueueFull

/** What a start would cost. */
export interface Estimate {
  /** Every reason why the start would be refused. Then there are no prices. */
  readonly problems: ReadonlyArray<Problem>
  readonly estimatedCredits: MicroCredits
  /** Every node that may execute with its price, in the order of the run. */
  readonly nodes: ReadonlyArray<Price>
}

/** What a rerun would do. */
export interface PlannedRerun extends Estimate {
  /** Why nodes are executed anew, by node, in the order of execution. */
  readonly anew: RerunPlan["anew"]
  /** Nodes whose outputs are taken over. */
  readonly takenOver: ReadonlyArray<string>
}

export class Runs extends Context.Service<
  Runs,
  {
    /**
     * Freezes the workflow as it is now and stores the run, in one atomic step. If this process has
     * room, the run is RUNNING at once; else it is QUEUED until a runner claims it. The same step
     * reserves the expected cost. If the account's credits do not cover it, nothing is stored.
     */
    readonly start: (
      account: AccountId,
      request: StartRequest,
    ) => Effect.Effect<Run, StartRefusal | StorageError>
    /**
     * {@link start} with an idempotency key. However often and wherever the call is repeated, it
     * starts one run, and every repetition returns that run. A refused start does not use up the
     * key.
     */
    readonly startOnce: (
      account: AccountId,
      request: StartRequest,
      idempotencyKey: IdempotencyKey,
    ) => Effect.Effect<StartedOnce, StartRefusal | IdempotencyKeyTaken | StorageError>
    /**
     * {@link start} of a run with this id. However often and wherever the call is repeated, it
     * starts one run, for ever: a store has an id once. `StaleRun`: there is no run with this id,
     * and the trigger of the request, or the end that its run follows, has another fence than the
     * one that is given, or is gone.
     */
    readonly startAs: (
      account: AccountId,
      request: StartRequest,
      named: { readonly runId: RunId; readonly claimFence?: number },
    ) => Effect.Effect<StartedOnce, StartRefusal | StaleRun | StorageError>
    /**
     * Executes starts inside a transaction that the caller has begun on a client of the package
     * `pg`, or on an `SqlClient`. Their runs are stored and QUEUED when it is committed; a rollback
     * leaves nothing. Inside a transaction of the store's `SqlClient`, starts do so without this.
     */
    readonly within: Transactions["within"]
    /**
     * The problems that {@link start} would find in the graph now, or in a draft of it, and what is
     * known of each node. Starts and stores nothing, and does not check the webhook.
     */
    readonly validate: (
      account: AccountId,
      request: ValidationRequest,
    ) => Effect.Effect<Validation, WorkflowNotFound | VersionNotFound | StorageError>
    /**
     * Computes a text with expressions as if it stood at a node of a run of the workflow, from what
     * the run's nodes have put out. Stores nothing.
     */
    readonly evaluate: (
      account: AccountId,
      workflowId: WorkflowId,
      asked: TextInNode & { readonly runId: RunId },
    ) => Effect.Effect<TextValue, RunNotFound | StorageError>
    /**
     * Starts a run that takes over what an earlier, ended one has completed, and executes the rest:
     * what has not completed, what `from` names, what is drawn otherwise, and all that follows. It
     * has the values and the webhook of the earlier run. What is taken over costs nothing and has
     * no event. With an idempotency key it is {@link startOnce}.
     */
    readonly rerun: (
      account: AccountId,
      id: RunId,
      request: RerunRequest,
      idempotencyKey?: IdempotencyKey,
    ) => Effect.Effect<
      StartedOnce,
      StartRefusal | RunNotFound | RunOpen | IdempotencyKeyTaken | StorageError
    >
    /** {@link rerun} of runs that have failed, each once. Under a key, a repetition adds none. */
    readonly rerunEach: (
      account: AccountId,
      failed: ReadonlyArray<Run>,
      request: RerunRequest,
      idempotencyKey?: IdempotencyKey,
    ) => Effect.Effect<RerunBatch, IdempotencyKeyTaken | StorageError>
    /** What {@link rerun} would execute, and why. Stores nothing. */
    readonly planRerun: (
      account: AccountId,
      id: RunId,
      request: RerunRequest,
    ) => Effect.Effect<
      PlannedRerun,
      InvalidGraph | WorkflowNotFound | VersionNotFound | RunNotFound | RunOpen | StorageError
    >
    /** What a start would cost, node by node, or why it would be refused. Stores nothing. */
    readonly estimate: (
      account: AccountId,
      request: StartRequest,
    ) => Effect.Effect<Estimate, WorkflowNotFound | VersionNotFound | StorageError>
    /** Cancels an open run at once. Does nothing if the run is canceled already. */
    readonly cancel: (
      account: AccountId,
      id: RunId,
    ) => Effect.Effect<Run, RunNotFound | RunEnded | StorageError>
    /**
     * Stores a message to an open run and wakes the run if it is parked, in one step. A node that
     * waits for this name takes it, or the first that begins to. The same `id` again adds nothing.
     */
    readonly send: (
      account: AccountId,
      id: RunId,
      message: NewMessage,
    ) => Effect.Effect<number, SendRefusal | StorageError>
    /** Sends a signal, as {@link send} sends a message, for a node `wait_signal` of its name. */
    readonly signal: (
      account: AccountId,
      id: RunId,
      signal: Signal,
    ) => Effect.Effect<number, SendRefusal | StorageError>
    /** Waits until the run has ended, wherever it executes. */
    readonly wait: (
      account: AccountId,
      id: RunId,
    ) => Effect.Effect<RunRecord, RunNotFound | StorageError>
  }
>()("@millrace/core/engine/Runs") {
  /** Needs the stores, the compiled graphs and a runner. */
  static readonly layer: Layer.Layer<
    Runs,
    never,
    | RunStore
    | WorkflowStore
    | StoreManifest
    | GraphCache
    | Runner
    | RunNotifier
    | WebhookTargets
    | Vault
    | Ids
  > = Layer.effect(
    Runs,
    Effect.suspend(() => make),
  )
}

/** The services of all operations. */
const servicesOf = Effect.all({
  runs: RunStore,
  workflows: WorkflowStore,
  kept: Effect.sync(() => new WorkflowCache()),
  transactions: TransactionalStarts.make,
  graphs: GraphCache,
  planning: planServices,
  runner: Runner,
  waitingStarts: WaitingStarts.make,
  notifier: RunNotifier,
  ids: Ids,
  clock: Clock.Clock,
  admit: makeAdmit,
  evaluator: CurrentEvaluator,
  values: CurrentValues,
  environment: environmentOf,
})
type Services = Effect.Success<typeof servicesOf>

const askedOf = Effect.fnUntraced(function* (
  { admit }: Services,
  account: AccountId,
  request: StartRequest,
  idempotencyKey?: IdempotencyKey,
): Effect.fn.Return<Asked> {
  const { admittedWebhook = null, webhook } = request
  const admitted =
    webhook === undefined
      ? Effect.succeed(admittedWebhook)
      : yield* Effect.cached(admit(account, webhook))
  return { account, request, idempotencyKey, webhook: admitted }
})

/** How a start stores its run. */
interface HowStored {
  /** What this process has kept of the workflow: only if it is still stored like that. */
  readonly kept?: KeptWorkflow
  /** In a transaction of the caller. */
  readonly isWithin: boolean
}

/** Stores a run with its first step, owned by this process, and executes what is left of it. */
const begin = Effect.fnUntraced(function* <E>(
  { environment, runner }: Services,
  asked: Asked,
  { definition, nodeRuns, run }: RunRecord,
  graph: Plan["graph"],
  insert: (commit: RunCommit) => Effect.Effect<void, E>,
) {
  const record = { run: { ...run, owner: runner.id, fence: 1 }, definition, nodeRuns }
  const atStart = { ...environment, now: run.createdAt }
  const prepared = runner.prepare(record, graph, atStart, mayRetry(asked))
  yield* insert(prepared.first.commit)
  return yield* Effect.as(runner.launch(record.run, prepared), prepared.first.commit.run)
})

/**
 * Plans a start of this workflow and stores its run: with its first step, owned by this process,
 * where there is room; else, and in a transaction of the caller, for whoever has room. Stale where
 * the idempotency key is taken or the stored workflow is another one than was kept.
 */
const startOf = Effect.fnUntraced(function* (
  services: Services,
  asked: Asked,
  workflow: Workflow,
  { isWithin, kept }: HowStored,
) {
  const { clock, ids, notifier, runner, runs, transactions } = services
  const { account, claimFence, idempotencyKey, request } = asked
  const id = asked.runId ?? RunId.make(yield* ids.make("run"))
  const planned = yield* planKept(services.planning, asked, workflow, id, kept)
  if (Result.isFailure(planned)) {
    return yield* new InvalidGraph({ problems: planned.failure.map((each) => each.message) })
  }
  const { definition: shared, estimate: required, graph } = planned.success
  const definition = isWithin ? transactions.definitionFor(id, shared) : shared
  const { maxCredits } = request
  if (maxCredits !== undefined && required > maxCredits) {
    return yield* new BeyondMaxCredits({ required, maxCredits })
  }
  const run = newRunOf(
    asked,
    workflow,
    { ...planned.success, definition },
    {
      id,
      executionId: yield* ids.make("execution"),
      createdAt: clock.currentTimeMillisUnsafe(),
      webhook: yield* asked.webhook,
      parent: null,
    },
  )
  const pinned = pinnedRowsOf(request, planned.success, run)
  const insert = (commit: RunCommit) => {
    const nodeRuns = pinned.length === 0 ? commit.nodeRuns : [...pinned, ...commit.nodeRuns]
    const isCurrent = kept !== undefined
    const expected = { _tag: "New" as const, definition, idempotencyKey, isCurrent, claimFence }
    const told = Effect.sync(() => notifier.tell(commit.run))
    return Effect.andThen(runs.commit({ ...commit, nodeRuns, expected }), told)
  }

  if (isWithin || waitsToStart(run) || !runner.takeSlot(account)) {
    // Whoever has a transaction open asks for nothing else.
    if (!isWithin) yield* services.waitingStarts.admit(run, request.whenFull)
    const commit = new CommitBuilder(run, run.createdAt).commit()
    yield* insert(commit)
    yield* isWithin ? transactions.stored(workflow, shared) : runner.look
    return commit.run
  }
  return yield* Effect.ensuring(
    begin(services, asked, { run, definition, nodeRuns: pinned }, graph, insert),
    Effect.sync(() => runner.giveSlot(account)),
  )
})

/**
 * Starts what this process has kept of the workflow, if the store says that it is current, and else
 * the workflow as it is in the store. Stale only where the idempotency key is taken. What a start
 * takes that asks for a version, or for the draft, is read each time.
 */
const store = Effect.fnUntraced(function* (services: Services, asked: Asked) {
  const { kept, workflows } = services
  const { account, request } = asked
  const isWithin = yield* services.transactions.isWithin
  if (isWithin && request.whenFull === "refuse") {
    const message = "whenFull: a start in a transaction waits until that is committed; leave it out"
    return yield* new InvalidGraph({ problems: [message] })
  }
  const isUsual = choiceOf(request) === undefined
  const known = isUsual ? kept.find(account, request.workflowId) : undefined
  if (known !== undefined) {
    const stored = yield* Effect.result(
      startOf(services, asked, known.workflow, { kept: known, isWithin }),
    )
    if (Result.isSuccess(stored)) return stored.success
    if (stored.failure._tag === "StorageError") return yield* stored.failure
    // Whatever stands against this start may not stand against the workflow as it is now.
    kept.drop(known)
  }
  const found = yield* takenWorkflow(workflows, account, request)
  const run = yield* startOf(services, asked, found, { isWithin })
  // A transaction may have read what is never committed.
  if (isUsual && !isWithin) kept.keep(found)
  return run
})

// Starts are untraced: to name a call costs a twentieth of a run of one step, which has a span.
const start = (services: Services): Runs["Service"]["start"] =>
  Effect.fnUntraced(function* (account, request) {
    const asked = yield* askedOf(services, account, request)
    return yield* Effect.catchTag(store(services, asked), "StaleRun", Effect.die)
  }, Effect.uninterruptible)

const startOnce = (services: Services): Runs["Service"]["startOnce"] =>
  Effect.fnUntraced(function* (account, request, idempotencyKey) {
    const asked = yield* askedOf(services, account, request, idempotencyKey)
    return yield* once(services.runs, account, idempotencyKey, store(services, asked))
  }, Effect.uninterruptible)

const startAs = (services: Services): Runs["Service"]["startAs"] =>
  Effect.fnUntraced(function* (account, request, named) {
    const { runId } = named
    const asked = { ...(yield* askedOf(services, account, request)), ...named }
    const started = yield* Effect.result(store(services, asked))
    if (Result.isSuccess(started)) return { runId, isReplay: false }
    const { failure } = started
    if (failure._tag === "StorageError") return yield* failure
    // An earlier call may have started the run. Then whatever stands against it now is too late.
    const known = yield* services.runs.findMany(account, [runId], 0)
    if (known.length > 0) return { runId, isReplay: true }
    return yield* failure
  }, Effect.uninterruptible)

/** What a rerun stores: its run has the webhook of the earlier one, which was admitted. */
const storeRerun = Effect.fnUntraced(function* (
  services: Services,
  account: AccountId,
  id: RunId,
  request: RerunRequest,
  named: Pick<Asked, "runId" | "idempotencyKey">,
) {
  const made = yield* prepareRerun(services, account, id, request)
  const webhook = Effect.succeed(made.record.run.webhook)
  const asked = { account, request: made.request, webhook, ...named }
  return yield* startOf(services, asked, made.workflow, { isWithin: false })
})

const rerun = (services: Services): Runs["Service"]["rerun"] =>
  Effect.fn("Runs.rerun")(function* (account, id, request, idempotencyKey) {
    const { runs } = services
    const firstId = rerunIdOf(id)
    const stored = Effect.gen(function* () {
      const isFirst = (yield* runs.findMany(account, [firstId], 0)).length === 0
      const named = { idempotencyKey, runId: isFirst ? firstId : undefined }
      return yield* storeRerun(services, account, id, request, named)
    })
    if (idempotencyKey !== undefined) return yield* once(runs, account, idempotencyKey, stored)
    // Stale once at most: where another call has started the first rerun meanwhile.
    const again = Effect.catchTag(stored, "StaleRun", Effect.die)
    const { id: runId } = yield* Effect.catchTag(stored, "StaleRun", () => again)
    return { runId, isReplay: false }
  }, Effect.uninterruptible)

const rerunEach = (services: Services): Runs["Service"]["rerunEach"] =>
  Effect.fn("Runs.rerunEach")(function* (account, failed, request, idempotencyKey) {
    const each = rerunFailed(services.runs, ({ id }, named) =>
      storeRerun(services, account, id, request, named),
    )
    return yield* each(account, failed, idempotencyKey)
  }, Effect.uninterruptible)

const planRerun = (services: Services): Runs["Service"]["planRerun"] =>
  Effect.fn("Runs.planRerun")(function* (account, id, request) {
    const prepared = yield* prepareRerun(services, account, id, request)
    const { plan: planned, request: wanted, workflow } = prepared
    const made = yield* planOf(services.planning, { account, request: wanted }, workflow, nobody)
    return { ...planned, ...estimateOf(made) }
  })

/** A run that is only planned. */
const nobody = RunId.make("run")

const estimateOf = (made: Result.Result<Plan, ReadonlyArray<Problem>>): Estimate =>
  Result.isFailure(made)
    ? { problems: made.failure, estimatedCredits: 0, nodes: [] }
    : { problems: [], estimatedCredits: made.success.estimate, nodes: made.success.prices }

const estimate = (services: Services): Runs["Service"]["estimate"] =>
  Effect.fn("Runs.estimate")(function* (account, request) {
    const workflow = yield* takenWorkflow(services.workflows, account, request)
    return estimateOf(yield* planOf(services.planning, { account, request }, workflow, nobody))
  })

const validate = (services: Services): Runs["Service"]["validate"] =>
  Effect.fn("Runs.validate")(function* (account, request) {
    const stored = yield* takenWorkflow(services.workflows, account, request)
    return yield* validated(services.planning, account, stored, request)
  })

const evaluate = (services: Services): Runs["Service"]["evaluate"] =>
  Effect.fn("Runs.evaluate")(function* (account, workflowId, { runId, ...text }) {
    const found = yield* services.runs.find(account, runId)
    if (Option.isNone(found) || found.value.run.workflowId !== workflowId) {
      return yield* new RunNotFound({ runId })
    }
    return yield* evaluateText(services, account, found.value, text)
  })

const make = Effect.map(servicesOf, (services) =>
  Runs.of({
    start: start(services),
    startOnce: startOnce(services),
    startAs: startAs(services),
    within: services.transactions.within,
    validate: validate(services),
    evaluate: evaluate(services),
    estimate: estimate(services),
    rerun: rerun(services),
    rerunEach: rerunEach(services),
    planRerun: planRerun(services),
    cancel: cancel(services),
    send: send(services),
    signal: signal(services),
    wait: wait(services),
  }),
)
