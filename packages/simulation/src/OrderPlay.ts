/**
 * Plays a scenario of runs that wait for signals to their workflow: three servers over one store,
 * in simulated time, until every run has ended; or until a rule is broken. Meanwhile somebody
 * edits, publishes and restores the workflow.
 *
 * Guarantees: synchronous, and the same scenario is played the same way every time. Leaves out:
 * what must hold of each commit, which the simulation of single runs judges.
 */
import { AccountId, type RunId, WorkflowId } from "@millrace/core/domain/Id"
import { Json } from "@millrace/core/domain/Json"
import { versionsPerWorkflow } from "@millrace/core/domain/Limits"
import { isTerminal } from "@millrace/core/domain/Run"
import type { Node, Workflow } from "@millrace/core/domain/Workflow"
import { settingsOf } from "@millrace/core/domain/Workflow"
import { define } from "@millrace/core/engine/NodeDefinition"
import { type RunCommit, RunStore } from "@millrace/core/ports/RunStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { epoch } from "@millrace/conformance/Samples"
import { builtin } from "@millrace/nodes/Builtin"
import type { Executable } from "@millrace/core/engine/NodeTypes"
import { Clock, Context, Effect, Option, Schema } from "effect"
import { Fleet } from "./Fleet.ts"
import {
  brokenOrderOf,
  type DirectOrder,
  type OrderEvidence,
  type SentOrder,
  type StartedOrder,
} from "./OrderRules.ts"
import type { OrderAction, OrderScenario } from "./OrderScenario.ts"
import type { Stage } from "./SimNodes.ts"
import type { SimStores } from "./SimWorld.ts"

const account = AccountId.make("acc_1")
const workflowId = WorkflowId.make("wf_1")

const names = ["request", "response", "wait_signal"]

/** Puts out which edition of the workflow this is, and what the wait has come to. */
const mark = define({
  key: "mark",
  inputs: {
    edition: Schema.Int,
    payload: Schema.optionalKey(Json),
    late: Schema.optionalKey(Json),
  },
  outputs: { output: Json },
  credits: 1,
  // Meanwhile the run may have a signal that it does not use.
  run: ({ edition, payload = null }) =>
    Effect.as(Effect.sleep((edition % 3) * 4_000), { output: { edition, payload } }),
})

const types: ReadonlyArray<Executable<Stage>> = [
  ...(builtin.filter(({ type: { key } }) =>
    names.includes(key),
  ) as ReadonlyArray<unknown> as ReadonlyArray<Executable<Stage>>),
  mark,
]

const edgeOf = (source: string, sourceHandle: string, target: string, targetHandle: string) => ({
  id: `${source}.${sourceHandle}-${target}.${targetHandle}`,
  source,
  target,
  sourceHandle,
  targetHandle,
})

/** The workflow as it is of an edition, which its revision numbers. */
const editionOf = (edition: number, least: number | null): Workflow => {
  const nodeOf = (id: string, type: string, inputs: object) => ({
    id,
    type,
    position: { x: 0, y: 0 },
    data: { inputs: inputs as { readonly [key: string]: Json } },
  })
  const filter = { path: "amount", op: "greaterThan", value: least }
  const fields = [{ name: "key" }, { name: "order" }, { name: "limit" }]
  return {
    id: workflowId,
    accountId: account,
    name: "Orders",
    description: null,
    thumbnailUrl: null,
    nodes: [
      nodeOf("ask", "request", { fields }),
      nodeOf("wait", "wait_signal", { name: "paid", ...(least === null ? {} : { filter }) }),
      nodeOf("mark", "mark", { edition }),
      nodeOf("out", "response", {}),
    ],
    edges: [
      edgeOf("ask", "order", "wait", "correlation"),
      edgeOf("ask", "limit", "wait", "timeout"),
      edgeOf("wait", "payload", "mark", "payload"),
      edgeOf("wait", "timeout", "mark", "late"),
      edgeOf("mark", "output", "out", "input"),
    ],
    settings: {},
    revision: edition,
    createdAt: epoch,
    updatedAt: epoch,
  }
}

/** What a start takes: which version, which revision, and what its graph says it is. */
const whatOf = (version: number | null, revision: number, nodes: ReadonlyArray<Node>): string => {
  const { inputs } = settingsOf(nodes.find(({ id }) => id === "mark")!)
  return `version ${version} of revision ${revision}: ${JSON.stringify(inputs)}`
}

/** How often the play looks after what is left once nothing goes wrong, and how often at most. */
const roundMillis = 2_000
const roundsAtMost = 500

class OrderPlay {
  readonly fleet: Fleet
  readonly #scenario: OrderScenario
  readonly #workflows: WorkflowStore["Service"]
  readonly #runs: RunStore["Service"]
  readonly #starts: Array<StartedOrder> = []
  readonly #signals: Array<SentOrder> = []
  /** The signals to runs. */
  readonly #direct = new Map<string, DirectOrder>()
  /** Until when each run waits; without waits that were over when they were stored. */
  readonly #dues = new Map<RunId, number>()
  /** What starts took, and from when on. */
  readonly #inForce: Array<{ readonly at: number; readonly what: string }> = []
  #isOver = false
  #rounds = 0

  constructor(scenario: OrderScenario, stores: SimStores) {
    this.#scenario = scenario
    const { actions, least, seed, setup } = scenario
    this.fleet = new Fleet<never>({
      seed,
      setup,
      stores,
      types,
      strikes: actions.filter((action) => action._tag === "Strike"),
      onCommit: (commit) => this.#note(commit),
      onSignal: ({ id }) => {
        const signal = this.#signals.find(({ key }) => key === id)!
        signal.landedAt ??= this.fleet.time.now
      },
    })
    this.#workflows = Context.get(this.fleet.stores, WorkflowStore)
    this.#runs = Context.get(this.fleet.stores, RunStore)
    Effect.runSync(this.#workflows.insert(editionOf(1, least)))
    this.#noteForce()
  }

  play(): void {
    const { fleet } = this
    for (const [index, action] of this.#scenario.actions.entries()) {
      if (action._tag !== "Strike") fleet.time.after(action.at, () => this.#act(action, index))
    }
    fleet.time.after(this.#scenario.healedAt, () => {
      fleet.isHarsh = false
      this.#look()
    })
    fleet.play(() => this.#isOver)
  }

  #act(action: Exclude<OrderAction, { readonly _tag: "Strike" }>, index: number): void {
    if (action._tag === "Hit") this.fleet.hit(action.server, action.blow)
    else if (action._tag === "Change") {
      this.#change(action.change)
      this.#noteForce()
    } else if (action._tag === "Start") {
      const { limitMillis, order } = action
      const key = `start ${index}`
      const askedAt = this.fleet.time.now
      const start = { key, order, askedAt, limitMillis, id: undefined, isCanceled: false }
      this.#starts.push(start)
      this.#start(start, action.server)
    } else if (action._tag === "Signal") {
      const { amount, order } = action
      const key = `signal ${index}`
      const signal: SentOrder = { key, order, amount, landedAt: undefined, isAnswered: false }
      this.#signals.push(signal)
      this.#signal(signal, action.server)
      if (action.againMillis === null) return
      this.fleet.time.after(action.againMillis, () => this.#repeat(signal, action.server + 1))
    } else if (action._tag === "Direct") this.#sendTo(action, `direct ${index}`)
    else this.#cancel(action.start, action.server)
  }

  /** Asks for a start under its name, and again until that is answered for. */
  #start(start: StartedOrder, slot: number): void {
    if (start.id !== undefined) return
    this.fleet.time.after(5_000, () => this.#start(start, slot + 1))
    const values = { key: start.key, order: start.order, limit: start.limitMillis }
    const name = { key: start.key, bodyHash: "the same" }
    const server = this.fleet.near(slot)
    server?.run(
      server.runs.startOnce(account, { workflowId, values }, name).pipe(
        Effect.map(({ runId }) => void (start.id = runId)),
        Effect.catchTag("InvalidGraph", ({ message }) =>
          Effect.sync(() => void (this.fleet.broken ??= `a start is accepted: ${message}`)),
        ),
        Effect.ignore,
      ),
    )
  }

  /** Sends a signal under its key, and again until that is answered. */
  #signal(signal: SentOrder, slot: number): void {
    if (signal.isAnswered) return
    this.fleet.time.after(3_000, () => this.#signal(signal, slot + 1))
    this.#repeat(signal, slot)
  }

  #repeat(signal: SentOrder, slot: number): void {
    const server = this.fleet.near(slot)
    server?.run(
      server.signals.send(account, workflowId, asked(signal)).pipe(
        Effect.map(() => void (signal.isAnswered = true)),
        Effect.ignore,
      ),
    )
  }

  #startOf(index: number): StartedOrder | undefined {
    return this.#starts[index % Math.max(1, this.#starts.length)]
  }

  /** Sends a signal to a run, once. */
  #sendTo(
    { amount, server: slot, start: index }: Extract<OrderAction, { readonly _tag: "Direct" }>,
    key: string,
  ): void {
    const start = this.#startOf(index)
    const server = this.fleet.near(slot)
    if (server === undefined || start?.id === undefined) return
    const { id, order } = start
    this.#direct.set(key, { id, amount })
    const signal = { name: "paid", payload: { key, order, amount }, idempotencyKey: key }
    server.run(Effect.ignore(server.runs.signal(account, id, signal)))
  }

  #cancel(index: number, slot: number): void {
    const start = this.#startOf(index)
    const server = this.fleet.near(slot)
    if (server === undefined || start?.id === undefined) return
    start.isCanceled = true
    server.run(Effect.ignore(server.runs.cancel(account, start.id)))
  }

  #change(change: Extract<OrderAction, { readonly _tag: "Change" }>["change"]): void {
    const workflows = this.#workflows
    const draft = Option.getOrThrow(Effect.runSync(workflows.find(account, workflowId)))
    const { revision } = draft
    const { items } = Option.getOrThrow(Effect.runSync(workflows.listVersions(account, workflowId)))
    const newest = items[0]
    this.fleet.say(() => `${change} revision ${revision}`)
    const { least } = this.#scenario
    if (change === "edit") {
      Effect.runSync(workflows.replace(editionOf(revision + 1, least), revision))
    } else if (change === "unpublish") {
      Effect.runSync(workflows.unpublish(account, workflowId))
    } else if (change === "restore" && newest !== undefined) {
      const found = workflows.findVersion(account, workflowId, newest.number)
      const { nodes } = Option.getOrThrow(Effect.runSync(found))
      Effect.runSync(workflows.replace({ ...draft, nodes, revision: revision + 1 }, revision))
    } else if (change === "publish") {
      const number = newest?.revision === revision ? newest.number : (newest?.number ?? 0) + 1
      const rest = {
        note: null,
        publishedAt: this.fleet.time.now,
        mostVersions: versionsPerWorkflow,
      }
      const which = { account, id: workflowId, expectedRevision: revision, number }
      Effect.runSync(workflows.publish({ ...which, ...rest }))
    }
  }

  #noteForce(): void {
    const found = Effect.runSync(this.#workflows.findCurrent(account, workflowId))
    const { nodes, revision, version = null } = Option.getOrThrow(found)
    this.#inForce.push({ at: this.fleet.time.now, what: whatOf(version, revision, nodes) })
  }

  /** A start takes what is in force since it was asked for; a wait is over when its run says. */
  #note({ expected, run }: RunCommit): void {
    const { now } = this.fleet.time
    for (const { due } of run.waiting) if (now <= due) this.#dues.set(run.id, due)
    if (expected._tag !== "New") return
    const { values, workflowRevision, workflowVersion } = run
    const { askedAt } = this.#starts.find(({ key }) => key === values["key"])!
    const taken = whatOf(workflowVersion, workflowRevision, expected.definition.nodes)
    const fair = this.#inForce.filter((_, at) => (this.#inForce[at + 1]?.at ?? Infinity) >= askedAt)
    if (fair.some(({ what }) => what === taken)) return
    this.fleet.broken ??= `a start takes what is in force: ${run.id} has ${taken}`
  }

  /** Looks after what is left. */
  #look(): void {
    this.#rounds += 1
    const { items } = Effect.runSync(Effect.orDie(this.#runs.list({ account, limit: 1_000 })))
    const isAnswered =
      this.#starts.every(({ id }) => id !== undefined) &&
      this.#signals.every((signal) => signal.isAnswered)
    if (isAnswered && items.every(({ status }) => isTerminal(status))) {
      this.#isOver = true
      this.fleet.broken = brokenOrderOf(this.#scenario, {
        starts: this.#starts,
        signals: this.#signals,
        direct: this.#direct,
        dues: this.#dues,
        runs: items,
        answers: this.#askAgain(),
        ledger: this.fleet.stores,
      })
    } else if (this.#rounds > roundsAtMost) {
      const open = items.find(({ status }) => !isTerminal(status))
      this.fleet.broken = `every run ends: ${JSON.stringify(open)}`
    } else this.fleet.time.after(roundMillis, () => this.#look())
  }

  /** Where each signal is by now: the store is asked under its key. */
  #askAgain(): OrderEvidence["answers"] {
    return this.#signals.map((signal) => {
      const { idempotencyKey: id, ...rest } = asked(signal)
      return Effect.runSync(
        Effect.provideService(
          this.#runs.signal(account, workflowId, { ...rest, id, isNamed: true }),
          Clock.Clock,
          this.fleet.storeClock,
        ),
      )
    })
  }
}

const asked = ({ amount, key, order }: SentOrder) => ({
  name: "paid",
  correlation: order,
  payload: { key, order, amount },
  idempotencyKey: key,
})

/** Plays a scenario to its end. */
export const playOrders = (scenario: OrderScenario, stores: SimStores) => {
  const one = new OrderPlay(scenario, stores)
  one.play()
  return { broken: one.fleet.broken, trace: one.fleet.trace }
}
