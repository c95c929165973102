/**
 * Every bound of the system, named in one place. A bound that nobody named is a bug.
 *
 * Leaves out: enforcing them. Each is checked where the thing it bounds is decided.
 */
import * as Context from "effect/Context"

export * from "./internal/ApprovalLimits.ts"
export * from "./internal/ListingLimits.ts"
export * from "./internal/MessageLimits.ts"
export * from "./internal/NodeLimits.ts"
export * from "./internal/SessionLimits.ts"
export * from "./internal/StartLimits.ts"
export * from "./internal/TriggerLimits.ts"
export * from "./internal/VersionLimits.ts"

/** Characters of a workflow's name. */
export const workflowNameLength = 120

/** Characters of a workflow's description. */
export const workflowDescriptionLength = 5_000

/** Characters of a thumbnail's address. */
export const thumbnailUrlLength = 2_048

/** Characters of a thumbnail that is given as a `data:` URL (32 KiB). */
export const thumbnailDataLength = 32_768

/** What an account's own cap of runs in progress may be at most. */
export const mostRunsAtOnce = 1_000_000

/** How many accounts with own caps a process remembers. With more of them, every start queues. */
export const cappedAccountsKnown = 1_000

/** How long a runner owns its runs without a heartbeat, where a thread keeps its lease. */
export const keptLeaseMillis = 5_000

/** A bound that an embedder or operator may change: a whole number from 1. */
export interface Limit {
  /** The default. */
  readonly usual: number
  /** What it bounds, in a sentence or two for operators. */
  readonly meaning: string
  /** The smallest allowed value; 1 by default. */
  readonly least?: number
  /** True: it may be `Infinity`, which bounds nothing. */
  readonly isOptional?: true
}

/** Why a value is not allowed for a limit, as a clause; `undefined` if it is allowed. */
export const problemOfLimit = (
  { isOptional, least = 1 }: Limit,
  value: unknown,
): string | undefined => {
  const isNone = isOptional === true && value === Number.POSITIVE_INFINITY
  if (isNone || (Number.isSafeInteger(value) && Number(value) >= least)) return undefined
  return `expected a whole number from ${least}${isOptional === true ? ", or Infinity" : ""}`
}

const unbounded = Number.POSITIVE_INFINITY

/** The bounds that an embedder or operator may change (specification, part 8, and our own). */
export const limits = {
  nodesPerWorkflow: { usual: 500, meaning: "Nodes of one workflow, as accepted on save." },
  edgesPerWorkflow: { usual: 2_000, meaning: "Edges of one workflow, as accepted on save." },
  addedLength: {
    usual: 16_384,
    meaning: "Characters of JSON that an editor may add to one node or edge, such as its style.",
  },
  workflowChangesWaiting: {
    usual: 1_000,
    meaning: "Changes of one workflow that wait in one process; further ones are refused.",
  },
  workflowWriteAttempts: {
    usual: 50,
    meaning: "How often a change of a workflow is retried because another process was faster.",
  },
  nodesAtOnce: { usual: 10, meaning: "Nodes of one run that execute at the same time." },
  nodesPerStep: {
    usual: 1_000,
    meaning: "Nodes without effects that one run computes before it stores what they put out.",
  },
  millisPerStep: {
    usual: 50,
    meaning:
      "Milliseconds for which one run computes nodes without effects before it stores what they " +
      "put out, and other runs follow.",
  },
  bodyBytes: { usual: 1_048_576, meaning: "Bytes of a request body." },
  bodyDepth: { usual: 64, meaning: "Levels of arrays and objects in a request body." },
  bodyValues: { usual: 100_000, meaning: "Values in a request body; arrays and objects count." },
  batchBytes: {
    usual: 8_388_608,
    meaning:
      "Bytes of JSON text of the values, inputs, outputs and logs in the answer to a batch of " +
      "runs, or to a read of one. Large values that do not fit are only named; further runs of a " +
      "batch come without all of that.",
  },
  streamsPerKey: {
    usual: 10,
    meaning: "Streams of events that one key holds open at the same time.",
  },
  streamsAtOnce: {
    usual: 5_000,
    meaning: "Streams of events that one process holds open at the same time.",
  },
  streamMillis: {
    usual: 600_000,
    meaning: "Milliseconds after which a stream of events ends; its client then connects again.",
  },
  outputBytes: {
    usual: 131_072,
    meaning: "Bytes of JSON text of the outputs of one node, without large values.",
  },
  largeValueBytes: {
    usual: 65_536,
    meaning:
      "Bytes of JSON text up to which an output value stands in its node run. A larger one is " +
      "stored beside the run.",
  },
  valueBytes: {
    usual: 16_777_216,
    meaning: "Bytes of JSON text of one output value of a node, where large ones are stored.",
  },
  valueMemoryBytes: {
    usual: 67_108_864,
    meaning:
      "Bytes of JSON text of large values that one process keeps in memory, for the runs that it " +
      "executes.",
  },
  workPerNode: {
    usual: 200_000_000,
    meaning:
      "Operations of one attempt of a built-in node that computes: a step of a path, a comparison" +
      " or a copied value counts as one. A million takes 10 to 50 milliseconds.",
  },
  blockedMillis: {
    usual: 60_000,
    least: 1_000,
    meaning:
      "Milliseconds that the event loop may be blocked before a server on Postgres gives up its " +
      "runs and ends itself.",
  },
  threadsAtOnce: {
    usual: 4,
    meaning:
      "Threads on which one engine runs blocking node types at the same time. Further attempts " +
      "wait, and their timeouts run meanwhile.",
  },
  moduleImportMillis: {
    usual: 30_000,
    least: 100,
    meaning: "Milliseconds that the import of a module with node types may take.",
  },
  megabytesPerThread: {
    usual: 1_024,
    meaning:
      "Megabytes of JavaScript values of one such thread. A thread that needs more is ended.",
  },
  expressionThreads: {
    usual: 2,
    meaning:
      "Threads on which one process computes JavaScript expressions. If there are several, one " +
      "account never has all of them.",
  },
  codeThreads: {
    usual: 2,
    meaning:
      "Threads on which one process executes the code of nodes. If there are several, one " +
      "account never has all of them.",
  },
  codeMillis: { usual: 10_000, meaning: "Milliseconds that the code of one node may take." },
  codeMegabytes: { usual: 64, meaning: "Megabytes of values that the code of one node may hold." },
  attemptsPerRun: {
    usual: 1_000,
    meaning: "Attempts of all nodes of one run together. After that no node is tried again.",
  },
  logLinesPerNode: { usual: 1_000, meaning: "Log lines kept of one node run." },
  logBytesPerNode: {
    usual: 262_144,
    meaning: "Bytes of log messages and data kept of one node run.",
  },
  runsAtOnce: { usual: 1_000, meaning: "Runs that one process executes at the same time." },
  runsPerAccountPercent: {
    usual: 75,
    meaning:
      "Percent of `runsAtOnce` that the runs of one account may use in one process; further ones " +
      "stay QUEUED. With 100 or more, nothing is kept free for other accounts.",
  },
  slotsKeptPercent: {
    usual: 10,
    least: 0,
    meaning:
      "Percent of `runsAtOnce` that one process keeps for accounts that have no run in progress " +
      "in it, one run each; rounded down, and no more than `runsPerAccountPercent` leaves.",
  },
  runsPerAccount: {
    usual: unbounded,
    isOptional: true,
    meaning:
      "Runs of one account that execute at the same time on all servers; others stay QUEUED.",
  },
  runsPerWorkflow: {
    usual: unbounded,
    isOptional: true,
    meaning:
      "Runs of one workflow that execute at the same time on all servers; others stay QUEUED.",
  },
  runsQueuedPerAccount: {
    usual: 100_000,
    isOptional: true,
    meaning:
      "Runs of one account that wait in the queue or for a concurrency key; further starts that " +
      "would wait get 429. Each process counts once a second, so several may pass it by a little.",
  },
  callsAtOnce: {
    usual: 512,
    meaning: "Calls of nodes to other servers that one process makes at the same time.",
  },
  callsPerOrigin: {
    usual: 64,
    meaning: "Calls of nodes to one origin (scheme, host and port) at the same time, per process.",
  },
  callsPerAccount: {
    usual: 128,
    meaning: "Calls of the nodes of one account at the same time, per process.",
  },
  callsWaitingPerAccount: {
    usual: 10_000,
    meaning: "Calls of one account that wait for their turn in one process; further ones fail.",
  },
  deliveriesAtOnce: {
    usual: 256,
    meaning: "Deliveries of webhooks that one process holds at the same time.",
  },
  deliveriesPerOrigin: {
    usual: 32,
    meaning: "Deliveries to one origin that one process holds at the same time.",
  },
  deliveriesPerAccount: {
    usual: 96,
    meaning: "Deliveries of one account that one process holds at the same time.",
  },
  requestsPerWebhook: {
    usual: 600,
    meaning:
      "Requests to the address of one inbound webhook in a minute, per process. Further ones get " +
      "429.",
  },
  requestsPerApproval: {
    usual: 60,
    meaning:
      "Requests with one link of an approval in a minute, per process. Further ones get 429.",
  },
  badTokensPerMinute: {
    usual: 60,
    meaning: "Bad keys and tokens from one address in a minute. Further ones get 429.",
  },
  badTokenSources: {
    usual: 10_000,
    meaning:
      "Addresses whose bad keys and tokens are counted apart. All others are counted together.",
  },
} satisfies { readonly [name: string]: Limit }

/** The bounds by their names; see {@link limits} for what each of them means. */
export type Limits = { readonly [Name in keyof typeof limits]: number }

/** The names of all bounds. */
export const limitNames = Object.keys(limits) as ReadonlyArray<keyof Limits>

/** What holds where nothing else is said. */
export const defaultLimits = Object.fromEntries(
  limitNames.map((name) => [name, limits[name].usual]),
) as Limits

/** A run that has lost so many owners without progress fails. No further losses are recorded. */
export const lossesPerRun = 5

/**
 * How many runs with one loss a runner executes at the same time. A run with more losses is
 * executed alone. See decision 0054.
 */
export const suspectsAtOnce = 8

/** How far the length of the queue is counted for telemetry. */
export const queueCounted = 10_000

/** How many runs in quarantine a listing shows, the oldest ones. */
export const suspectsListed = 1_000

/** How many handlers, or runs in quarantine, a message names. It only counts further ones. */
export const namesShown = 5

/** Characters of an idempotency key. */
export const idempotencyKeyLength = 255

/** Attempts that the policy of a node may ask for. */
export const attemptsPerNode = 100

/** The longest time that the policy of a node may name: a year. */
export const policyMillis = 31_536_000_000

/** The largest single amount, in credits: of an estimate, a charge, a grant or a whole run. */
export const mostCredits = 1_000_000_000

/** Keys of an account that are neither revoked nor expired (specification, part 8). */
export const liveKeysPerAccount = 10

/** Days that one question about usage covers. */
export const usageDays = 92

/** Workflows, and keys, that its answer names: those that cost most. */
export const usageRows = 100

/** Discrepancies of one account that an audit tells. */
export const discrepanciesTold = 100

/** Bytes of the answer to a delivery that are kept for the log. */
export const keptAnswerBytes = 4_096

/** Bytes of the answer to a delivery that are read. */
export const readAnswerBytes = 65_536

/** Characters of a webhook's address. */
export const webhookUrlLength = 2_048

/** Bytes of JSON text of the metadata of one webhook: they are part of every payload. */
export const webhookMetadataBytes = 16_384

/** Headers that one webhook may ask for. */
export const webhookHeaders = 20

/** Bytes of all names and values of those headers together. */
export const webhookHeaderBytes = 4_096

/** Characters of the beginning of a large value that its node run shows. */
export const valuePreviewLength = 100

/** Large values that one read of a sweep looks at. */
export const valuesPerSweep = 1_000

/** How long a process waits between sweeps of large values: an hour. */
export const valueSweepMillis = 3_600_000

/** Large values that a store removes at the same time, where each takes a call. */
export const valueRemovalsAtOnce = 8

/** How old a large value is before a sweep may remove it: ten minutes. */
export const sweptValueMillis = 600_000

/** Arrays and objects within each other in any JSON value. */
export const jsonLevels = 1_000

/** Characters of JSON text that a suspended handler leaves behind: they travel with its run. */
export const stateLength = 4_096

/** How long a process may own its runs without a heartbeat. */
export const shortestLeaseMillis = 1_000
export const longestLeaseMillis = 3_600_000

/** Accounts that a process remembers, by name or by id. */
export const accountsKnown = 10_000

/** Workflows that one process keeps in memory, to start them again. */
export const workflowsCached = 256

/** Compiled graphs that one process keeps in memory. */
export const graphsCached = 256

/** Definitions that one process keeps in memory, of the runs that it has claimed last. */
export const definitionsCached = 64

/** Definitions of which a process remembers that they are stored. */
export const definitionsKnown = 10_000

/** Runs in progress of which a process remembers what it has written. */
export const writtenRunsKnown = 20_000

/** Runs that ended in this process of which it remembers how, for whoever waits for them. */
export const endedRunsKept = 10_000

/** Characters of those runs, as a rough count of what they take in memory. */
export const endedRunsSize = 16_777_216

/** Runs that a runner remembers because it cannot execute them. */
export const refusedRunsKnown = 1_000

/** Problems that one sentence names; the rest are counted. */
export const problemsShown = 20

/** Problems, and warnings, that one validation lists. */
export const problemsListed = 1_000

/** Keys of nodes' data that one validation compares with those that the engine reads. */
export const dataKeysRead = 1_000

/** Edges that one validation follows back to find those that bring two values to one input. */
export const edgesFollowed = 100_000

/** Hosts which nodes may not call that a process tells its operator. */
export const refusedHostsTold = 100

/** Runs that one request reads at once. */
export const runsPerBatch = 50

/** Writes that share one transaction of an embedded store, which blocks the process meanwhile. */
export const writesPerTransaction = 500

/** Runs of a workflow that are searched for the latest outputs of its nodes. */
export const runsSearched = 1_000

/** Deliveries that a process remembers from its own runs; beyond them it asks the store. */
export const localDeliveries = 10_000

/** Characters of the bodies of those deliveries. */
export const localDeliveriesLength = 16_777_216

/** Origins of which a dispatcher remembers that they answer quickly: those called last. */
export const quickOriginsKnown = 1_000

/** Opened signing keys that a process keeps in memory. */
export const signingKeysKept = 1_000

/** Times of retries that a dispatcher remembers; the others are found by a poll. */
export const retryTimesKnown = 10_000

/** Characters of a key's label. */
export const keyLabelLength = 100

/** Secrets of one account. */
export const secretsPerAccount = 200

/** Characters of a secret's name. */
export const secretNameLength = 64

/** Bytes of a secret's value (64 KiB). */
export const secretBytes = 65_536

/** Characters that a secret's value has at least. */
export const secretLength = 8

/** Characters that a secret's value has at least if it has no digits, or nothing else. */
export const plainSecretLength = 20

/** Hosts to which one secret may go. */
export const hostsPerSecret = 20

/** Characters of an expression for a price. */
export const priceLength = 1_000

/** Secrets that a new master key seals again at a time. */
export const secretsPerReseal = 100

/** Secrets of which a process remembers when it marked their use. */
export const secretsMarked = 10_000

/** Workflows that are named as users of secrets. */
export const secretUsersListed = 1_000

/** Characters of an account's name. */
export const accountNameLength = 120

/** Requests a minute that one key may be given. */
export const requestsPerMinute = 10_000

/** Requests a day that one key may be given. */
export const requestsPerDay = 100_000

/** The highest priority of a grant. */
export const grantPriority = 1_000_000

/** Entries of one answer to a question about the ledger. */
export const entriesPerStatement = 1_000

/** How long a replaced signing secret may stay valid: thirty days. */
export const secretOverlapSeconds = 2_592_000

/** Characters of a handler's failure that are kept. */
export const handlerMessageLength = 2_000

/** Characters of the message of a fail node. */
export const failMessageLength = 2_000

/** Characters of the name that a response node gives its output. */
export const outputNameLength = 128

/** How long a node may let one call to another server take. */
export const callSeconds = 60

/** Entries of such an answer where nothing is asked for. */
export const entriesPerPage = 100

/** Requests that a server holds while it starts; more of them are refused. */
export const requestsHeld = 1_000

/** The bounds in force. Override with `Effect.provideService` or `Layer.succeed`. */
export const CurrentLimits = Context.Reference<Limits>("@millrace/core/domain/Limits", {
  defaultValue: () => defaultLimits,
})
