/**
 * Triggers of several processes on one store: each time, and each end of a run that is followed,
 * starts one run, whatever goes wrong.
 */
import { withoutWebhooks } from "@millrace/core/engine/Engine"
import { GraphCache } from "@millrace/core/engine/GraphCache"
import { LargeValues } from "@millrace/core/engine/LargeValues"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { RunEndTriggers } from "@millrace/core/engine/RunEndTriggers"
import { Runner } from "@millrace/core/engine/Runner"
import { Runs } from "@millrace/core/engine/Runs"
import * as Schedules from "@millrace/core/engine/Schedules"
import { Triggers } from "@millrace/core/engine/Triggers"
import { Workflows } from "@millrace/core/engine/Workflows"
import { timesCounted, triggersPerClaim } from "@millrace/core/domain/Limits"
import type { Schedule } from "@millrace/core/domain/Trigger"
import { runIdAt } from "@millrace/core/domain/Trigger"
import type { Calendar } from "@millrace/core/ports/Calendar"
import { CurrentCalendar } from "@millrace/core/ports/Calendar"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { TriggerStore } from "@millrace/core/ports/TriggerStore"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Duration, Effect, Exit, Layer, Option, Scope } from "effect"
import { TestClock } from "effect/testing"
import { shifted } from "./ShiftedClock.ts"
import { account, digest, node, save, shared, types } from "./TestEngine.ts"

type Wrap = <A, E>(write: Effect.Effect<A, E>) => Effect.Effect<A, E | StorageError>

const asIs: Wrap = (write) => write

/**
 * A process over the shared store. `wrap` is around every claim of triggers, commit and advance,
 * `keep` around what keeps its lease.
 */
const boot = Effect.fnUntraced(function* (wrap: Wrap = asIs, keep: Wrap = asIs) {
  const scope = yield* Scope.make()
  const [runs, triggers] = [yield* RunStore, yield* TriggerStore]
  const stores = Layer.mergeAll(
    Layer.succeed(RunStore, {
      ...runs,
      commit: (commit) => wrap(runs.commit(commit)),
      claim: (claim) => keep(runs.claim(claim)),
      heartbeat: (...given) => keep(runs.heartbeat(...given)),
    }),
    Layer.succeed(TriggerStore, {
      ...triggers,
      claimDue: (claim) => wrap(triggers.claimDue(claim)),
      advance: (advances) => wrap(triggers.advance(advances)),
      finish: (ends) => wrap(triggers.finish(ends)),
    }),
  )
  const engine = Schedules.layer.pipe(
    Layer.provideMerge(Layer.merge(Triggers.layer, RunEndTriggers.layer)),
    Layer.provideMerge(Layer.mergeAll(Workflows.layer, Runs.layer)),
    Layer.provide(withoutWebhooks()),
    Layer.provideMerge(Runner.layer),
    Layer.provide([GraphCache.layer, LargeValues.layer, digest]),
    Layer.provide(NodeTypes.layer(...types)),
    Layer.provide(stores),
  )
  const context = yield* Layer.buildWithScope(Layer.fresh(engine), scope)
  return { context, stop: Scope.close(scope, Exit.void) }
})

const minute = 60_000

/** A new workflow of a process. */
const saved = ({ context }: { readonly context: Context.Context<Workflows> }) =>
  Effect.provide(save([node("a", "pass")]), context)

/** A schedule of every minute. */
const everyMinute = Effect.gen(function* () {
  const workflow = yield* save([node("a", "pass")])
  const { create } = yield* Triggers
  return yield* create(account, workflow.id, { everySeconds: 60 })
})

/** All runs that there are, as the minutes for which they were started. */
const startedSince = Effect.fnUntraced(function* (began: number) {
  const { list } = yield* RunStore
  const { items } = yield* list({ account, limit: 1_000 })
  return {
    minutes: items.map(({ id }) => {
      const at = Number.parseInt(id.slice(4, 17).replace("-", ""), 16)
      return (at - began) / minute
    }),
    completed: items.filter(({ status }) => status === "COMPLETED").length,
  }
})

const lost = new StorageError({ operation: "write", cause: new Error("lost") })

/** What becomes of a process at one of its writes; from then on it does nothing, or goes on. */
const faults: { readonly [name: string]: (write: Effect.Effect<unknown>) => Effect.Effect<never> } =
  {
    "dies before": () => Effect.never,
    "dies after": (write) => Effect.andThen(write, Effect.never),
    "hears nothing of": (write) => Effect.andThen(write, Effect.fail(lost) as Effect.Effect<never>),
    "cannot send": () => Effect.fail(lost) as Effect.Effect<never>,
  }

interface Scene {
  /** The process that has the fault. */
  readonly one: Effect.Success<ReturnType<typeof boot>>
  /** One that has none. */
  readonly other: Effect.Success<ReturnType<typeof boot>>
  /** Which write it is, for a failure. */
  readonly write: string
}

/** Plays a story once for each write of a process, which has the fault at that write. */
const atEachWrite = <E, R>(name: string, story: (scene: Scene) => Effect.Effect<void, E, R>) =>
  Effect.gen(function* () {
    let index = 0
    for (let isHit = true; isHit; index++) {
      const trial = Effect.gen(function* () {
        let count = 0
        let isDead = false
        const wrap: Wrap = (write) =>
          Effect.suspend(() => {
            if (isDead) return Effect.never
            if (count++ !== index) return write
            isDead = name.startsWith("dies")
            return faults[name]!(write as Effect.Effect<unknown>)
          })
        const one = yield* boot(wrap, (write) =>
          Effect.suspend(() => (isDead ? Effect.never : write)),
        )
        const other = yield* boot()
        yield* story({ one, other, write: `write ${index}` })
        yield* Effect.forkDetach(one.stop)
        yield* other.stop
        return count > index && index < 16
      })
      isHit = yield* Effect.provide(trial, shared())
    }
    assert.isAbove(index, 5)
  })

describe("Schedules", () => {
  for (const name of Object.keys(faults)) {
    it.effect(`start each time once where a process ${name} any of its writes`, () =>
      atEachWrite(name, ({ other, write }) =>
        Effect.gen(function* () {
          const began = yield* Clock.currentTimeMillis
          const schedule = yield* Effect.provide(everyMinute, other.context)
          const change = { everySeconds: 20, startAt: began + 20_000, endAt: began + 50_000 }
          yield* Context.get(other.context, Triggers).update(schedule, change)
          yield* TestClock.adjust("89 seconds")
          assert.deepStrictEqual(
            yield* startedSince(began),
            { minutes: [40 / 60, 20 / 60], completed: 2 },
            write,
          )
        }),
      ),
    )
  }

  it.effect("record no time as missed that has a run, also where nobody could note the start", () =>
    Effect.gen(function* () {
      const began = yield* Clock.currentTimeMillis
      let hasClaimed = false
      let isDead = false
      const dying: Wrap = (write) =>
        Effect.suspend(() => {
          // The claim, the start of the run, and then the note of it.
          if (isDead) return Effect.never
          isDead = hasClaimed
          return Effect.tap(write, (answer) => {
            const { triggers = [] } = (answer ?? {}) as { readonly triggers?: Array<unknown> }
            hasClaimed = hasClaimed || triggers.length > 0
            return Effect.void
          })
        })
      const one = yield* boot(dying, (write) =>
        Effect.suspend(() => (isDead ? Effect.never : write)),
      )
      const { accountId, id, workflowId } = yield* Effect.provide(everyMinute, one.context)
      yield* TestClock.adjust("239 seconds")
      assert.deepStrictEqual((yield* startedSince(began)).minutes, [1])
      const other = yield* boot()
      yield* TestClock.adjust("1 seconds")
      const { get } = Context.get(other.context, Triggers)
      const trigger = yield* get({ accountId, id, workflowId })
      assert.deepStrictEqual((yield* startedSince(began)).minutes, [4, 3, 1])
      assert.deepInclude(trigger, { missed: 1, lastMissedAt: began + 2 * minute })
      yield* Effect.forkDetach(one.stop)
      yield* other.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect(
    "start nothing for a time that was recorded as missed while a process stood still",
    () =>
      Effect.gen(function* () {
        const began = yield* Clock.currentTimeMillis
        let hasClaimed = false
        const slow: Wrap = (write) =>
          Effect.suspend(() => {
            const late = hasClaimed ? Effect.delay(write, "5 minutes") : write
            return Effect.tap(late, (answer) => {
              const { triggers = [] } = (answer ?? {}) as { readonly triggers?: Array<unknown> }
              hasClaimed = hasClaimed || triggers.length > 0
              return Effect.void
            })
          })
        const one = yield* boot(slow)
        const { accountId, id, workflowId } = yield* Effect.provide(everyMinute, one.context)
        yield* TestClock.adjust("150 seconds")
        const other = yield* boot()
        yield* TestClock.adjust("300 seconds")
        const { get } = Context.get(other.context, Triggers)
        const trigger = yield* get({ accountId, id, workflowId })
        assert.deepStrictEqual((yield* startedSince(began)).minutes, [7, 6, 5, 4, 3, 2])
        assert.deepInclude(trigger, { missed: 1, lastMissedAt: began + minute })
        yield* Effect.forkDetach(one.stop)
        yield* other.stop
      }).pipe(Effect.provide(shared())),
  )

  it.effect("skip for ever what was skipped before a later run, and note that run as started", () =>
    Effect.gen(function* () {
      const began = yield* Clock.currentTimeMillis
      const one = yield* boot()
      const schedule = yield* Effect.provide(everyMinute, one.context)
      const { accountId, id, workflowId } = schedule
      const wish = { catchUp: "all", overlap: "skip" } as const
      yield* Context.get(one.context, Triggers).update(schedule, wish)
      // As a process leaves it that has started the first time and the third one, and then dies.
      const { startAs } = Context.get(one.context, Runs)
      for (const at of [began + minute, began + 3 * minute]) {
        const request = { workflowId, source: "schedule" as const, triggerId: id }
        yield* startAs(account, request, { runId: runIdAt(id, at) })
      }
      yield* TestClock.adjust("1 seconds")
      yield* one.stop
      yield* TestClock.adjust("3 minutes")
      const other = yield* boot()
      yield* TestClock.adjust("1 seconds")
      const { get } = Context.get(other.context, Triggers)
      const trigger = yield* get({ accountId, id, workflowId })
      assert.deepStrictEqual((yield* startedSince(began)).minutes, [3, 1])
      const [skipped, last] = [began + 2 * minute, began + 3 * minute]
      assert.deepInclude(trigger, { missed: 1, lastMissedAt: skipped, lastAt: last })
      yield* other.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("catch up no time of a pause of all triggers that no process has seen", () =>
    Effect.gen(function* () {
      const began = yield* Clock.currentTimeMillis
      const one = yield* boot()
      const schedule = yield* Effect.provide(everyMinute, one.context)
      yield* Context.get(one.context, Triggers).update(schedule, { catchUp: "all" })
      yield* one.stop
      const store = yield* TriggerStore
      yield* TestClock.adjust("119 seconds")
      yield* store.pause(account, began + 119_000)
      yield* TestClock.adjust("70 seconds")
      yield* store.resume(account, began + 189_000)
      yield* TestClock.adjust("60 seconds")
      const other = yield* boot()
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual((yield* startedSince(began)).minutes, [4])
      const found = yield* Context.get(other.context, Triggers).get(schedule)
      // Before the pause was a time that nobody has started; it is not caught up, but counted.
      const lastError = "All triggers were paused before it was started"
      const missed = { missed: 1, lastMissedAt: began + minute, lastError }
      assert.deepInclude(found, { ...missed, nextAt: began + 5 * minute })
      yield* other.stop
    }).pipe(Effect.provide(shared())),
  )

  for (const name of Object.keys(faults)) {
    it.effect(`start one run after an end where a process ${name} any of its writes`, () =>
      atEachWrite(name, ({ one, other, write }) =>
        Effect.gen(function* () {
          const [first, second] = [yield* saved(other), yield* saved(other)]
          const { create } = Context.get(other.context, RunEndTriggers)
          const trigger = yield* create(account, second.id, { watch: first.id })
          const { start } = Context.get(one.context, Runs)
          yield* Effect.forkDetach(Effect.ignore(start(account, { workflowId: first.id })))
          yield* TestClock.adjust("89 seconds")
          const { items } = yield* (yield* RunStore).list({ account, limit: 10 })
          const begun = items.filter(({ source }) => source === "api").map(({ id }) => id)
          const followers = items.filter(({ source }) => source === "run_end")
          assert.deepStrictEqual(
            followers.map(({ after, status }) => `${after?.runId} ${status}`),
            begun.map((id) => `${id} COMPLETED`),
            write,
          )
          const noted = Option.getOrThrow(yield* (yield* TriggerStore).find(trigger))
          const last = noted.type === "run_end" ? noted.lastRunId : undefined
          assert.strictEqual(last, followers[0]?.id ?? null, write)
        }),
      ),
    )
  }

  it.effect("share what is due, and start each time once", () =>
    Effect.gen(function* () {
      const processes = [yield* boot(), yield* boot(), yield* boot()]
      const { context } = processes[0]!
      const workflow = yield* Effect.provide(save([node("a", "pass")]), context)
      const { create } = Context.get(context, Triggers)
      for (let n = 0; n < 90; n++) yield* create(account, workflow.id, { everySeconds: 60 })
      yield* TestClock.adjust("190 seconds")
      const { completed, minutes } = yield* startedSince(0)
      assert.strictEqual(completed, 270)
      assert.lengthOf(minutes, 270)
      for (const { stop } of processes) yield* stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect(
    "start each time once where the clock of the store goes back, and jumps far ahead",
    () =>
      Effect.gen(function* () {
        let ahead = 0
        const real = yield* Clock.Clock
        const clock = shifted(real, () => ahead)
        const story = Effect.gen(function* () {
          const began = yield* Clock.currentTimeMillis
          const [one, two] = [yield* boot(), yield* boot()]
          const trigger = yield* Effect.provide(everyMinute, one.context)
          const minutesAfter = Effect.fnUntraced(function* (duration: Duration.Input) {
            yield* Effect.provideService(TestClock.adjust(duration), Clock.Clock, real)
            return (yield* startedSince(began)).minutes
          })
          assert.deepStrictEqual(yield* minutesAfter("3 minutes"), [3, 2, 1])
          ahead = -2 * minute
          assert.deepStrictEqual(yield* minutesAfter("150 seconds"), [3, 2, 1])
          assert.deepStrictEqual(yield* minutesAfter("1 minute"), [4, 3, 2, 1])
          const [year, month] = [527_040, 43_200]
          ahead = (year + month) * minute
          const late = yield* minutesAfter("2 minutes")
          const inTime = late.slice(0, -4)
          const first = year + month + 6
          assert.deepStrictEqual(inTime, [first + 2, first + 1, first])
          assert.deepStrictEqual(late.slice(-4), [4, 3, 2, 1])
          const found = yield* TriggerStore.use(({ find }) => find(trigger))
          assert.strictEqual((Option.getOrThrow(found) as Schedule).missed, timesCounted - 1)
          // All times up to the next one had their turn, until somebody sets the schedule anew.
          ahead = 0
          assert.deepStrictEqual(yield* minutesAfter("5 minutes"), late)
          const { update } = Context.get(one.context, Triggers)
          for (const enabled of [false, true]) yield* update(trigger, { enabled })
          assert.deepStrictEqual((yield* minutesAfter("1 minute")).length, late.length + 1)
          for (const { stop } of [one, two]) yield* stop
        })
        yield* story.pipe(Effect.provide(shared()), Effect.provideService(Clock.Clock, clock))
      }),
  )

  it.effect("start all that is due at a moment then, however much that is", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const began = clock.currentTimeMillisUnsafe()
      // As with a real one, a sleep of no time ends behind what is there already.
      const real = Object.assign(
        shifted(clock, () => 0),
        {
          sleep: (duration: Duration.Duration) =>
            Duration.isZero(duration)
              ? Effect.repeat(Effect.yieldNow, { times: 5 })
              : clock.sleep(duration),
        },
      )
      const story = Effect.gen(function* () {
        const { context, stop } = yield* boot()
        const { create } = Context.get(context, Triggers)
        const [workflows, each] = [triggersPerClaim / 20, 50]
        const count = workflows * each
        assert.isAbove(count, 2 * triggersPerClaim)
        for (let n = 0; n < workflows; n++) {
          const { id } = yield* Effect.provide(save([node("a", "pass")]), context)
          for (let m = 0; m < each; m++) yield* create(account, id, { everySeconds: 60 })
        }
        yield* Effect.provideService(TestClock.adjust("60 seconds"), Clock.Clock, clock)
        const { items } = yield* RunStore.use(({ list }) => list({ account, limit: 1_000 }))
        assert.lengthOf(items, count)
        assert.isTrue(items.every(({ createdAt }) => createdAt === began + minute))
        yield* stop
      })
      yield* story.pipe(Effect.provide(shared()), Effect.provideService(Clock.Clock, real))
    }),
  )

  it.effect(
    "go on with the others where the times of one cannot be computed, and try it again",
    () =>
      Effect.suspend(() => {
        let isBroken = false
        const calendar: Calendar = {
          problemOf: () => undefined,
          next: (_, after) => {
            if (isBroken) throw new Error("broken on purpose")
            return after - (after % minute) + minute
          },
          previous: () => [],
        }
        const story = Effect.gen(function* () {
          const { context, stop } = yield* boot()
          const workflow = yield* Effect.provide(save([node("a", "pass")]), context)
          const { create } = Context.get(context, Triggers)
          const broken = yield* create(account, workflow.id, { cron: "* * * * *" })
          const others = yield* Effect.all([
            create(account, workflow.id, { everySeconds: 60 }),
            create(account, workflow.id, { everySeconds: 60 }),
          ])
          const started = Effect.map(
            RunStore.use(({ list }) => list({ account, limit: 1_000 })),
            ({ items }) => items.map(({ triggerId }) => triggerId ?? "").toSorted(),
          )
          const ids = (...all: ReadonlyArray<Schedule>) => all.map(({ id }) => id).toSorted()
          isBroken = true
          yield* TestClock.adjust("61 seconds")
          assert.deepStrictEqual(yield* started, ids(...others))
          isBroken = false
          yield* TestClock.adjust("20 seconds")
          assert.deepStrictEqual(yield* started, ids(...others, broken))
          yield* stop
        })
        return story.pipe(
          Effect.provide(shared()),
          Effect.provideService(CurrentCalendar, calendar),
        )
      }),
  )

  it.effect("look once a second at most, and every few seconds if nothing is due", () =>
    Effect.gen(function* () {
      let looks = 0
      const counted = yield* boot((write) => {
        looks++
        return write
      })
      yield* TestClock.adjust("100 seconds")
      assert.isAtMost(looks, 21)
      const { create } = Context.get(counted.context, Triggers)
      const { id } = yield* Effect.provide(save([node("a", "pass")]), counted.context)
      for (let n = 0; n < 50; n++) {
        yield* create(account, id, { everySeconds: 3_600, jitterSeconds: 3_600 })
      }
      looks = 0
      yield* TestClock.adjust("100 seconds")
      assert.isAtMost(looks, 30)
      yield* counted.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("start nothing of a process that drains, and leave it to others", () =>
    Effect.gen(function* () {
      const began = yield* Clock.currentTimeMillis
      const [one, two] = [yield* boot(), yield* boot()]
      yield* Effect.provide(everyMinute, one.context)
      yield* Context.get(one.context, Runner).drain(0)
      yield* TestClock.adjust("130 seconds")
      assert.deepStrictEqual((yield* startedSince(began)).minutes, [2, 1])
      yield* two.stop
      yield* one.stop
    }).pipe(Effect.provide(shared())),
  )
})
