/**
 * The world of a simulation: a store, three hosts with a server each, and all that can befall them.
 *
 * Leaves out: when what happens, which is the play's.
 */
import type { RunId, RunnerId } from "@millrace/core/domain/Id"
import type { NewMessage } from "@millrace/core/domain/Message"
import type { Ids } from "@millrace/core/engine/Ids"
import { settingsOf } from "@millrace/core/domain/Workflow"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Clock, Context, Effect, Layer, Scope } from "effect"
import type { Dice } from "./ModelDice.ts"
import { epoch } from "@millrace/conformance/Samples"
import type { Blow } from "./SimActions.ts"
import { diceFor } from "./SimBehavior.ts"
import { Editions } from "./SimEditions.ts"
import { Journal } from "./SimJournal.ts"
import type { Scenario } from "./SimScenario.ts"
import { isSkewed, pinsOf, rerunActionsOf, serverCount } from "./SimScenario.ts"
import { rareTypes, typeOf, types as allTypes } from "./SimNodes.ts"
import { boot, type Server } from "./SimServer.ts"
import { Machine, Time, wallClock } from "./SimTime.ts"
import type { Bench, Watched } from "./SimWatched.ts"
import { Wire } from "./SimWire.ts"
import { Witness } from "./SimWitness.ts"

/** The stores that a simulation needs. They answer at once and follow Effect's clock. */
export type SimStores = Layer.Layer<RunStore | WorkflowStore | LedgerStore | ValueStore>

/** Something that must always hold, and did not. */
export interface Violation {
  readonly rule: string
  readonly message: string
  /** How many milliseconds after the beginning, and after how many steps. */
  readonly atMillis: number
  readonly step: number
}

/** A computer, and the server that is at work there. */
export interface Host {
  readonly slot: number
  machine: Machine
  server: Server | undefined
  /** True once its server was told to stop. */
  isStopping: boolean
  outage: { readonly until: number; readonly place: "request" | "answer" } | undefined
}

/** What a play wants to be told. */
export interface WorldOptions {
  readonly scenario: Scenario
  readonly stores: SimStores
  readonly isTraced: boolean
  readonly ids: Ids["Service"]
  readonly strike: (host: Host, operation: string, place: string, run: RunId | undefined) => void
}

/** Registered once: every play has the same types. */
const commonTypes = allTypes.filter(({ type }) => !rareTypes.has(type.key))

const tooFarBack = -1

/** Everything there is. */
export class World {
  readonly time = new Time()
  readonly scenario: Scenario
  readonly journal: Journal
  readonly witness: Witness
  readonly hosts: ReadonlyArray<Host>
  /** Wall clocks are ahead by so much: those of the hosts, then the store's. */
  readonly offsets: Array<number>
  readonly trace: Array<string> = []
  readonly runs: RunStore["Service"]
  readonly editions: Editions
  readonly ledger: LedgerStore["Service"]
  violation: Violation | undefined
  steps = 0
  isHarsh = true
  readonly #options: WorldOptions
  readonly #wire: Wire
  readonly #storeClock: Clock.Clock
  readonly #dice: Dice
  readonly #poisoned = new Set<RunnerId>()
  #troubles = 0
  #quietSince = tooFarBack
  #machines = 0

  constructor(options: WorldOptions) {
    const { scenario } = options
    const { seed, setup } = scenario
    this.#options = options
    this.scenario = scenario
    this.offsets = [...setup.offsets]
    this.#dice = diceFor(seed, "luck")
    const stores = Effect.runSync(Layer.buildWithScope(options.stores, Scope.makeUnsafe()))
    this.runs = Context.get(stores, RunStore)
    const workflows = Context.get(stores, WorkflowStore)
    this.editions = new Editions(workflows, scenario.workflows)
    this.ledger = Context.get(stores, LedgerStore)
    const report = (rule: string, message: string) => this.report(rule, message)
    this.journal = new Journal(this.time, {
      seed,
      mood: scenario.mood,
      report,
      portsOf: (runId, nodeId, nodeType) => this.#portsOf(runId, nodeId, nodeType),
      generationOf: (runId) => this.witness.generationOf(runId as RunId),
      isAwake: (machine, runId) => this.#isAwake(machine, runId),
      tenureOf: (machine, id) => this.#tenureOf(machine, id as RunId),
      onCall: ({ attempt, machine, nodeId, runId, stage }) => {
        this.say(() => `${machine.name} calls ${runId}/${nodeId} #${attempt}.${stage}`)
        this.#strike(machine, "call", "landed", runId as RunId)
        this.#poison(machine, runId as RunId)
      },
    })
    const bench: Bench = {
      time: this.time,
      journal: this.journal,
      editions: this.editions,
      setup,
      pinned: pinsOf(scenario),
      reruns: rerunActionsOf(scenario),
      guilty: scenario.guilty,
      poisoned: this.#poisoned,
      resets: { count: 0 },
      isSkewed: isSkewed(scenario),
      byStore: (millis) => millis + this.offsets[serverCount]!,
      slackMillis: 2 * setup.latencyMillis,
      report,
      quietSince: () => (this.#troubles > 0 ? undefined : this.#quietSince),
    }
    const storeClock = wallClock(this.time, () => this.offsets[serverCount]!)
    this.#storeClock = storeClock
    const values = Context.get(stores, ValueStore)
    this.witness = new Witness(bench, { runs: this.runs, values }, storeClock)
    this.#wire = new Wire({
      time: this.time,
      dice: this.#dice,
      setup,
      witness: this.witness,
      storeClock,
      runs: this.runs,
      workflows,
      values,
      isHarsh: () => this.isHarsh,
      outageOf: (machine) => this.#outageOf(machine),
      strike: (machine, operation, place, run) => this.#strike(machine, operation, place, run),
      disturb: () => this.disturb(),
      say: (line) => this.say(line),
    })
    this.hosts = Array.from({ length: serverCount }, (_, slot) => ({
      slot,
      machine: this.#machineOn(slot),
      server: undefined,
      isStopping: false,
      outage: undefined,
    }))
  }

  /** The time by the store's clock. */
  get storeNow(): number {
    return this.time.now + this.offsets[serverCount]!
  }

  /** Says that a rule was broken. Only the first time counts. */
  report(rule: string, message: string): void {
    this.say(() => `BROKEN: ${rule}: ${message}`)
    this.violation ??= { rule, message, atMillis: this.time.now - epoch, step: this.steps }
  }

  /** Adds a line to the trace, if there is one. */
  say(line: () => string): void {
    if (!this.#options.isTraced) return
    this.trace.push(`${String(this.time.now - epoch).padStart(8)} ${line()}`)
  }

  /** Something went wrong, and is over again. */
  disturb(): void {
    this.#quietSince = this.time.now
  }

  /** Something goes wrong for a while; the answer ends that, once. */
  trouble(): () => void {
    this.#troubles += 1
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#troubles -= 1
      this.#quietSince = this.time.now
    }
  }

  /** Starts a server on a host, and again until it comes up. */
  start(host: Host, isUp: () => void): void {
    const machine = this.#machineOn(host.slot)
    host.machine = machine
    host.server = undefined
    host.isStopping = false
    const { ids, scenario } = this.#options
    const knowsAll = host.slot < serverCount - 1
    const types = knowsAll ? allTypes : commonTypes
    const log = (level: string, message: string) => this.#log(machine, level, message)
    const { setup } = scenario
    const dice = this.#dice
    boot(
      { machine, wire: this.#wire, journal: this.journal, ids, setup, dice, types, log },
      (server) => {
        if (server === undefined) {
          machine.crash()
          this.time.after(500, () => this.start(host, isUp))
          return
        }
        this.say(() => `${machine.name} is up`)
        host.server = server
        isUp()
      },
    )
  }

  /** Somebody who is none of the servers sends a message: it is there at once. */
  sendFromOutside({ record: { run } }: Watched, message: NewMessage): void {
    this.say(() => `outside: send ${run.id} ${message.name} as ${message.id}`)
    const { machine } = this.hosts[0]!
    this.witness.observe(machine, { _tag: "Send", id: run.id, message }, () =>
      Effect.runSyncExit(
        this.runs
          .send(run.accountId, run.id, message)
          .pipe(Effect.provideService(Clock.Clock, this.#storeClock)),
      ),
    )
  }

  /** Something happens to a server. */
  hit(host: Host, blow: Blow): void {
    const { machine, server } = host
    if (!machine.isAlive) return
    switch (blow._tag) {
      case "Crash":
        this.say(() => `${machine.name} crashes for ${blow.downMillis} ms`)
        this.#endOf(host, blow.downMillis)
        break
      case "Pause": {
        if (machine.isPaused) return
        this.say(() => `${machine.name} is paused for ${blow.millis} ms`)
        const isOver = this.trouble()
        machine.isPaused = true
        this.time.after(blow.millis, () => {
          this.say(() => `${machine.name} goes on`)
          machine.isPaused = false
          machine.wokenAt = this.time.now
          isOver()
        })
        break
      }
      case "Drain": {
        if (server === undefined || host.isStopping) return
        host.isStopping = true
        this.say(() => `${machine.name} is told to stop`)
        const isOver = this.trouble()
        const heard = () => {
          machine.drainedAt = machine.now
        }
        const ended = () => {
          this.say(() => `${machine.name} has stopped`)
          this.#endOf(host, blow.downMillis)
          isOver()
        }
        server.run(
          Effect.sync(heard).pipe(Effect.andThen(server.stop), Effect.andThen(Effect.sync(ended))),
        )
      }
    }
  }

  /** The process on a host ends; another one starts there later. */
  #endOf(host: Host, downMillis: number): void {
    const isOver = this.trouble()
    host.machine.crash()
    host.server = undefined
    this.time.after(downMillis, () => this.start(host, isOver))
  }

  #machineOn(slot: number): Machine {
    const name = `${"ABC"[slot]}${(this.#machines += 1)}`
    return new Machine(this.time, { name, slot, offset: () => this.offsets[slot]! })
  }

  #outageOf(machine: Machine): "request" | "answer" | undefined {
    const { outage } = this.hosts[machine.slot]!
    return outage !== undefined && outage.until > this.time.now ? outage.place : undefined
  }

  #strike(machine: Machine, operation: string, place: string, run: RunId | undefined): void {
    const host = this.hosts[machine.slot]
    if (host?.machine === machine) this.#options.strike(host, operation, place, run)
  }

  /** The guilty run ends the process that calls a node of it. */
  #poison(machine: Machine, id: RunId): void {
    const watched = this.witness.runs.get(id)
    const host = this.hosts[machine.slot]
    const isIt = watched?.record.run.values["run"] === this.scenario.guilty
    if (this.scenario.guilty === null || !isIt || host?.machine !== machine) return
    if (machine.runner !== undefined) this.#poisoned.add(machine.runner)
    this.hit(host, { _tag: "Crash", downMillis: 500 })
  }

  #tenureOf(machine: Machine, id: RunId): number | undefined {
    const watched = this.witness.runs.get(id)
    // A process that starts a run owns it at once.
    return watched === undefined ? 1 : watched.tenures.get(machine)
  }

  /** The outputs of a node; before its run is stored, those of a node that is drawn like it. */
  #portsOf(runId: string, nodeId: string, nodeType: string): ReadonlyArray<string> {
    const watched = this.witness.runs.get(runId as RunId)
    if (watched !== undefined) return watched.reference.placeOf(nodeId)?.outputs ?? []
    const drawn = this.scenario.workflows
      .flatMap(({ nodes }) => nodes)
      .find(({ id, type }) => id === nodeId && type === nodeType)
    return drawn === undefined
      ? []
      : [...typeOf(nodeType).portsOf(settingsOf(drawn)).outputs.keys()]
  }

  /** Whoever cancels takes a run from an owner who is well and learns of it later. */
  #isAwake({ isPaused, wokenAt }: Machine, runId: string): boolean {
    const watched = this.witness.runs.get(runId as RunId)
    if (isPaused || isSkewed(this.scenario) || watched?.cancelers.size !== 0) return false
    const since = Math.max(wokenAt, this.time.leaptAt)
    return this.time.now - since > this.scenario.setup.leaseMillis
  }

  #log(machine: Machine, level: string, message: string): void {
    this.say(() => `${machine.name} ${level}: ${message}`)
    // A defect of the engine itself: no store and no handler can bring an execution to this.
    if (message.startsWith("an execution broke off"))
      this.report("no execution breaks off", message)
  }
}
