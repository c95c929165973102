/**
 * Starting, canceling and awaiting runs.
 *
 * Guarantees: a run that was answered for is stored; a canceled run writes nothing more, wherever
 * it was executing. Leaves out: reads, which go straight to the store.
 */
import { Clock, Context, Effect, Layer, Option, Result } from "effect"
import type { AccountId, WorkflowId } from "../domain/Id.ts"
import { RunId } from "../domain/Id.ts"
import type { JsonObject } from "../domain/Json.ts"
import type { InputOverrides, Run, RunRecord, RunSource, Viewport } from "../domain/Run.ts"
import { isSettled, isTerminal } from "../domain/Run.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import type { Node, Workflow } from "../domain/Workflow.ts"
import type { RunCommit } from "../ports/RunStore.ts"
import { RunStore } from "../ports/RunStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import { WorkflowStore } from "../ports/WorkflowStore.ts"
import { commitDurably, patience } from "./Commit.ts"
import { Change } from "./Change.ts"
import { Graphs } from "./Graphs.ts"
import { Ids } from "./Ids.ts"
import type { Overlay } from "./Plan.ts"
import { plan } from "./Plan.ts"
import { InvalidGraph, RunEnded, RunNotFound, WorkflowNotFound } from "./Refusals.ts"
import { Runner } from "./Runner.ts"

/** What a start asks for (specification 4.5). */
export interface StartRequest {
  readonly workflowId: WorkflowId
  readonly values?: JsonObject | undefined
  readonly graphInputOverrides?: InputOverrides | undefined
  readonly nodeOverrides?: ReadonlyArray<Node> | undefined
  readonly viewport?: Viewport | undefined
  readonly source?: RunSource | undefined
}

export class Runs extends Context.Service<
  Runs,
  {
    /** Freezes the workflow as it is now and stores the run; it executes from then on. */
    readonly start: (
      account: AccountId,
      request: StartRequest,
    ) => Effect.Effect<Run, WorkflowNotFound | InvalidGraph | StorageError>
    /** Cancels an open run at once. Of a canceled run it is a no-op. */
    readonly cancel: (
      account: AccountId,
      id: RunId,
    ) => Effect.Effect<Run, RunNotFound | RunEnded | StorageError>
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
    RunStore | WorkflowStore | Graphs | Runner | Ids
  > = Layer.effect(
    Runs,
    Effect.suspend(() => make),
  )
}

/** How often a run that executes elsewhere is looked at while somebody waits for it. */
const lookAgain = "100 millis"

/** What is left to say about a run that a user canceled. Pure. */
const cancelation = (record: RunRecord, now: Timestamp): RunCommit => {
  const change = new Change(record.run, now)
  const count = (status: string) => record.nodeRuns.filter((row) => row.status === status).length
  change.setRows(
    record.nodeRuns
      .filter((row) => !isSettled(row.status))
      .map((row) => ({ ...row, status: "CANCELED", finishedAt: now })),
  )
  change.end("CANCELED", null, null, { completed: count("COMPLETED"), failed: count("FAILED") })
  return change.commit()
}

const make = Effect.gen(function* () {
  const runs = yield* RunStore
  const workflows = yield* WorkflowStore
  const graphs = yield* Graphs
  const runner = yield* Runner
  const ids = yield* Ids
  const scope = yield* Effect.scope

  /** The row of a new run. Owned by this runner from its birth where there is room for it. */
  const newRun = Effect.fnUntraced(function* (
    workflow: Workflow,
    request: StartRequest,
    overlay: Overlay,
  ) {
    const id = RunId.make(yield* ids.make("run"))
    const made = plan(workflow, overlay, id, graphs.compile)
    if (Result.isFailure(made)) {
      return yield* new InvalidGraph({ problems: made.failure.map((each) => each.message) })
    }
    const { definition, estimate, values } = made.success
    const owned = runner.hasRoom()
    const run: Run = {
      id,
      accountId: workflow.accountId,
      workflowId: workflow.id,
      workflowName: workflow.name,
      workflowRevision: workflow.revision,
      definitionId: definition.id,
      executionId: yield* ids.make("execution"),
      status: "QUEUED",
      mode: "full",
      source: request.source ?? "api",
      singleNodeId: null,
      createdAt: yield* Clock.currentTimeMillis,
      startedAt: null,
      finishedAt: null,
      error: null,
      values,
      inputOverrides: overlay.inputOverrides,
      viewport: request.viewport ?? null,
      output: null,
      estimatedCredits: estimate,
      actualCredits: 0,
      nodeRunCount: 0,
      sequence: 0,
      revision: 1,
      fence: owned ? 1 : 0,
      owner: owned ? runner.id : null,
    }
    return { run, definition, nodeRuns: [] } satisfies RunRecord
  })

  /** Finds out whether a start whose answer was lost is stored, and executes it if so. */
  const settleStart = (record: RunRecord) =>
    Effect.gen(function* () {
      const { accountId, id } = record.run
      const found = yield* Effect.retry(runs.find(accountId, id), patience)
      if (Option.isSome(found) && record.run.owner !== null) yield* runner.launch(record)
    }).pipe(Effect.orDie, Effect.forkIn(scope))

  const start = Effect.fn("Runs.start")(function* (account: AccountId, request: StartRequest) {
    const found = yield* workflows.find(account, request.workflowId)
    if (Option.isNone(found)) return yield* new WorkflowNotFound({ workflowId: request.workflowId })
    const overlay: Overlay = {
      values: request.values ?? {},
      inputOverrides: request.graphInputOverrides ?? {},
      nodeOverrides: request.nodeOverrides ?? [],
    }
    const record = yield* newRun(found.value, request, overlay)
    const { definition, run } = record
    yield* runs
      .commit({ expected: { _tag: "New", definition }, run, nodeRuns: [], events: [] })
      .pipe(
        Effect.catchTag("StaleRun", Effect.die),
        Effect.tapError(() => settleStart(record)),
      )
    if (run.owner !== null) yield* runner.launch(record)
    return run
  }, Effect.uninterruptible)

  const cancel = Effect.fn("Runs.cancel")(function* (account: AccountId, id: RunId) {
    while (true) {
      // From here on nobody else can write the run, so what is decided is what happens.
      const seized = yield* runs.seize(account, id, runner.id)
      if (Option.isNone(seized)) return yield* new RunNotFound({ runId: id })
      const { run } = seized.value
      if (run.status === "CANCELED") return run
      if (isTerminal(run.status)) return yield* new RunEnded({ runId: id, status: run.status })
      const commit = cancelation(seized.value, yield* Clock.currentTimeMillis)
      const stored = yield* Effect.result(commitDurably(runs, commit))
      if (Result.isFailure(stored)) continue
      yield* runner.stop(id)
      return commit.run
    }
  }, Effect.uninterruptible)

  const wait = Effect.fnUntraced(function* (account: AccountId, id: RunId) {
    while (true) {
      // Looked up before the read, so that an end in between is not missed.
      const ended = runner.ended(id)
      const found = yield* runs.find(account, id)
      if (Option.isNone(found)) return yield* new RunNotFound({ runId: id })
      if (isTerminal(found.value.run.status)) return found.value
      yield* Option.getOrElse(ended, () => Effect.sleep(lookAgain))
    }
  })

  return Runs.of({ start, cancel, wait })
})
