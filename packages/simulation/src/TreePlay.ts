/**
 * Plays a scenario of runs that start others: three servers over one store, in simulated time,
 * until every run has ended; or until a rule is broken.
 *
 * Guarantees: synchronous, and the same scenario is played the same way every time. Leaves out:
 * what must hold of each commit, which the simulation of single runs judges.
 */
import { AccountId, type RunId } from "@millrace/core/domain/Id"
import { isTerminal, type Run } from "@millrace/core/domain/Run"
import type { Executable } from "@millrace/core/engine/NodeTypes"
import { InvalidGraph } from "@millrace/core/engine/Refusals"
import { RunStore } from "@millrace/core/ports/RunStore"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Cause, Context, Effect, Exit } from "effect"
import { Fleet } from "./Fleet.ts"
import { hydrated } from "./SimFlow.ts"
import type { Stage } from "./SimNodes.ts"
import type { SimStores } from "./SimWorld.ts"
import { askedOf, brokenContentOf, type Drawing, EditedWorkflow } from "./SimContents.ts"
import { leafOf, leafSignal, typesOf } from "./TreeNodes.ts"
import { brokenRuleOf, type Evidence, type Root } from "./TreeRules.ts"
import { treeDrawingOf, type TreeScenario, type Trouble, workflowIdOf } from "./TreeScenario.ts"

/** Whose all runs of a play are. */
export const account = AccountId.make("acc_1")

/** What a play came to. */
export interface TreeOutcome {
  /** What went wrong, if anything did. */
  readonly broken: string | undefined
  readonly trace: ReadonlyArray<string>
  readonly runs: number
}

/** A run with its output, also where that is stored beside it. */
const withOutput = (run: Run, values: ValueStore["Service"]): Run => {
  const definition = { id: run.definitionId, nodes: [], edges: [], settings: {} }
  return hydrated({ run, definition, nodeRuns: [] }, values).record.run
}

/** How often the play looks after what is left once nothing goes wrong, and how often at most. */
const roundMillis = 2_000
const roundsAtMost = 2_000

/** A signal that somebody sends to a run, and after how long each time. */
interface LeafSignal {
  readonly payload: string
  readonly millis: ReadonlyArray<number>
}

/** A kind of trees. */
export interface TreeKind<S extends Trouble> {
  readonly typesOf: (seed: number) => ReadonlyArray<Executable<Stage>>
  /** What the workflows are drawn like, by their numbers. */
  readonly drawingsOf: (scenario: S) => ReadonlyArray<Drawing>
  /** True if a tree executes what its root has found, whatever is changed after its start. */
  readonly isFrozen: boolean
  /** The signal that a child gets, if it is to get one. */
  readonly signalTo: (scenario: S, child: Run) => LeafSignal | undefined
  readonly brokenRuleOf: (scenario: S, evidence: Evidence) => string | undefined
}

class TreePlay<S extends Trouble> {
  readonly fleet: Fleet
  readonly roots: ReadonlyArray<Root>
  readonly #kind: TreeKind<S>
  readonly #scenario: S
  readonly #workflows: ReadonlyArray<EditedWorkflow>
  /** What has begun and ended, in order. */
  readonly #history: Array<{ readonly id: RunId; readonly isEnd: boolean }> = []
  /** What each commit has stored of children that had ended before. */
  readonly #turns: Array<ReadonlyArray<Run>> = []
  /** Children in the order in which they were stored, and those whose cancel was asked for. */
  readonly #children: Array<RunId> = []
  readonly #canceled = new Set<RunId>()
  /** Signals that have not been answered yet. */
  readonly #signals = new Set<object>()
  #isOver = false
  #rounds = 0

  constructor(kind: TreeKind<S>, scenario: S, stores: SimStores) {
    this.#kind = kind
    this.#scenario = scenario
    const { actions, content, seed, setup } = scenario
    this.roots = scenario.roots.map(({ workflow }, at) => ({
      workflow,
      item: `root ${at}`,
      id: undefined,
      isCanceled: false,
    }))
    const strikes = actions.filter((action) => action._tag === "Strike")
    this.fleet = new Fleet<never>({
      seed,
      setup,
      stores,
      types: kind.typesOf(seed),
      strikes: strikes.map((strike) => ({ ...strike, operation: "commit" })),
      onCommit: ({ run: { finishedAt, id }, starts = [] }) => {
        this.#turns.push(starts.flatMap(({ run }) => (run.finishedAt === null ? [] : run)))
        for (const { run } of starts) this.#noteChild(run)
        if (finishedAt !== null) this.#history.push({ id, isEnd: true })
      },
    })
    const store = Context.get(this.fleet.stores, WorkflowStore)
    this.#workflows = kind.drawingsOf(scenario).map((drawing, workflow) => {
      const head = { id: workflowIdOf(workflow), accountId: account, name: `W${workflow}` }
      const edited = new EditedWorkflow(store, head)
      edited.begin(drawing, content)
      return edited
    })
  }

  play(): void {
    const { fleet } = this
    for (const [index, { at, server }] of this.#scenario.roots.entries()) {
      fleet.time.after(at, () => this.#startRoot(index, server))
    }
    for (const action of this.#scenario.actions) {
      if (action._tag === "Strike") continue
      fleet.time.after(action.at, () => {
        if (action._tag === "Hit") fleet.hit(action.server, action.blow)
        else if (action._tag === "CancelChild") this.#cancelChild(action.child, action.server)
        else this.#cancel(this.roots[action.root]!, action.server)
      })
    }
    fleet.time.after(this.#scenario.healedAt, () => {
      fleet.isHarsh = false
      this.#look()
    })
    fleet.play(() => this.#isOver)
  }

  /** Starts a root under its name, and again until that is answered for. */
  #startRoot(index: number, slot: number): void {
    const root = this.roots[index]!
    if (root.id !== undefined) return
    // Whoever is asked may end before the answer.
    this.fleet.time.after(5_000, () => this.#startRoot(index, slot + 1))
    const workflowId = workflowIdOf(root.workflow)
    const version = askedOf(this.#scenario.content)
    const request = { workflowId, version, values: { item: root.item } }
    const name = { key: root.item, bodyHash: "the same" }
    const server = this.fleet.near(slot)
    server?.run(
      Effect.map(
        Effect.exit(server.runs.startOnce(account, request, name)),
        Exit.match({
          onSuccess: ({ runId }) => this.#started(root, runId),
          onFailure: (cause) => {
            const error = Cause.squash(cause)
            this.fleet.say(() => `start ${root.item}: ${String(error)}`)
            if (error instanceof InvalidGraph)
              this.fleet.broken ??= `a start is accepted: ${error.message}`
          },
        }),
      ),
    )
  }

  /** A start was answered. After the last one, nothing that is changed reaches a frozen tree. */
  #started(root: Root, id: RunId): void {
    const isNew = root.id === undefined
    root.id = id
    if (!isNew || !this.#kind.isFrozen || this.roots.some((each) => each.id === undefined)) return
    this.fleet.say(() => "every workflow is changed and published")
    for (const each of this.#workflows) each.spoil()
  }

  #cancel(root: Root, slot: number): void {
    const server = this.fleet.near(slot)
    if (server === undefined || root.id === undefined) return
    root.isCanceled = true
    server.run(Effect.ignore(server.runs.cancel(account, root.id)))
  }

  #cancelChild(child: number, slot: number): void {
    const id = this.#children[child % this.#children.length]
    const server = this.fleet.near(slot)
    if (server === undefined || id === undefined) return
    this.#canceled.add(id)
    this.fleet.say(() => `cancel ${id}`)
    server.run(Effect.ignore(server.runs.cancel(account, id)))
  }

  /** A child that waits for a signal gets it, more than once. */
  #noteChild(child: Run): void {
    const { finishedAt, id } = child
    this.#children.push(id)
    this.#history.push({ id, isEnd: false })
    if (finishedAt !== null) this.#history.push({ id, isEnd: true })
    const { millis = [], payload = "" } = this.#kind.signalTo(this.#scenario, child) ?? {}
    for (const [slot, each] of millis.entries()) {
      const signal = { id, item: payload }
      this.#signals.add(signal)
      this.fleet.time.after(each, () => this.#signal(signal, slot))
    }
  }

  /** Sends a signal to a leaf, and again under its key until it is answered. */
  #signal(signal: { readonly id: RunId; readonly item: string }, slot: number): void {
    const { fleet } = this
    if (!this.#signals.has(signal)) return
    // Whoever is asked may end before the answer.
    fleet.time.after(3_000, () => this.#signal(signal, slot + 1))
    const { id, item } = signal
    const server = fleet.near(slot)
    const answered = (tag: string) => {
      fleet.say(() => `signal ${id}: ${tag}`)
      if (tag === "StorageError") return
      this.#signals.delete(signal)
      const isFair = tag === "sent" || (tag === "RunEnded" && this.#hasEnded(id))
      if (!isFair) fleet.broken ??= `a signal to a leaf is taken: ${id}: ${tag}`
    }
    const asked = { name: leafSignal, payload: item, idempotencyKey: item }
    server?.run(
      Effect.map(
        Effect.exit(server.runs.signal(account, id, asked)),
        Exit.match({
          onSuccess: () => answered("sent"),
          onFailure: (cause) => answered(String((Cause.squash(cause) as { _tag?: string })._tag)),
        }),
      ),
    )
  }

  #hasEnded(run: RunId): boolean {
    return this.#history.some(({ id, isEnd }) => isEnd && id === run)
  }

  /** Looks after what is left. */
  #look(): void {
    this.#rounds += 1
    const { items } = Effect.runSync(
      Effect.orDie(Context.get(this.fleet.stores, RunStore).list({ account, limit: 10_000 })),
    )
    const isDone = this.#signals.size === 0 && this.roots.every(({ id }) => id !== undefined)
    if (isDone && items.every(({ status }) => isTerminal(status))) {
      this.#isOver = true
      const values = Context.get(this.fleet.stores, ValueStore)
      const whole = items.map((run) => withOutput(run, values))
      const evidence: Evidence = {
        roots: this.roots,
        runs: whole,
        asked: this.#canceled,
        history: this.#history,
        turns: this.#turns,
        stores: this.fleet.stores,
      }
      this.fleet.broken =
        this.#kind.brokenRuleOf(this.#scenario, evidence) ??
        brokenContentOf(this.#scenario.content, whole)
    } else if (this.#rounds > roundsAtMost) {
      const open = items.find(({ status }) => !isTerminal(status))
      this.fleet.broken = `every run ends: ${JSON.stringify(open)}`
    } else this.fleet.time.after(roundMillis, () => this.#look())
  }
}

/** Plays a scenario to its end. */
export const playTrees =
  <S extends Trouble>(kind: TreeKind<S>) =>
  (scenario: S, stores: SimStores): TreeOutcome => {
    const one = new TreePlay(kind, scenario, stores)
    one.play()
    const runs = Effect.runSync(
      Effect.orDie(Context.get(one.fleet.stores, RunStore).list({ account, limit: 10_000 })),
    )
    return { broken: one.fleet.broken, trace: one.fleet.trace, runs: runs.items.length }
  }

/** Plays a scenario of nodes that start runs themselves, some of which wait for a signal. */
export const playTree = playTrees<TreeScenario>({
  typesOf,
  drawingsOf: ({ branches, content }) =>
    branches.map((each) => ({ ...treeDrawingOf(each, content), settings: {} })),
  // Its nodes compute which workflow they call.
  isFrozen: false,
  signalTo: ({ seed }, { values, workflowId }) => {
    const payload = values["item"] as string
    const { limitMillis, signalMillis } = leafOf(seed, payload)
    if (workflowId !== workflowIdOf(0) || limitMillis === undefined) return undefined
    return { payload, millis: [signalMillis, 2 * signalMillis + 500] }
  },
  brokenRuleOf,
})
