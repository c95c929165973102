/**
 * Every bound of the system, named in one place. A bound that nobody named is a bug.
 *
 * Leaves out: enforcing them. Each is checked where the thing it bounds is decided.
 */
import { Context } from "effect"

/** Characters of a workflow's name. */
export const workflowNameLength = 120

/** Characters of a thumbnail's address. */
export const thumbnailUrlLength = 2_048

/** Characters of a thumbnail that is given as a `data:` URL (32 KiB). */
export const thumbnailDataLength = 32_768

/** What an account's own cap of runs in progress may be at most. */
export const mostRunsAtOnce = 1_000_000

/** Of how many accounts with caps of their own a process knows; beyond it every start queues. */
export const cappedAccountsKnown = 1_000

/** A bound that an embedder or operator may change: a whole number from 1. */
export interface Limit {
  /** What holds where nothing else is said. */
  readonly usual: number
  /** What it bounds, in a sentence or two for whoever sets it. */
  readonly meaning: string
  /** The smallest value that makes sense; 1 where nothing is said. */
  readonly least?: number
  /** True: it may be `Infinity`, which bounds nothing. */
  readonly isOptional?: true
}

/** What a value for a limit has to be, as a clause; nothing where it is that. */
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
  workflowChangesWaiting: {
    usual: 1_000,
    meaning: "Changes of one workflow that wait in one process; more of them are refused.",
  },
  workflowWriteAttempts: {
    usual: 50,
    meaning: "Writes of a change that come after another process's; then the change is refused.",
  },
  nodesAtOnce: { usual: 10, meaning: "Nodes of one run that execute at the same time." },
  bodyBytes: { usual: 1_048_576, meaning: "Bytes of a request body." },
  bodyDepth: { usual: 64, meaning: "Arrays and objects within each other in a request body." },
  bodyValues: { usual: 100_000, meaning: "Values in a request body, with its arrays and objects." },
  batchBytes: {
    usual: 16_777_216,
    meaning:
      "Bytes of JSON text of the values, inputs, outputs and logs in the answer to a batch of " +
      "runs; runs beyond it come without them.",
  },
  streamsPerKey: {
    usual: 10,
    meaning: "Streams of events that one key holds open at the same time.",
  },
  streamsAtOnce: {
    usual: 1_000,
    meaning: "Streams of events that one process holds open at the same time.",
  },
  streamMillis: {
    usual: 600_000,
    meaning: "How long a stream of events lasts; after that its client comes again, with its key.",
  },
  outputBytes: { usual: 131_072, meaning: "Bytes of JSON text that one node may put out." },
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
      "Milliseconds that the event loop may be blocked before a server on Postgres lets its runs " +
      "go to others, and ends itself.",
  },
  threadsAtOnce: {
    usual: 4,
    meaning:
      "Threads on which one engine runs blocking node types at the same time; further attempts " +
      "wait, and their time limits go on meanwhile.",
  },
  megabytesPerThread: {
    usual: 1_024,
    meaning: "Megabytes of JavaScript values of one such thread; one that takes more is ended.",
  },
  attemptsPerRun: {
    usual: 1_000,
    meaning: "Attempts of all nodes of one run together, beyond which no node is tried again.",
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
      "Percent of the runs that one process executes at the same time, up to which they may be of" +
      " one account; more of them stay QUEUED. 100 and above keeps nothing free for others.",
  },
  runsPerAccount: {
    usual: unbounded,
    isOptional: true,
    meaning:
      "Runs of one account that execute at the same time, anywhere; more of them stay QUEUED.",
  },
  runsPerWorkflow: {
    usual: unbounded,
    isOptional: true,
    meaning:
      "Runs of one workflow that execute at the same time, anywhere; more of them stay QUEUED.",
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
    meaning: "Calls of one account that wait for their turn in one process; more of them fail.",
  },
  deliveriesAtOnce: {
    usual: 256,
    meaning: "Deliveries of webhooks that one process has in hand at the same time.",
  },
  deliveriesPerOrigin: {
    usual: 32,
    meaning: "Deliveries to one origin that one process has in hand at the same time.",
  },
  deliveriesPerAccount: {
    usual: 96,
    meaning: "Deliveries of one account that one process has in hand at the same time.",
  },
  badTokensPerMinute: {
    usual: 60,
    meaning: "Bad tokens that one address may send in a minute before it is told to wait.",
  },
  badTokenSources: {
    usual: 10_000,
    meaning:
      "Addresses whose bad tokens are counted apart; those of all others are counted together.",
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

/** A run that has lost so many owners without any progress is given up; no more are recorded. */
export const lossesPerRun = 5

/**
 * Runs that have lost one owner, of which one runner executes no more at the same time. Those that
 * have lost more are executed one at a time. See decision 0054.
 */
export const suspectsAtOnce = 8

/** Runs in quarantine that operators are shown at once, the oldest ones. */
export const suspectsListed = 1_000

/** Messages from outside that the inbox of a run keeps at most, as long as no node takes them. */
export const messagesPerRun = 100

/** How long an inbox keeps a message from outside that no node takes: seven days. */
export const messageMillis = 604_800_000

/** Bytes of JSON text that a message may carry. */
export const messageBytes = 65_536

/** Characters of the name of a message. */
export const messageNameLength = 128

/** The bounds in force. Override with `Effect.provideService` or `Layer.succeed`. */
export const CurrentLimits = Context.Reference<Limits>("@millrace/core/domain/Limits", {
  defaultValue: () => defaultLimits,
})
