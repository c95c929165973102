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

/** The bounds that an embedder or operator may change. */
export interface Limits {
  /** Nodes of one workflow, as accepted on save. */
  readonly nodesPerWorkflow: number
  /** Edges of one workflow, as accepted on save. */
  readonly edgesPerWorkflow: number
  /** Changes of one workflow that wait in one process; more of them are refused. */
  readonly workflowChangesWaiting: number
  /** Writes of a change that come after another process's; then the change is refused. */
  readonly workflowWriteAttempts: number
  /** Nodes of one run that execute at the same time. */
  readonly nodesAtOnce: number
  /** Bytes of a request body. */
  readonly bodyBytes: number
  /** Arrays and objects within each other in a request body. */
  readonly bodyDepth: number
  /** Values in a request body, with its arrays and objects. */
  readonly bodyValues: number
  /** Streams of events that one key holds open at the same time. */
  readonly streamsPerKey: number
  /** Streams of events that one process holds open at the same time. */
  readonly streamsAtOnce: number
  /** How long a stream of events lasts; after that its client comes again, with its key. */
  readonly streamMillis: number
  /** Bytes of JSON text that one node may put out. */
  readonly outputBytes: number
  /**
   * Operations of one attempt of a built-in node that computes: a step of a path, a comparison or a
   * copied value counts as one. A million takes some 10 to 50 milliseconds.
   */
  readonly workPerNode: number
  /** Attempts of all nodes of one run together, beyond which no node is tried again. */
  readonly attemptsPerRun: number
  /** Log lines kept of one node run. */
  readonly logLinesPerNode: number
  /** Bytes of log messages and data kept of one node run. */
  readonly logBytesPerNode: number
  /** Runs that one process executes at the same time. */
  readonly runsAtOnce: number
  /** Runs of one account that execute at the same time, anywhere; more of them stay QUEUED. */
  readonly runsPerAccount: number
  /** Runs of one workflow that execute at the same time, anywhere; more of them stay QUEUED. */
  readonly runsPerWorkflow: number
  /** Bad tokens that one address may send in a minute before it is told to wait. */
  readonly badTokensPerMinute: number
  /** Addresses whose bad tokens are counted apart; those of all others are counted together. */
  readonly badTokenSources: number
}

/** What holds where nothing else is said (specification, part 8, and the engine's own). */
export const defaultLimits: Limits = {
  nodesPerWorkflow: 500,
  edgesPerWorkflow: 2_000,
  workflowChangesWaiting: 1_000,
  workflowWriteAttempts: 50,
  nodesAtOnce: 10,
  bodyBytes: 1_048_576,
  bodyDepth: 64,
  bodyValues: 100_000,
  streamsPerKey: 10,
  streamsAtOnce: 1_000,
  streamMillis: 600_000,
  outputBytes: 131_072,
  workPerNode: 200_000_000,
  attemptsPerRun: 1_000,
  logLinesPerNode: 1_000,
  logBytesPerNode: 262_144,
  runsAtOnce: 1_000,
  runsPerAccount: Number.POSITIVE_INFINITY,
  runsPerWorkflow: Number.POSITIVE_INFINITY,
  badTokensPerMinute: 60,
  badTokenSources: 10_000,
}

/** The bounds in force. Override with `Effect.provideService` or `Layer.succeed`. */
export const CurrentLimits = Context.Reference<Limits>("@millrace/core/domain/Limits", {
  defaultValue: () => defaultLimits,
})
