/**
 * The way between a server and the store, on which things go wrong: requests that never arrive,
 * answers that never come back, operations that are done twice, and servers that are struck while
 * one is on its way.
 *
 * What has been sent arrives, whatever becomes of its sender: a crashed server's last write lands
 * after its death, a paused one's answer is read when it wakes up.
 */
import { textOfKey } from "@millrace/core/domain/WorkflowSignal"
import type { RunId, RunnerId } from "@millrace/core/domain/Id"
import * as CallbackEffect from "@millrace/core/ports/CallbackEffect"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { TriggerStore } from "@millrace/core/ports/TriggerStore"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Clock, Effect, Exit } from "effect"
import type { Dice } from "./ModelDice.ts"
import type { Setup } from "./SimScenario.ts"
import type { Machine, Time } from "./SimTime.ts"
import { type Operation, reasonOf, type Witness } from "./SimWitness.ts"

/** What the wire needs to know of the world around it. */
export interface WireOptions {
  readonly time: Time
  readonly dice: Dice
  readonly setup: Setup
  readonly witness: Pick<Witness, "checkSecrets" | "note" | "observe">
  readonly storeClock: Clock.Clock
  readonly runs: RunStore["Service"]
  readonly workflows: WorkflowStore["Service"]
  readonly values: ValueStore["Service"]
  /** False once nothing goes wrong any more. */
  readonly isHarsh: () => boolean
  /** Whether the store is away for a server, and on which way. */
  readonly outageOf: (machine: Machine) => "request" | "answer" | undefined
  /** Told of every operation as it arrives and once it has landed. */
  readonly strike: (
    machine: Machine,
    operation: string,
    place: "arriving" | "landed",
    run: RunId | undefined,
  ) => void
  /** Told that something went wrong for an instant. */
  readonly disturb: () => void
  readonly say: (line: () => string) => void
}

/** What becomes of one operation. */
interface Luck {
  readonly isRefused: boolean
  readonly isLost: boolean
  readonly isDoubled: boolean
}

const fair: Luck = { isRefused: false, isLost: false, isDoubled: false }

const away = (operation: string): StorageError =>
  new StorageError({ operation, cause: new Error("the store is away") })

const runOf = (operation: Operation): RunId | undefined =>
  operation._tag === "Commit"
    ? operation.commit.run.id
    : operation._tag === "TakeOver" || operation._tag === "Send"
      ? operation.id
      : undefined

const titleOf = (operation: Operation): string => {
  switch (operation._tag) {
    case "Commit": {
      const { active, id, revision, status, waiting } = operation.commit.run
      const rows = [...operation.commit.nodeRuns, ...operation.commit.rewritten]
        .map(({ attempt, nodeId, status: end }) => `${nodeId}#${attempt} ${end}`)
        .join(", ")
      const nodes = active.map(({ attempt, ordinal }) => `${ordinal}#${attempt}`).join(" ")
      const waits = waiting.map(
        ({ attempt, due, for: name = "", ordinal }) => `${ordinal}#${attempt}${name}@${due}`,
      )
      const taken = (operation.commit.taken ?? []).map(
        ({ nodeId, number }) => `${nodeId}:${number}`,
      )
      const due = operation.commit.run.dueAt === null ? "" : ` parked@${operation.commit.run.dueAt}`
      const work = `[${rows}] active ${nodes} wait ${waits.join(" ")} take ${taken.join(" ")}`
      return `commit ${id} r${revision} ${status}${due} ${work}`
    }
    case "Claim":
      return "claim"
    case "TakeOver":
      return `take over ${operation.id}`
    case "Requeue":
      return `requeue ${operation.ids.join(" ")}`
    case "EndLease":
      return "end lease"
    case "Advance":
      return `advance ${JSON.stringify(operation.all)}`
    case "Signal":
      return `signal ${textOfKey(operation.signal)} as ${operation.signal.id}`
    case "Send":
      return `send ${operation.id} ${operation.message.name} as ${operation.message.id}`
    default:
      return operation._tag.toLowerCase()
  }
}

/** The stores as servers reach them. */
export class Wire {
  readonly #options: WireOptions

  constructor(options: WireOptions) {
    this.#options = options
  }

  /** The run store as one machine sees it. */
  runsOf(machine: Machine): RunStore["Service"] {
    const { runs } = this.#options
    const read = <A>(effect: Effect.Effect<A, StorageError>) =>
      this.#send(machine, { _tag: "Read" }, effect)
    return RunStore.of({
      commit: (commit: RunCommit) =>
        this.#send(machine, { _tag: "Commit", commit }, runs.commit(commit)),
      claim: (request) => this.#send(machine, { _tag: "Claim", request }, runs.claim(request)),
      takeOver: (account, id, runner) =>
        this.#send(machine, { _tag: "TakeOver", id, runner }, runs.takeOver(account, id, runner)),
      heartbeat: (runner: RunnerId, leaseMillis, blocked) =>
        Effect.suspend(() => {
          machine.runner ??= runner
          const operation = { _tag: "Heartbeat" as const, runner, leaseMillis }
          return this.#send(machine, operation, runs.heartbeat(runner, leaseMillis, blocked))
        }),
      requeue: (runner, ids) =>
        this.#send(machine, { _tag: "Requeue", runner, ids }, runs.requeue(runner, ids)),
      send: (account, id, message) =>
        this.#send(machine, { _tag: "Send", id, message }, runs.send(account, id, message)),
      signal: (account, workflow, signal) =>
        this.#send(machine, { _tag: "Signal", signal }, runs.signal(account, workflow, signal)),
      inboxes: (requests) => this.#send(machine, { _tag: "Inboxes" }, runs.inboxes(requests)),
      now: read(runs.now),
      endLease: (runner, blocked) =>
        this.#send(machine, { _tag: "EndLease", runner }, runs.endLease(runner, blocked)),
      cappedAccounts: (limit) => read(runs.cappedAccounts(limit)),
      queueLength: (limit) => read(runs.queueLength(limit)),
      load: (query) => read(runs.load(query)),
      typesInUse: (oldest) => read(runs.typesInUse(oldest)),
      suspects: (limit) => read(runs.suspects(limit)),
      clearLosses: (id) => this.#send(machine, { _tag: "Pardon", id }, runs.clearLosses(id)),
      find: (account, id) => read(runs.find(account, id)),
      findMany: (account, ids, mostBytes) => read(runs.findMany(account, ids, mostBytes)),
      latestOutputs: (account, workflow, nodes) =>
        read(runs.latestOutputs(account, workflow, nodes)),
      findStart: (account, key) => read(runs.findStart(account, key)),
      // Short pages, so that small stories have several.
      children: (query) => read(runs.children({ ...query, limit: Math.min(query.limit, 2) })),
      activity: (query) => read(runs.activity(query)),
      list: (query) => read(Effect.catchTag(runs.list(query), "SearchTooBroad", Effect.die)),
      events: (account, id, after) => read(runs.events(account, id, after)),
      eventsOfMany: (requests) => read(runs.eventsOfMany(requests)),
    })
  }

  /** The workflow store as one machine sees it. */
  workflowsOf(machine: Machine): WorkflowStore["Service"] {
    const { workflows } = this.#options
    return WorkflowStore.of({
      ...workflows,
      find: (account, id) => this.#send(machine, { _tag: "Read" }, workflows.find(account, id)),
      findCurrent: (account, id) =>
        this.#send(machine, { _tag: "Read" }, workflows.findCurrent(account, id)),
    })
  }

  /** The store of triggers as one machine sees it. */
  triggersOf(machine: Machine, triggers: TriggerStore["Service"]): TriggerStore["Service"] {
    const read = <A>(effect: Effect.Effect<A, StorageError>) =>
      this.#send(machine, { _tag: "Read" }, effect)
    const change = <A, E>(effect: Effect.Effect<A, E>) =>
      this.#send(machine, { _tag: "ChangeTrigger" }, effect)
    return TriggerStore.of({
      insert: (trigger) => change(triggers.insert(trigger)),
      replace: (trigger) => change(triggers.replace(trigger)),
      remove: (key) => change(triggers.remove(key)),
      find: (key) => read(triggers.find(key)),
      findByAddress: (hash) => read(triggers.findByAddress(hash)),
      list: (account, workflow) => read(triggers.list(account, workflow)),
      claimDue: (claim) => this.#send(machine, { _tag: "ClaimDue" }, triggers.claimDue(claim)),
      advance: (all) => this.#send(machine, { _tag: "Advance", all }, triggers.advance(all)),
      finish: (ends) => change(triggers.finish(ends)),
      beginTest: (...given) => change(triggers.beginTest(...given)),
      endTest: (key) => change(triggers.endTest(key)),
      findTest: (key) => read(triggers.findTest(key)),
      findByTestAddress: (hash) => read(triggers.findByTestAddress(hash)),
      noteRequest: (...given) => change(triggers.noteRequest(...given)),
      pause: (account, at) => change(triggers.pause(account, at)),
      resume: (account, at) => change(triggers.resume(account, at)),
      pausedAt: (account) => read(triggers.pausedAt(account)),
    })
  }

  /**
   * The store of large values as one machine sees it. It answers at once and does not fail, so that
   * an attempt ends when its handler does; but its server may be struck at that.
   */
  valuesOf(machine: Machine): ValueStore["Service"] {
    const { say, storeClock, strike, values, witness } = this.#options
    const at = <A>(effect: Effect.Effect<A, StorageError>) =>
      Effect.suspend(() =>
        machine.isAlive ? Effect.provideService(effect, Clock.Clock, storeClock) : Effect.never,
      )
    return ValueStore.of({
      put: (key, bytes) =>
        Effect.suspend(() => {
          if (!machine.isAlive) return Effect.never
          strike(machine, "put", "arriving", undefined)
          if (!machine.isAlive) return Effect.never
          say(() => `${machine.name} puts ${key.runId}/${key.id}`)
          witness.checkSecrets(new TextDecoder().decode(bytes), `the value ${key.id}`)
          const exit = Effect.runSyncExit(
            Effect.provideService(values.put(key, bytes), Clock.Clock, storeClock),
          )
          strike(machine, "put", "landed", undefined)
          return machine.isAlive ? exit : Effect.never
        }),
      read: (key) => at(values.read(key)),
      remove: (keys) => at(values.remove(keys)),
      list: (after, limit) => at(values.list(after, limit)),
    })
  }

  #luckOf(operation: Operation): Luck {
    const { dice, isHarsh, setup } = this.#options
    if (!isHarsh()) return fair
    return {
      isRefused: dice.chance(setup.refused),
      isLost: dice.chance(setup.lost),
      isDoubled: ["Claim", "ClaimDue"].includes(operation._tag) && dice.chance(setup.doubled),
    }
  }

  /** Sends an operation, and hands on what comes back. */
  #send<A, E>(
    machine: Machine,
    operation: Operation,
    act: Effect.Effect<A, E>,
  ): Effect.Effect<A, E | StorageError> {
    return CallbackEffect.make<A, E | StorageError>((done) => {
      const cancel = () => undefined
      if (!machine.isAlive) return cancel
      const { dice, setup, time, witness } = this.#options
      witness.note(machine, operation)
      const luck = this.#luckOf(operation)
      const way = () => (setup.latencyMillis === 0 ? 0 : dice.below(setup.latencyMillis + 1))
      const answer = (exit: Exit.Exit<A, E | StorageError>) => {
        const isDirect = setup.latencyMillis === 0 && !machine.isPaused
        if (isDirect && machine.isAlive) done(exit)
        else machine.later(way(), () => done(exit))
      }
      const arrive = () => answer(this.#arrive(machine, operation, luck, act))
      if (setup.latencyMillis === 0) arrive()
      else time.after(way(), arrive)
      return cancel
    })
  }

  #arrive<A, E>(
    machine: Machine,
    operation: Operation,
    luck: Luck,
    act: Effect.Effect<A, E>,
  ): Exit.Exit<A, E | StorageError> {
    const { disturb, outageOf, say, storeClock, strike, witness } = this.#options
    const kind = operation._tag.toLowerCase()
    const run = runOf(operation)
    strike(machine, kind, "arriving", run)
    const outage = outageOf(machine)
    if (luck.isRefused || outage === "request") {
      say(() => `${machine.name} ${titleOf(operation)}: never arrived`)
      disturb()
      return Exit.fail(away(kind))
    }
    const once = () =>
      witness.observe(machine, operation, () =>
        Effect.runSyncExit(Effect.provideService(act, Clock.Clock, storeClock)),
      )
    let exit: Exit.Exit<A, E | StorageError> = once()
    if (luck.isDoubled) exit = once()
    if (operation._tag !== "Read" && operation._tag !== "Inboxes") {
      say(() => `${machine.name} ${titleOf(operation)}: ${reasonOf(exit)}`)
    }
    strike(machine, kind, "landed", run)
    if (!luck.isLost && outage !== "answer") {
      if (luck.isDoubled) disturb()
      return exit
    }
    say(() => `${machine.name}: that answer is lost`)
    disturb()
    return Exit.fail(away(kind))
  }
}
