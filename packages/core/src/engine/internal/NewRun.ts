/**
 * What a start asks for, and the rows of its run before anything has happened: the run itself, and
 * the nodes whose outputs the start gives.
 *
 * Guarantees: pure. Leaves out: what stands against a start, which `Plan` says.
 */
import { type Effect, Result } from "effect"
import type { MicroCredits } from "../../domain/Credits.ts"
import type { AccountId, KeyId, RunId, SessionId, TriggerId, WorkflowId } from "../../domain/Id.ts"
import type { IdempotencyKey } from "../../domain/Idempotency.ts"
import type { JsonObject } from "../../domain/Json.ts"
import type {
  CalledWorkflows,
  InputOverrides,
  LogLine,
  NodeRun,
  PinnedOutputs,
  Run,
  RunBefore,
  RunMode,
  RunSource,
  Viewport,
} from "../../domain/Run.ts"
import { notStarted } from "../../domain/Run.ts"
import type { Webhook, WebhookConfig } from "../../domain/Webhook.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import type { Node, Workflow } from "../../domain/Workflow.ts"
import type { VersionChoice } from "../../domain/WorkflowVersion.ts"
import { concurrencyKeyOf } from "../../graph/internal/ConcurrencyKey.ts"
import type { InvalidWebhook } from "../Refusals.ts"
import type { Overlay, Plan } from "./Plan.ts"

/** What a start asks for (specification 4.5). */
export interface StartRequest {
  readonly workflowId: WorkflowId
  /**
   * The draft, or the version of this number. Absent: the published version, or the draft if none
   * is published; for a node that runs alone, the draft.
   */
  readonly version?: VersionChoice | undefined
  readonly values?: JsonObject | undefined
  readonly graphInputOverrides?: InputOverrides | undefined
  readonly nodeOverrides?: ReadonlyArray<Node> | undefined
  readonly viewport?: Viewport | undefined
  readonly source?: RunSource | undefined
  /** Complete these nodes with these outputs instead of executing them. */
  readonly pinnedOutputs?: PinnedOutputs | undefined
  /** Run this node alone, with the last stored outputs of the nodes before it. */
  readonly singleNodeId?: string | undefined
  /** The most that the run may cost, in micro-credits. */
  readonly maxCredits?: MicroCredits | undefined
  /** Among the waiting runs of the account, a higher one is claimed earlier; 0 by default. */
  readonly priority?: number | undefined
  /** When the run starts; a time that has passed is now. */
  readonly startAt?: Timestamp | undefined
  /** `refuse`: the start is refused if the run would have to wait. `wait`, by default. */
  readonly whenFull?: "wait" | "refuse" | undefined
  /** A text that may have `{{ values.name }}`; the setting of the workflow by default. */
  readonly concurrencyKey?: string | undefined
  /** The API key of the request. */
  readonly keyId?: KeyId | undefined
  /** The session of the request. */
  readonly sessionId?: SessionId | undefined
  /** The trigger that starts the run. */
  readonly triggerId?: TriggerId | undefined
  /** The run whose end starts the run. */
  readonly after?: RunBefore | undefined
  readonly webhook?: WebhookConfig | undefined
  /** In the place of `webhook`: one that was admitted before, such as that of a trigger. */
  readonly admittedWebhook?: Webhook | null | undefined
  /** What is taken over from an earlier run. */
  readonly rerun?: TakenOver | undefined
}

/** What a rerun takes over. */
export interface TakenOver {
  readonly of: RunId
  /** True if the run executes the graph of the earlier run, which may not be stored any more. */
  readonly isSameGraph: boolean
  /** The workflows that the graph of the earlier run calls, as it has frozen them. */
  readonly workflows?: CalledWorkflows | undefined
  /** What nodes put out that are not executed again. */
  readonly outputs: PinnedOutputs
  /** Which run executed each of them. */
  readonly executedBy: ReadonlyMap<string, RunId>
}

/** A start as it is asked for. Whatever it reads and stores is of this account. */
export interface Asked {
  readonly account: AccountId
  readonly request: StartRequest
  readonly idempotencyKey: IdempotencyKey | undefined
  /** The id of the run, where it is known before; absent: a new one. */
  readonly runId?: RunId | undefined
  /** The run starts only while its trigger, or the end that it follows, has this fence. */
  readonly claimFence?: number | undefined
  /** Admits the webhook. To do so may take a while, so it is done once, however often it is run. */
  readonly webhook: Effect.Effect<Webhook | null, InvalidWebhook>
}

/** True for a start that somebody may retry until it is answered, or its run is stored. */
export const mayRetry = ({ claimFence, idempotencyKey, runId }: Asked): boolean =>
  claimFence !== undefined || idempotencyKey !== undefined || runId !== undefined

const modeOf = ({ rerun, singleNodeId }: StartRequest): RunMode =>
  singleNodeId !== undefined ? "single" : rerun === undefined ? "full" : "rerun"

/**
 * The key of the run and how many may hold it: that of the start, else that of the workflow for
 * its whole runs. Fails with a sentence.
 */
export const concurrencyOf = (
  { concurrencyKey, singleNodeId }: StartRequest,
  { settings }: Pick<Workflow, "settings">,
  values: JsonObject,
): Result.Result<Pick<Run, "concurrencyKey" | "concurrency">, string> => {
  const ofWorkflow = singleNodeId === undefined ? settings.concurrencyKey : undefined
  const text = concurrencyKey ?? ofWorkflow
  if (text === undefined) return Result.succeed({ concurrencyKey: null, concurrency: null })
  const field = concurrencyKey === undefined ? "settings.concurrencyKey" : "concurrencyKey"
  return Result.mapBoth(concurrencyKeyOf(text, values), {
    onSuccess: (key) => ({ concurrencyKey: key, concurrency: settings.concurrency ?? 1 }),
    onFailure: (clause) => `${field}: ${clause}`,
  })
}

/** When the run starts, if that is later than now. */
const laterOf = ({ startAt }: StartRequest, now: Timestamp): Timestamp | null =>
  startAt === undefined || startAt <= now ? null : startAt

/** The run of a start before its first commit. */
export const newRunOf = (
  { account, request }: Pick<Asked, "account" | "request">,
  workflow: Workflow,
  made: Plan,
  fresh: Pick<Run, "id" | "executionId" | "createdAt" | "webhook" | "parent">,
): Run => ({
  ...notStarted,
  ...fresh,
  priority: request.priority ?? 0,
  startAt: laterOf(request, fresh.createdAt),
  ...Result.getOrThrow(concurrencyOf(request, workflow, made.values)),
  dueAt: laterOf(request, fresh.createdAt),
  accountId: account,
  workflowId: workflow.id,
  workflowName: workflow.name,
  workflowRevision: workflow.revision,
  workflowVersion: workflow.version ?? null,
  definitionId: made.definition.id,
  mode: modeOf(request),
  source: request.source ?? "api",
  singleNodeId: request.singleNodeId ?? null,
  rerunOf: request.rerun?.of ?? null,
  keyId: request.keyId ?? null,
  triggerId: request.triggerId ?? null,
  after: request.after ?? null,
  values: made.values,
  inputOverrides: made.inputOverrides,
  viewport: request.viewport ?? null,
  estimatedCredits: made.estimate,
  maxCredits: request.maxCredits ?? null,
})

/** What a start lays over its workflow. */
export const overlayOf = (request: StartRequest): Overlay => ({
  values: request.values ?? {},
  inputOverrides: request.graphInputOverrides ?? {},
  nodeOverrides: request.nodeOverrides ?? [],
  pinnedOutputs: request.pinnedOutputs ?? {},
  ...(request.rerun === undefined
    ? {}
    : { takenOver: request.rerun.outputs, isUnstored: request.rerun.isSameGraph }),
})

/** The log of a pinned node says who gave its output, or from which run it is. */
const sayingOf = ({ keyId, rerun, sessionId }: StartRequest, nodeId: string) => {
  const runId = rerun?.executedBy.get(nodeId)
  if (runId !== undefined) {
    return { message: `Taken over from run ${runId}, where the node completed`, data: { runId } }
  }
  const message = "Pinned: the start of the run gave this output, and the node was not executed"
  if (sessionId !== undefined) return { message, data: { sessionId } }
  return keyId === undefined ? { message } : { message, data: { keyId } }
}

/** The rows of nodes whose outputs are known before the run begins, with a line for their logs. */
const knownRowsOf = (
  { definition, pinnedOutputs }: Pick<Plan, "definition" | "pinnedOutputs">,
  at: Timestamp,
  said: (nodeId: string) => Pick<LogLine, "message" | "data">,
): ReadonlyArray<NodeRun> => {
  if (Object.keys(pinnedOutputs).length === 0) return []
  const line = { at, level: "info" as const, attempt: 0 }
  return definition.nodes.flatMap((node, ordinal) =>
    Object.hasOwn(pinnedOutputs, node.id)
      ? {
          nodeId: node.id,
          nodeType: node.type,
          ordinal,
          status: "COMPLETED" as const,
          attempt: 0,
          input: null,
          output: pinnedOutputs[node.id]!,
          largeValues: null,
          logs: [{ ...line, ...said(node.id) }],
          error: null,
          credits: 0,
          sequence: null,
          startedAt: null,
          finishedAt: at,
        }
      : [],
  )
}

/** The rows of the nodes whose outputs the start gives. They have no event: nothing happened. */
export const pinnedRowsOf = (
  request: StartRequest,
  plan: Pick<Plan, "definition" | "pinnedOutputs">,
  { createdAt }: Pick<Run, "createdAt">,
): ReadonlyArray<NodeRun> => knownRowsOf(plan, createdAt, (nodeId) => sayingOf(request, nodeId))

/** The rows of the nodes outside of the body of a loop, in a run of that body. */
export const givenRowsOf = (
  plan: Pick<Plan, "definition" | "pinnedOutputs">,
  runId: RunId,
  createdAt: Timestamp,
): ReadonlyArray<NodeRun> => {
  const line = { message: `Given by run ${runId}, to the body of its loop`, data: { runId } }
  return knownRowsOf(plan, createdAt, () => line)
}
