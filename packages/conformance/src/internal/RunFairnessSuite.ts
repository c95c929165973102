/**
 * What every run store must do to be fair: turns between accounts, runs that a runner leaves to
 * others, and caps that hold exactly.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { Run, RunRecord } from "@millrace/core/domain/Run"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect } from "effect"
import * as Scenes from "../RunScenes.ts"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<RunStore>

const { longAgo } = Scenes

const idsOf = (records: ReadonlyArray<RunRecord>) => records.map(({ run }) => run.id)

/** An account of a test, such that those of one test are in the order of their names. */
const account = (samples: Samples.Samples, name: string) =>
  AccountId.make(`${samples.account}_${name}`)

const workflow = (samples: Samples.Samples, name: string) =>
  WorkflowId.make(`wf_of_${samples.account}_${name}`)

/** Queued runs of an account, oldest first. */
const queue = (samples: Samples.Samples, name: string, count: number, change?: Partial<Run>) =>
  Effect.forEach(Array.from({ length: count }), () =>
    Scenes.started(samples.run({ accountId: account(samples, name), ...change })),
  )

const several = 8

const runnersOf = (samples: Samples.Samples) =>
  Array.from({ length: several }, () => samples.runner())

const turns = (it: Tests): void => {
  it.effect("takes the oldest of each account, then the second oldest of each, and so on", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const [b1, b2, b3] = yield* queue(samples, "b", 3)
      const [c1] = yield* queue(samples, "c", 1)
      const [a1, a2] = yield* queue(samples, "a", 2)
      const expected = [a1, b1, c1, a2, b2, b3].map((run) => run!.id)
      assert.deepStrictEqual(idsOf(yield* Scenes.claim(samples.runner(), 9)), expected)
    }),
  )

  it.effect("is told how many runs wait: queued ones, and parked ones that are due", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      for (let n = 0; n < 2; n++) yield* Scenes.started(samples.run())
      yield* Scenes.parked(samples, Scenes.longAgo)
      yield* Scenes.parked(samples, Scenes.never)
      yield* Scenes.owned(samples)
      yield* Scenes.orphan(samples)
      const ended = samples.run({ status: "COMPLETED", finishedAt: Samples.epoch })
      yield* Scenes.started(ended)
      assert.deepStrictEqual([yield* store.queueLength(99), yield* store.queueLength(2)], [3, 2])
      yield* Scenes.clear(samples.runner())
      assert.strictEqual(yield* store.queueLength(99), 0)
    }),
  )

  it.effect("takes as many as it is asked for, be they all of one account", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const many = yield* queue(samples, "a", 12)
      const one = yield* queue(samples, "b", 1)
      const records = yield* Scenes.claim(samples.runner(), 10)
      const expected = [many[0]!, one[0]!, ...many.slice(1, 9)].map(({ id }) => id)
      assert.deepStrictEqual(idsOf(records), expected)
    }),
  )
}

const crowds = (it: Tests, crowd: number): void => {
  it.effect(
    "has the one run of an account in its first claim, whatever others have queued",
    () =>
      Effect.gen(function* () {
        const samples = yield* Scenes.quiet
        const definition = samples.definition()
        const expected = { _tag: "New", definition } as const
        const store = yield* RunStore
        yield* Effect.forEach(
          Array.from({ length: crowd }, () =>
            samples.run({ accountId: account(samples, "a"), definitionId: definition.id }),
          ),
          (run) => store.commit(Samples.newRun(run, { expected })),
          { concurrency: 512, discard: true },
        )
        const [one] = yield* queue(samples, "b", 1)
        const ids = idsOf(yield* Scenes.claim(samples.runner(), 10))
        assert.strictEqual(ids.length, 10)
        assert.strictEqual(ids[1], one!.id)
        yield* Scenes.quiet
      }),
    { timeout: 240_000 },
  )
}

const rotation = (it: Tests): void => {
  it.effect("begins with the account behind the one whose turn was last, and goes round", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      for (const name of ["a", "b", "c"]) yield* queue(samples, name, 3)
      const runner = samples.runner()
      const turn: Array<string> = []
      let after: AccountId | undefined
      for (let n = 0; n < 7; n++) {
        const [record] = yield* Scenes.claim(runner, 1, { after })
        after = record!.run.accountId
        turn.push(after.at(-1)!)
      }
      assert.strictEqual(turn.join(""), "abcabca")
      const rest = yield* Scenes.claim(runner, 9, { after })
      assert.deepStrictEqual(
        rest.map(({ run }) => run.accountId.at(-1)),
        ["b", "c"],
      )
    }),
  )

  it.effect("goes round also from an account that has nothing queued", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const [a] = yield* queue(samples, "a", 1)
      const [c] = yield* queue(samples, "c", 1)
      const after = account(samples, "b")
      const expected = [c!.id, a!.id]
      assert.deepStrictEqual(idsOf(yield* Scenes.claim(samples.runner(), 9, { after })), expected)
    }),
  )

  it.effect("lets concurrent claimers share what there is, each getting what it asks for", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const names = Array.from({ length: 20 }, (_, n) => `a${10 + n}`)
      for (const name of names) yield* queue(samples, name, name < "a15" ? 5 : 1)
      const claims = yield* Effect.forEach(
        runnersOf(samples),
        (runner) => Scenes.claim(runner, 5),
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual(
        claims.map(({ length }) => length),
        runnersOf(samples).map(() => 5),
      )
      assert.strictEqual(new Set(claims.flatMap(idsOf)).size, 40)
    }),
  )
}

const exceptions = (it: Tests): void => {
  it.effect("leaves out what is excepted, in every state, and leaves it to others", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const ids = [
        (yield* Scenes.orphan(samples)).id,
        (yield* Scenes.parked(samples, longAgo)).id,
        (yield* queue(samples, "a", 1))[0]!.id,
      ]
      const [other] = yield* queue(samples, "a", 1)
      const except = [...ids, samples.run().id]
      const records = yield* Scenes.claim(samples.runner(), 9, { except })
      assert.deepStrictEqual(idsOf(records), [other!.id])
      assert.deepStrictEqual(idsOf(yield* Scenes.claim(samples.runner(), 9)), ids)
    }),
  )

  it.effect("gives an account no turn for what is excepted", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const unwanted = yield* queue(samples, "a", 3)
      const [wanted] = yield* queue(samples, "b", 1)
      const except = unwanted.map(({ id }) => id)
      for (const wishes of [{ except }, { except, runsPerAccount: 9 }]) {
        const runner = samples.runner()
        assert.deepStrictEqual(idsOf(yield* Scenes.claim(runner, 1, wishes)), [wanted!.id])
        yield* (yield* RunStore).requeue(runner, [wanted!.id])
      }
    }),
  )
}

const caps = (it: Tests): void => {
  it.effect("lets an account have no more runs with an owner than its cap", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      yield* queue(samples, "a", 9)
      yield* queue(samples, "b", 1)
      const mine = yield* Scenes.owned(samples, { accountId: account(samples, "a") })
      const capped = { runsPerAccount: 3 }
      const first = yield* Scenes.claim(samples.runner(), 99, capped)
      assert.deepStrictEqual(
        first.map(({ run }) => run.accountId.at(-1)),
        ["a", "b", "a"],
      )
      const runner = samples.runner()
      assert.deepStrictEqual(yield* Scenes.claim(runner, 99, capped), [])
      // Room comes from a run that ends, that is parked, and that is given back.
      yield* store.commit(Samples.step(mine, { status: "COMPLETED" }))
      assert.strictEqual((yield* Scenes.claim(runner, 99, capped)).length, 1)
      yield* store.commit(Samples.step(first[0]!.run, { dueAt: Scenes.never }))
      assert.strictEqual((yield* Scenes.claim(runner, 99, capped)).length, 1)
      const given = first[2]!.run
      yield* store.requeue(given.owner!, [given.id])
      assert.deepStrictEqual(idsOf(yield* Scenes.claim(runner, 99, capped)), [given.id])
    }),
  )

  it.effect(
    "lets a workflow have no more than its cap, and goes on with the account's others",
    () =>
      Effect.gen(function* () {
        const samples = yield* Scenes.quiet
        const full = { workflowId: workflow(samples, "full") }
        yield* Scenes.owned(samples, { accountId: account(samples, "a"), ...full })
        const held = yield* queue(samples, "a", 3, full)
        const free = yield* queue(samples, "a", 3, { workflowId: workflow(samples, "free") })
        const records = yield* Scenes.claim(samples.runner(), 99, { runsPerWorkflow: 2 })
        const expected = [held[0]!, free[0]!, free[1]!].map(({ id }) => id)
        assert.deepStrictEqual(idsOf(records), expected)
      }),
  )

  it.effect("counts a workflow's runs in each account for itself", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      yield* queue(samples, "a", 2)
      yield* queue(samples, "b", 2)
      const records = yield* Scenes.claim(samples.runner(), 99, { runsPerWorkflow: 1 })
      assert.deepStrictEqual(
        records.map(({ run }) => run.accountId.at(-1)),
        ["a", "b"],
      )
    }),
  )
}

const cappedFull = (it: Tests): void => {
  it.effect("keeps nobody waiting behind those who have no room", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const workflowId = workflow(samples, "full")
      for (const name of ["a", "b"]) {
        yield* Scenes.owned(samples, { accountId: account(samples, name), workflowId })
        yield* queue(samples, name, 3, { workflowId })
      }
      const [next] = yield* queue(samples, "c", 1)
      for (const capped of [{ runsPerAccount: 1 }, { runsPerWorkflow: 1 }]) {
        const runner = samples.runner()
        assert.deepStrictEqual(idsOf(yield* Scenes.claim(runner, 1, capped)), [next!.id])
        yield* (yield* RunStore).requeue(runner, [next!.id])
      }
    }),
  )
}

const cappedBack = (it: Tests): void => {
  it.effect("hold back what is due, and of an owner that is gone nothing, but count it", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const accountId = account(samples, "a")
      const orphans = [
        yield* Scenes.orphan(samples, { accountId }),
        yield* Scenes.orphan(samples, { accountId }),
      ]
      const due = yield* Scenes.parked(samples, longAgo, { accountId })
      const [queued] = yield* queue(samples, "a", 2)
      const runner = samples.runner()
      const capped = { runsPerAccount: 2, runsPerWorkflow: 2 }
      const back = orphans.map(({ id }) => id)
      assert.deepStrictEqual(idsOf(yield* Scenes.claim(runner, 99, capped)), back)
      assert.deepStrictEqual(yield* Scenes.claim(runner, 99, capped), [])
      const more = { runsPerAccount: 4, runsPerWorkflow: 9 }
      const ids = [due.id, queued!.id].toSorted()
      assert.deepStrictEqual(idsOf(yield* Scenes.claim(runner, 99, more)).toSorted(), ids)
    }),
  )
}

const roomy = (it: Tests): void => {
  it.effect("takes no more of an account than there is room for, due or queued", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      for (const name of ["a", "b", "c", "d"]) yield* queue(samples, name, 3)
      yield* Scenes.parked(samples, longAgo, { accountId: account(samples, "a") })
      const rooms = new Map([
        [account(samples, "b"), 0],
        [account(samples, "c"), 3],
      ])
      const wishes = { roomPerAccount: 1, rooms }
      for (const more of [{}, { runsPerAccount: 99 }]) {
        const runner = samples.runner()
        const records = yield* Scenes.claim(runner, 99, { ...wishes, ...more })
        assert.deepStrictEqual(
          records.map(({ run }) => run.accountId.at(-1)),
          ["a", "c", "d", "c", "c"],
        )
        yield* (yield* RunStore).requeue(runner, idsOf(records))
      }
    }),
  )
}

const cappedRaces = (it: Tests): void => {
  const together = (samples: Samples.Samples, wishes: Scenes.Wishes) =>
    Effect.map(
      Effect.forEach(runnersOf(samples), (runner) => Scenes.claim(runner, 9, wishes), {
        concurrency: "unbounded",
      }),
      (claims) => claims.flat(),
    )

  it.effect("hold exactly, however many claim at once", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      yield* queue(samples, "a", 20)
      const records = yield* together(samples, { runsPerAccount: 5 })
      assert.strictEqual(new Set(idsOf(records)).size, 5)
      assert.strictEqual(records.length, 5)
      assert.deepStrictEqual(yield* together(samples, { runsPerAccount: 5 }), [])
    }),
  )

  it.effect("hold exactly together, however many claim at once", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      for (const name of ["w1", "w2", "w3"]) {
        yield* queue(samples, "a", 7, { workflowId: workflow(samples, name) })
      }
      yield* queue(samples, "b", 7, { workflowId: workflow(samples, "w4") })
      const records = yield* together(samples, { runsPerAccount: 5, runsPerWorkflow: 2 })
      const counts = new Map<string, number>()
      for (const { run } of records) {
        for (const key of [run.accountId, run.workflowId]) {
          counts.set(key, (counts.get(key) ?? 0) + 1)
        }
      }
      const expected = new Map<string, number>([
        [account(samples, "a"), 5],
        [account(samples, "b"), 2],
        [workflow(samples, "w1"), 2],
        [workflow(samples, "w2"), 2],
        [workflow(samples, "w3"), 1],
        [workflow(samples, "w4"), 2],
      ])
      assert.deepStrictEqual(counts, expected)
    }),
  )
}

/** Registers the tests of turns and caps. */
export const runTurnSuite = (it: Tests, crowd: number): void => {
  describe("RunStore.claim of queued runs", () => {
    turns(it)
    crowds(it, crowd)
    rotation(it)
  })
  describe("RunStore.claim with exceptions", () => {
    exceptions(it)
  })
  describe("RunStore.claim under caps", () => {
    caps(it)
    cappedFull(it)
    cappedBack(it)
    cappedRaces(it)
  })
  describe("RunStore.claim with room for so many runs of an account", () => {
    roomy(it)
  })
}
