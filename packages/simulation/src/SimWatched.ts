/**
 * One run as a simulation watches it: what is on record of it, and what that record has said
 * before.
 */
import type { RunnerId } from "@millrace/core/domain/Id"
import type { Message } from "@millrace/core/domain/Message"
import type { ActiveNode, NodeRun, PinnedOutputs, RunRecord } from "@millrace/core/domain/Run"
import type { RunEvent } from "@millrace/core/domain/RunEvent"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import type { RerunAction } from "./SimActions.ts"
import type { Editions } from "./SimEditions.ts"
import type { Call, Report, Journal } from "./SimJournal.ts"
import { callKey, stageOf } from "./SimJournal.ts"
import { Reference, type Rows } from "./SimReference.ts"
import type { Setup } from "./SimScenario.ts"
import type { Machine, Time } from "./SimTime.ts"

/** What is needed to judge a step. */
export interface Bench {
  readonly time: Time
  readonly journal: Journal
  readonly editions: Editions
  readonly setup: Setup
  /** True where the store's own clock is set while it is played: then records tell two times. */
  readonly isSkewed: boolean
  /** A time of everybody's by the store's clock, which the records tell. */
  readonly byStore: (millis: number) => number
  /** By how much a server may be mistaken about the store's clock. */
  readonly slackMillis: number
  /** What starts give in the place of nodes, by the number of the run. */
  readonly pinned: ReadonlyMap<unknown, PinnedOutputs>
  /** The reruns that are asked for, by the API key that they name. */
  readonly reruns: ReadonlyMap<unknown, RerunAction>
  /** The number of the run whose nodes end the processes that call them, if there is one. */
  readonly guilty: number | null
  /** Whom that run has ended. */
  readonly poisoned: ReadonlySet<RunnerId>
  /** How often it was without losses after a commit, because it made progress. */
  readonly resets: { count: number }
  readonly report: Report
  /** Since when nothing has gone wrong any more; `undefined` while something does. */
  readonly quietSince: () => number | undefined
}

/** One commit of a run that has landed. */
export interface Turned {
  readonly watched: Watched
  readonly before: RunRecord
  readonly after: RunRecord
  readonly events: ReadonlyArray<RunEvent>
  /** Who wrote it. */
  readonly machine: Machine
  /** The ports of inputs that it says are implied, by node. */
  readonly implied: RunCommit["implied"]
  /** What its owner has computed for it, by ordinal, in order. */
  readonly computed: ReadonlyMap<number, Call>
  /** When it was sent for the first time, by what its sender took for the time. */
  readonly decidedAt: number
  /** When the process first decided this step; it is decided again for messages that come late. */
  readonly firstDecidedAt: number
  /** True when it was written by somebody who wanted the run to be canceled. */
  readonly isCancel: boolean
}

/** A message that a run was sent, and that was accepted. */
export interface Accepted {
  readonly id: string
  readonly message: Message
  /** The node that has taken it. */
  takenBy: string | undefined
}

/** A run with its past. */
export class Watched {
  record: RunRecord
  readonly reference: Reference
  /** Node and attempt of every start. */
  readonly started = new Set<string>()
  /** The fence under which each call was to begin. */
  readonly fences = new Map<string, number>()
  /** When each node first started, by ordinal. */
  readonly first = new Map<number, number>()
  /** The fence of each machine's last commit. */
  readonly tenures = new Map<Machine, number>()
  /** Machines that were told to cancel it. */
  readonly cancelers = new Set<Machine>()
  /** Machines that canceled it before its start was through. */
  readonly early = new Set<Machine>()
  /** Waits that were over at the last commit. */
  readonly overdue = new Set<number>()
  /** All its messages, in order. */
  readonly inbox: Array<Accepted> = []
  /** When it last changed hands. */
  takenOverAt = 0
  /** When all slots of the run were last taken. */
  crowdedAt = 0

  constructor(record: RunRecord, pinned: PinnedOutputs) {
    this.record = record
    this.reference = new Reference(record, pinned)
  }

  /** The message that an attempt in progress has taken. */
  messageOf({ message }: ActiveNode): Message | undefined {
    return message === undefined ? undefined : this.inbox[message - 1]?.message
  }

  /** Names the call that an attempt in progress stands for. */
  keyOf({ attempt, ordinal, state }: ActiveNode): string {
    const { id } = this.record.definition.nodes[ordinal]!
    return callKey(this.record.run.id, id, attempt, stageOf(state))
  }
}

/** The rows of a record by node. */
export const rowsOf = ({ nodeRuns }: RunRecord): Rows =>
  new Map(nodeRuns.map((row): [string, NodeRun] => [row.nodeId, row]))

/** True when two pieces of plain data say the same. */
export const isSame = (left: unknown, right: unknown): boolean =>
  left === right ||
  (Array.isArray(left) && Array.isArray(right) && hasSameItems(left, right)) ||
  JSON.stringify(left) === JSON.stringify(right)

const hasSameItems = (left: ReadonlyArray<unknown>, right: ReadonlyArray<unknown>): boolean =>
  left.length === right.length && left.every((item, index) => item === right[index])

const sorted = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value

/** The same as {@link isSame}, but the order of keys does not count. */
export const isSaid = (left: unknown, right: unknown): boolean =>
  left === right || JSON.stringify(left, sorted) === JSON.stringify(right, sorted)

/** Plain data as a text of bounded length. */
export const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing"
  return text.length <= 400 ? text : `${text.slice(0, 400)}...`
}
