/**
 * Plays a scenario: three servers over one store, in simulated time, until every run has ended and
 * nothing stirs any more; or until something happens that must not.
 *
 * Guarantees: synchronous, and the same scenario is played the same way every time.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import { RunId } from "@millrace/core/domain/Id"
import type { RunRecord } from "@millrace/core/domain/Run"
import { isTerminal } from "@millrace/core/domain/Run"
import type { NewMessage } from "@millrace/core/domain/Message"
import { never } from "@millrace/core/domain/Timestamp"
import { InvalidGraph } from "@millrace/core/engine/Refusals"
import { StorageError } from "@millrace/core/ports/StorageError"
import { Cause, Effect, Exit, Option } from "effect"
import type * as Dice from "./ModelDice.ts"
import type { Action, RerunAction, Sent, StartAction } from "./SimActions.ts"
import { diceFor } from "./SimBehavior.ts"
import { checkBooks, checkNames } from "./SimBooks.ts"
import { accountOf, workflowIdOf } from "./SimEditions.ts"
import type { Scenario } from "./SimScenario.ts"
import { serverCount } from "./SimScenario.ts"
import { Reruns } from "./SimReruns.ts"
import { sequentialIds, type Server } from "./SimServer.ts"
import { isSaid, shown, type Watched } from "./SimWatched.ts"
import { type Host, type SimStores, type Violation, World } from "./SimWorld.ts"

/** What a play came to. */
export interface Outcome {
  /** What went wrong, if anything did. */
  readonly violation: Violation | undefined
  readonly trace: ReadonlyArray<string>
  /** How many steps the machines took, and what they came to. */
  readonly steps: number
  readonly runs: number
  readonly calls: number
}

/** How often the play looks after what is left once nothing more goes wrong. */
const roundMillis = 2_000

/** After so many rounds every run must have ended. */
const roundsAtMost = 400

/** After so many rounds those are canceled that wait for a handler which never returns. */
const patientRounds = 15

const stepsAtMost = 3_000_000

/** Why a start may be refused: a type that one server does not know, and what one node lacks. */
const fairRefusal = /unknown type "rare"|cannot run alone/

type SendAction = Extract<Action, { readonly _tag: "Send" }>
type AimAction = Extract<Action, { readonly _tag: "Aim" }>
type StrikeAction = Extract<Action, { readonly _tag: "Strike" }>

/** Sends a message to a run; one that is named as signals are, as a signal under a key. */
const sent = ({ runs }: Server, account: AccountId, id: RunId, message: NewMessage) => {
  const [, name] = /^signal:(.*)$/.exec(message.name) ?? []
  return name === undefined
    ? runs.send(account, id, message)
    : runs.signal(account, id, { name, payload: message.payload, idempotencyKey: message.id })
}

const draftOf = ({ id, name }: Sent): NewMessage => ({ id, name, payload: `${id}: ${name}` })

class Play {
  readonly world: World
  readonly #scenario: Scenario
  /** Waits for a message that have an end, as they were first seen. */
  readonly #waits = new Set<string>()
  readonly #counts = new Map<string, number>()
  readonly #patience: Dice.Dice
  readonly #strikes: ReadonlyArray<StrikeAction>
  readonly #reruns: Reruns
  /** Starts that have not been answered yet. */
  readonly #starting = new Set<string>()
  #pending = 0
  #rounds = 0
  #isOver = false

  constructor(scenario: Scenario, stores: SimStores, isTraced: boolean) {
    this.#scenario = scenario
    this.#patience = diceFor(scenario.seed, "patience")
    this.#strikes = scenario.actions.filter((action) => action._tag === "Strike")
    this.world = new World({
      scenario,
      stores,
      isTraced,
      ids: sequentialIds(),
      strike: (host, operation, place, run) => this.#strike(host, operation, place, run),
    })
    this.#reruns = new Reruns({
      world: this.world,
      actions: scenario.actions.filter((action) => action._tag === "Rerun"),
      serverNear: (slot) => this.#serverNear(slot),
      later: (millis, act) => this.#later(millis, act),
      starting: this.#starting,
    })
  }

  play(): void {
    const { world } = this
    this.#prepare()
    while (!this.#isOver && world.violation === undefined) {
      const ready = world.hosts.filter(({ machine }) => machine.isReady)
      if (ready.length === 0) {
        if (!world.time.proceed()) return world.report("time goes on", "nothing is left to happen")
        continue
      }
      const host = ready.length === 1 ? ready[0]! : ready[world.steps % ready.length]!
      world.steps += 1
      if (world.steps > stepsAtMost) return world.report("plays come to an end", "too many steps")
      host.machine.step()
    }
  }

  #prepare(): void {
    const { world } = this
    for (const host of world.hosts) world.start(host, world.trouble())
    for (const action of this.#scenario.actions) {
      if (action._tag === "Strike" || action._tag === "Aim" || action._tag === "Rerun") continue
      this.#later(action.at, () => this.#act(action))
    }
    world.time.after(this.#scenario.healedAt, () => this.#heal())
  }

  #act(action: Exclude<Action, StrikeAction | AimAction | RerunAction>): void {
    const { world } = this
    switch (action._tag) {
      case "Start":
        return this.#start(action)
      case "Cancel":
        return this.#cancel(action.server, this.#numbered(action.run))
      case "Edit": {
        const revision = world.editions.edit(action.workflow, action.change)
        return world.say(() => `workflow ${action.workflow} is edited, now r${revision}`)
      }
      case "Send":
        return this.#sendAll(action)
      case "Hit":
        return world.hit(world.hosts[action.server]!, action.blow)
      case "Outage": {
        const host = world.hosts[action.server]!
        world.say(() => `no ${action.place} for ${host.machine.name} for ${action.millis} ms`)
        host.outage = { until: world.time.now + action.millis, place: action.place }
        world.time.after(action.millis, world.trouble())
        return
      }
      case "Leap":
        world.say(() => `everybody is asleep for ${action.millis} ms`)
        world.time.leap(action.millis)
        return world.disturb()
      case "Skew":
        world.say(() => `clock ${action.clock} is put forward by ${action.millis} ms`)
        world.offsets[action.clock]! += action.millis
    }
  }

  #strike(host: Host, operation: string, place: string, run: RunId | undefined): void {
    if (operation === "commit" && place === "landed") {
      this.#aim(run)
      if (run !== undefined) this.#reruns.note(run)
    }
    if (!this.world.isHarsh) return
    const sudden = operation === "commit" ? this.#reruns.blowFor(host.machine, place) : undefined
    if (sudden !== undefined) this.world.hit(host, sudden)
    const name = `${operation} ${place}`
    const count = (this.#counts.get(name) ?? 0) + 1
    this.#counts.set(name, count)
    for (const strike of this.#strikes) {
      const isIt = strike.operation === operation && strike.place === place
      if (!isIt || strike.count !== count) continue
      const { blow } = strike
      const watched = run === undefined ? this.#numbered(0) : this.world.witness.runs.get(run)
      if (blow._tag === "Cancel") this.#cancel(blow.server, watched)
      else if (blow._tag === "Send") {
        if (watched !== undefined) this.world.sendFromOutside(watched, draftOf(blow.message))
      } else this.world.hit(host, blow)
    }
  }

  /** Has messages sent at the end of a wait that has begun with this commit. */
  #aim(run: RunId | undefined): void {
    const watched = run === undefined ? undefined : this.world.witness.runs.get(run)
    for (const wait of watched?.record.run.waiting ?? []) {
      const { due, for: name, ordinal, startedAt, state } = wait
      const known = `${run} ${ordinal} ${startedAt} ${JSON.stringify(state)}`
      if (name === undefined || due === never || this.#waits.has(known)) continue
      this.#waits.add(known)
      for (const action of this.#scenario.actions) {
        if (action._tag !== "Aim" || action.count !== this.#waits.size) continue
        const { earlyMillis, id } = action
        const millis = Math.max(0, due - earlyMillis - this.world.storeNow)
        const message = draftOf({ id, name })
        this.world.time.after(millis, () => this.world.sendFromOutside(watched!, message))
      }
    }
  }

  /** A server that can be asked, that one if possible. */
  #serverNear(slot: number): { readonly host: Host; readonly server: Server } | undefined {
    const { hosts } = this.world
    for (let index = 0; index < serverCount; index++) {
      const host = hosts[(slot + index) % serverCount]!
      if (host.server !== undefined) return { host, server: host.server }
    }
    return undefined
  }

  /** The run of this number, or the last of its reruns. */
  #numbered(run: number): Watched | undefined {
    return [...this.world.witness.runs.values()].findLast(
      ({ record }) => record.run.values["run"] === run,
    )
  }

  #start(action: StartAction): void {
    const found = this.#serverNear(action.server)
    const { world } = this
    if (found === undefined) return this.#later(1_000, () => this.#start(action))
    const { host, server } = found
    const account = accountOf(action.workflow)
    world.editions.ask(action.run, workflowIdOf(action.workflow))
    world.say(() => `start ${action.run} on ${host.machine.name}`)
    const name = `${host.machine.name} ${action.run}`
    this.#starting.add(name)
    server.run(
      Effect.map(
        Effect.exit(this.#asked(server, account, action)),
        Exit.match({
          onSuccess: (id) => {
            world.say(() => `start ${action.run} is ${id}`)
            this.#starting.delete(name)
            const isStored = Option.isSome(Effect.runSync(world.runs.find(account, id)))
            if (!isStored) world.report("a start that was answered for is stored", id)
            if (this.#patience.chance(20)) this.#awaitEnd(server, account, id)
          },
          onFailure: (cause) => {
            const error = Cause.squash(cause)
            world.say(() => `start ${action.run}: ${String(error)}`)
            if (this.#isNamed(action.run) && error instanceof StorageError) {
              this.#later(700, () => this.#start({ ...action, server: action.server + 1 }))
            }
            if (error instanceof InvalidGraph && !fairRefusal.test(error.message)) {
              world.report("a start of what can be executed is accepted", error.message)
            }
          },
        }),
      ),
    )
  }

  /** Every other start has a name, and is repeated until it is answered. */
  #isNamed(run: number): boolean {
    return (this.#scenario.seed + run) % 2 === 0
  }

  #asked(
    { runs }: Server,
    account: AccountId,
    { overrides, pinned, replaced, run, single, workflow }: StartAction,
  ): Effect.Effect<RunId, unknown> {
    const request = {
      workflowId: workflowIdOf(workflow),
      values: { run },
      graphInputOverrides: overrides,
      nodeOverrides: replaced,
      pinnedOutputs: pinned,
      ...(single === null ? {} : { singleNodeId: single }),
    }
    if (!this.#isNamed(run)) return Effect.map(runs.start(account, request), ({ id }) => id)
    const name = { key: `start ${run}`, bodyHash: "the same" }
    return Effect.map(runs.startOnce(account, request, name), ({ runId }) => runId)
  }

  /** Has something done later; the play does not end before that. */
  #later(millis: number, act: () => void): void {
    this.#pending += 1
    this.world.time.after(millis, () => {
      this.#pending -= 1
      act()
    })
  }

  /** Whoever waits for the end of a run is told what is stored. */
  #awaitEnd(server: Server, account: AccountId, id: RunId): void {
    const { world } = this
    const told = (bare: RunRecord) =>
      Effect.sync(() => {
        const record = world.witness.whole(bare)
        world.say(() => `wait ${id}: ${record.run.status}`)
        const stored = world.witness.recordOf(record.run)
        const right = stored !== undefined && isTerminal(stored.run.status)
        // What it was sent while none of its nodes waited for that, its execution does not know.
        const run = { ...record.run, messages: stored?.run.messages }
        if (!right || !isSaid(stored.run, run) || !isSaid(stored.nodeRuns, record.nodeRuns))
          world.report("who waits is told what is stored", `${shown(record)}, not ${shown(stored)}`)
      })
    server.run(Effect.ignore(Effect.flatMap(server.runs.wait(account, id), told)))
  }

  #sendAll({ count, message, run, server }: SendAction): void {
    const watched = this.#numbered(run)
    for (let index = 0; index < (watched === undefined ? 1 : count); index++) {
      const id = count === 1 ? message.id : `${message.id}.${run}.${index}`
      this.#send(server, watched, { ...message, id })
    }
  }

  /** Sends a message, and again under its id until it is answered. */
  #send(slot: number, watched: Watched | undefined, message: Sent): void {
    const found = this.#serverNear(slot)
    if (found === undefined) return this.#later(900, () => this.#send(slot, watched, message))
    const { world } = this
    const account = watched?.record.run.accountId ?? accountOf(0)
    const id = watched?.record.run.id ?? RunId.make("run_none")
    found.server.run(
      Effect.map(
        Effect.exit(sent(found.server, account, id, draftOf(message))),
        Exit.match({
          onSuccess: (number) => {
            const stored = watched?.inbox[number - 1]
            if (stored?.id !== message.id) {
              world.report("a message that was answered for is stored", `${id} ${message.id}`)
            }
          },
          onFailure: (cause) => {
            const error = Cause.squash(cause)
            const tag = String((error as { readonly _tag?: unknown })._tag)
            world.say(() => `send ${id} ${message.id}: ${tag}`)
            if (tag === "StorageError") {
              return this.#later(400, () => this.#send(slot + 1, watched, message))
            }
            // A run into which nothing more goes waits for ever.
            if (tag === "InboxFull" && !world.isHarsh) return this.#cancel(slot, watched)
            const isRight =
              tag === "InboxFull" ||
              (tag === "RunNotFound" && watched === undefined) ||
              (tag === "RunEnded" && isTerminal(watched!.record.run.status))
            if (!isRight) world.report("a message is refused for a reason", `${id}: ${tag}`)
          },
        }),
      ),
    )
  }

  /** Sends what nodes wait for without an end. */
  #sendAwaited(): void {
    for (const watched of this.world.witness.runs.values()) {
      const { run } = watched.record
      if (isTerminal(run.status)) continue
      for (const { due, for: name, ordinal } of run.waiting) {
        if (due !== never || name === undefined) continue
        const id = `at last ${ordinal} ${this.#rounds}`
        this.#send(this.#rounds, watched, { id, name })
      }
    }
  }

  #cancel(slot: number, watched: Watched | undefined): void {
    const found = this.#serverNear(slot)
    if (found === undefined || watched === undefined) return
    const { world } = this
    const { machine } = found.host
    const { accountId, id } = watched.record.run
    world.say(() => `cancel ${id} on ${machine.name}`)
    watched.cancelers.add(machine)
    const stored = () => world.witness.recordOf(watched.record.run)?.run.status
    found.server.run(
      Effect.map(
        Effect.exit(found.server.runs.cancel(accountId, id)),
        Exit.match({
          onSuccess: ({ status }) => {
            world.say(() => `cancel ${id}: ${status}`)
            if (status !== "CANCELED" || stored() !== "CANCELED") {
              world.report("a cancel that was answered for is stored", `${id} is ${stored()}`)
            }
            // Nobody can stop what is still on its way to being executed.
            const name = `${machine.name} ${Number(watched.record.run.values["run"])}`
            if (this.#starting.has(name)) watched.early.add(machine)
            if (watched.early.has(machine)) return
            world.journal.forbid(machine, id)
            const soon = Effect.sync(() => world.journal.checkEnded(machine, id))
            found.server.run(Effect.andThen(Effect.sleep(50), soon))
          },
          onFailure: (cause) => {
            const error = Cause.squash(cause)
            const tag = String((error as { readonly _tag?: unknown })._tag)
            world.say(() => `cancel ${id}: ${tag}`)
            const isEnded = stored() === "COMPLETED" || stored() === "FAILED"
            if (tag !== "StorageError" && (tag !== "RunEnded" || !isEnded)) {
              world.report("only an ended run cannot be canceled", `${id} is ${stored()}: ${tag}`)
            }
          },
        }),
      ),
    )
  }

  /** From here on nothing goes wrong any more. */
  #heal(): void {
    const { world } = this
    world.say(() => "nothing goes wrong any more")
    world.isHarsh = false
    world.disturb()
    this.#look()
  }

  /** Looks after what is left. */
  #look(): void {
    const { world } = this
    this.#rounds += 1
    if (this.#pending === 0 && world.witness.isQuiet) {
      // Long enough for whoever still thinks that a run is his to learn better.
      const rest = world.scenario.setup.leaseMillis * 1.5 + 35_000
      world.time.after(rest, () => this.#finish())
      return
    }
    if (this.#rounds > roundsAtMost) return this.#giveUp()
    if (this.#rounds > patientRounds) this.#cancelHanging()
    this.#sendAwaited()
    this.#skipAhead()
    world.time.after(roundMillis, () => this.#look())
  }

  #giveUp(): void {
    const { witness } = this.world
    const open = [...witness.runs.values()].find(({ record }) => !isTerminal(record.run.status))
    this.world.report("every run ends", JSON.stringify(open?.record.run))
  }

  /** Who waits for a handler that never returns, and has set no limit, waits for ever. */
  #cancelHanging(): void {
    const { journal, witness } = this.world
    for (const call of journal.open) {
      const watched = witness.runs.get(call.runId as RunId)
      if (watched === undefined || call.behavior.end !== "hang") continue
      const { definition, run } = watched.record
      const limit = watched.reference.placeOf(call.nodeId)?.policy.timeoutMillis
      if (isTerminal(run.status) || (limit ?? definition.settings.timeoutMillis) !== undefined) {
        continue
      }
      this.#cancel(this.#rounds, watched)
    }
  }

  /** Where all that is left is to wait, everybody may as well sleep. */
  #skipAhead(): void {
    const { world } = this
    const open = [...world.witness.runs.values()].filter(
      ({ record }) => !isTerminal(record.run.status),
    )
    const dues = open.map(({ record }) => record.run.dueAt ?? 0).filter((due) => due !== never)
    const millis = Math.min(...dues) - world.storeNow - 5_000
    if (this.#pending > 0 || dues.length === 0 || millis < 10_000) return
    world.say(() => `everybody sleeps for ${millis} ms`)
    world.time.leap(millis)
    world.disturb()
  }

  #finish(): void {
    const { world } = this
    if (!world.witness.isQuiet) return this.#look()
    world.witness.checkAll()
    checkNames(world, (run) => this.#isNamed(run))
    checkBooks(world)
    for (const call of world.journal.open) {
      const { behavior, machine, nodeId, runId } = call
      if (machine.isAlive && !behavior.isStubborn) {
        world.report("no handler outlives its run", `${machine.name} ${runId}/${nodeId}`)
      }
    }
    this.#isOver = true
  }
}

/** Plays a scenario to its end. */
export const play = (scenario: Scenario, stores: SimStores, isTraced = false): Outcome => {
  const one = new Play(scenario, stores, isTraced)
  one.play()
  const { journal, steps, trace, violation, witness } = one.world
  return { violation, trace, steps, runs: witness.runs.size, calls: journal.calls.size }
}
