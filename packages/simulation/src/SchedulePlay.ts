/**
 * Plays a scenario of schedules: three servers over one store, in simulated time, until no schedule
 * is due any more and every run has ended; or until a rule is broken. Runs of a second workflow
 * follow the ends of the first one's, and runs of a third one those of the second.
 *
 * Guarantees: synchronous, and the same scenario is played the same way every time. Leaves out:
 * cron texts, which follow a calendar; and what must hold of the runs, which the simulation of
 * single runs judges.
 */
import { missedEvent } from "@millrace/core/domain/EventType"
import { AccountId, TriggerId, WorkflowId } from "@millrace/core/domain/Id"
import { isTerminal } from "@millrace/core/domain/Run"
import type { RunEndTrigger } from "@millrace/core/domain/RunEndTrigger"
import type { Schedule } from "@millrace/core/domain/Trigger"
import { neverStarted } from "@millrace/core/domain/TriggerFacts"
import type { ScheduleWebhook, Webhook } from "@millrace/core/domain/Webhook"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import type { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { TriggerStore } from "@millrace/core/ports/TriggerStore"
import type { ValueStore } from "@millrace/core/ports/ValueStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { epoch } from "@millrace/conformance/Samples"
import { Cause, Context, Effect, Exit, type Layer, Option } from "effect"
import { Fleet } from "./Fleet.ts"
import { brokenFollowingOf, unfollowedOf } from "./FollowRules.ts"
import type { Pause } from "./SchedulePauses.ts"
import { brokenScheduleOf, type Era } from "./ScheduleRules.ts"
import type { PlannedSchedule, ScheduleAction, ScheduleScenario } from "./ScheduleScenario.ts"
import { diceFor } from "./SimBehavior.ts"
import { askedOf, brokenContentOf, EditedWorkflow } from "./SimContents.ts"
import { response } from "./TreeNodes.ts"

const account = AccountId.make("acc_1")
const workflowId = WorkflowId.make("wf_1")

/** What every schedule tells of the times that it misses. The store of each has it. */
const webhook: ScheduleWebhook = {
  url: "https://receiver.example/",
  origin: "https://receiver.example",
  events: [missedEvent],
  metadata: null,
  headers: null,
}

/** The webhook of runs that follow. No such run has this event. */
const webhookOfFollowers: Webhook = { ...webhook, events: ["node.failed"] }

/** A trigger by which runs of one workflow follow those of another one. */
const following = (
  id: string,
  watch: string,
  follower: string,
  version: RunEndTrigger["version"],
): RunEndTrigger => ({
  ...neverStarted,
  id: TriggerId.make(id),
  accountId: account,
  workflowId: WorkflowId.make(follower),
  type: "run_end",
  watch: WorkflowId.make(watch),
  on: ["COMPLETED", "FAILED", "CANCELED"],
  into: { runId: "runId", status: "status" },
  values: {},
  version,
  webhook: webhookOfFollowers,
  enabled: true,
  createdAt: epoch,
  updatedAt: epoch,
})

const followersOf = (version: RunEndTrigger["version"]) => [
  following("trg_second", "wf_1", "wf_2", version),
  following("trg_third", "wf_2", "wf_3", version),
]

/** The stores that this simulation needs. They answer at once and follow Effect's clock. */
export type ScheduleStores = Layer.Layer<
  RunStore | WorkflowStore | LedgerStore | ValueStore | TriggerStore | WebhookStore
>

/** What a play came to. */
export interface ScheduleOutcome {
  /** What went wrong, if anything did. */
  readonly broken: string | undefined
  readonly trace: ReadonlyArray<string>
  readonly runs: number
}

/** What the event of missed times says. */
interface MissedTimes {
  readonly triggerId: TriggerId
  readonly missed: number
}

const roundMillis = 2_000
const roundsAtMost = 1_000

/** The only node: it takes a while, for some runs so long that later times come meanwhile. */
const workOf = (seed: number) =>
  define({
    key: "work",
    inputs: {},
    outputs: {},
    run: () =>
      Effect.gen(function* () {
        const { runId } = yield* CurrentNode
        yield* Effect.sleep(diceFor(seed, runId).of([0, 0, 50, 2_000, 9_000, 30_000, 90_000]))
        return {}
      }),
  })

/** The node of runs that follow. */
const quick = define({ key: "quick", inputs: {}, outputs: {}, run: () => Effect.succeed({}) })

const timingOf = ({ enabled, endAt, everySeconds, startAt }: Schedule): string =>
  JSON.stringify([enabled, endAt, everySeconds, startAt])

class SchedulePlay {
  readonly fleet: Fleet<TriggerStore | WebhookStore>
  readonly #scenario: ScheduleScenario
  /** What every trigger asks for. */
  readonly #version: Schedule["version"]
  readonly #followers: ReadonlyArray<RunEndTrigger>
  readonly #eras = new Map<TriggerId, Array<Era>>()
  /** The ids of those schedules whose making was answered for, by their places. */
  readonly #ids = new Map<number, TriggerId>()
  readonly #pauses: Array<Pause> = []
  /** When everybody was asleep for a while. */
  readonly #leaps: Array<number> = []
  #isOver = false
  #rounds = 0

  constructor(scenario: ScheduleScenario, stores: ScheduleStores) {
    this.#scenario = scenario
    const { actions, seed, setup } = scenario
    this.fleet = new Fleet({
      seed,
      setup,
      stores,
      types: [workOf(seed), quick, response],
      strikes: actions.filter((action) => action._tag === "Strike"),
      onCommit: () => undefined,
      triggers: (all) => this.#watched(Context.get(all, TriggerStore)),
    })
    this.#version = askedOf(scenario.content) ?? null
    this.#followers = followersOf(this.#version)
    this.#draw(workflowId, "work")
    const triggers = Context.get(this.fleet.stores, TriggerStore)
    for (const each of this.#followers) {
      this.#draw(each.workflowId, "quick")
      Effect.runSync(Effect.orDie(triggers.insert(each)))
    }
  }

  /** Stores a workflow of one node. */
  #draw(id: WorkflowId, type: string): void {
    const node = { id: "n", type, position: { x: 0, y: 0 }, data: { inputs: {} } }
    const drawing = { nodes: [node], edges: [], settings: {} }
    const { content } = this.#scenario
    const head = { id, accountId: account, name: "Work" }
    const store = Context.get(this.fleet.stores, WorkflowStore)
    new EditedWorkflow(store, head).begin(drawing, content)
  }

  play(): void {
    const { fleet } = this
    for (const [place, schedule] of this.#scenario.schedules.entries()) {
      fleet.time.after(schedule.at, () => this.#create(schedule, place))
    }
    for (const action of this.#scenario.actions) {
      if (action._tag !== "Strike") fleet.time.after(action.at, () => this.#act(action))
    }
    fleet.time.after(this.#scenario.healedAt, () => {
      fleet.isHarsh = false
      this.#look()
    })
    fleet.play(() => this.#isOver)
  }

  /** The store, of which every change is noted when it is there. */
  #watched(store: TriggerStore["Service"]): TriggerStore["Service"] {
    return TriggerStore.of({
      ...store,
      insert: (trigger) =>
        Effect.tap(store.insert({ ...(trigger as Schedule), webhook }), () =>
          this.#begin(trigger as Schedule, 0),
        ),
      replace: (trigger) =>
        Effect.gen({ self: this }, function* () {
          const before = Option.getOrUndefined(yield* store.find(trigger)) as Schedule | undefined
          const isDone = yield* store.replace(trigger)
          const next = trigger as Schedule
          if (!isDone || timingOf(before!) === timingOf(next)) return isDone
          this.#end(trigger.id, false)
          yield* this.#begin(next, before!.missed)
          return isDone
        }),
      remove: (key) =>
        Effect.tap(store.remove(key), (isDone) =>
          Effect.sync(() => {
            if (isDone) this.#end(key.id, true)
          }),
        ),
      pause: (of, at) => Effect.tap(store.pause(of, at), (since) => this.#paused(since)),
      resume: (of, at) => Effect.tap(store.resume(of, at), () => this.#resumed(at)),
    })
  }

  #begin(schedule: Schedule, missedBefore: number): Effect.Effect<void> {
    return Effect.sync(() => {
      const { enabled, everySeconds, id, nextAt } = schedule
      this.fleet.say(() => `${id} every ${everySeconds} s, ${enabled}, next ${nextAt}`)
      const era = { schedule, missedBefore, endedAt: Infinity, isRemoved: false }
      const known = this.#eras.get(id)
      if (known === undefined) this.#eras.set(id, [era])
      else known.push(era)
    })
  }

  #paused(since: number): Effect.Effect<void> {
    return Effect.sync(() => {
      if (this.#pauses.at(-1)?.endedAt === Infinity) return
      this.fleet.say(() => `all triggers are paused since ${since}`)
      const storedAt = this.fleet.time.now
      this.#pauses.push({ since, storedAt, until: Infinity, endedAt: Infinity })
    })
  }

  #resumed(at: number): Effect.Effect<void> {
    return Effect.sync(() => {
      const last = this.#pauses.at(-1)
      if (last?.endedAt !== Infinity) return
      this.fleet.say(() => `all triggers are resumed since ${at}`)
      last.until = at
      last.endedAt = this.fleet.time.now
    })
  }

  /** Pauses or resumes all triggers, and asks again until that is answered. */
  #pause(slot: number, wanted: boolean): void {
    const server = this.fleet.near(slot)
    const again = () => void this.fleet.time.after(500, () => this.#pause(slot, wanted))
    if (server === undefined) return again()
    const { pause, resume } = server.triggers!
    const asked = Effect.exit(wanted ? pause(account) : resume(account))
    server.run(Effect.map(asked, (exit) => (Exit.isSuccess(exit) ? undefined : again())))
  }

  #end(id: TriggerId, isRemoved: boolean): void {
    const era = this.#eras.get(id)!.at(-1)!
    era.endedAt = this.fleet.time.now
    era.isRemoved = isRemoved
  }

  #create(planned: PlannedSchedule, place: number): void {
    const { fleet } = this
    const server = fleet.near(planned.server)
    if (server === undefined) {
      fleet.time.after(500, () => this.#create(planned, place))
      return
    }
    const { at: _, endAt, server: __, startAt, ...settings } = planned
    const begin = startAt === null ? null : epoch + startAt
    const version = this.#version
    const wish = { ...settings, startAt: begin, endAt: epoch + endAt, values: { place }, version }
    const created = server.triggers!.create(account, workflowId, wish)
    server.run(
      Effect.map(
        Effect.exit(created),
        Exit.match({
          onSuccess: ({ id }) => void this.#ids.set(place, id),
          onFailure: (cause) => this.#refused(`create ${place}`, cause),
        }),
      ),
    )
  }

  #act(action: Exclude<ScheduleAction, { readonly _tag: "Strike" }>): void {
    const { fleet } = this
    if (action._tag === "Hit") return fleet.hit(action.server, action.blow)
    if (action._tag === "Leap") {
      fleet.say(() => `everybody is asleep for ${action.millis} ms`)
      this.#leaps.push(fleet.time.now)
      return fleet.time.leap(action.millis)
    }
    if (action._tag === "PauseAll") {
      const { millis, server } = action
      this.#pause(server, true)
      if (millis !== null) fleet.time.after(millis, () => this.#pause(server, false))
      return
    }
    const id = this.#ids.get(action.schedule)
    const triggers = fleet.near(action.server)?.triggers
    if (id === undefined || triggers === undefined) return
    const key = { accountId: account, workflowId, id }
    const { change } = action
    const wish =
      typeof change === "number" ? { everySeconds: change } : { enabled: change === "on" }
    const asked = change === "remove" ? triggers.remove(key) : triggers.update(key, wish)
    fleet.near(action.server)!.run(
      Effect.map(
        Effect.exit(asked),
        Exit.match({
          onSuccess: () => undefined,
          onFailure: (cause) => this.#refused(`change ${id}`, cause),
        }),
      ),
    )
  }

  /** A schedule may have no time left, be gone, or not reach the store. */
  #refused(what: string, cause: Cause.Cause<unknown>): void {
    const error = Cause.squash(cause) as { readonly _tag?: string; readonly message?: string }
    this.fleet.say(() => `${what}: ${error.message}`)
    const isFair =
      error._tag === "StorageError" ||
      error._tag === "TriggerNotFound" ||
      error.message === "endAt: there is no time left before it"
    if (!isFair) this.fleet.broken ??= `a schedule is accepted: ${what}: ${error.message}`
  }

  /** The triggers that follow runs, as they are now. */
  #followersNow(): ReadonlyArray<RunEndTrigger> {
    const { find } = Context.get(this.fleet.stores, TriggerStore)
    return this.#followers.map(
      (key) => Option.getOrThrow(Effect.runSync(Effect.orDie(find(key)))) as RunEndTrigger,
    )
  }

  /** Of how many missed times of each schedule there are deliveries. */
  #told(): ReadonlyMap<TriggerId, number> {
    const store = Context.get(this.fleet.stores, WebhookStore)
    const { items } = Effect.runSync(Effect.orDie(store.list({ account, limit: 10_000 })))
    const told = new Map<TriggerId, number>()
    for (const { id } of items) {
      const found = Option.getOrThrow(Effect.runSync(Effect.orDie(store.find(account, id))))
      const { data } = JSON.parse(found.body) as { readonly data: MissedTimes }
      told.set(data.triggerId, (told.get(data.triggerId) ?? 0) + data.missed)
    }
    return told
  }

  /** Looks after what is left. */
  #look(): void {
    this.#rounds += 1
    const { fleet } = this
    const { isFaultFree, setup } = this.#scenario
    const stores = fleet.stores
    const { items: runs } = Effect.runSync(
      Effect.orDie(Context.get(stores, RunStore).list({ account, limit: 10_000 })),
    )
    const all = Effect.runSync(Context.get(stores, TriggerStore).list(account, workflowId))
    const schedules = new Map(all.map((each) => [each.id, each as Schedule]))
    const isDone = [...schedules.values()].every(
      ({ nextAt, waitingAt }) => nextAt === null && waitingAt === null,
    )
    const slackMillis = 2 * setup.latencyMillis
    const pauses = this.#pauses
    const followed = { triggers: this.#followersNow(), runs, pauses, slackMillis }
    const areEnded = runs.every(({ status }) => isTerminal(status))
    const isLast = this.#rounds > roundsAtMost
    if (isDone && areEnded && (isLast || unfollowedOf(followed).length === 0)) {
      this.#isOver = true
      const own = runs.filter((run) => run.workflowId === workflowId)
      const told = this.#told()
      const rest = { pauses, leaps: this.#leaps, isFaultFree, slackMillis }
      const judged = { eras: this.#eras, schedules, runs: own, told, ...rest }
      fleet.broken =
        brokenScheduleOf(judged) ??
        brokenFollowingOf(followed) ??
        brokenContentOf(this.#scenario.content, runs)
    } else if (isLast) {
      const open = runs.find(({ status }) => !isTerminal(status))
      const left = JSON.stringify([open, ...schedules.values()])
      fleet.broken = `schedules and their runs end: ${left}`
    } else fleet.time.after(roundMillis, () => this.#look())
  }
}

/** Plays a scenario to its end. */
export const playSchedules = (
  scenario: ScheduleScenario,
  stores: ScheduleStores,
): ScheduleOutcome => {
  const one = new SchedulePlay(scenario, stores)
  one.play()
  const { broken, stores: context, trace } = one.fleet
  const runs = Effect.runSync(
    Effect.orDie(Context.get(context, RunStore).list({ account, limit: 10_000 })),
  )
  return { broken, trace, runs: runs.items.length }
}
