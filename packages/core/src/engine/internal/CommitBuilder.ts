/**
 * The next commit of a run, as a pure function of what is known: rows, events and counters are
 * gathered here and leave as one {@link RunCommit}. Reads no clock, writes nothing.
 *
 * Guarantees: events are numbered without gaps, and each node finishes once with its event.
 */
import type { Json, JsonObject } from "../../domain/Json.ts"
import type { MicroCredits } from "../../domain/Credits.ts"
import { toNumber } from "../../domain/Credits.ts"
import type { Delivery } from "../../domain/Delivery.ts"
import type { InputPorts } from "../../domain/ImpliedInput.ts"
import type { PlacedValue } from "../../domain/LargeValue.ts"
import { withoutLarge } from "../../domain/LargeValue.ts"
import { deliveryOf } from "../../domain/Payload.ts"
import type { ActiveNode, NodeRun, NodeRunStatus, Run, WaitingNode } from "../../domain/Run.ts"
import { childrenOf } from "../../domain/Run.ts"
import type { RunEvent, RunEventType } from "../../domain/RunEvent.ts"
import { ofNode } from "../../domain/RunEvent.ts"
import type { RunId } from "../../domain/Id.ts"
import type { ChildEnd, Message } from "../../domain/Message.ts"
import { cancelMessage, childEndOf, childMessage, ownMessageId } from "../../domain/Message.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import { isCorrelated, signalWaitsOf } from "../../domain/WorkflowSignal.ts"
import type { GraphNode } from "../../graph/Graph.ts"
import type {
  RunCommit,
  SentMessage,
  StartedRun,
  TakenMessage,
  WaitsChanged,
} from "../../ports/RunStore.ts"
import type { Charge } from "./Billing.ts"
import { billOf, costOf, heldBefore, reservesEstimate } from "./Billing.ts"

/** The parts of a node run that a change sets; the rest comes from the graph. */
export type NodeRow = Partial<Omit<NodeRun, "nodeId" | "nodeType" | "ordinal">> & {
  readonly status: NodeRunStatus
}

/** A node whose row is written; with its ports, if the row's input is what was bound to it. */
type Written = Pick<GraphNode, "id" | "node" | "index"> &
  Partial<Pick<GraphNode, "ports" | "literals">>

/** The ports of an input that was bound to a node. */
const portsOf = ({ inputs }: GraphNode["ports"], input: JsonObject): InputPorts =>
  Object.keys(input).map((name) => (inputs.get(name)?.multiple === true ? [name] : name))

/** The row with large values in their column. */
const withoutLargeValues = (row: NodeRow): NodeRow => {
  const placed: Array<PlacedValue> = []
  const { input = null, output = null } = row
  const ports = {
    input: withoutLarge(input, "/input", placed),
    output: withoutLarge(output, "/output", placed),
  }
  return placed.length === 0 ? row : { ...row, ...ports, largeValues: placed }
}

const nodeRunOf = ({ id, index, node }: Written, row: NodeRow): NodeRun => ({
  nodeId: id,
  nodeType: node.type,
  ordinal: index,
  status: row.status,
  attempt: row.attempt ?? 0,
  input: row.input ?? null,
  output: row.output ?? null,
  largeValues: row.largeValues ?? null,
  logs: row.logs ?? null,
  error: row.error ?? null,
  credits: row.credits ?? 0,
  sequence: row.sequence ?? null,
  startedAt: row.startedAt ?? null,
  finishedAt: row.finishedAt ?? null,
})

const isSameJson = (left: ReadonlyArray<unknown>, right: ReadonlyArray<unknown>): boolean =>
  left.length === right.length &&
  (left.length === 0 || JSON.stringify(left) === JSON.stringify(right))

const noLarge = { hasLarge: false }

/** Gathers one commit of a run on top of its last committed row. */
export class CommitBuilder {
  readonly #state: { readonly hasLarge: boolean }
  readonly #before: Run
  #now: Timestamp
  readonly #rows: Array<NodeRun> = []
  readonly #rewritten: Array<NodeRun> = []
  #implied: Map<string, InputPorts> | undefined
  readonly #events: Array<RunEvent> = []
  readonly #charges: Array<Charge> = []
  readonly #taken: Array<TakenMessage> = []
  readonly #starts: Array<StartedRun> = []
  readonly #messages: Array<SentMessage> = []
  #seen: number | undefined
  #signals: WaitsChanged | undefined
  /** True if a node takes a signal to the workflow: the store has closed one of the waits then. */
  #takesSignal = false
  readonly #run: { -readonly [K in keyof Run]: Run[K] }
  #extra: MicroCredits = 0

  /** `state` says whether rows may have large values: a node that a step computes may have one. */
  constructor(run: Run, now: Timestamp, state: { readonly hasLarge: boolean } = noLarge) {
    this.#state = state
    this.#before = run
    this.#run = { ...run, revision: run.revision + 1 }
    this.#now = now
  }

  /** Writes the row of a node that finished, or waits; `rewrites` says that it has one already. */
  setNode(node: Written, row: NodeRow, rewrites = false): void {
    const rows = rewrites ? this.#rewritten : this.#rows
    const { input = null } = row
    // What an expression computed follows from nothing that is stored.
    if (node.ports !== undefined && input !== null && (node.literals?.inputs.size ?? 0) === 0) {
      this.#implied ??= new Map()
      this.#implied.set(node.id, portsOf(node.ports, input))
    }
    rows.push(nodeRunOf(node, this.#state.hasLarge ? withoutLargeValues(row) : row))
  }

  /** The attempt of the last row that this writes of a node; `undefined` where it writes none. */
  attemptOf(index: number): number | undefined {
    const isOfNode = ({ ordinal }: NodeRun) => ordinal === index
    return (this.#rewritten.findLast(isOfNode) ?? this.#rows.findLast(isOfNode))?.attempt
  }

  /** A node takes a message. */
  take(message: Message, { id: nodeId }: Pick<GraphNode, "id">): void {
    this.#taken.push({ number: message.number, nodeId })
    if (isCorrelated(message)) this.#takesSignal = true
    const end = childEndOf(message)
    if (end === undefined) return
    this.#run.childCredits += end.credits
    // A child ends once, so a node that waits for children gets on by it, as by the end of a node.
    this.#run.losses = []
  }

  /** A node starts runs, whose parent is this run; of some it knows the ends already. */
  start(children: ReadonlyArray<StartedRun>): void {
    for (const child of children) {
      this.#starts.push(child)
      if (child.run.finishedAt === null) continue
      this.#run.childCredits += costOf(child.run)
      this.#run.losses = []
    }
  }

  /** The runs that the commit starts. */
  get starts(): ReadonlyArray<StartedRun> {
    return this.#starts
  }

  /**
   * Of the runs that nodes start, only those that have ended are started; if a run is named, only
   * those before it.
   */
  keepEndedStarts(until?: RunId): void {
    const all = this.#starts.splice(0)
    const end = until === undefined ? all.length : all.findIndex(({ run }) => run.id === until)
    for (const [index, child] of all.entries()) {
      if (child.run.finishedAt === null) continue
      if (index < end) this.#starts.push(child)
      else this.#run.childCredits -= costOf(child.run)
    }
  }

  /** Nobody waits for these children any more, so they are canceled. */
  cancelChildren(ids: ReadonlyArray<RunId> = []): void {
    for (const runId of ids) {
      const message = { id: ownMessageId(this.#run.id), name: cancelMessage, payload: null }
      this.#messages.push({ runId, message })
    }
  }

  /** Makes the commit stale if the inbox has a message with a larger number than `seen`. */
  see(seen: number): void {
    this.#seen = seen
  }

  /** Time has passed since the step began. */
  passTo(now: Timestamp): void {
    this.#now = now
  }

  /** The run leaves the queue. */
  begin(): void {
    this.#run.status = "RUNNING"
    this.#run.startedAt = this.#now
    this.#emit("run.started", null, { status: "RUNNING" })
  }

  /** Says which attempts are in progress once this is committed, and how many of them are new. */
  setActive(active: ReadonlyArray<ActiveNode>, attempts: number, nodes: number): void {
    this.#run.active = active
    this.#run.attempts += attempts
    this.#run.nodeRunCount += nodes
  }

  /** Says which nodes wait once this is committed. */
  setWaiting(waiting: ReadonlyArray<WaitingNode>): void {
    this.#run.waiting = waiting
  }

  /**
   * Says which signals to the workflow the run waits for: none if it is halted. `givesBack` says
   * that it has some which none of its nodes has taken.
   */
  changeSignalWaits(isHalted: boolean, givesBack: boolean): void {
    const before = signalWaitsOf(this.#before)
    const waits = isHalted ? [] : signalWaitsOf(this.#run)
    const isSame = !givesBack && !this.#takesSignal && isSameJson(before, waits)
    this.#signals = isSame ? undefined : { waits, before }
  }

  /** The run is not parked: its owner goes on with it. */
  keep(): void {
    this.#run.dueAt = null
  }

  /** Parks the run: it has no owner until `dueAt`. */
  park(dueAt: Timestamp): void {
    this.#run.dueAt = dueAt
    this.#run.owner = null
    this.#run.losses = []
  }

  /** A copy that can be changed independently. */
  fork(): CommitBuilder {
    const other = new CommitBuilder(this.#before, this.#now, this.#state)
    Object.assign(other.#run, this.#run)
    other.#rows.push(...this.#rows)
    other.#rewritten.push(...this.#rewritten)
    if (this.#implied !== undefined) other.#implied = new Map(this.#implied)
    other.#events.push(...this.#events)
    other.#charges.push(...this.#charges)
    other.#taken.push(...this.#taken)
    other.#takesSignal = this.#takesSignal
    other.#starts.push(...this.#starts)
    other.#messages.push(...this.#messages)
    return other
  }

  /** Adds what an attempt of a node has cost. */
  charge({ id }: Pick<GraphNode, "id">, credits: MicroCredits): void {
    if (credits === 0) return
    this.#run.actualCredits += credits
    this.#charges.push({ nodeId: id, credits })
  }

  /** What the run has cost with this, and its children that have ended. */
  get cost(): MicroCredits {
    return costOf(this.#run)
  }

  /** How much more must be reserved for the cost so far and for `expected`. */
  shortOf(expected: MicroCredits): MicroCredits {
    const charged = this.#run.actualCredits - this.#before.actualCredits
    return Math.max(0, charged + expected - heldBefore(this.#before, this.#isFirst))
  }

  get #isFirst(): boolean {
    return reservesEstimate(this.#before, this.#run)
  }

  /** Reserves more credits. */
  extend(credits: MicroCredits): void {
    this.#extra += credits
  }

  /** A node ends, COMPLETED or not. Its row stands for the event. */
  endNode(node: GraphNode, row: NodeRow, rewrites: boolean): void {
    this.setNode(node, { ...row, sequence: (this.#run.sequence += 1) }, rewrites)
    this.#run.losses = []
  }

  /** The run ends. `counts` are over the whole run. */
  end(
    status: "COMPLETED" | "FAILED" | "CANCELED",
    error: string | null,
    output: Json,
    counts: { readonly completed: number; readonly failed: number },
  ): void {
    const placed: Array<PlacedValue> = []
    this.#run.output = this.#state.hasLarge ? withoutLarge(output, "/output", placed) : output
    if (placed.length > 0) this.#run.largeValues = placed
    Object.assign(this.#run, { status, error, finishedAt: this.#now, dueAt: null })
    this.changeSignalWaits(true, false)
    this.cancelChildren(childrenOf(this.#run))
    this.#tellParent(status, error)
    const type = endEvents[status]
    this.#emit(type, status === "CANCELED" ? "Run was canceled" : error, {
      status,
      completedNodes: counts.completed,
      failedNodes: counts.failed,
      estimatedCredits: toNumber(this.#run.estimatedCredits),
      actualCredits: toNumber(this.#run.actualCredits),
    })
  }

  /** The commit for the store. Nothing may be added to this builder after it. */
  commit(): RunCommit {
    const { fence, revision } = this.#before
    const isLast = this.#run.finishedAt !== null
    const bill = {
      charges: this.#charges,
      extra: this.#extra,
      isFirst: this.#isFirst,
      isLast,
    }
    const { entries, held } = billOf(this.#before, bill, this.#now)
    this.#run.heldCredits = held
    return {
      expected: { _tag: "Existing", fence, revision },
      run: this.#run,
      clearsLosses: this.#before.losses.length > 0 && this.#run.losses.length === 0,
      seen: this.#seen,
      taken: this.#taken.length === 0 ? undefined : this.#taken,
      nodeRuns: this.#rows,
      rewritten: this.#rewritten,
      implied: this.#implied,
      events: this.#events,
      credits: entries,
      deliveries: this.#run.webhook === null ? [] : this.#deliveries(),
      starts: this.#starts.length === 0 ? undefined : this.#starts,
      messages: this.#messages.length === 0 ? undefined : this.#messages,
      signals: this.#signals,
    }
  }

  /** The parent hears of the end in the same commit, so that it waits for nothing in vain. */
  #tellParent(status: ChildEnd["status"], error: string | null): void {
    const { id, parent } = this.#run
    if (parent === null) return
    const payload = { runId: id, index: parent.index, status, error, credits: this.cost }
    const message = { id: ownMessageId(id), name: childMessage, payload }
    this.#messages.push({ runId: parent.runId, message })
  }

  #deliveries(): ReadonlyArray<Delivery> {
    const finished = [...this.#rows, ...this.#rewritten]
    const ofNodes = finished.flatMap((row) => ofNode(this.#run, row) ?? [])
    return [...this.#events, ...ofNodes].flatMap((event) => deliveryOf(this.#run, event) ?? [])
  }

  #emit(type: RunEventType, error: string | null, data: JsonObject): void {
    const sequence = (this.#run.sequence += 1)
    this.#events.push({
      runId: this.#run.id,
      workflowId: this.#run.workflowId,
      sequence,
      type,
      at: this.#now,
      error,
      data: { ...data, sequence },
    })
  }
}

const endEvents = {
  COMPLETED: "run.completed",
  FAILED: "run.failed",
  CANCELED: "run.canceled",
} as const
