/**
 * What every run store must do about runs whose owners are gone: which losses it records, whom it
 * lets take suspects, and what it takes back. See `RunStore.claim` and decision 0054.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import type { RunnerId } from "@millrace/core/domain/Id"
import { RunId } from "@millrace/core/domain/Id"
import type { Run, RunRecord } from "@millrace/core/domain/Run"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect } from "effect"
import { started, claim, hourMillis, longAgo, orphan, parked, quiet, runOf } from "../RunScenes.ts"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<RunStore>

const at = Samples.epoch

/** What handlers left behind, in a form in which a careless store cannot read it. */
const state = { "\u0000": ["\u0000", "\ud800", "\\u0000", "😀"] }

/** Two attempts in progress, one of which was suspended before. */
const atWork: Run["active"] = [
  { ordinal: 1, attempt: 1, startedAt: at },
  { ordinal: 0, attempt: 2, startedAt: at, state },
]

const idsOf = (records: ReadonlyArray<RunRecord>): ReadonlyArray<RunId> =>
  records.map(({ run }) => run.id)

/** Without times, which the store's clock decides. */
const lossesOf = ({ losses }: Run): ReadonlyArray<unknown> =>
  losses.map(({ lostAt: _, ...loss }) => loss)

const died = (runner: RunnerId) => ({ runner, nodes: [1, 0], cause: "died" })

const busyOrphan = (samples: Samples.Samples, change?: Partial<Run>) =>
  orphan(samples, { active: atWork, ...change })

/** Ends the lease of a runner as its death does. */
const die = Effect.fnUntraced(function* (runner: RunnerId) {
  yield* (yield* RunStore).heartbeat(runner, 0)
})

/** A run that has lost so many owners, and that nobody owns. */
const suspect = Effect.fnUntraced(function* (
  samples: Samples.Samples,
  losses: number,
  change?: Partial<Run>,
) {
  const store = yield* RunStore
  const run = yield* busyOrphan(samples, change)
  let owner = samples.runner()
  for (let n = 1; n <= losses; n++) {
    owner = samples.runner()
    const others = (yield* store.suspects(99)).map(({ record }) => record.run.id)
    yield* claim(owner, 99, { except: others.filter((id) => id !== run.id) })
    if (n < losses) yield* die(owner)
  }
  yield* store.requeue(owner, [run.id])
  return yield* runOf(run)
})

const records = (it: Tests): void => {
  it.effect("records an owner that died, and which nodes were in progress", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const run = yield* busyOrphan(samples)
      const [first, second] = [samples.runner(), samples.runner()]
      const [record] = yield* claim(first, 9)
      assert.deepStrictEqual(lossesOf(record!.run), [died(run.owner!)])
      assert.deepStrictEqual(yield* runOf(run), record!.run)
      yield* die(first)
      const [next] = yield* claim(second, 9)
      assert.deepStrictEqual(lossesOf(next!.run), [died(run.owner!), died(first)])
      assert.isAtLeast(next!.run.losses[1]!.lostAt, next!.run.losses[0]!.lostAt)
    }),
  )

  it.effect("counts nothing for what was queued or waited in a dead process", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      yield* orphan(samples, { status: "QUEUED" })
      yield* orphan(samples, { waiting: [{ ordinal: 0, attempt: 1, startedAt: at, due: at }] })
      const due = yield* parked(samples, longAgo)
      const owner = samples.runner()
      yield* claim(owner, 9)
      yield* die(owner)
      const taken = yield* claim(samples.runner(), 9)
      assert.isTrue(idsOf(taken).includes(due.id))
      assert.deepStrictEqual(
        taken.map(({ run }) => run.losses),
        [[], [], []],
      )
      assert.deepStrictEqual(yield* store.suspects(9), [])
    }),
  )

  it.effect("counts nothing for an owner that ended its lease, gave back or claims itself", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const released = yield* busyOrphan(samples)
      yield* store.endLease(released.owner!)
      const given = yield* busyOrphan(samples)
      yield* store.requeue(given.owner!, [given.id])
      const unheard = yield* started(samples.run({ active: atWork, owner: samples.runner() }))
      for (const { run } of yield* claim(samples.runner(), 9)) {
        assert.deepStrictEqual(run.losses, [], run.id)
        assert.isTrue([released.id, given.id, unheard.id].includes(run.id))
      }
      const own = yield* busyOrphan(samples)
      const [record] = yield* claim(own.owner!, 9)
      assert.deepStrictEqual(record!.run, { ...own, fence: own.fence + 1 })
    }),
  )

  it.effect("keeps no more losses than it takes to give a run up", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const run = yield* suspect(samples, 7)
      assert.strictEqual(run.losses.length, 5)
    }),
  )
}

const clears = (it: Tests): void => {
  it.effect("forgets losses with a commit that says so, and with no other", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const orphaned = yield* busyOrphan(samples)
      const runner = samples.runner()
      const [record] = yield* claim(runner, 9)
      const kept = Samples.step(record!.run, { attempts: 9 })
      yield* store.commit({ ...kept, run: { ...kept.run, losses: [] } })
      const now = yield* runOf(orphaned)
      assert.deepStrictEqual(now.losses, record!.run.losses)
      const cleared = Samples.step(now, { losses: [] }, { clearsLosses: true })
      yield* store.commit(cleared)
      assert.deepStrictEqual(yield* runOf(orphaned), cleared.run)
      assert.deepStrictEqual(yield* store.suspects(9), [])
      // An ordinary run again: one that was given back is queued.
      yield* store.requeue(runner, [orphaned.id])
      const other = samples.runner()
      assert.deepStrictEqual(yield* claim(other, 9, { runsPerAccount: 0 }), [])
      assert.deepStrictEqual(idsOf(yield* claim(other, 9)), [orphaned.id])
    }),
  )

  it.effect(
    "forgets them as well where the run is parked by that, and knows them of ended runs",
    () =>
      Effect.gen(function* () {
        const samples = yield* quiet
        const store = yield* RunStore
        const rests = yield* busyOrphan(samples)
        const ends = yield* busyOrphan(samples)
        const taken = yield* claim(samples.runner(), 9)
        const [one, two] = [rests, ends].map(
          ({ id }) => taken.find(({ run }) => run.id === id)!.run,
        )
        const parks = { dueAt: longAgo, owner: null, active: [], losses: [] }
        yield* store.commit(Samples.step(one!, parks, { clearsLosses: true }))
        yield* store.commit(Samples.step(two!, { status: "FAILED" }))
        assert.deepStrictEqual((yield* runOf(rests)).losses, [])
        assert.deepStrictEqual((yield* runOf(ends)).losses, two!.losses)
        assert.deepStrictEqual(yield* store.suspects(9), [])
        assert.deepStrictEqual(idsOf(yield* claim(samples.runner(), 9)), [rests.id])
      }),
  )
}

const quarantine = (it: Tests): void => {
  it.effect("lets one runner execute eight runs at once that have lost one owner", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const ids: Array<RunId> = []
      for (let n = 0; n < 20; n++) ids.push((yield* busyOrphan(samples)).id)
      const [first, second] = [samples.runner(), samples.runner()]
      const taken = yield* claim(first, 99)
      assert.deepStrictEqual(idsOf(taken), ids.slice(0, 8))
      assert.deepStrictEqual(yield* claim(first, 99), [])
      assert.deepStrictEqual(idsOf(yield* claim(second, 5)), ids.slice(8, 13))
      assert.deepStrictEqual(idsOf(yield* claim(second, 99)), ids.slice(13, 16))
      const progress = Samples.step(taken[2]!.run, { losses: [] }, { clearsLosses: true })
      yield* store.commit(progress)
      yield* store.commit(Samples.step(taken[3]!.run, { status: "COMPLETED" }))
      assert.deepStrictEqual(idsOf(yield* claim(first, 99)), ids.slice(16, 18))
    }),
  )

  it.effect("has a run that has lost two owners claimed alone", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const [single, owner] = [yield* suspect(samples, 1), samples.runner()]
      assert.deepStrictEqual(idsOf(yield* claim(owner, 9)), [single.id])
      const several = yield* suspect(samples, 2)
      const other = yield* suspect(samples, 3)
      const third = yield* suspect(samples, 1)
      // Not beside a suspect, and nobody passes it in line.
      assert.deepStrictEqual(yield* claim(owner, 9), [])
      const alone = samples.runner()
      assert.deepStrictEqual(idsOf(yield* claim(alone, 9)), [several.id])
      assert.deepStrictEqual(yield* claim(alone, 9), [])
      assert.deepStrictEqual(idsOf(yield* claim(samples.runner(), 9)), [other.id])
      assert.deepStrictEqual(idsOf(yield* claim(owner, 9)), [third.id])
      assert.deepStrictEqual(yield* claim(alone, 9), [])
      yield* store.commit(Samples.step(yield* runOf(several), { status: "COMPLETED" }))
      const late = yield* suspect(samples, 1)
      assert.deepStrictEqual(idsOf(yield* claim(alone, 9)), [late.id])
    }),
  )
}

const besides = (it: Tests): void => {
  it.effect("lets healthy runs pass whoever is in quarantine", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const several = yield* suspect(samples, 2)
      const owner = samples.runner()
      assert.deepStrictEqual(idsOf(yield* claim(owner, 9)), [several.id])
      yield* suspect(samples, 2, { createdAt: at })
      for (let n = 0; n < 10; n++) yield* busyOrphan(samples, { createdAt: at + n })
      const idle = yield* orphan(samples)
      const due = yield* parked(samples, longAgo)
      const queued = yield* started(samples.run())
      const expected = [idle.id, due.id, queued.id]
      assert.deepStrictEqual(idsOf(yield* claim(owner, 3)), expected)
      assert.deepStrictEqual(yield* claim(owner, 9), [])
    }),
  )

  it.effect("leaves out of the line whatever the runner cannot execute", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const several = yield* suspect(samples, 2)
      const single = yield* busyOrphan(samples)
      const taken = yield* claim(samples.runner(), 9, { except: [several.id] })
      assert.deepStrictEqual(idsOf(taken), [single.id])
    }),
  )

  it.effect("takes suspects that were given back whatever the caps, which count them", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const run = yield* suspect(samples, 1)
      const queued = yield* started(samples.run())
      const owner = samples.runner()
      const caps = { runsPerAccount: 1 }
      assert.deepStrictEqual(idsOf(yield* claim(owner, 9, caps)), [run.id])
      assert.deepStrictEqual(yield* claim(owner, 9, caps), [])
      assert.deepStrictEqual(idsOf(yield* claim(owner, 9)), [queued.id])
    }),
  )

  it.effect("holds for claims that happen at once", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      for (let n = 0; n < 40; n++) yield* busyOrphan(samples)
      const runners = Array.from({ length: 4 }, () => samples.runner())
      const taken = yield* Effect.forEach(runners, (runner) => claim(runner, 99), {
        concurrency: "unbounded",
      })
      const ids = taken.flatMap(idsOf)
      assert.strictEqual(new Set(ids).size, ids.length)
      for (const each of taken) assert.isAtMost(each.length, 8)
    }),
  )
}

const lives = (it: Tests): void => {
  it.effect("takes back the loss of an owner that comes back, and no other", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const run = yield* busyOrphan(samples)
      const other = yield* busyOrphan(samples)
      const second = samples.runner()
      yield* claim(second, 9)
      yield* die(second)
      const third = samples.runner()
      yield* claim(third, 9)
      assert.deepStrictEqual(yield* store.heartbeat(run.owner!, hourMillis), new Map())
      assert.deepStrictEqual(lossesOf(yield* runOf(run)), [died(second)])
      yield* store.endLease(second)
      const now = yield* runOf(run)
      assert.deepStrictEqual(now.losses, [])
      assert.strictEqual(now.owner, third)
      const rest = yield* store.suspects(9)
      assert.deepStrictEqual(
        rest.map(({ record }) => record.run.id),
        [other.id],
      )
      assert.strictEqual(rest[0]!.holder, null)
    }),
  )

  it.effect("takes it back, too, where the owner claims something before it is heard of", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const run = yield* busyOrphan(samples)
      yield* claim(samples.runner(), 9)
      yield* claim(run.owner!, 9)
      yield* store.heartbeat(run.owner!, hourMillis)
      assert.deepStrictEqual((yield* runOf(run)).losses, [])
    }),
  )
}

const blocks = (it: Tests): void => {
  it.effect("keeps the loss for the run that its owner was blocked by", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const owner = samples.runner()
      yield* die(owner)
      const change = { status: "RUNNING", active: atWork, owner } as const
      const guilty = yield* started(samples.run(change))
      const healthy = yield* started(samples.run(change))
      yield* claim(samples.runner(), 9)
      yield* store.heartbeat(owner, hourMillis, { run: guilty.id, millis: 12_000 })
      const blocked = { runner: owner, nodes: [1, 0], cause: "blocked", millis: 12_000 }
      assert.deepStrictEqual(lossesOf(yield* runOf(guilty)), [blocked])
      assert.deepStrictEqual((yield* runOf(healthy)).losses, [])
      yield* store.heartbeat(owner, hourMillis)
      assert.deepStrictEqual(lossesOf(yield* runOf(guilty)), [blocked])
    }),
  )

  it.effect("remembers which run blocked an owner that let go of its lease for it", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const owner = samples.runner()
      yield* store.heartbeat(owner, hourMillis)
      const change = { status: "RUNNING", active: atWork, owner } as const
      const guilty = yield* started(samples.run(change))
      const healthy = yield* started(samples.run(change))
      yield* store.endLease(owner, { run: guilty.id, millis: 60_000 })
      yield* claim(samples.runner(), 9)
      const blocked = { runner: owner, nodes: [1, 0], cause: "blocked", millis: 60_000 }
      assert.deepStrictEqual(lossesOf(yield* runOf(guilty)), [blocked])
      assert.deepStrictEqual((yield* runOf(healthy)).losses, [])
    }),
  )
}

const operators = (it: Tests): void => {
  it.effect("tells the runs in quarantine and who holds them, oldest first", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const free = yield* suspect(samples, 1)
      const heldBy = samples.runner()
      const held = yield* suspect(samples, 2, { createdAt: free.createdAt - 1 })
      yield* claim(heldBy, 1)
      const found = yield* store.suspects(9)
      const [first, second] = found
      assert.strictEqual(found.length, 2)
      assert.deepStrictEqual(first?.record.run, yield* runOf(held))
      assert.strictEqual(first?.holder, heldBy)
      assert.deepStrictEqual(first?.record.definition, Samples.definitionFor(held))
      assert.deepStrictEqual([second?.record.run.id, second?.holder], [free.id, null])
      assert.strictEqual((yield* store.suspects(1)).length, 1)
    }),
  )

  it.effect("makes a run an ordinary one again that is pardoned", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const run = yield* suspect(samples, 3)
      assert.isFalse(yield* store.clearLosses(RunId.make("run_\u0000unknown")))
      assert.isTrue(yield* store.clearLosses(run.id))
      assert.isFalse(yield* store.clearLosses(run.id))
      assert.deepStrictEqual(yield* runOf(run), { ...run, losses: [] })
      assert.deepStrictEqual(yield* claim(samples.runner(), 9, { runsPerAccount: 0 }), [])
      const owner = samples.runner()
      const single = yield* suspect(samples, 1, { createdAt: at })
      assert.deepStrictEqual(idsOf(yield* claim(owner, 9)), [single.id])
    }),
  )
}

/** Registers the tests of runs whose owners are gone. */
export const runLossSuite = (it: Tests): void => {
  describe("RunStore.claim of runs that have lost owners", () => {
    records(it)
    quarantine(it)
    besides(it)
  })
  describe("RunStore.commit and the losses of a run", () => {
    clears(it)
  })
  describe("RunStore.heartbeat and release of a runner that was taken for dead", () => {
    lives(it)
    blocks(it)
  })
  describe("RunStore.suspects and clearLosses", () => {
    operators(it)
  })
}
