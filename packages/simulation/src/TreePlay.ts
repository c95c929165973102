/**
 * Plays a scenario of child runs: three servers over one store, in simulated time, until every run
 * has ended; or until a rule is broken.
 *
 * Guarantees: synchronous, and the same scenario is played the same way every time. Leaves out:
 * what must hold of each commit, which the simulation of single runs judges.
 */
import { AccountId, type RunId } from "@millrace/core/domain/Id"
import { isTerminal, type Run } from "@millrace/core/domain/Run"
import { InvalidGraph } from "@millrace/core/engine/Refusals"
import type { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { type RunCommit, RunStore } from "@millrace/core/ports/RunStore"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { epoch } from "@millrace/conformance/Samples"
import { Cause, type Clock, Context, Effect, Exit, Layer, Scope } from "effect"
import type { Blow } from "./SimActions.ts"
import { diceFor } from "./SimBehavior.ts"
import { hydrated } from "./SimFlow.ts"
import { sequentialIds } from "./SimServer.ts"
import { serverCount } from "./SimScenario.ts"
import { boot, type Server } from "./SimServer.ts"
import { Machine, Time, wallClock } from "./SimTime.ts"
import { Wire } from "./SimWire.ts"
import type { SimStores } from "./SimWorld.ts"
import { typesOf } from "./TreeNodes.ts"
import { brokenRuleOf, type Root } from "./TreeRules.ts"
import { treeDrawingOf, type TreeAction, type TreeScenario, workflowIdOf } from "./TreeScenario.ts"

/** Whose all runs of a play are. */
export const account = AccountId.make("acc_1")

/** A computer, and the server that is at work there. */
interface Host {
  machine: Machine
  server: Server | undefined
}

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

type Strike = Extract<TreeAction, { readonly _tag: "Strike" }>

class TreePlay {
  readonly trace: Array<string> = []
  readonly roots: ReadonlyArray<Root>
  readonly stores: Context.Context<RunStore | WorkflowStore | LedgerStore | ValueStore>
  broken: string | undefined
  readonly #scenario: TreeScenario
  readonly #time = new Time()
  readonly #storeClock: Clock.Clock
  readonly #wire: Wire
  readonly #hosts: Array<Host>
  readonly #types: ReturnType<typeof typesOf>
  readonly #ids = sequentialIds()
  readonly #strikes: ReadonlyArray<Strike>
  readonly #commits = { arriving: 0, landed: 0 }
  /** Runs in the order in which they have ended. */
  readonly #ends: Array<RunId> = []
  #isHarsh = true
  #isOver = false
  #machines = 0
  #rounds = 0

  constructor(scenario: TreeScenario, stores: SimStores) {
    this.#scenario = scenario
    const { branches, seed, setup } = scenario
    this.roots = scenario.roots.map(({ workflow }, at) => ({
      workflow,
      item: `root ${at}`,
      id: undefined,
      isCanceled: false,
    }))
    this.#strikes = scenario.actions.filter((action) => action._tag === "Strike")
    this.#types = typesOf(seed)
    this.#storeClock = wallClock(this.#time, () => 0)
    this.stores = Effect.runSync(Layer.buildWithScope(stores, Scope.makeUnsafe()))
    const workflows = Context.get(this.stores, WorkflowStore)
    for (const [workflow, each] of branches.entries()) {
      const head = { id: workflowIdOf(workflow), accountId: account, name: `W${workflow}` }
      const rest = { description: null, thumbnailUrl: null, revision: 1, settings: {} }
      const times = { createdAt: epoch, updatedAt: epoch }
      Effect.runSync(workflows.insert({ ...head, ...rest, ...treeDrawingOf(each), ...times }))
    }
    this.#wire = new Wire({
      time: this.#time,
      dice: diceFor(seed, "luck"),
      setup,
      witness: {
        checkSecrets: () => undefined,
        note: () => undefined,
        observe: (_, operation, act) => {
          const exit = act()
          if (Exit.isSuccess(exit) && operation._tag === "Commit") this.#noteEnd(operation.commit)
          return exit
        },
      },
      storeClock: this.#storeClock,
      runs: Context.get(this.stores, RunStore),
      workflows,
      values: Context.get(this.stores, ValueStore),
      isHarsh: () => this.#isHarsh,
      outageOf: () => undefined,
      strike: (machine, operation, place) => this.#strike(machine, operation, place),
      disturb: () => undefined,
      say: (line) => this.#say(line),
    })
    this.#hosts = Array.from({ length: serverCount }, (_, slot) => ({
      machine: this.#machineOn(slot),
      server: undefined,
    }))
  }

  play(): void {
    for (const slot of this.#hosts.keys()) this.#start(slot)
    for (const [index, { at, server }] of this.#scenario.roots.entries()) {
      this.#time.after(at, () => this.#startRoot(index, server))
    }
    for (const action of this.#scenario.actions) {
      if (action._tag === "Strike") continue
      this.#time.after(action.at, () => {
        if (action._tag === "Hit") this.#hit(this.#hosts[action.server]!, action.blow)
        else this.#cancel(this.roots[action.root]!, action.server)
      })
    }
    this.#time.after(this.#scenario.healedAt, () => {
      this.#isHarsh = false
      this.#look()
    })
    for (let step = 0; !this.#isOver && this.broken === undefined; step++) {
      const ready = this.#hosts.filter(({ machine }) => machine.isReady)
      if (ready.length === 0) {
        if (!this.#time.proceed()) this.broken = "time goes on: nothing is left to happen"
      } else ready[step % ready.length]!.machine.step()
    }
  }

  #noteEnd({ run: { finishedAt, id } }: RunCommit): void {
    if (finishedAt !== null) this.#ends.push(id)
  }

  #say(line: () => string): void {
    this.trace.push(`${String(this.#time.now - epoch).padStart(8)} ${line()}`)
  }

  #machineOn(slot: number): Machine {
    const name = `${"ABC"[slot]}${(this.#machines += 1)}`
    return new Machine(this.#time, { name, slot, offset: () => 0 })
  }

  /** Starts a server, and again until it comes up. */
  #start(slot: number): void {
    const host = this.#hosts[slot]!
    const machine = this.#machineOn(slot)
    host.machine = machine
    host.server = undefined
    const log = (level: string, message: string) => {
      this.#say(() => `${machine.name} ${level}: ${message}`)
      if (message.startsWith("an execution broke off")) this.broken ??= message
    }
    // Handlers of this simulation do their work themselves.
    const journal = { stageOn: () => ({ perform: () => Effect.succeed({}) }) }
    const { setup } = this.#scenario
    const dice = diceFor(this.#scenario.seed, machine.name)
    const wire = this.#wire
    const options = { machine, wire, journal, ids: this.#ids, setup, dice, types: this.#types, log }
    boot(options, (server) => {
      if (server !== undefined) host.server = server
      else {
        machine.crash()
        this.#time.after(500, () => this.#start(slot))
      }
    })
  }

  #hit(host: Host, blow: Blow): void {
    const { machine, server } = host
    if (!machine.isAlive || machine.isPaused) return
    const { slot } = machine
    const end = (downMillis: number) => {
      machine.crash()
      host.server = undefined
      this.#time.after(downMillis, () => this.#start(slot))
    }
    this.#say(() => `${machine.name}: ${JSON.stringify(blow)}`)
    if (blow._tag === "Crash") end(blow.downMillis)
    else if (blow._tag === "Pause") {
      machine.isPaused = true
      this.#time.after(blow.millis, () => (machine.isPaused = false))
    } else if (server !== undefined) {
      host.server = undefined
      server.run(
        Effect.andThen(
          server.stop,
          Effect.sync(() => end(blow.downMillis)),
        ),
      )
    }
  }

  #strike(machine: Machine, operation: string, place: "arriving" | "landed"): void {
    if (operation !== "commit" || !this.#isHarsh) return
    const count = (this.#commits[place] += 1)
    const host = this.#hosts[machine.slot]!
    for (const strike of this.#strikes) {
      const isIt = strike.place === place && strike.count === count && host.machine === machine
      if (isIt) this.#hit(host, strike.blow)
    }
  }

  /** A server that can be asked, that one if possible. */
  #near(slot: number): Server | undefined {
    const hosts = Array.from(this.#hosts, (_, at) => this.#hosts[(slot + at) % serverCount]!)
    return hosts.find(({ server }) => server !== undefined)?.server
  }

  /** Starts a root under its name, and again until that is answered for. */
  #startRoot(index: number, slot: number): void {
    const root = this.roots[index]!
    if (root.id !== undefined) return
    // Whoever is asked may end before the answer.
    this.#time.after(5_000, () => this.#startRoot(index, slot + 1))
    const request = { workflowId: workflowIdOf(root.workflow), values: { item: root.item } }
    const name = { key: root.item, bodyHash: "the same" }
    const server = this.#near(slot)
    server?.run(
      Effect.map(
        Effect.exit(server.runs.startOnce(account, request, name)),
        Exit.match({
          onSuccess: ({ runId }) => void (root.id = runId),
          onFailure: (cause) => {
            const error = Cause.squash(cause)
            this.#say(() => `start ${root.item}: ${String(error)}`)
            if (error instanceof InvalidGraph)
              this.broken ??= `a start is accepted: ${error.message}`
          },
        }),
      ),
    )
  }

  #cancel(root: Root, slot: number): void {
    const server = this.#near(slot)
    if (server === undefined || root.id === undefined) return
    root.isCanceled = true
    server.run(Effect.ignore(server.runs.cancel(account, root.id)))
  }

  /** Looks after what is left. */
  #look(): void {
    this.#rounds += 1
    const { items } = Effect.runSync(
      Effect.orDie(Context.get(this.stores, RunStore).list({ account, limit: 10_000 })),
    )
    const isDone = this.roots.every(({ id }) => id !== undefined)
    if (isDone && items.every(({ status }) => isTerminal(status))) {
      this.#isOver = true
      const values = Context.get(this.stores, ValueStore)
      const whole = items.map((run) => withOutput(run, values))
      this.broken = brokenRuleOf(this.#scenario, this.roots, whole, this.#ends, this.stores)
    } else if (this.#rounds > roundsAtMost) {
      const open = items.find(({ status }) => !isTerminal(status))
      this.broken = `every run ends: ${JSON.stringify(open)}`
    } else this.#time.after(roundMillis, () => this.#look())
  }
}

/** Plays a scenario to its end. */
export const playTree = (scenario: TreeScenario, stores: SimStores): TreeOutcome => {
  const one = new TreePlay(scenario, stores)
  one.play()
  const runs = Effect.runSync(
    Effect.orDie(Context.get(one.stores, RunStore).list({ account, limit: 10_000 })),
  )
  return { broken: one.broken, trace: one.trace, runs: runs.items.length }
}
