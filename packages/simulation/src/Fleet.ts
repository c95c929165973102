/**
 * Three servers over one store, in simulated time, and what befalls them: they crash, are paused or
 * told to stop, also in the middle of an operation, and start again.
 *
 * Guarantees: synchronous, and the same blows at the same times come to the same. Leaves out: what
 * the servers are asked for, and what must hold; and the simulation of single runs, whose world
 * has more troubles.
 */
import type { NewWorkflowSignal } from "@millrace/core/domain/WorkflowSignal"
import type { Executable } from "@millrace/core/engine/NodeTypes"
import type { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { type RunCommit, RunStore } from "@millrace/core/ports/RunStore"
import type { TriggerStore } from "@millrace/core/ports/TriggerStore"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { epoch } from "@millrace/conformance/Samples"
import { type Clock, Context, Effect, Exit, Layer, Scope } from "effect"
import type { Blow } from "./SimActions.ts"
import { diceFor } from "./SimBehavior.ts"
import type { Stage } from "./SimNodes.ts"
import { serverCount, type Setup } from "./SimScenario.ts"
import { boot, sequentialIds, type Server } from "./SimServer.ts"
import { Machine, Time, wallClock } from "./SimTime.ts"
import { Wire } from "./SimWire.ts"

/** Hits a server in the middle of the so-manieth operation of a kind that arrives at the store. */
export interface FleetStrike {
  readonly operation: string
  readonly count: number
  readonly place: "arriving" | "landed"
  readonly blow: Blow
}

/** What every fleet stands on. */
type FleetStores = RunStore | WorkflowStore | LedgerStore | ValueStore

/** What a fleet is made of. */
export interface FleetOptions<More> {
  readonly seed: number
  readonly setup: Setup
  readonly stores: Layer.Layer<FleetStores | More>
  readonly types: ReadonlyArray<Executable<Stage>>
  readonly strikes: ReadonlyArray<FleetStrike>
  /** Told of every commit that the store has applied. */
  readonly onCommit: (commit: RunCommit) => void
  /** Told of every signal to a workflow that the store has accepted. */
  readonly onSignal?: (signal: NewWorkflowSignal) => void
  /** The triggers of the store, where servers start runs on schedule. */
  readonly triggers?: (stores: Context.Context<FleetStores | More>) => TriggerStore["Service"]
}

/** A computer, and the server that is at work there. */
interface Host {
  machine: Machine
  server: Server | undefined
}

export class Fleet<More = never> {
  readonly time = new Time()
  readonly trace: Array<string> = []
  readonly stores: Context.Context<FleetStores | More>
  readonly storeClock: Clock.Clock
  /** What went wrong first, if anything did. */
  broken: string | undefined
  /** False once nothing goes wrong any more. */
  isHarsh = true
  readonly #options: FleetOptions<More>
  readonly #wire: Wire
  readonly #hosts: Array<Host>
  readonly #ids = sequentialIds()
  readonly #counts = new Map<string, number>()
  readonly #triggers: TriggerStore["Service"] | undefined
  #machines = 0

  constructor(options: FleetOptions<More>) {
    const { seed, setup } = options
    this.#options = options
    this.storeClock = wallClock(this.time, () => 0)
    this.stores = Effect.runSync(Layer.buildWithScope(options.stores, Scope.makeUnsafe()))
    this.#triggers = options.triggers?.(this.stores)
    this.#wire = new Wire({
      time: this.time,
      dice: diceFor(seed, "luck"),
      setup,
      witness: {
        checkSecrets: () => undefined,
        note: () => undefined,
        observe: (_, operation, act) => {
          const exit = act()
          const isDone = Exit.isSuccess(exit) && operation._tag === "Commit"
          if (isDone) options.onCommit(operation.commit)
          if (Exit.isSuccess(exit) && operation._tag === "Signal") {
            options.onSignal?.(operation.signal)
          }
          return exit
        },
      },
      storeClock: this.storeClock,
      runs: Context.get(this.stores, RunStore),
      workflows: Context.get(this.stores, WorkflowStore),
      values: Context.get(this.stores, ValueStore),
      isHarsh: () => this.isHarsh,
      outageOf: () => undefined,
      strike: (machine, operation, place) => this.#strike(machine, operation, place),
      disturb: () => undefined,
      say: (line) => this.say(line),
    })
    this.#hosts = Array.from({ length: serverCount }, (_, slot) => ({
      machine: this.#machineOn(slot),
      server: undefined,
    }))
  }

  /** Starts all servers, and has them go on until it is over or something is broken. */
  play(isOver: () => boolean): void {
    for (const slot of this.#hosts.keys()) this.#start(slot)
    for (let step = 0; !isOver() && this.broken === undefined; step++) {
      const ready = this.#hosts.filter(({ machine }) => machine.isReady)
      if (ready.length > 0) ready[step % ready.length]!.machine.step()
      else if (!this.time.proceed()) this.broken = "time goes on: nothing is left to happen"
    }
  }

  say(line: () => string): void {
    this.trace.push(`${String(this.time.now - epoch).padStart(8)} ${line()}`)
  }

  /** A server that can be asked, that one if possible. */
  near(slot: number): Server | undefined {
    const hosts = Array.from(this.#hosts, (_, at) => this.#hosts[(slot + at) % serverCount]!)
    return hosts.find(({ server }) => server !== undefined)?.server
  }

  /** Something happens to a server. */
  hit(slot: number, blow: Blow): void {
    const host = this.#hosts[slot]!
    const { machine, server } = host
    if (!machine.isAlive || machine.isPaused) return
    const end = (downMillis: number) => {
      machine.crash()
      host.server = undefined
      this.time.after(downMillis, () => this.#start(slot))
    }
    this.say(() => `${machine.name}: ${JSON.stringify(blow)}`)
    if (blow._tag === "Crash") end(blow.downMillis)
    else if (blow._tag === "Pause") {
      machine.isPaused = true
      this.time.after(blow.millis, () => (machine.isPaused = false))
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

  #machineOn(slot: number): Machine {
    const name = `${"ABC"[slot]}${(this.#machines += 1)}`
    const offset = this.#options.setup.offsets[slot] ?? 0
    return new Machine(this.time, { name, slot, offset: () => offset })
  }

  /** Starts a server, and again until it comes up. */
  #start(slot: number): void {
    const host = this.#hosts[slot]!
    const machine = this.#machineOn(slot)
    host.machine = machine
    host.server = undefined
    const log = (level: string, message: string) => {
      this.say(() => `${machine.name} ${level}: ${message}`)
      if (message.startsWith("an execution broke off")) this.broken ??= message
    }
    // Handlers of these simulations do their work themselves.
    const journal = { stageOn: () => ({ perform: () => Effect.succeed({}) }) }
    const { seed, setup, types } = this.#options
    const dice = diceFor(seed, machine.name)
    const wire = this.#wire
    const parts = { machine, wire, journal, ids: this.#ids, setup, dice, types, log }
    const triggers = this.#triggers
    boot(triggers === undefined ? parts : { ...parts, triggers }, (server) => {
      if (server !== undefined) host.server = server
      else {
        machine.crash()
        this.time.after(500, () => this.#start(slot))
      }
    })
  }

  #strike(machine: Machine, operation: string, place: "arriving" | "landed"): void {
    if (!this.isHarsh) return
    const name = `${operation} ${place}`
    const count = (this.#counts.get(name) ?? 0) + 1
    this.#counts.set(name, count)
    if (this.#hosts[machine.slot]!.machine !== machine) return
    for (const strike of this.#options.strikes) {
      const isIt = strike.operation === operation && strike.place === place
      if (isIt && strike.count === count) this.hit(machine.slot, strike.blow)
    }
  }
}
