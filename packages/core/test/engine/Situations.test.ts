// The situations in which workflow engines go wrong, each as one fact.
import { RunnerId } from "@millrace/core/domain/Id"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import type { NodeRun, RunRecord } from "@millrace/core/domain/Run"
import { Runner } from "@millrace/core/engine/Runner"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { account, boot, byNode, edge, engine, Gates, node, nodeWith } from "./TestEngine.ts"
import { run, shared, start } from "./TestEngine.ts"

const at = <A, E, R>(effect: Effect.Effect<A, E, R>) => effect.pipe(Effect.provide(engine()))

const statusesOf = (record: RunRecord): { readonly [nodeId: string]: string } =>
  Object.fromEntries(Object.values(byNode(record)).map(({ nodeId, status }) => [nodeId, status]))

const outputOf = (record: RunRecord, id: string) => byNode(record)[id]?.output?.["output"]

/** A chain of nodes that pass on what arrives, and its edges. */
const chain = (prefix: string, length: number) => {
  const ids = Array.from({ length }, (_, n) => `${prefix}${n}`)
  return {
    nodes: ids.map((id) => node(id, "pass")),
    edges: ids.slice(1).map((id, n) => edge(ids[n]!, id)),
    last: ids.at(-1)!,
  }
}

describe("graphs", () => {
  it.effect("a diamond with one dead arm joins on the other", () =>
    Effect.gen(function* () {
      const record = yield* run(
        [
          node("if", "branch", { take: "no", input: 1 }),
          node("a", "pass"),
          node("b", "pass"),
          node("join", "pass"),
        ],
        [edge("if.yes", "a"), edge("if.no", "b"), edge("a", "join"), edge("b", "join")],
      )
      const expected = { if: "COMPLETED", a: "SKIPPED", b: "COMPLETED", join: "COMPLETED" }
      assert.deepStrictEqual(statusesOf(record), expected)
    }).pipe(at),
  )

  it.effect("three nested conditions re-converge, whichever way is taken", () =>
    Effect.forEach(["yes", "no"], (take) =>
      Effect.gen(function* () {
        const record = yield* run(
          [
            node("c1", "branch", { take, input: take }),
            node("c2", "branch", { take: "yes" }),
            node("c3", "branch", { take: "no" }),
            node("join", "pass"),
            node("answer", "response"),
          ],
          [
            edge("c1.yes", "c2.input"),
            edge("c1.no", "join"),
            edge("c2.yes", "c3.input"),
            edge("c2.no", "join"),
            edge("c3.yes", "join"),
            edge("c3.no", "join"),
            edge("join", "answer"),
          ],
        )
        assert.strictEqual(record.run.status, "COMPLETED")
        assert.strictEqual(record.run.output, take)
      }).pipe(at),
    ),
  )

  it.effect("a join of chains of length 1 and 5 waits for the longer one", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const long = chain("l", 4)
      const { id } = yield* start(
        [
          node("short", "pass", { input: "short" }),
          node("first", "gate", { input: "long" }),
          ...long.nodes,
          node("join", "pass"),
        ],
        [
          edge("first", "l0"),
          ...long.edges,
          edge("short", "join.input"),
          edge(long.last, "join.other"),
        ],
      )
      yield* gates.untilArrived("first")
      const store = yield* RunStore
      const before = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      assert.strictEqual(byNode(before)["join"]?.status, "PENDING")
      yield* gates.open("first")
      const record = yield* Effect.flatMap(Runs, (runs) => runs.wait(account, id))
      assert.deepStrictEqual(byNode(record)["join"]?.input, { input: "short", other: "long" })
    }).pipe(at),
  )

  it.effect(
    "two live arms into a port that takes one value fail the node and name both edges",
    () =>
      Effect.gen(function* () {
        const record = yield* run(
          [node("a", "pass", { input: 1 }), node("b", "pass", { input: 2 }), node("join", "pass")],
          [edge("a", "join"), edge("b", "join")],
        )
        const message = byNode(record)["join"]?.error ?? ""
        assert.match(message, /takes one value, but edges "a-join" and "b-join" each carry one/)
      }).pipe(at),
  )

  it.effect("a node with only optional inputs is skipped when all its edges are dead", () =>
    Effect.gen(function* () {
      const record = yield* run(
        [node("if", "branch", { take: "yes" }), node("n", "pass"), node("after", "pass")],
        [edge("if.no", "n"), edge("n", "after")],
      )
      const expected = { if: "COMPLETED", n: "SKIPPED", after: "SKIPPED" }
      assert.deepStrictEqual(statusesOf(record), expected)
      assert.strictEqual(record.run.status, "COMPLETED")
    }).pipe(at),
  )

  it.effect("a branch that puts null on a port has taken it", () =>
    Effect.gen(function* () {
      const record = yield* run(
        [node("if", "branch", { take: "yes", input: null }), node("n", "pass")],
        [edge("if.yes", "n")],
      )
      assert.deepStrictEqual(byNode(record)["n"]?.output, { output: null })
    }).pipe(at),
  )

  it.effect("a fan-in of 500 keeps the order of the edges, whatever ends first", () =>
    Effect.gen(function* () {
      const ids = Array.from({ length: 500 }, (_, n) => `n${n}`)
      const millis = (n: number) => ((n * 7919) % 97) + 1
      const fiber = yield* Effect.forkChild(
        run(
          [
            ...ids.map((id, n) => node(id, "sleepy", { millis: millis(n), input: n })),
            node("all", "gather"),
          ],
          ids.map((id) => edge(id, "all")),
        ),
      )
      yield* TestClock.adjust("6 seconds")
      const record = yield* Fiber.join(fiber)
      assert.deepStrictEqual(
        outputOf(record, "all"),
        ids.map((_, n) => n),
      )
    }).pipe(
      Effect.provide(engine()),
      Effect.provideService(CurrentLimits, { ...defaultLimits, nodesPerWorkflow: 501 }),
    ),
  )

  it.effect("a disabled node in the middle passes its input on and is recorded as skipped", () =>
    Effect.gen(function* () {
      const record = yield* run(
        [
          node("a", "pass", { input: "x" }),
          nodeWith("b", "relay", {}, { disabled: true }),
          node("c", "pass"),
        ],
        [edge("a", "b"), edge("b", "c")],
      )
      assert.strictEqual(byNode(record)["b"]?.status, "SKIPPED")
      assert.strictEqual(outputOf(record, "c"), "x")
      assert.strictEqual(record.run.nodeRunCount, 2)
    }).pipe(at),
  )

  it.effect("an isolated draft is skipped with a warning and costs nothing", () =>
    Effect.gen(function* () {
      const record = yield* run([node("a", "pass"), node("draft", "add")])
      const draft = byNode(record)["draft"]!
      assert.strictEqual(record.run.status, "COMPLETED")
      assert.strictEqual(draft.status, "SKIPPED")
      assert.strictEqual(draft.logs?.[0]?.level, "warn")
      assert.strictEqual(record.run.estimatedCredits, 0)
    }).pipe(at),
  )

  it.effect("an override on a wired input wins, and the edge still orders", () =>
    Effect.gen(function* () {
      const record = yield* run(
        [node("a", "pass", { input: 1 }), node("b", "pass")],
        [edge("a", "b")],
        { graphInputOverrides: { b: { input: 2 } } },
      )
      const { a, b } = byNode(record)
      assert.deepStrictEqual(b?.output, { output: 2 })
      assert.isAtLeast(b!.startedAt!, a!.finishedAt!)
    }).pipe(at),
  )
})

describe("failures", () => {
  it.effect("a failure beside a long independent branch lets that one finish first", () =>
    Effect.gen(function* () {
      const long = chain("l", 20)
      const store = yield* RunStore
      const record = yield* run(
        [node("bad", "fail", { message: "no" }), node("dependent", "pass"), ...long.nodes],
        [edge("bad", "dependent"), ...long.edges],
      )
      assert.strictEqual(record.run.status, "FAILED")
      assert.strictEqual(byNode(record)[long.last]?.status, "COMPLETED")
      assert.strictEqual(byNode(record)["dependent"]?.status, "SKIPPED")
      const events = yield* store.events(account, record.run.id, 0)
      assert.strictEqual(events.filter(({ type }) => type === "run.failed").length, 1)
      assert.strictEqual(events.at(-1)?.type, "run.failed")
    }).pipe(at),
  )

  it.effect("a failure upstream of a response leaves the run without an output", () =>
    Effect.gen(function* () {
      const record = yield* run(
        [node("bad", "fail", { message: "no" }), node("answer", "response")],
        [edge("bad", "answer")],
      )
      assert.strictEqual(record.run.output, null)
      assert.strictEqual(byNode(record)["answer"]?.status, "SKIPPED")
      assert.strictEqual(record.run.error, 'Node "bad" failed: no')
    }).pipe(at),
  )
})

describe("cancelation", () => {
  it.effect("during a retry's wait ends the run at once, and there is no further attempt", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const retry = { attempts: 5, initial: "1 minute" }
      const { id } = yield* start([nodeWith("n", "flaky", { failures: 9 }, { retry })])
      yield* TestClock.adjust("10 seconds")
      yield* runs.cancel(account, id)
      yield* TestClock.adjust("5 minutes")
      const record = yield* runs.wait(account, id)
      assert.strictEqual(record.run.status, "CANCELED")
      assert.strictEqual(record.run.attempts, 1)
      const row = byNode(record)["n"]!
      assert.strictEqual(row.status, "CANCELED")
      assert.strictEqual(row.error, "failure 1")
    }).pipe(at),
  )

  it.effect("between the last node's end and its record drops that end", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const runs = yield* Runs
      const store = yield* RunStore
      const { id } = yield* start([node("last", "gate")])
      yield* gates.untilArrived("last")
      // Whoever cancels raises the fence first: what the node's owner then writes comes too late.
      const canceler = RunnerId.make("exe_canceler")
      yield* store.heartbeat(canceler, 60_000)
      yield* store.takeOver(account, id, canceler)
      yield* gates.open("last")
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* runs.cancel(account, id)).status, "CANCELED")
      const record = yield* runs.wait(account, id)
      assert.deepStrictEqual(statusesOf(record), { last: "CANCELED" })
      const types = (yield* store.events(account, id, 0)).map(({ type }) => type)
      assert.deepStrictEqual(types, ["run.started", "run.canceled"])
    }).pipe(at),
  )

  it.effect("of a queued run tells no event but its own end", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const store = yield* RunStore
      const runner = yield* Runner
      const { id } = yield* start([node("n", "gate")])
      yield* runs.cancel(account, id)
      yield* runner.look
      const types = (yield* store.events(account, id, 0)).map(({ type }) => type)
      assert.deepStrictEqual(types.slice(-1), ["run.canceled"])
    }).pipe(at),
  )
})

describe("crashes", () => {
  /** A run whose owner is gone: its lease has run out, and its attempts are lost. */
  const orphan = (type: string) =>
    Effect.gen(function* () {
      const first = yield* boot()
      const gates = yield* Gates
      const store = yield* RunStore
      const { id } = yield* start(
        [node("before", "pass"), node("n", type), node("after", "pass")],
        [edge("before", "n"), edge("n", "after")],
      ).pipe(Effect.provideContext(first.context))
      yield* gates.untilArrived("n")
      // As a process that is killed would leave it: owned by somebody who never comes back.
      yield* store.takeOver(account, id, RunnerId.make("exe_dead"))
      yield* first.stop
      return id
    })

  const takenOver = (id: Parameters<RunStore["Service"]["find"]>[1]) =>
    Effect.gen(function* () {
      const second = yield* boot()
      yield* TestClock.adjust("1 second")
      const runs = Context.get(second.context, Runs)
      const waiting = yield* Effect.forkChild(runs.wait(account, id))
      yield* TestClock.adjust("1 minute")
      const record = yield* Fiber.join(waiting)
      yield* second.stop
      return record
    })

  it.effect("in mid-attempt of an at-least-once node attempt it again", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const id = yield* orphan("gate")
      yield* gates.open("n")
      const record = yield* takenOver(id)
      assert.strictEqual(record.run.status, "COMPLETED")
      assert.strictEqual(byNode(record)["n"]?.attempt, 2)
      assert.strictEqual(byNode(record)["before"]?.attempt, 1)
      assert.deepStrictEqual(gates.arrived, ["n", "n"])
      assert.strictEqual(record.run.nodeRunCount, 3)
      assert.strictEqual(record.run.attempts, 4)
    }).pipe(Effect.provide(shared())),
  )

  it.effect(
    "in mid-attempt of an at-most-once node fail it, because nobody knows the outcome",
    () =>
      Effect.gen(function* () {
        const gates = yield* Gates
        const id = yield* orphan("once")
        yield* gates.open("n")
        const record = yield* takenOver(id)
        assert.strictEqual(record.run.status, "FAILED")
        const error = "the outcome of attempt 1 is unknown: its process stopped"
        assert.strictEqual(byNode(record)["n"]?.error, error)
        assert.strictEqual(byNode(record)["after"]?.status, "SKIPPED")
        assert.deepStrictEqual(gates.arrived, ["n"])
      }).pipe(Effect.provide(shared())),
  )

  it.effect("after the checkpoint and before the dispatch lose nothing", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const gates = yield* Gates
      const id = yield* orphan("gate")
      const { run: stored } = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      // What a process leaves that has recorded the start of a node, and not made the call.
      const neverCalled = [{ ordinal: 2, attempt: 1, startedAt: stored.createdAt }]
      const { fence, revision } = stored
      yield* store.commit({
        expected: { _tag: "Existing", fence, revision },
        run: { ...stored, active: neverCalled, sequence: 3, revision: revision + 1 },
        nodeRuns: [settledGate(stored.createdAt)],
        rewritten: [],
        events: [],
        deliveries: [],
      })
      const record = yield* takenOver(id)
      assert.strictEqual(record.run.status, "COMPLETED")
      assert.strictEqual(byNode(record)["after"]?.attempt, 2)
      assert.deepStrictEqual(gates.arrived, ["n"])
    }).pipe(Effect.provide(shared())),
  )

  const settledGate = (time: number): NodeRun => ({
    nodeId: "n",
    nodeType: "gate",
    ordinal: 1,
    status: "COMPLETED",
    attempt: 1,
    input: {},
    output: { output: 1 },
    largeValues: null,
    logs: null,
    error: null,
    credits: 0,
    sequence: 3,
    startedAt: time,
    finishedAt: time,
  })
})

describe("clocks", () => {
  it.effect("a jump of minutes neither loses a run nor starts anything twice", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const one = yield* boot()
      const two = yield* boot()
      const retry = { attempts: 2, initial: "1 second" }
      const { id } = yield* start(
        [
          nodeWith("flaky", "flaky", { failures: 1 }, { retry }),
          node("nap", "nap", { millis: 5_000 }),
          node("gate", "gate"),
        ],
        [edge("flaky", "nap"), edge("nap", "gate")],
      ).pipe(Effect.provideContext(one.context))
      yield* TestClock.adjust("2 minutes")
      yield* TestClock.adjust("2 minutes")
      yield* gates.untilArrived("gate")
      yield* gates.open("gate")
      const runs = Context.get(two.context, Runs)
      const waiting = yield* Effect.forkChild(runs.wait(account, id))
      yield* TestClock.adjust("2 minutes")
      const record = yield* Fiber.join(waiting)
      assert.strictEqual(record.run.status, "COMPLETED")
      assert.deepStrictEqual(gates.arrived, ["nap", "nap", "gate"])
      assert.strictEqual(byNode(record)["flaky"]?.attempt, 2)
      yield* one.stop
      yield* two.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("a wall clock that is set back does not keep a waiting node from going on", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(20_000)
      const runs = yield* Runs
      const { id } = yield* start([node("n", "nap", { millis: 800 })])
      yield* TestClock.adjust(1)
      yield* TestClock.setTime(10_000)
      const waiting = yield* Effect.forkChild(runs.wait(account, id))
      yield* TestClock.setTime(21_000)
      assert.strictEqual((yield* Fiber.join(waiting)).run.status, "COMPLETED")
    }).pipe(at),
  )
})
