/**
 * The things that a script names by their slot, with identifiers of their own for each play.
 *
 * Guarantees: two plays never share an identifier, not even in a database that outlives them.
 * Leaves out: what becomes of the things; that is in the model.
 */
import type { Account } from "@millrace/core/domain/Account"
import { AccountId, KeyId, RunId, RunnerId, WorkflowId } from "@millrace/core/domain/Id"
import type { JsonObject } from "@millrace/core/domain/Json"
import type { ActiveNode, Definition, NodeRun, Run, WaitingNode } from "@millrace/core/domain/Run"
import { notStarted } from "@millrace/core/domain/Run"
import type { RunEvent } from "@millrace/core/domain/RunEvent"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { Webhook } from "@millrace/core/domain/Webhook"
import type { Node, Workflow, WorkflowSettings } from "@millrace/core/domain/Workflow"
import { Effect } from "effect"
import { slots } from "./ModelSlots.ts"
import * as Samples from "@millrace/conformance/Samples"

/** Everything that one play names. */
export interface Cast {
  /** What all identifiers of this play contain. */
  readonly scope: string
  readonly accounts: ReadonlyArray<AccountId>
  readonly runners: ReadonlyArray<RunnerId>
  /** Somebody who takes what earlier plays left behind. */
  readonly keeper: RunnerId
  readonly workflows: ReadonlyArray<WorkflowId>
  readonly runs: ReadonlyArray<RunId>
  readonly keys: ReadonlyArray<KeyId>
  readonly hashes: ReadonlyArray<Uint8Array>
  readonly definitions: ReadonlyArray<Definition>
}

/** The ends of identifiers: their order is that of their bytes, not that of any dictionary. */
const endings = ["a", "B", "_c", "D", "-e", "10", "9", "b", "Z", "é", "0", "C", "z", "Y", "x", "W"]

/** The opaque content of some flavor. */
export const contentOf = (flavor: number): JsonObject => {
  const contents: ReadonlyArray<JsonObject> = [
    {},
    { text: "hello", list: [1, null, [true]] },
    { "a\u0000b": "\ud800", "": { z: 1, a: 2 } },
    { number: 1e300, small: 5e-324, whole: Number.MAX_SAFE_INTEGER },
    { nothing: null, emoji: "😀", quotes: `"'\\` },
    { "%": "_", constructor: "Ünï" },
  ]
  return contents[flavor % contents.length]!
}

/** What some flavor says went wrong. */
export const errorOf = (flavor: number): string => {
  const errors = ["Node a failed", "100% \\ of_it", "NOT found: Ärger", "a\u0000b", "Timeout"]
  return errors[flavor % errors.length]!
}

/** The nodes of every graph, as far as it has that many. */
export const nodeIds = ["n0", "n1", "N2", "_3"]

/** The nodes of a graph of some flavor. */
export const nodesOf = (flavor: number): ReadonlyArray<Node> =>
  nodeIds.slice(0, 1 + (flavor % nodeIds.length)).map((id, n) => ({
    id,
    type: "text",
    position: { x: 40 * n, y: flavor / 3 },
    data: contentOf(flavor),
  }))

/** The settings of a graph of some flavor. */
const settingsOf = (flavor: number): WorkflowSettings =>
  flavor % 2 === 0 ? {} : { onFailure: "stop", timeoutMillis: 1_000 + flavor }

const definitionOf = (id: string, slot: number): Definition => ({
  id,
  nodes: nodesOf(slot + 1),
  edges: [{ id: "e", source: "n0", target: "n1" }],
  settings: settingsOf(slot),
})

/** A fresh cast. */
export const make: Effect.Effect<Cast> = Effect.map(Samples.make, (samples) => {
  const scope = samples.account
  const ids = (kind: string, count: number): ReadonlyArray<string> =>
    endings.slice(0, count).map((ending) => `${kind}_${scope}-${ending}`)
  return {
    scope,
    accounts: ids("acc", slots.accounts).map((id) => AccountId.make(id)),
    runners: ids("runner", slots.runners).map((id) => RunnerId.make(id)),
    keeper: samples.runner(),
    workflows: ids("wf", slots.workflows).map((id) => WorkflowId.make(id)),
    runs: ids("run", slots.runs).map((id) => RunId.make(id)),
    keys: ids("key", slots.keys).map((id) => KeyId.make(id)),
    hashes: Array.from({ length: slots.keys }, samples.hash),
    definitions: ids("def", slots.definitions).map(definitionOf),
  }
})

/** The time of some age. */
export const timeOf = (age: number): Timestamp => Samples.epoch + age * 1_000

/** An account as it is stored. */
export const accountOf = (cast: Cast, slot: number, age: number): Account => ({
  id: cast.accounts[slot]!,
  name: `Account ${slot}`,
  createdAt: timeOf(age),
  runsAtOnce: null,
})

/** A workflow that nobody has changed yet. */
export const workflowOf = (
  cast: Cast,
  of: {
    readonly workflow: number
    readonly account: number
    readonly name: string
    readonly age: number
    readonly flavor: number
  },
): Workflow => ({
  id: cast.workflows[of.workflow]!,
  accountId: cast.accounts[of.account]!,
  name: of.name,
  description: of.flavor % 2 === 0 ? null : errorOf(0),
  thumbnailUrl: of.flavor % 3 === 0 ? null : "https://example.com/a.png",
  nodes: nodesOf(of.flavor),
  edges: [{ id: "e", source: "n0", target: "n1", sourceHandle: "output" }],
  settings: settingsOf(of.flavor),
  revision: 1,
  createdAt: timeOf(of.age),
  updatedAt: timeOf(of.age),
})

/** A run as it is before its first commit. */
export const runOf = (cast: Cast, slot: number, change?: Partial<Run>): Run => ({
  ...notStarted,
  id: cast.runs[slot]!,
  accountId: cast.accounts[0]!,
  workflowId: cast.workflows[0]!,
  workflowName: "A workflow",
  workflowRevision: 3,
  workflowVersion: null,
  definitionId: cast.definitions[0]!.id,
  executionId: `exe-of-${slot}`,
  mode: "full",
  source: "api",
  singleNodeId: null,
  keyId: null,
  triggerId: null,
  rerunOf: null,
  parent: null,
  after: null,
  priority: 0,
  startAt: null,
  concurrencyKey: null,
  concurrency: null,
  createdAt: timeOf(0),
  values: {},
  inputOverrides: {},
  viewport: null,
  webhook: null,
  estimatedCredits: 1_500_000,
  maxCredits: null,
  revision: 1,
  ...change,
})

/** A webhook that a run may be started with. */
export const webhookOf = (flavor: number): Webhook => ({
  url: "https://receiver.example/hook",
  origin: "https://receiver.example",
  events: ["run.failed"],
  metadata: { ...contentOf(flavor) },
  headers: "sealed",
})

const nodeStatuses = [
  "COMPLETED",
  "FAILED",
  "SKIPPED",
  "WAITING",
  "COMPLETED",
  "COMPLETED",
] as const

/** The row of a node that has settled or waits, and of whose end no event tells. */
export const nodeRunOf = (nodeId: string, flavor: number): NodeRun => {
  const status = nodeStatuses[flavor % nodeStatuses.length]!
  return {
    nodeId,
    nodeType: "text",
    ordinal: nodeIds.indexOf(nodeId),
    status,
    attempt: flavor,
    input: flavor === 5 ? null : contentOf(flavor),
    output: status === "COMPLETED" && flavor !== 4 ? contentOf(flavor + 1) : null,
    largeValues:
      flavor % 3 === 0
        ? null
        : [{ at: "/output/a", id: "val_1", bytes: 9, type: "array", preview: "" }],
    logs:
      flavor % 2 === 0
        ? null
        : [{ at: timeOf(flavor), level: "info", message: errorOf(flavor), attempt: 1 }],
    error: status === "FAILED" || status === "WAITING" ? errorOf(flavor) : null,
    credits: flavor * 250_000,
    sequence: null,
    startedAt: timeOf(flavor),
    finishedAt: status === "WAITING" ? null : timeOf(flavor + 1),
  }
}

/** Nodes that wait for their time. */
export const waitingOf = (flavor: number): ReadonlyArray<WaitingNode> =>
  Array.from({ length: flavor % 3 }, (_, n) => ({
    ordinal: n,
    attempt: flavor,
    startedAt: timeOf(flavor),
    due: timeOf(flavor + n),
    ...(flavor === 5 ? { state: contentOf(n + 1) } : {}),
  }))

/** Attempts in progress, some of which were suspended before. */
export const activeOf = (flavor: number): ReadonlyArray<ActiveNode> =>
  Array.from({ length: flavor % 3 }, (_, n) => ({
    ordinal: n,
    attempt: flavor,
    startedAt: timeOf(9),
    ...(flavor > 3 ? { state: contentOf(n + 1) } : {}),
  }))

/** When a parked run is due: long ago, in the near future of a clock that is moved, or never. */
export const dueOf = (due: "past" | "soon" | "never", flavor: number): Timestamp =>
  ({ past: 1_000_000, soon: timeOf(30 * flavor), never: 9_000_000_000_000 })[due] +
  (flavor % 3) * 1_000

const eventTypes = ["run.started", "run.completed", "run.failed", "run.canceled"] as const

/** An event that a run itself goes through. */
export const eventOf = (run: Run, sequence: number, flavor: number): RunEvent => ({
  runId: run.id,
  workflowId: run.workflowId,
  sequence,
  type: eventTypes[sequence % eventTypes.length]!,
  at: timeOf(sequence),
  error: flavor % 3 === 1 ? errorOf(flavor) : null,
  data: { ...contentOf(flavor), sequence },
})
