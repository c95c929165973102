/**
 * Dispatchers in simulated time: what each decides is carried out on one store and on receivers
 * that a story made up, while servers crash, stop and start again, and the store is away.
 *
 * Guarantees: no real clock, no timer, no promise: the same story gives the same steps. Leaves out:
 * the fibers that carry commands out in a process; their tests are in `@millrace/webhooks`.
 */
import type * as Samples from "@millrace/conformance/Samples"
import type { Delivery } from "@millrace/core/domain/Delivery"
import type { DeliveryAnswer } from "@millrace/core/domain/DeliverySchedule"
import type { DeliveryOutcome } from "@millrace/core/domain/DeliveryStep"
import { AccountId, DeliveryId, RunId } from "@millrace/core/domain/Id"
import type { Claim, ClaimedDelivery, WebhookStore } from "@millrace/core/ports/WebhookStore"
import type * as DispatcherStep from "@millrace/webhooks/DispatcherStep"
import { Clock, Effect, Option } from "effect"
import { BrokenRule, DispatchRules } from "./DispatchRules.ts"
import type { DispatchAction, DispatchScenario } from "./DispatchScenario.ts"
import * as Dice from "./ModelDice.ts"
import { Time } from "./SimTime.ts"

/** What decides in the servers of a story. */
export type Decider = Pick<typeof DispatcherStep, "makeState" | "next" | "dueAt">

type Command = DispatcherStep.DispatcherCommand
type Job = Extract<Command, { readonly _tag: "Send" }>["job"]

/** How long a story may take, in simulated time. */
const horizonMillis = 5 * 3_600_000

/** How long a dispatcher tries to record what came of an attempt. */
const recordsFor = { delivered: 600_000, other: 8_000 }

interface Server {
  readonly slot: number
  /** No other one ever had it. */
  readonly number: number
  readonly state: DispatcherStep.DispatcherState
  isDead: boolean
  isStopped: boolean
  sleepsUntil: number
}

/** What a story came to. */
export interface DispatchOutcome {
  readonly violation: string | undefined
  /** How many requests were sent, and calls carried out. */
  readonly requests: number
  readonly calls: number
}

/** One story in play. */
export class DispatchWorld {
  readonly #scenario: DispatchScenario
  readonly #decider: Decider
  readonly #store: WebhookStore["Service"]
  readonly #dice: Dice.Dice
  readonly #time = new Time()
  readonly #begun = this.#time.now
  readonly #rules: DispatchRules
  readonly #servers = new Map<number, Server>()
  readonly #deliveries: Array<Delivery> = []
  #numbers = 0
  #calls = 0
  #awayUntil = 0

  constructor(scenario: DispatchScenario, decider: Decider, store: WebhookStore["Service"]) {
    this.#scenario = scenario
    this.#decider = decider
    this.#store = store
    this.#dice = Dice.make(scenario.seed + 1_000_003)
    this.#rules = new DispatchRules(scenario.options)
  }

  play(): DispatchOutcome {
    try {
      for (let slot = 0; slot < this.#scenario.servers; slot++) this.#start(slot)
      for (const action of this.#scenario.actions) {
        this.#time.after(action.at, () => this.#act(action))
      }
      const last = Math.max(...this.#scenario.actions.map(({ at }) => at))
      while (this.#elapsed < horizonMillis && this.#time.proceed()) {
        if (this.#elapsed > last && this.#calls % 64 === 0 && this.#isAtRest()) break
      }
      for (const { id } of this.#deliveries) {
        const found = this.#ask(this.#store.find(null, id))
        this.#rules.ended(Option.getOrThrow(found), this.#time.now)
      }
      return this.#outcome(undefined)
    } catch (error) {
      if (error instanceof BrokenRule) return this.#outcome(error.message)
      throw error
    }
  }

  #outcome(violation: string | undefined): DispatchOutcome {
    return { violation, requests: this.#rules.requests, calls: this.#calls }
  }

  get #elapsed(): number {
    return this.#time.now - this.#begun
  }

  #isAtRest(): boolean {
    const open = this.#ask(this.#store.list({ account: null, state: "PENDING", limit: 1 }))
    return open.items.length === 0
  }

  /** A call of the store at the time that it is. */
  #ask<A, E>(call: Effect.Effect<A, E>): A {
    const now = () => this.#time.now
    const clock: Clock.Clock = {
      currentTimeMillisUnsafe: now,
      currentTimeMillis: Effect.sync(now),
      currentTimeNanosUnsafe: () => BigInt(now()) * 1_000_000n,
      currentTimeNanos: Effect.sync(() => BigInt(now()) * 1_000_000n),
      monotonicTimeNanosUnsafe: () => BigInt(now()) * 1_000_000n,
      monotonicTimeNanos: Effect.sync(() => BigInt(now()) * 1_000_000n),
      sleep: () => Effect.void,
    }
    return Effect.runSync(Effect.provideService(Effect.orDie(call), Clock.Clock, clock))
  }

  #latency(): number {
    return 1 + this.#dice.below(this.#scenario.latencyMillis)
  }

  #start(slot: number): void {
    const state = this.#decider.makeState(this.#scenario.options)
    const sleepsUntil = Number.POSITIVE_INFINITY
    const number = (this.#numbers += 1)
    const server: Server = { slot, number, state, sleepsUntil, isDead: false, isStopped: false }
    this.#servers.set(slot, server)
    this.#sleep(server)
  }

  #end(server: Server, forMillis: number): void {
    if (server.isDead) return
    server.isDead = true
    this.#rules.died(server.number, this.#time.now)
    this.#time.after(forMillis, () => this.#start(server.slot))
  }

  #act(action: DispatchAction): void {
    switch (action._tag) {
      case "Store":
        return this.#storeAll(action)
      case "Crash":
        return this.#end(this.#servers.get(action.server)!, action.forMillis)
      case "Stop": {
        const server = this.#servers.get(action.server)!
        if (server.isDead || server.isStopped) return
        this.#tell(server, { _tag: "Stopped" })
        server.isStopped = true
        const { graceMillis } = this.#scenario.options
        this.#time.after(graceMillis, () => this.#end(server, action.forMillis))
        return
      }
      case "Away":
        this.#awayUntil = Math.max(this.#awayUntil, this.#time.now + action.forMillis)
        // What cannot be recorded may be forgotten.
        this.#rules.isFaultFree = false
        return
      case "Redeliver": {
        const delivery = this.#deliveries[action.nth % Math.max(1, this.#deliveries.length)]
        if (delivery === undefined) return
        this.#ask(this.#store.redeliver(null, delivery.id))
        this.#rules.redelivered(delivery)
      }
    }
  }

  #storeAll(action: Extract<DispatchAction, { readonly _tag: "Store" }>): void {
    const made = Array.from({ length: action.count }, (): Delivery => {
      const number = String(this.#deliveries.length).padStart(4, "0")
      const origin = `https://${action.origin}.example`
      const delivery: Delivery = {
        id: DeliveryId.make(`msg_${number}`),
        accountId: AccountId.make(`acc_${action.account}`),
        runId: RunId.make(`run_${action.at}_${action.origin}_${action.account}`),
        sequence: 1,
        type: "run.started",
        url: `${origin}/`,
        origin,
        headers: null,
        body: "{}",
        createdAt: this.#time.now,
      }
      this.#deliveries.push(delivery)
      this.#rules.stored(delivery)
      this.#ask(this.#store.insert(delivery))
      return delivery
    })
    const server = this.#servers.get(action.server)!
    if (action.isTold) this.#tell(server, { _tag: "Arrived", deliveries: made })
  }

  #tell(server: Server, event: DispatcherStep.DispatcherEvent): void {
    if (server.isDead) return
    const random = () => this.#dice.below(2_001) / 1_000 - 1
    const context = { elapsed: this.#elapsed, now: this.#time.now, random }
    for (const command of this.#decider.next(server.state, event, context)) {
      this.#calls += 1
      if (this.#calls === this.#scenario.crashAt) this.#end(server, 1_000)
      if (server.isDead) return
      this.#perform(server, command)
    }
    this.#sleep(server)
  }

  #sleep(server: Server): void {
    const at = Math.max(this.#elapsed, this.#decider.dueAt(server.state))
    if (server.isDead) return
    if (at >= server.sleepsUntil) return
    server.sleepsUntil = at
    this.#time.after(at - this.#elapsed, () => {
      if (server.sleepsUntil !== at) return
      server.sleepsUntil = Number.POSITIVE_INFINITY
      this.#tell(server, { _tag: "Woke" })
      this.#sleep(server)
    })
  }

  #perform(server: Server, command: Command): void {
    switch (command._tag) {
      case "Claim": {
        return this.#call(server, () => this.#claim(command.deliveries))
      }
      case "Poll":
        return this.#call(server, () => this.#ask(this.#store.claimDue(command.request)))
      case "Send":
        return this.#send(server, command.job)
      case "Record":
        if (command.outcome.attempt === null || command.job.claimed.lostAt !== null) {
          this.#rules.handled(server.number, command.job.claimed, false)
        }
        return this.#record(server, command.job, command.outcome, this.#elapsed)
    }
  }

  /** Claims these; the dispatcher has their contents. */
  #claim(deliveries: ReadonlyArray<Delivery>): ReadonlyArray<ClaimedDelivery> {
    const { visibilityMillis } = this.#scenario.options
    const ids = deliveries.map(({ id }) => id)
    return this.#ask(this.#store.claim(ids, visibilityMillis)).map((claim: Claim) => {
      const delivery = deliveries.find(({ id }) => id === claim.id)!
      return { ...claim, delivery, createdAt: delivery.createdAt }
    })
  }

  /** A call for claims. It reaches the store after a while, and so does its answer the server. */
  #call(server: Server, call: () => ReadonlyArray<ClaimedDelivery>): void {
    this.#time.after(this.#latency(), () => {
      const isAway = this.#time.now < this.#awayUntil
      if (isAway) return this.#tell(server, { _tag: "Claimed", claims: [] })
      const claims = call()
      for (const claim of claims) this.#rules.claimed(claim, this.#time.now)
      this.#time.after(this.#latency(), () => {
        if (server.isDead) return
        this.#rules.heard(server.number, claims)
        this.#tell(server, { _tag: "Claimed", claims })
      })
    })
  }

  #send(server: Server, job: Job): void {
    const { claimed } = job
    const at = this.#time.now
    if (server.isStopped) throw new BrokenRule(`a server that stops sends nothing: ${claimed.id}`)
    this.#rules.handled(server.number, claimed, true)
    if (this.#dice.below(1_000) < this.#scenario.defects) {
      this.#rules.isFaultFree = false
      return void this.#time.after(1, () => {
        this.#tell(server, { _tag: "Sent", job, sent: undefined })
      })
    }
    this.#rules.sent(server.number, claimed, at)
    const { status, tookMillis } = this.#receive(claimed.delivery)
    this.#time.after(tookMillis, () => {
      if (server.isDead) return
      if (this.#dice.below(1_000) < this.#scenario.defects) {
        this.#rules.unknown(claimed, this.#time.now)
        return this.#tell(server, { _tag: "Over", job })
      }
      this.#rules.answered(claimed, status, this.#time.now)
      const answer: DeliveryAnswer =
        status === undefined
          ? { _tag: "Unanswered", error: "timeout" }
          : { _tag: "Answered", status, retryAfter: undefined }
      const error = status === undefined ? "timeout" : status < 300 ? null : "status"
      const log = { at, durationMillis: tookMillis, status: status ?? null, error, answer: null }
      this.#tell(server, {
        _tag: "Sent",
        job,
        sent: { answer, attempt: log as typeof Samples.attempted },
      })
    })
  }

  #receive({ origin }: Delivery): {
    readonly status: number | undefined
    readonly tookMillis: number
  } {
    const { options, receivers } = this.#scenario
    const { goneAt, refuses, slowAt, tookMillis: usual } = receivers[Number(origin[8])]!
    const [least, most] = this.#elapsed < slowAt ? usual : [10_000, 40_000]
    const tookMillis = least + this.#dice.below(most - least)
    if (tookMillis >= options.timeoutMillis) {
      return { status: undefined, tookMillis: options.timeoutMillis }
    }
    if (this.#elapsed >= goneAt) return { status: 410, tookMillis }
    return { status: this.#dice.chance(refuses) ? 500 : 204, tookMillis }
  }

  /** Records an outcome; a store that is away is asked again for a while. */
  #record(server: Server, job: Job, outcome: DeliveryOutcome, since: number): void {
    const { attempt: number, fence, id } = job.claimed
    this.#time.after(this.#latency(), () => {
      if (server.isDead) return
      if (this.#time.now < this.#awayUntil) {
        const patience = outcome.next._tag === "Delivered" ? recordsFor.delivered : recordsFor.other
        if (this.#elapsed - since > patience) {
          this.#rules.unknown(job.claimed, this.#time.now)
          return this.#tell(server, { _tag: "Over", job })
        }
        return void this.#time.after(1_000, () => this.#record(server, job, outcome, since))
      }
      const isOurs = this.#ask(this.#store.record({ ...outcome, id, fence, number }))
      if (isOurs && outcome.next._tag === "Failed" && outcome.next.isGone) {
        this.#rules.gone(job.claimed, this.#time.now)
      }
      this.#time.after(this.#latency(), () => {
        this.#tell(server, { _tag: "Over", job, ...(isOurs && { outcome }) })
      })
    })
  }
}
