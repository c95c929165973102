/**
 * Makes and changes triggers that follow the runs of another workflow, and starts runs for them.
 *
 * Guarantees: the end of a run starts one run for each trigger that follows it, over any number of
 * processes and crashes: its id follows from the trigger and the run. Not more than
 * `runsInSequence` runs follow each other. Leaves out: which ends wait; a store says that.
 */
import { Clock, Context, Effect, Layer, Option, Result } from "effect"
import { Digest } from "effect/crypto"
import type { AccountId, WorkflowId } from "../domain/Id.ts"
import { TriggerId } from "../domain/Id.ts"
import {
  CurrentLimits,
  handlerMessageLength,
  runsInSequence,
  triggerWriteAttempts,
} from "../domain/Limits.ts"
import { firstOf, plain } from "../domain/Quote.ts"
import type { RunEndSettings, RunEndTrigger } from "../domain/RunEndTrigger.ts"
import { runIdAfter } from "../domain/RunEndTrigger.ts"
import type { RunRecord } from "../domain/Run.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import { neverStarted } from "../domain/TriggerFacts.ts"
import type { WebhookConfig } from "../domain/Webhook.ts"
import { RunStore, type StaleRun } from "../ports/RunStore.ts"
import { StorageError } from "../ports/StorageError.ts"
import type {
  ClaimedEnd,
  FinishedEnd,
  TooManyTriggers,
  TriggerKey,
  TriggerPause,
} from "../ports/TriggerStore.ts"
import { TriggerStore } from "../ports/TriggerStore.ts"
import type { Vault } from "../ports/Vault.ts"
import type { WebhookTargets } from "../ports/WebhookTargets.ts"
import { WorkflowStore } from "../ports/WorkflowStore.ts"
import { requestFieldsOf } from "../graph/internal/RequestFields.ts"
import { Ids } from "./Ids.ts"
import { valuesAfter } from "./internal/EndValues.ts"
import { knownVersion, takenWorkflow } from "./internal/TakenWorkflow.ts"
import { LargeValues } from "./LargeValues.ts"
import { NodeTypes } from "./NodeTypes.ts"
import type { InvalidWebhook, VersionNotFound } from "./Refusals.ts"
import { WorkflowNotFound } from "./Refusals.ts"
import { Runs } from "./Runs.ts"
import { InvalidTrigger, TriggerNotFound } from "./Triggers.ts"
import { makeAdmit, webhookWith } from "./Webhooks.ts"

/** The fields to set of a trigger that follows runs. */
export type RunEndChange = {
  readonly [K in keyof RunEndSettings]?: RunEndSettings[K] | undefined
} & {
  /** The webhook of its runs. */
  readonly webhook?: WebhookConfig | null | undefined
}

/** Why a trigger is not accepted. */
type Unacceptable =
  | InvalidTrigger
  | InvalidWebhook
  | WorkflowNotFound
  | VersionNotFound
  | StorageError

export class RunEndTriggers extends Context.Service<
  RunEndTriggers,
  {
    /** Stores a new trigger. One that is on follows every run that ends from now on. */
    readonly create: (
      account: AccountId,
      workflowId: WorkflowId,
      settings: RunEndChange,
    ) => Effect.Effect<RunEndTrigger, Unacceptable | TooManyTriggers>
    /** Sets the given fields. */
    readonly update: (
      key: TriggerKey,
      change: RunEndChange,
    ) => Effect.Effect<RunEndTrigger, Unacceptable | TriggerNotFound>
    /**
     * Starts the run of a claimed end, unless all triggers were paused then. `undefined`: the store
     * failed, or somebody else has claimed the end since, and it is claimed again.
     */
    readonly start: (
      end: ClaimedEnd,
      pause?: TriggerPause,
    ) => Effect.Effect<FinishedEnd | undefined>
  }
>()("@millrace/core/engine/RunEndTriggers") {
  static readonly layer: Layer.Layer<
    RunEndTriggers,
    never,
    | TriggerStore
    | WorkflowStore
    | RunStore
    | Runs
    | NodeTypes
    | LargeValues
    | Ids
    | Digest.Digest
    | WebhookTargets
    | Vault
  > = Layer.effect(
    RunEndTriggers,
    Effect.suspend(() => make),
  )
}

const usual: Omit<RunEndSettings, "watch"> = {
  on: ["COMPLETED"],
  into: null,
  values: {},
  version: null,
  enabled: true,
}

const servicesOf = Effect.all({
  store: TriggerStore,
  workflows: WorkflowStore,
  runStore: RunStore,
  runs: Runs,
  types: NodeTypes,
  largeValues: LargeValues,
  ids: Ids,
  clock: Clock.Clock,
  digest: Digest.Digest,
  admit: makeAdmit,
})
type Services = Effect.Success<typeof servicesOf>

/** The settings with a change. A status that is named twice is there once. */
const withChange = (
  known: RunEndSettings | typeof usual,
  {
    enabled = known.enabled,
    into = known.into,
    on = known.on,
    values,
    version,
    watch,
  }: RunEndChange,
): Omit<RunEndSettings, "watch"> & Pick<RunEndChange, "watch"> => ({
  watch: watch ?? ("watch" in known ? known.watch : undefined),
  on: [...new Set(on)],
  into,
  values: values ?? known.values,
  version: version === undefined ? known.version : version,
  enabled,
})

const refuse = (message: string) => new InvalidTrigger({ message: `watch: ${message}` })

/** The account has no such workflow to watch. */
export const unknownWatch = (watch: WorkflowId): InvalidTrigger =>
  refuse(`workflow ${plain(watch)} does not exist`)

/** The settings, if the account has the workflow that they name, and it is another one. */
const checked = Effect.fnUntraced(function* (
  { workflows }: Services,
  accountId: AccountId,
  workflowId: WorkflowId,
  { watch, ...settings }: ReturnType<typeof withChange>,
) {
  if (watch === undefined) return yield* refuse("expected the id of a workflow")
  if (watch === workflowId) {
    return yield* refuse("expected another workflow; a run cannot follow each run of its own")
  }
  if (Option.isNone(yield* workflows.find(accountId, watch))) return yield* unknownWatch(watch)
  yield* knownVersion(workflows, accountId, workflowId, settings.version)
  return { ...settings, watch }
})

const create = (services: Services): RunEndTriggers["Service"]["create"] =>
  Effect.fn("RunEndTriggers.create")(function* (accountId, workflowId, change) {
    const { admit, clock, ids, store } = services
    const settings = yield* checked(services, accountId, workflowId, withChange(usual, change))
    const webhook = yield* webhookWith(admit, accountId, null, change.webhook)
    const now = clock.currentTimeMillisUnsafe()
    const id = TriggerId.make(yield* ids.make("trigger"))
    const own = { id, accountId, workflowId, type: "run_end" as const }
    const times = { createdAt: now, updatedAt: now }
    const trigger: RunEndTrigger = { ...neverStarted, ...own, ...settings, webhook, ...times }
    if (!(yield* store.insert(trigger))) return yield* new WorkflowNotFound({ workflowId })
    return trigger
  })

const update = (services: Services): RunEndTriggers["Service"]["update"] =>
  Effect.fn("RunEndTriggers.update")(function* (key, change) {
    const { admit, clock, store } = services
    for (let attempt = 0; attempt < triggerWriteAttempts; attempt++) {
      const found = Option.getOrUndefined(yield* store.find(key))
      if (found?.type !== "run_end") return yield* new TriggerNotFound({ triggerId: key.id })
      const { accountId, workflowId } = key
      const settings = yield* checked(services, accountId, workflowId, withChange(found, change))
      const webhook = yield* webhookWith(admit, accountId, found.webhook, change.webhook)
      const updatedAt = clock.currentTimeMillisUnsafe()
      const changed = { ...found, ...settings, webhook, updatedAt }
      if (yield* store.replace(changed)) return changed
    }
    const cause = new Error(`trigger ${key.id} is changed too often`)
    return yield* new StorageError({ operation: "TriggerStore.replace", cause })
  })

const encoder = new TextEncoder()

/** What became of an end: the run, or why there is none; nothing if it is not followed any more. */
type Outcome = Omit<FinishedEnd, keyof Pick<ClaimedEnd, "triggerId" | "runId" | "fence">>

const missed = (lastMissedAt: number, why: string): Outcome => ({
  missed: 1,
  lastMissedAt,
  lastError: firstOf(why, handlerMessageLength),
})

/** The run that has ended, with its output; without it, if no start could bring so much. */
const endedOf = Effect.fnUntraced(function* (
  { largeValues, runStore }: Services,
  { runId }: ClaimedEnd,
  { accountId }: RunEndTrigger,
): Effect.fn.Return<RunRecord | undefined, StorageError> {
  const { bodyBytes } = yield* CurrentLimits
  const [found] = yield* runStore.findMany(accountId, [runId], bodyBytes)
  if (found === undefined || found.omitted === true) return found
  const bytes = (found.run.largeValues ?? []).reduce((sum, each) => sum + each.bytes, 0)
  if (bytes > bodyBytes) return { ...found, omitted: true }
  const [whole] = yield* largeValues.withValues([{ ...found, nodeRuns: [] }], bodyBytes)
  return whole
})

/** Why a time or an end from before a pause of all triggers has started no run. */
export const pausedBefore = "All triggers were paused before it was started"

/** What becomes of the end of a run during or before a pause, if nobody has started its run. */
const outcomeOfPause = (at: Timestamp, pause: TriggerPause | undefined): Outcome | undefined => {
  if (pause === undefined || (pause.until !== null && at > pause.until)) return undefined
  return at < pause.since ? missed(at, pausedBefore) : { missed: 0 }
}

/** Starts the run that follows one that has ended. */
const startAfter = Effect.fnUntraced(function* (
  services: Services,
  end: ClaimedEnd,
  { pause, trigger }: { readonly trigger: RunEndTrigger; readonly pause: TriggerPause | undefined },
) {
  const { clock, digest, runs, types, workflows } = services
  const { accountId, id: triggerId, into, workflowId } = trigger
  const ended = yield* endedOf(services, end, trigger)
  if (ended === undefined) {
    return missed(clock.currentTimeMillisUnsafe(), `Run ${end.runId} does not exist any more`)
  }
  const { run } = ended
  const at = run.finishedAt ?? run.createdAt
  const hashed = encoder.encode(`${triggerId} ${run.id}`)
  const hash = yield* Effect.orDie(digest.digestHex(Digest.sha256, hashed))
  const lastRunId = runIdAfter(hash, at)
  const started: Outcome = { missed: 0, lastAt: at, lastRunId }
  const instead = outcomeOfPause(at, pause)
  if (instead !== undefined) {
    const known = yield* services.runStore.find(accountId, lastRunId)
    return Option.isSome(known) ? started : instead
  }
  const depth = (run.after?.depth ?? 0) + 1
  if (depth > runsInSequence) {
    const chain = `${runsInSequence} runs have followed each other's ends before it`
    return missed(at, `Nothing follows run ${run.id}: ${chain}`)
  }
  if (ended.omitted === true) {
    return missed(at, `The output of run ${run.id} is larger than what a run may be started with`)
  }
  const version = trigger.version ?? undefined
  const taken = takenWorkflow(workflows, accountId, { workflowId, version })
  const found = into === null ? yield* Effect.result(taken) : undefined
  if (found !== undefined && Result.isFailure(found)) {
    if (found.failure._tag === "StorageError") return yield* found.failure
    return missed(at, found.failure.message)
  }
  const fields = found === undefined ? [] : requestFieldsOf(found.success.nodes, types.all())
  const values = valuesAfter(trigger, fields, run)
  const after = { runId: run.id, depth }
  const ofTrigger = { source: "run_end" as const, triggerId, admittedWebhook: trigger.webhook }
  const request = { workflowId, version, values, after, ...ofTrigger }
  const named = { runId: lastRunId, claimFence: end.fence }
  const answer = yield* Effect.result(runs.startAs(accountId, request, named))
  if (Result.isSuccess(answer)) return started
  const { failure } = answer
  if (failure._tag === "StorageError" || failure._tag === "StaleRun") return yield* failure
  const why = failure._tag === "InsufficientCredits" ? failure.withoutBalance : failure.message
  return missed(at, why)
})

const start =
  (services: Services): RunEndTriggers["Service"]["start"] =>
  (end, pause) => {
    const { fence, runId, trigger, triggerId } = end
    const outcome: Effect.Effect<Outcome, StaleRun | StorageError> =
      trigger === null || !trigger.enabled
        ? Effect.succeed({ missed: 0 })
        : startAfter(services, end, { trigger, pause })
    return outcome.pipe(
      Effect.map((known): FinishedEnd => ({ triggerId, runId, fence, ...known })),
      // Somebody else has claimed the end since, or it is forgotten.
      Effect.catchTag("StaleRun", () => Effect.undefined),
      Effect.catchCause((cause) =>
        Effect.as(
          Effect.logWarning(`could not start trigger ${triggerId} after run ${runId}`, cause),
          undefined,
        ),
      ),
    )
  }

const make = Effect.map(servicesOf, (services) =>
  RunEndTriggers.of({
    create: create(services),
    update: update(services),
    start: start(services),
  }),
)
