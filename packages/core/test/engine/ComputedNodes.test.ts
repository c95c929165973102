// Nodes without effects: a step computes them together, and they read as if each had waited.
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import type { Run, RunRecord } from "@millrace/core/domain/Run"
import { nodeRunsOf } from "@millrace/core/domain/Run"
import type { Edge, Node } from "@millrace/core/domain/Workflow"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import type { Executable } from "@millrace/core/engine/NodeTypes"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Json } from "@millrace/core/domain/Json"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import {
  account,
  byNode,
  edge,
  engine,
  Gates,
  node,
  nodeWith,
  run,
  save,
  start,
} from "./TestEngine.ts"
import { types } from "./TestEngine.ts"
import { shifted } from "./ShiftedClock.ts"
import { fund, known as costly, spends } from "./TestCredits.ts"

const isComputed = ({ type }: Executable<Gates>) => type.key !== "gate" && type.key !== "nap"

/** The same types, but for those that wait for the test: without effects. */
const computed = (all: ReadonlyArray<Executable<Gates>>): ReadonlyArray<Executable<Gates>> =>
  all.map((each) =>
    isComputed(each) ? { ...each, type: { ...each.type, effects: "none" as const } } : each,
  )

/** Counts its calls, and does not end as soon as it is called. */
const slow = (calls: Array<string>) =>
  define({
    key: "slow",
    effects: "none",
    inputs: { input: Schema.optionalKey(Json) },
    outputs: { output: Json },
    run: ({ input = null }) =>
      Effect.gen(function* () {
        calls.push((yield* CurrentNode).nodeId)
        yield* Effect.yieldNow
        return { output: input }
      }),
  })

const at = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(Effect.provide(engine(computed(costly))))

const withLimits = (limits: Partial<typeof defaultLimits>) =>
  Effect.provideService(CurrentLimits, { ...defaultLimits, ...limits })

const chain = (length: number, type = "relay"): [ReadonlyArray<Node>, ReadonlyArray<Edge>] => {
  const ids = Array.from({ length }, (_, n) => `n${n}`)
  return [
    ids.map((id, n) => node(id, n === 0 ? "pass" : type, n === 0 ? { input: 7 } : {})),
    ids.slice(1).map((id, n) => edge(ids[n]!, id)),
  ]
}

describe("ComputedNodes", () => {
  it.effect("are stored by one commit, however long their chain is", () =>
    Effect.gen(function* () {
      const { nodeRuns, run: ended } = yield* run(...chain(100))
      assert.deepStrictEqual([ended.status, ended.revision], ["COMPLETED", 1])
      assert.deepStrictEqual([ended.nodeRunCount, ended.attempts], [100, 100])
      assert.deepStrictEqual(nodeRuns.at(-1)?.output, { output: 7 })
    }).pipe(at),
  )

  it.effect("are stored with the start of their run, which answers with its end", () =>
    Effect.gen(function* () {
      const started = yield* start(...chain(3))
      assert.deepStrictEqual([started.status, started.revision], ["COMPLETED", 1])
      const { run: ended } = yield* Runs.use((runs) => runs.wait(account, started.id))
      assert.deepStrictEqual(ended, started)
    }).pipe(at),
  )

  it.effect("of a start that may be retried wait until the run is stored", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { id: workflowId } = yield* save(...chain(3))
      const key = { key: "again", bodyHash: "same" }
      const { runId } = yield* runs.startOnce(account, { workflowId }, key)
      const { run: ended } = yield* runs.wait(account, runId)
      assert.deepStrictEqual([ended.status, ended.revision], ["COMPLETED", 2])
    }).pipe(at),
  )

  it.effect("of many starts are computed for 20 ms before the event loop goes on", () => {
    let millis = 0
    const ticking = (clock: Clock.Clock) => shifted(clock, () => millis++)
    return Effect.gen(function* () {
      const runs = yield* Runs
      const { id: workflowId } = yield* save(...chain(30))
      const begin = runs.start(account, { workflowId })
      const statusesOf = (all: ReadonlyArray<Run>) => all.map(({ status }) => status)
      const together = yield* Effect.all([begin, begin], { concurrency: "unbounded" })
      assert.deepStrictEqual(statusesOf(together), ["COMPLETED", "RUNNING"])
      yield* Effect.promise(() => new Promise(setImmediate))
      assert.deepStrictEqual(statusesOf([yield* begin]), ["COMPLETED"])
    }).pipe(at, (effect) =>
      Effect.flatMap(Clock.Clock, (clock) =>
        Effect.provideService(effect, Clock.Clock, ticking(clock)),
      ),
    )
  })

  it.effect("whose cost goes beyond the estimate fail their run, and not its start", () =>
    Effect.gen(function* () {
      yield* fund(10)
      const nodes = [spends("a", 1), spends("b", 2, { charges: [20] })]
      const started = yield* start(nodes, [edge("a", "b")])
      const { run: ended } = yield* Runs.use((runs) => runs.wait(account, started.id))
      assert.deepStrictEqual([ended.status, ended.actualCredits], ["FAILED", 21_000_000])
      assert.match(ended.error ?? "", /credits ran out/)
    }).pipe(at),
  )

  it.effect("have an event each, in the order in which they ended, before that of the run", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const { run: ended } = yield* run(...chain(4))
      const events = yield* store.events(account, ended.id, 0)
      assert.deepStrictEqual(
        events.map(({ data, sequence, type }) => [sequence, type, data["nodeId"]]),
        [
          [1, "run.started", undefined],
          [2, "node.completed", "n0"],
          [3, "node.completed", "n1"],
          [4, "node.completed", "n2"],
          [5, "node.completed", "n3"],
          [6, "run.completed", undefined],
        ],
      )
    }).pipe(at),
  )

  it.effect("let nodes with effects start only when all that they depend on is stored", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const store = yield* RunStore
      const [nodes, edges] = chain(5)
      const { id } = yield* start([...nodes, node("g", "gate")], [...edges, edge("n4", "g")])
      yield* gates.untilArrived("g")
      const record = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      assert.deepStrictEqual(
        nodeRunsOf(record).map(({ status }) => status),
        ["COMPLETED", "COMPLETED", "COMPLETED", "COMPLETED", "COMPLETED", "RUNNING"],
      )
      assert.strictEqual(record.run.revision, 2)
      yield* gates.open("g")
    }).pipe(at),
  )

  it.effect("are stored in several commits if there are more than the limit of a step", () =>
    Effect.gen(function* () {
      const { run: ended } = yield* run(...chain(10))
      // The start begins n0; each later step ends what had a slot and computes three more.
      assert.deepStrictEqual([ended.status, ended.revision], ["COMPLETED", 4])
      assert.strictEqual(ended.nodeRunCount, 10)
    }).pipe(at, withLimits({ nodesPerStep: 3 })),
  )

  it.effect("that do not end at once are in progress like others", () => {
    const calls: Array<string> = []
    return Effect.gen(function* () {
      const runs = yield* Runs
      const { id: workflowId } = yield* save(...chain(3, "slow"))
      for (let nth = 1; nth <= 5; nth++) {
        calls.length = 0
        const started = yield* runs.start(account, { workflowId })
        const { run: ended } = yield* runs.wait(account, started.id)
        assert.strictEqual(ended.status, "COMPLETED")
        assert.deepStrictEqual([ended.nodeRunCount, ended.attempts], [3, 3])
        // Three runs in a row show that it is in vain to begin them before they are stored.
        assert.deepStrictEqual(calls, nth > 3 ? ["n1", "n2"] : ["n1", "n1", "n2"])
      }
    }).pipe(Effect.provide(engine([...computed(types), slow(calls)])))
  })

  it.effect("wait for their next attempt as others do, and go on from there", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const retry = { attempts: 3, initial: 100, jitter: 0 }
      const { id } = yield* start(
        [node("a", "pass"), nodeWith("f", "flaky", { failures: 2 }, { retry }), node("z", "pass")],
        [edge("a", "f"), edge("f", "z")],
      )
      const waiting = yield* Effect.forkChild(runs.wait(account, id))
      yield* TestClock.adjust("10 seconds")
      const record = yield* Fiber.join(waiting)
      assert.strictEqual(record.run.status, "COMPLETED")
      assert.deepStrictEqual([record.run.nodeRunCount, record.run.attempts], [3, 5])
      const { attempt, credits, logs } = byNode(record)["f"]!
      assert.deepStrictEqual([attempt, credits, logs?.length], [3, 3_000_000, 3])
    }).pipe(at),
  )

  it.effect("stop where a failure stops the run", () =>
    Effect.gen(function* () {
      const record = yield* run(
        [node("a", "pass"), node("f", "fail", { message: "no" }), node("b", "relay")],
        [edge("a", "f"), edge("f.output", "b")],
        { settings: { onFailure: "stop" } },
      )
      assert.strictEqual(record.run.status, "FAILED")
      assert.strictEqual(record.run.error, 'Node "f" failed: no')
      assert.notStrictEqual(byNode(record)["b"]?.status, "COMPLETED")
    }).pipe(at),
  )

  it.effect("cost what they would have cost, and nothing beyond what the account has", () =>
    Effect.gen(function* () {
      yield* fund(10)
      const nodes = [node("a", "pass"), spends("b", 2), spends("c", 3, { charges: [20] })]
      const wires = [edge("a", "b"), edge("b", "c")]
      const { run: ended } = yield* run([...nodes, spends("d", 1)], [...wires, edge("c", "d")])
      assert.strictEqual(ended.actualCredits, 22_000_000)
      assert.match(ended.error ?? "", /credits ran out/)
      assert.strictEqual(ended.status, "FAILED")
    }).pipe(at),
  )
})

/** Numbers that look random, the same for the same seed. */
const randomOf = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >> 8) % below
  }
}

/** A drawing of nodes of all sorts, each with edges from some before it. */
const drawingOf = (seed: number): [ReadonlyArray<Node>, ReadonlyArray<Edge>] => {
  const random = randomOf(seed)
  const nodes: Array<Node> = []
  const edges: Array<Edge> = []
  for (let n = 0; n < 4 + random(12); n++) {
    const id = `n${n}`
    const kind = random(10)
    if (kind < 5) nodes.push(node(id, "pass"))
    else if (kind < 7) nodes.push(node(id, "branch", { take: random(2) === 0 ? "yes" : "no" }))
    else if (kind < 8) nodes.push(nodeWith(id, "fail", { message: "no" }, failures[random(3)]!))
    else if (kind < 9) nodes.push(spends(id, random(3)))
    else nodes.push(nodeWith(id, "flaky", { failures: random(2) }, {}))
    const count = n === 0 ? 0 : 1 + random(2)
    for (let to = 0; to < count; to++) {
      const from = random(n)
      const type = nodes[from]!.type
      const port = type === "branch" ? (random(2) === 0 ? ".yes" : ".no") : ""
      const isKnown = edges.some(({ source, target }) => source === `n${from}` && target === id)
      if (!isKnown) edges.push(edge(`n${from}${port}`, `${id}.${to === 0 ? "input" : "other"}`))
    }
  }
  return [nodes, edges]
}

const failures = [{}, { onError: "route" }, { onError: "default", default: { output: 1 } }]

/** What a run tells, but for times and commits. */
const told = (record: RunRecord) => ({
  status: record.run.status,
  credits: record.run.actualCredits,
  counts: [record.run.nodeRunCount, record.run.attempts],
  nodes: nodeRunsOf(record).map(({ attempt, credits, error, input, nodeId, output, status }) => ({
    attempt,
    credits,
    error,
    input,
    nodeId,
    output,
    status,
  })),
})

describe("ComputedNodes and other nodes", () => {
  it.effect("tell the same of 200 drawings", () =>
    Effect.gen(function* () {
      const revisions = [0, 0]
      let ended = 0
      for (let seed = 1; seed <= 200; seed++) {
        const [nodes, edges] = drawingOf(seed)
        const outcome = (known: ReadonlyArray<Executable<Gates>>) =>
          Effect.result(run(nodes, edges)).pipe(Effect.provide(engine(known)))
        const plain = yield* outcome(costly)
        const together = yield* outcome(computed(costly))
        assert.strictEqual(together._tag, plain._tag)
        if (plain._tag === "Failure" || together._tag === "Failure") continue
        assert.deepStrictEqual(told(together.success), told(plain.success), `seed ${seed}`)
        ended += 1
        revisions[0]! += plain.success.run.revision
        revisions[1]! += together.success.run.revision
      }
      assert.isAbove(ended, 100)
      assert.isBelow(revisions[1]!, revisions[0]! * 0.7)
    }),
  )
})
