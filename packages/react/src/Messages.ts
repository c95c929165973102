/**
 * All that the components say, in one object. Hand `<Millrace messages={...}>` those that you want
 * to say otherwise, in another language for example.
 *
 * Guarantees: no component has a text of its own. Leaves out: what the server says, such as errors.
 */
import { inspectorMessages } from "./internal/InspectorMessages.ts"
import { canvasMessages } from "./internal/CanvasMessages.ts"
import type { NodeState } from "./model/CanvasBox.ts"
import type { LineState } from "./model/CanvasLayout.ts"
import type { LogLevel } from "./model/LoggedLines.ts"
import type { SpanKind } from "./model/RunTimeline.ts"
import { pinMessages } from "./internal/PinMessages.ts"
import { presenceMessages } from "./internal/PresenceMessages.ts"
import { savingMessages } from "./internal/SavingMessages.ts"

type RunState = "QUEUED" | "RUNNING" | "COMPLETED" | "FAILED" | "CANCELED"

const runStates: Readonly<Record<RunState, string>> = {
  QUEUED: "Queued",
  RUNNING: "Running",
  COMPLETED: "Completed",
  FAILED: "Failed",
  CANCELED: "Canceled",
}

const nodeStates: Readonly<Record<NodeState, string>> = {
  PENDING: "Not started",
  RUNNING: "Running",
  WAITING: "Waiting",
  COMPLETED: "Completed",
  FAILED: "Failed",
  SKIPPED: "Skipped",
  CANCELED: "Canceled",
}

const lineStates: Readonly<Record<LineState, string>> = {
  idle: "nothing yet",
  taken: "a value went over it",
  active: "its target is at work",
  skipped: "nothing went over it",
}

const spanKinds: Readonly<Record<SpanKind, string>> = {
  queued: "Ready, not started",
  running: "Running",
  waiting: "Waiting",
}

const logLevels: Readonly<Record<LogLevel, string>> = {
  debug: "All",
  info: "Info and above",
  warn: "Warnings and errors",
  error: "Errors",
}

/** The texts in English. */
export const englishMessages = {
  runStates,
  nodeStates,
  lineStates,
  spanKinds,
  logLevels,
  ...inspectorMessages,
  loading: "Loading",
  error: (sentence: string) => `This could not be read: ${sentence}`,
  reconnecting: "The connection is lost. It is tried again; what happened meanwhile will appear.",
  runNotFound: "This run does not exist, or it belongs to another account.",

  canvas: "Graph",
  emptyCanvas: "This workflow has no nodes yet.",
  node: (label: string, typeName: string, state: string) =>
    [label, label === typeName ? "" : typeName, state].filter((part) => part !== "").join(", "),
  edge: (source: string, target: string, state: string) => `From ${source} to ${target}: ${state}`,
  nodeHint: "Press Enter to see what happened to this node, Escape to leave it.",
  unknownType: "This server has no such node type.",
  disabled: "Disabled",
  zoomIn: "Zoom in",
  zoomOut: "Zoom out",
  fitView: "Show the whole graph",
  tidyUp: "Arrange the nodes",

  runOf: (workflow: string) => `Run of ${workflow}`,
  started: "Started",
  created: "Created",
  finished: "Finished",
  duration: "Duration",
  credits: "Credits",
  source: "Source",
  zone: "Times in",
  live: "Live",
  follow: "Follow",
  followHint: "Show the node that began last",
  cancel: "Cancel",
  canceling: "Canceling",
  childCredits: "Credits of child runs",
  priority: "Priority",
  putOffUntil: "Put off until",
  concurrencyKey: "Concurrency key",
  keyAndConcurrency: (key: string, count: number) => `${key}, ${count} at once`,
  childRuns: "Child runs",
  childRun: (index: number, state: string) => `${index + 1}: ${state}`,
  moreChildRuns: "Show more child runs",
  items: "Items",
  noItems: "There are none.",
  onlyFailedItems: "Only those that failed",
  startedByNode: (nodeId: string) => `Node “${nodeId}” of another run has started this run.`,
  startedByEnd: "A trigger has started this run when another run ended.",
  openParent: "Open that run",
  runAgain: "Run again",
  runAgainHint: "Start the workflow as it is now with the values of this run",
  goOn: "Go on from the failure",
  goOnHint: "Start a run that takes over what has completed, and executes the rest",
  copyCurl: "Copy as curl",
  copy: "Copy",
  copied: "Copied",
  copyFailed: "The browser did not allow copying.",
  actions: "Actions",

  timeline: "Timeline",
  queuedFor: (time: string) => `The run was queued for ${time}.`,
  attemptsTitle: "Attempts",
  waitsUntil: "Waits until",
  attempts: (count: number) => (count === 1 ? "1 attempt" : `${count} attempts`),
  attempt: (number: number) => `Attempt ${number}`,
  spanOf: (kind: string, attempt: number, time: string) =>
    attempt === 0 ? `${kind}: ${time}` : `${kind}, attempt ${attempt}: ${time}`,
  goesOnAt: (time: string) => `Goes on at ${time}`,
  goesOnWithMessage: "Goes on when a message comes",

  nodeDetails: "Node",
  chooseNode: "Choose a node in the graph or in the timeline.",
  input: "Input",
  output: "Output",
  logs: "Logs",
  details: "Details",
  noInput: "There is no input yet.",
  noOutput: "There is no output yet.",
  noLogs: "This node has logged nothing.",
  noLogsFound: "No line matches.",
  searchLogs: "Search the log",
  level: "Level",
  download: "Download",
  lines: (shown: number, all: number) =>
    shown === all ? `${all} lines` : `${shown} of ${all} lines`,
  moreLines: "Show more lines",
  largeValue: (at: string, size: string) => `A large value at ${at}, ${size}`,
  showValue: "Show",
  approval: "Decide",
  asks: (whom: string) => `Asks ${whom}`,
  expiresAt: (time: string) => `Expires at ${time}`,
  comment: "Comment",
  approve: "Approve",
  reject: "Reject",
  waitsForSignal: "This node waits for a signal.",
  sendSignal: "Send the signal",
  signalName: "Name",
  signalPayload: "Payload, as JSON",
  noJson: (why: string) => `The payload is not JSON: ${why}`,
  status: "Status",
  type: "Type",
  whySkipped: "Why it was skipped",
  bytes: (count: number) =>
    count < 1_000
      ? `${count} B`
      : count < 1_000_000
        ? `${(count / 1_000).toFixed(1)} kB`
        : `${(count / 1_000_000).toFixed(1)} MB`,
  ...canvasMessages,
  ...savingMessages,
  ...pinMessages,
  ...presenceMessages,
} as const

type Widened<A> = A extends string
  ? string
  : A extends (...given: infer P) => string
    ? (...given: P) => string
    : { readonly [K in keyof A]: Widened<A[K]> }

/** All texts. */
export type Messages = Widened<typeof englishMessages>
