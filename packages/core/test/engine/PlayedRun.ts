/**
 * One run that a test moves by hand: what has happened goes in, the step that follows comes out.
 *
 * Pure: no process, no store, no handler and no clock. Times are whatever the test says. What a
 * step asks for counts as stored at once.
 */
import { AccountId, RunId, WorkflowId } from "@millrace/core/domain/Id"
import type { JsonObject } from "@millrace/core/domain/Json"
import type { Limits } from "@millrace/core/domain/Limits"
import { defaultLimits } from "@millrace/core/domain/Limits"
import type { Message, Wait } from "@millrace/core/domain/Message"
import type { NodeType } from "@millrace/core/domain/NodeType"
import type {
  Definition,
  DefinitionSettings,
  NodeRun,
  Run,
  RunRecord,
} from "@millrace/core/domain/Run"
import { notStarted } from "@millrace/core/domain/Run"
import type { Node } from "@millrace/core/domain/Workflow"
import type { Graph } from "@millrace/core/graph/Graph"
import { compile } from "@millrace/core/graph/Graph"
import type { StartedRun } from "@millrace/core/ports/RunStore"
import { Result } from "effect"
import type { RunState } from "../../src/engine/internal/RunState.ts"
import { recordOf, resume } from "../../src/engine/internal/RunState.ts"
import type { StepEvent, Step, StepOptions } from "../../src/engine/internal/Step.ts"
import { decideStep } from "../../src/engine/internal/Step.ts"
import { edges, node, type } from "../graph/Fixture.ts"

export { node }

/** A second; a run that has nothing to do for longer is parked. */
export const second = 1_000

const priceOf = (price: unknown): number => (typeof price === "number" ? price * 1e6 : 0)

const types: ReadonlyArray<NodeType> = [
  type("step", ["input"], ["output"]),
  type("branch", ["input"], ["yes", "no"]),
  type("priced", ["input", "price"], ["output"], {
    estimate: ({ inputs }) => priceOf(inputs["price"]),
  }),
  type("pure", ["input", "price"], ["output"], {
    effects: "none",
    estimate: ({ inputs }) => priceOf(inputs["price"]),
  }),
  type("once", ["input"], ["output"], { delivery: "at-most-once" }),
  type("need", ["input!"], ["output"]),
  type("gather", ["input*", "other"], ["output"]),
  type("response", ["input!", "name"], [], { role: "response" }),
]

const known = new Map(types.map((each) => [each.key, each]))

/** A run as its start stores it. */
export const newRun: Run = {
  ...notStarted,
  id: RunId.make("run_1"),
  accountId: AccountId.make("acc_1"),
  workflowId: WorkflowId.make("wf_1"),
  workflowName: "Test",
  workflowRevision: 1,
  workflowVersion: null,
  definitionId: "wf_1@1",
  executionId: "exe_1",
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
  createdAt: 0,
  values: {},
  inputOverrides: {},
  viewport: null,
  webhook: null,
  estimatedCredits: 0,
  maxCredits: null,
}

/** What is different about a run from the usual one. */
export interface Different {
  readonly settings?: DefinitionSettings
  readonly run?: Partial<Run>
  readonly limits?: Partial<Limits>
  readonly nodeRuns?: ReadonlyArray<NodeRun>
  readonly messages?: ReadonlyArray<Message>
  readonly now?: number
}

/** What an outcome says besides that it is one. */
export interface Said {
  readonly attempt?: number
  readonly charged?: number | null
  readonly logs?: NodeRun["logs"]
}

export const message = (number: number, name: string, at = 0): Message => ({
  number,
  name,
  payload: `${name} ${number}`,
  at,
})

export const received = (...messages: ReadonlyArray<Message>): StepEvent => ({
  _tag: "Received",
  messages,
})

export const expired: StepEvent = { _tag: "Expired" }

const going: StepOptions = { isDraining: () => false, parkAfterMillis: second }

export const passed = { output: null }

/** One run. Mutable. */
export class PlayedRun {
  readonly graph: Graph
  readonly state: RunState

  constructor(record: RunRecord, different: Different = {}) {
    this.graph = Result.getOrThrow(compile(record.definition, known, record.run.inputOverrides))
    const { limits, messages, now = 0 } = different
    const environment = { limits: { ...defaultLimits, ...limits }, now, random: () => 0.5 }
    this.state = resume(record, this.graph, environment, messages)
  }

  /** Decides a step. */
  step(
    now: number,
    events: ReadonlyArray<StepEvent> = [],
    options: Partial<StepOptions> = {},
  ): Step {
    return decideStep(this.state, events, now, { ...going, ...options })
  }

  /** Decides a step of a process that is about to stop. */
  drain(now: number, ...events: ReadonlyArray<StepEvent>): Step {
    return this.step(now, events, { isDraining: () => true })
  }

  /** The run as the next owner finds it. */
  get stored(): RunRecord {
    return recordOf(this.state)
  }

  /** The same run in the hands of the next owner. */
  restart(now: number, different: Different = {}): PlayedRun {
    const { run, ...record } = this.stored
    const { nodeRuns = record.nodeRuns } = different
    const next = { ...record, nodeRuns, run: { ...run, ...different.run } }
    return new PlayedRun(next, { limits: this.state.limits, ...different, now })
  }

  ordinal(id: string): number {
    return this.graph.indexOf.get(id)!
  }

  /** `a`, or `a#2` for a second attempt. */
  names(nodes: ReadonlyArray<{ readonly ordinal: number; readonly attempt: number }>) {
    return nodes.map(({ attempt, ordinal }) => {
      const { id } = this.graph.nodes[ordinal]!
      return attempt === 1 ? id : `${id}#${attempt}`
    })
  }

  row(id: string): NodeRun | undefined {
    return this.state.rows.get(this.ordinal(id))
  }

  completes(id: string, at: number, output: JsonObject = passed, said: Said = {}): StepEvent {
    return { _tag: "Completed", ...this.#ended(id, at, said), output }
  }

  fails(
    id: string,
    at: number,
    said: Said & { readonly retryable?: boolean; readonly retryAfterMillis?: number } = {},
  ): StepEvent {
    const { retryAfterMillis, retryable = true, ...ended } = said
    const error = `${id} is broken`
    return { _tag: "Failed", ...this.#ended(id, at, ended), error, retryable, retryAfterMillis }
  }

  suspends(
    id: string,
    at: number,
    wait: Wait,
    { starts = [], ...said }: Said & { readonly starts?: ReadonlyArray<StartedRun> } = {},
  ): StepEvent {
    return { _tag: "Suspended", ...this.#ended(id, at, said), wait, state: { of: id }, starts }
  }

  due(id: string): StepEvent {
    return { _tag: "Due", index: this.ordinal(id) }
  }

  #ended(id: string, at: number, { attempt, charged = null, logs = null }: Said) {
    const index = this.ordinal(id)
    const current = this.state.running.get(index)?.attempt ?? 1
    return { index, attempt: attempt ?? current, charged, logs, at }
  }
}

/** A run of this graph, before its first step. */
export const play = (
  nodes: ReadonlyArray<Node>,
  drawn: ReadonlyArray<string> = [],
  different: Different = {},
): PlayedRun => {
  const { nodeRuns = [], run, settings = {} } = different
  const drawing = { nodes, edges: edges(...drawn) }
  const graph = Result.getOrThrow(compile(drawing, known, {}))
  // In the order of the run, as a start freezes it.
  const ordered = graph.nodes.map((each) => each.node)
  const definition: Definition = { ...drawing, nodes: ordered, id: "wf_1@1", settings }
  return new PlayedRun({ run: { ...newRun, ...run }, definition, nodeRuns }, different)
}

/** Nodes of one type, and the edges that make a chain of them. */
export const chain = (...ids: ReadonlyArray<string>) => ({
  nodes: ids.map((id) => node(id, "step")),
  drawn: ids.slice(1).map((id, n) => `${ids[n]} -> ${id}`),
})

/** What a node does that fails: it is tried again after a second, then two, then four. */
export const retried = (attempts: number) => ({
  retry: { attempts, initial: 1_000, factor: 2, jitter: 0 },
})
