/**
 * What the handlers of a simulation were really called for, did, charged and came to, whatever the
 * store says; and the stage on which they do it.
 *
 * A call needs a permit: a start that is stored, by the machine that calls. Each permit is good for
 * one call. So no handler is called for a node that had ended, that waits for others or that is
 * over for want of attempts, as long as no such start is stored. Only a node without effects may be
 * called without one: it is computed, and the next commit of its owner has to account for it. Of a
 * run that is not stored yet, that is the first commit, if it ends the run.
 */
import type { JsonObject } from "@millrace/core/domain/Json"
import { isJsonObject } from "@millrace/core/domain/Json"
import { fromNumber } from "@millrace/core/domain/Credits"
import type { Message } from "@millrace/core/domain/Message"
import { never } from "@millrace/core/domain/Timestamp"
import type { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { NodeError } from "@millrace/core/engine/CurrentNode"
import { Cause, Effect, Exit } from "effect"
import { type Behavior, behaviorOf, type Mood } from "./SimBehavior.ts"
import { mapTexts, spoken } from "./SimFlow.ts"
import { instantTypes, type Stage, typeOf } from "./SimNodes.ts"
import type { Machine, Time } from "./SimTime.ts"

/** One call of a handler. */
export interface Call {
  readonly machine: Machine
  readonly runId: string
  readonly nodeId: string
  readonly attempt: number
  readonly stage: number
  readonly behavior: Behavior
  readonly inputs: JsonObject
  readonly startedAt: number
  /** By what its machine took for the time. */
  readonly startedLocally: number
  /** Of a call without a permit: the fence of its machine's last commit of the run. */
  readonly tenure: number | undefined
  /** Micro-credits so far. */
  charged: number | null
  /** By its machine's wall clock; {@link never} where no time ends its wait. */
  suspendedUntil: number
  endedAt: number | undefined
  endedLocally: number
  wasInterrupted: boolean
}

/** Says that something that must always hold does not. */
export type Report = (rule: string, message: string) => void

/** What a handler left behind when it was suspended, as a number. */
export const stageOf = (state: unknown): number =>
  isJsonObject(state) && typeof state["stage"] === "number" ? state["stage"] : 0

/** Names one call among those that a run may have. */
export const callKey = (runId: string, nodeId: string, attempt: number, stage: number): string =>
  `${runId}/${nodeId}/${attempt}/${stage}`

/** The calls of one simulation. */
export class Journal {
  readonly calls = new Map<string, Array<Call>>()
  readonly open = new Set<Call>()
  /** Each with the message that the call is to be told of. */
  readonly #permits = new Map<string, Message | undefined>()
  readonly #permittedAt = new Map<string, number>()
  /** Calls without a permit since the last commit, by machine and run. */
  readonly #computed = new Map<string, ReadonlyArray<Call>>()
  readonly #forbidden = new Set<string>()
  readonly #time: Time
  readonly #seed: number
  readonly #mood: Mood
  readonly #report: Report
  readonly #portsOf: (runId: string, nodeId: string, nodeType: string) => ReadonlyArray<string>
  /** How many runs there were before this one, of which it is the rerun. */
  readonly #generationOf: (runId: string) => number
  /** Whether a machine has had the time to notice all that happens to a run. */
  readonly #isAwake: (machine: Machine, runId: string) => boolean
  /** The fence of a machine's last commit of a run, or of the first commit if none is stored. */
  readonly #tenureOf: (machine: Machine, runId: string) => number | undefined
  /** Told of every call before it begins. */
  readonly #onCall: (call: Call) => void

  constructor(
    time: Time,
    options: {
      readonly seed: number
      readonly mood: Mood
      readonly report: Report
      readonly portsOf: (runId: string, nodeId: string, nodeType: string) => ReadonlyArray<string>
      readonly generationOf: (runId: string) => number
      readonly isAwake: (machine: Machine, runId: string) => boolean
      readonly tenureOf: (machine: Machine, runId: string) => number | undefined
      readonly onCall: (call: Call) => void
    },
  ) {
    this.#time = time
    this.#seed = options.seed
    this.#mood = options.mood
    this.#report = options.report
    this.#portsOf = options.portsOf
    this.#generationOf = options.generationOf
    this.#isAwake = options.isAwake
    this.#tenureOf = options.tenureOf
    this.#onCall = options.onCall
  }

  /** A machine has stored that it begins this call, perhaps with a message. */
  permit(machine: Machine, key: string, message: Message | undefined): void {
    this.#permits.set(`${machine.name} ${key}`, message)
    this.#permittedAt.set(key, this.#time.now)
  }

  /** What a machine has computed of a run since its last commit, in order; each is told once. */
  takeComputed(machine: Machine, runId: string): ReadonlyArray<Call> {
    const key = `${machine.name} ${runId}`
    const calls = this.#computed.get(key) ?? []
    this.#computed.delete(key)
    return calls
  }

  /** A call without a permit has been stored: its time runs from when it began. */
  accept({ attempt, nodeId, runId, stage, startedAt }: Call): void {
    this.#permittedAt.set(callKey(runId, nodeId, attempt, stage), startedAt)
  }

  /** When the start of a call was stored. */
  permittedAt(key: string): number {
    return this.#permittedAt.get(key) ?? this.#time.now
  }

  /** From now on a machine must not begin anything in this run: it has said that it is canceled. */
  forbid(machine: Machine, runId: string): void {
    this.#forbidden.add(`${machine.name} ${runId}`)
  }

  /** Nothing goes on in this run on a machine that has interrupted what it could. */
  checkEnded(machine: Machine, runId: string): void {
    for (const call of this.open) {
      if (call.machine !== machine || call.runId !== runId || call.behavior.isStubborn) continue
      this.#report("a canceled run is interrupted", `${machine.name} ${runId}/${call.nodeId}`)
    }
  }

  /** The last call of this key that a machine made, if it did. */
  by(machine: Machine, key: string): Call | undefined {
    return this.calls.get(key)?.findLast((call) => call.machine === machine)
  }

  /** Where the handlers of a machine play. */
  stageOn(machine: Machine): Stage["Service"] {
    return {
      perform: (current, inputs) =>
        // Whatever enters also leaves, whenever it is interrupted.
        Effect.uninterruptibleMask((restore) =>
          machine.isAlive
            ? this.#perform(this.#enter(machine, current, inputs), current, restore)
            : restore(Effect.never),
        ),
    }
  }

  #enter(machine: Machine, current: CurrentNode["Service"], inputs: JsonObject): Call {
    const { attempt, nodeId, nodeType, resumed, runId } = current
    const stage = stageOf(resumed)
    const key = callKey(runId, nodeId, attempt, stage)
    const permit = `${machine.name} ${key}`
    const expected = this.#permits.get(permit)
    const isPure = typeOf(nodeType).effects === "none"
    const isPermitted = this.#permits.delete(permit)
    const tenure = isPermitted ? undefined : this.#tenureOf(machine, runId)
    if (!isPermitted && (!isPure || tenure === undefined || resumed !== undefined)) {
      this.#report("no call without a stored start", `${machine.name} calls ${key}`)
    }
    if (this.#forbidden.has(`${machine.name} ${runId}`)) {
      this.#report("a canceled run begins nothing", `${machine.name} calls ${key}`)
    }
    const [told, taken] = [current.message, expected].map((each) => JSON.stringify(each))
    if (told !== taken) {
      const what = `${key} with ${told}, not ${taken}`
      this.#report("a handler is called with the message that its node took", what)
    }
    if (current.idempotencyKey !== `${runId}:${nodeId}`) {
      this.#report("one idempotency key per node", `${key} has ${current.idempotencyKey}`)
    }
    this.#checkAlone(machine, runId)
    const generation = this.#generationOf(runId)
    const run = `${Number(current.values["run"])}${generation === 0 ? "" : ` again ${generation}`}`
    const given = isPure ? JSON.stringify(inputs) : ""
    const part = { run, nodeId, attempt, stage, given }
    const ports = this.#portsOf(runId, nodeId, nodeType)
    const call: Call = {
      machine,
      runId,
      nodeId,
      attempt,
      stage,
      behavior: allowed(current, behaviorOf(this.#seed, this.#mood, part, ports), ports),
      inputs,
      startedAt: this.#time.now,
      startedLocally: machine.now,
      tenure,
      charged: null,
      suspendedUntil: 0,
      endedAt: undefined,
      endedLocally: 0,
      wasInterrupted: false,
    }
    const known = this.calls.get(key)
    if (known === undefined) this.calls.set(key, [call])
    else known.push(call)
    this.open.add(call)
    if (!isPermitted) {
      const computed = `${machine.name} ${runId}`
      this.#computed.set(computed, [...(this.#computed.get(computed) ?? []), call])
    }
    this.#onCall(call)
    return call
  }

  /** A server that loses its lease, and is awake, has stopped before the lease ends. */
  #checkAlone(machine: Machine, runId: string): void {
    if (!this.#isAwake(machine, runId)) return
    for (const call of this.open) {
      const other = call.machine
      if (call.runId !== runId || other === machine || call.behavior.isStubborn) continue
      if (!other.isAlive || !this.#isAwake(other, runId)) continue
      const where = `${other.name} and ${machine.name}`
      this.#report("no two servers execute a run at once", `${where}: ${runId}/${call.nodeId}`)
    }
  }

  #perform(
    call: Call,
    current: CurrentNode["Service"],
    restore: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>,
  ): Effect.Effect<JsonObject, NodeError> {
    const { behavior } = call
    const charge = (credits: number) =>
      credits === 0
        ? Effect.void
        : Effect.tap(current.charge(credits), () =>
            Effect.sync(() => void (call.charged = (call.charged ?? 0) + fromNumber(credits))),
          )
    const work = Effect.gen({ self: this }, function* () {
      for (let line = 1; line <= behavior.lines; line++) {
        yield* Effect.logInfo(spoken(lineOf(call, line), call.inputs))
      }
      yield* charge(behavior.chargedBefore)
      if (behavior.millis > 0) yield* Effect.sleep(behavior.millis)
      yield* charge(behavior.chargedAfter)
      return yield* endOf(call, current)
    })
    const guarded = behavior.isStubborn ? work : restore(work)
    return Effect.onExit(guarded, (exit) => Effect.sync(() => this.#leave(call, exit)))
  }

  #leave(call: Call, exit: Exit.Exit<JsonObject, NodeError>): void {
    call.wasInterrupted = Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause)
    call.endedAt = this.#time.now
    call.endedLocally = call.machine.now
    this.open.delete(call)
  }
}

/** What a call says in its log. */
export const lineOf = ({ attempt, nodeId, stage }: Call, line: number): string =>
  `${nodeId} #${attempt}.${stage}: line ${line}`

/** What a failing call says. */
export const messageOf = ({ attempt, nodeId, stage }: Pick<Call, "attempt" | "nodeId" | "stage">) =>
  `${nodeId} #${attempt}.${stage} has had enough`

/** The ends of a workflow do nothing but their part; some types never wait for anything. */
const allowed = (
  { nodeType, values }: CurrentNode["Service"],
  behavior: Behavior,
  ports: ReadonlyArray<string>,
): Behavior => {
  if (instantTypes.has(nodeType)) {
    const isOther = behavior.end === "hang" || (behavior.end === "suspend" && nodeType === "pure")
    return { ...behavior, millis: 0, end: isOther ? "return" : behavior.end }
  }
  if (nodeType !== "request" && nodeType !== "response") return behavior
  const output = Object.entries({ values, ...values }).filter(([port]) => ports.includes(port))
  return { ...behavior, end: "return", output: Object.fromEntries(output) }
}

const endOf = (
  call: Call,
  current: CurrentNode["Service"],
): Effect.Effect<JsonObject, NodeError> => {
  const { behavior } = call
  switch (behavior.end) {
    case "return":
      return Effect.succeed(mapTexts(behavior.output, (text) => spoken(text, call.inputs)))
    case "garbage":
      return Effect.succeed({ nowhere: 1 })
    case "hang":
      return Effect.never
    case "die":
      return Effect.die(new Error(spoken(messageOf(call), call.inputs)))
    case "suspend":
      return Effect.suspend(() => {
        const until = call.machine.now + behavior.suspendMillis
        call.suspendedUntil = behavior.isEndless ? never : until
        const wait = behavior.isEndless ? {} : { until }
        const name = behavior.waitsFor === undefined ? {} : { for: behavior.waitsFor }
        return current.suspend({ ...wait, ...name }, { stage: call.stage + 1 })
      })
    case "fail": {
      const { retryAfterMillis, retryable } = behavior
      const message = spoken(messageOf(call), call.inputs)
      return Effect.fail(
        new NodeError({
          message,
          retryable,
          ...(retryAfterMillis === undefined ? {} : { retryAfterMillis }),
        }),
      )
    }
  }
}
