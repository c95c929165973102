/**
 * Valid values of every stored thing, each test with identifiers of its own.
 *
 * Guarantees: two samples never share an identifier, not even in a database that outlives them,
 * so a suite needs to empty nothing. Leaves out: anything that says what a store should do.
 */
import type { Account } from "@millrace/core/domain/Account"
import type { Delivery } from "@millrace/core/domain/Delivery"
import type { ApiKey } from "@millrace/core/domain/ApiKey"
import { AccountId, DeliveryId, KeyId, RunId, RunnerId, WorkflowId } from "@millrace/core/domain/Id"
import type { PlacedValue } from "@millrace/core/domain/LargeValue"
import type { Definition, NodeRun, Run } from "@millrace/core/domain/Run"
import { notStarted } from "@millrace/core/domain/Run"
import type { RunEvent } from "@millrace/core/domain/RunEvent"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { Webhook } from "@millrace/core/domain/Webhook"
import type { Workflow } from "@millrace/core/domain/Workflow"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import type { Attempted } from "@millrace/core/domain/DeliveryStep"
import { Effect } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"

/** When the first sample was created; the following ones are a second younger each. */
export const epoch: Timestamp = 1_700_000_000_000

/** An attempt that a receiver refused. */
export const attempted: Attempted = {
  at: epoch + 5,
  durationMillis: 12,
  status: 503,
  error: "status",
  answer: 'Not \u2028 now, "😀"',
}

/** What a test builds its values with. */
export interface Samples {
  /** The account that samples belong to unless said otherwise. */
  readonly account: AccountId
  /** Another account, without anything in it. */
  readonly stranger: AccountId
  /** A runner that nobody else is. */
  readonly runner: () => RunnerId
  readonly accountOf: (change?: Partial<Account>) => Account
  readonly workflow: (change?: Partial<Workflow>) => Workflow
  readonly definition: (change?: Partial<Definition>) => Definition
  /** A queued run without an owner, as it is before its first commit. */
  readonly run: (change?: Partial<Run>) => Run
  readonly key: (change?: Partial<ApiKey>) => ApiKey
  /** A delivery that no run stands behind. */
  readonly delivery: (change?: Partial<Delivery>) => Delivery
  /** Thirty-two bytes that no other key has. */
  readonly hash: () => Uint8Array
}

const graph: Omit<Definition, "id"> = {
  nodes: [
    { id: "a", type: "text", position: { x: 40, y: 40 }, data: { inputs: { text: "hello" } } },
    { id: "b", type: "log", position: { x: 400, y: 40 } },
  ],
  edges: [{ id: "a-b", source: "a", target: "b" }],
  settings: {},
}

const workflowOf = (id: WorkflowId, accountId: AccountId, createdAt: Timestamp): Workflow => ({
  id,
  accountId,
  name: "A workflow",
  description: null,
  thumbnailUrl: null,
  ...graph,
  revision: 1,
  createdAt,
  updatedAt: createdAt,
})

const runOf = (id: RunId, accountId: AccountId, createdAt: Timestamp): Run => ({
  ...notStarted,
  id,
  accountId,
  workflowId: WorkflowId.make(`wf-of-${accountId}`),
  workflowName: "A workflow",
  workflowRevision: 3,
  workflowVersion: null,
  definitionId: `def-of-${id}`,
  executionId: `exe-of-${id}`,
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
  createdAt,
  values: {},
  inputOverrides: {},
  viewport: null,
  webhook: null,
  estimatedCredits: 1_500_000,
  maxCredits: null,
  revision: 1,
})

const keyOf = (id: KeyId, accountId: AccountId, createdAt: Timestamp): ApiKey => ({
  id,
  accountId,
  label: `Label ${id}`,
  prefix: "mr_123456789",
  perMinute: 60,
  perDay: 1_000,
  expiresAt: null,
  revokedAt: null,
  createdAt,
  lastUsedAt: null,
})

const deliveryOf = (id: DeliveryId, accountId: AccountId, createdAt: Timestamp): Delivery => ({
  id,
  accountId,
  runId: null,
  sequence: null,
  type: "webhook.test",
  url: "https://receiver.example/hook?a=b",
  origin: `https://receiver-of-${accountId}.example`,
  headers: null,
  body: `{"id":"${id}"}`,
  createdAt,
})

/** A webhook as it is kept. */
export const webhook: Webhook = {
  url: "https://receiver.example/hook?a=b",
  origin: "https://receiver.example",
  events: ["run.completed", "node.failed"],
  scope: "tree",
  metadata: { text: "a\u0000b" },
  headers: "sealed",
}

/** A large value at a place of a row. */
export const placedValue = (at: string): PlacedValue => ({
  at,
  id: "val_1",
  bytes: 70_002,
  type: "string",
  preview: '"\u2028\\u0000',
})

/** Fresh samples, for one test. */
export const make: Effect.Effect<Samples> = Effect.gen(function* () {
  const random = yield* SecureRandom.SecureRandom
  const seed = yield* random.uuidV4()
  const bytes = yield* random.randomBytes(32)
  const account = AccountId.make(`acc_${seed}`)
  let count = 0
  const next = () => ++count
  const idOf = (kind: string, n: number) => `${kind}_${seed}-${String(n).padStart(5, "0")}`
  const hash = () => {
    const own = Uint8Array.from(bytes)
    new DataView(own.buffer).setUint32(0, next())
    return own
  }
  const samples: Samples = {
    account,
    stranger: AccountId.make(`acc_${seed}_stranger`),
    runner: () => RunnerId.make(idOf("runner", next())),
    accountOf: (change) => ({
      id: account,
      name: "An account",
      createdAt: epoch,
      runsAtOnce: null,
      ...change,
    }),
    definition: (change) => ({ id: idOf("def", next()), ...graph, ...change }),
    workflow: (change) => {
      const n = next()
      const id = WorkflowId.make(idOf("wf", n))
      return { ...workflowOf(id, account, epoch + n * 1_000), ...change }
    },
    run: (change) => {
      const n = next()
      return { ...runOf(RunId.make(idOf("run", n)), account, epoch + n * 1_000), ...change }
    },
    key: (change) => {
      const n = next()
      return { ...keyOf(KeyId.make(idOf("key", n)), account, epoch + n * 1_000), ...change }
    },
    delivery: (change) => {
      const n = next()
      const id = DeliveryId.make(idOf("msg", n))
      return { ...deliveryOf(id, account, epoch + n * 1_000), ...change }
    },
    hash,
  }
  return samples
}).pipe(Effect.provide(SecureRandom.layerWebCrypto))

/** The definition of a run, as its first commit brings it. */
export const definitionFor = (run: Run): Definition => ({
  id: run.definitionId,
  ...graph,
})

/** The first commit of a run. */
export const newRun = (run: Run, change?: Partial<RunCommit>): RunCommit => ({
  expected: { _tag: "New", definition: definitionFor(run) },
  run,
  nodeRuns: [],
  rewritten: [],
  events: [],
  deliveries: [],
  ...change,
})

/** A further commit, decided on the run as given. */
export const step = (
  run: Run,
  change: Partial<Run>,
  more?: Partial<Omit<RunCommit, "run">>,
): RunCommit => ({
  expected: { _tag: "Existing", fence: run.fence, revision: run.revision },
  run: { ...run, ...change, revision: run.revision + 1 },
  nodeRuns: [],
  rewritten: [],
  events: [],
  deliveries: [],
  ...more,
})

/** A completed node run. */
export const nodeRun = (nodeId: string, change?: Partial<NodeRun>): NodeRun => ({
  nodeId,
  nodeType: "text",
  ordinal: 0,
  status: "COMPLETED",
  attempt: 1,
  input: { text: "hello" },
  output: { output: "hello" },
  largeValues: null,
  logs: null,
  error: null,
  credits: 250_000,
  sequence: null,
  startedAt: epoch + 10,
  finishedAt: epoch + 20,
  ...change,
})

/** An event that the run itself goes through. */
export const event = (run: Run, sequence: number, change?: Partial<RunEvent>): RunEvent => ({
  runId: run.id,
  workflowId: run.workflowId,
  sequence,
  type: "run.started",
  at: epoch + sequence,
  error: null,
  data: { status: "RUNNING", sequence },
  ...change,
})

/** JSON that a careless store damages. */
export const hardJson = {
  nul: "a\u0000b",
  loneSurrogates: ["\ud800", "x\udfffy"],
  astral: "😀",
  quotes: `"'\\ \n\t\u2028`,
  numbers: [1e300, 5e-324, -1e21, 0.1, Number.MAX_SAFE_INTEGER],
  nothing: null,
  empty: [{}, [], ""],
  order: { z: 1, a: 2, m: 3 },
  "\u0000": "a key",
  "": "the empty key",
  prototype: JSON.parse(`{"__proto__":{"x":1},"constructor":2}`) as Record<string, never>,
  deep: JSON.parse("[".repeat(1_000) + "]".repeat(1_000)) as Array<never>,
} as const
