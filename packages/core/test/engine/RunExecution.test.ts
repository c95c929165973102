// What executing a run means: order, parallelism, results, failures and what they leave behind.
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import { nodeRunsOf } from "@millrace/core/domain/Run"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Runs } from "@millrace/core/engine/Runs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { account, byNode, edge, engine, Gates, node, run, save, start } from "./TestEngine.ts"

const at = <A, E, R>(effect: Effect.Effect<A, E, R>) => effect.pipe(Effect.provide(engine()))

describe("RunExecution.execute", () => {
  it.effect("passes values along edges and takes the response's input as the run's output", () =>
    Effect.gen(function* () {
      const record = yield* run(
        [
          node("ask", "request"),
          node("sum", "add", { left: 3, right: 4 }),
          node("answer", "response"),
        ],
        [edge("sum", "answer"), edge("ask.values", "answer.name")].slice(0, 1),
        { values: { any: "thing" } },
      )
      assert.strictEqual(record.run.status, "COMPLETED")
      assert.strictEqual(record.run.output, 7)
      assert.deepStrictEqual(byNode(record)["ask"]?.output, { values: { any: "thing" } })
      assert.strictEqual(record.run.error, null)
    }).pipe(at),
  )

  it.effect("skips the untaken arm of a condition and joins on the taken one", () =>
    Effect.gen(function* () {
      const record = yield* run(
        [
          node("if", "branch", { take: "yes", input: 5 }),
          node("a", "pass"),
          node("b", "pass"),
          node("join", "pass"),
        ],
        [edge("if.yes", "a"), edge("if.no", "b"), edge("a", "join"), edge("b", "join")],
      )
      const nodes = byNode(record)
      assert.strictEqual(record.run.status, "COMPLETED")
      assert.strictEqual(nodes["b"]?.status, "SKIPPED")
      assert.match(nodes["b"]?.logs?.[0]?.message ?? "", /Skipped/)
      assert.deepStrictEqual(nodes["join"]?.output, { output: 5 })
      assert.strictEqual(record.run.nodeRunCount, 3)
    }).pipe(at),
  )

  it.effect(
    "fails a run whose node failed, skips its dependents and lets other branches go on",
    () =>
      Effect.gen(function* () {
        const record = yield* run(
          [
            node("bad", "fail", { message: "no luck" }),
            node("after", "pass"),
            node("else", "pass", { input: 1 }),
            node("more", "pass"),
          ],
          [edge("bad", "after"), edge("else", "more")],
        )
        const nodes = byNode(record)
        assert.strictEqual(record.run.status, "FAILED")
        assert.strictEqual(record.run.error, `Node "bad" failed: no luck`)
        assert.deepStrictEqual(
          ["bad", "after", "else", "more"].map((id) => nodes[id]?.status),
          ["FAILED", "SKIPPED", "COMPLETED", "COMPLETED"],
        )
      }).pipe(at),
  )

  it.effect("names the first failure and counts the others", () =>
    Effect.gen(function* () {
      const bad = ["x", "y", "z"].map((id) => node(id, "fail", { message: id }))
      const record = yield* run(bad)
      assert.strictEqual(record.run.error, `Node "x" failed: x (and 2 more nodes)`)
    }).pipe(at),
  )

  it.effect("fails the node of a handler that throws, with its message", () =>
    Effect.gen(function* () {
      const record = yield* run([node("boom", "crash")])
      assert.strictEqual(byNode(record)["boom"]?.error, "handler bug")
      assert.strictEqual(record.run.status, "FAILED")
    }).pipe(at),
  )

  const refused: ReadonlyArray<readonly [kind: string, message: RegExp]> = [
    ["undeclared", /output "extra", which is not declared; declared: output/],
    ["bigint", /output "output" is not JSON: .*bigint/],
    ["nan", /NaN is not a JSON number/],
    ["date", /an instance of Date is not JSON/],
    ["cyclic", /refers to itself/],
    ["big", /the output has 200013 bytes; the limit is 131072/],
    ["list", /not a record of ports|not declared/],
    ["nothing", /./],
  ]
  it.effect.each(refused)("fails the node whose result is %s, with a sentence", ([kind, message]) =>
    Effect.gen(function* () {
      const record = yield* run([node("odd", "wild", { kind }), node("fine", "pass")])
      assert.match(byNode(record)["odd"]?.error ?? "", message)
      assert.strictEqual(byNode(record)["fine"]?.status, "COMPLETED")
    }).pipe(at),
  )

  it.effect("keeps what a handler logs and charges, and gives it a key of its own", () =>
    Effect.gen(function* () {
      const record = yield* run([node("t", "talk")])
      const { credits, logs, output } = byNode(record)["t"]!
      assert.deepStrictEqual(
        logs?.map(({ at: _, ...line }) => line),
        [
          { level: "info", message: "hello", attempt: 1, data: { from: "t" } },
          { level: "error", message: "careful", attempt: 1 },
        ],
      )
      assert.strictEqual(credits, 1_750_000)
      assert.strictEqual(record.run.actualCredits, 1_750_000)
      assert.deepStrictEqual(output, { output: `${record.run.id}:t` })
    }).pipe(at),
  )

  it.effect("estimates before and posts the estimate of nodes that charge nothing themselves", () =>
    Effect.gen(function* () {
      const record = yield* run(
        [
          node("sum", "add", { left: 1, right: 2 }),
          node("if", "branch"),
          node("dead", "add", { right: 2 }),
        ],
        [edge("if.yes", "dead.left")],
      )
      assert.strictEqual(record.run.estimatedCredits, 4_000_000)
      assert.strictEqual(record.run.actualCredits, 2_000_000)
    }).pipe(at),
  )

  it.effect("runs ready nodes in parallel, never more at once than the limit", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const ids = ["a", "b", "c", "d"]
      const { id } = yield* start(ids.map((each) => node(each, "gate")))
      yield* gates.untilArrived("a")
      yield* gates.untilArrived("b")
      yield* Effect.yieldNow
      assert.deepStrictEqual(gates.arrived, ["a", "b"])
      yield* gates.open("b")
      yield* gates.untilArrived("c")
      assert.deepStrictEqual(gates.arrived, ["a", "b", "c"])
      yield* Effect.forEach(ids, gates.open)
      const { run: ended } = yield* Effect.flatMap(Runs, (runs) => runs.wait(account, id))
      assert.strictEqual(ended.status, "COMPLETED")
    }).pipe(
      Effect.provide(engine()),
      Effect.provideService(CurrentLimits, { ...defaultLimits, nodesAtOnce: 2 }),
    ),
  )

  it.effect("shows running and pending nodes while a run is in progress", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const runs = yield* RunStore
      const { id } = yield* start(
        [node("one", "pass"), node("two", "gate"), node("three", "pass")],
        [edge("one", "two"), edge("two", "three")],
      )
      yield* gates.untilArrived("two")
      const found = yield* Effect.flatMap(runs.find(account, id), Effect.fromOption)
      assert.strictEqual(found.run.status, "RUNNING")
      assert.deepStrictEqual(
        nodeRunsOf(found).map((each) => [each.nodeId, each.status]),
        [
          ["one", "COMPLETED"],
          ["two", "RUNNING"],
          ["three", "PENDING"],
        ],
      )
      yield* gates.open("two")
    }).pipe(at),
  )

  it.effect("numbers the events of a run without gaps, from started to the end", () =>
    Effect.gen(function* () {
      const { run: ended } = yield* run(
        [node("a", "pass"), node("bad", "fail", { message: "no" }), node("c", "pass")],
        [edge("a", "bad"), edge("bad", "c")],
      )
      const events = yield* Effect.flatMap(RunStore, (runs) => runs.events(account, ended.id, 0))
      assert.deepStrictEqual(
        events.map((each) => [each.sequence, each.type, each.data["nodeId"], each.error]),
        [
          [1, "run.started", undefined, null],
          [2, "node.completed", "a", null],
          [3, "node.failed", "bad", "no"],
          [4, "run.failed", undefined, `Node "bad" failed: no`],
        ],
      )
      assert.include(events[3]?.data, { status: "FAILED", completedNodes: 1, failedNodes: 1 })
    }).pipe(at),
  )

  it.effect("executes the workflow as it was at the start, whatever is edited meanwhile", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const runs = yield* Runs
      const workflow = yield* save(
        [node("g", "gate"), node("t", "add", { left: 1, right: 1 }), node("r", "response")],
        [edge("g", "t.left"), edge("t", "r")],
      )
      const { id } = yield* runs.start(account, {
        workflowId: workflow.id,
        graphInputOverrides: { t: { left: 40, right: 2 } },
      })
      yield* gates.untilArrived("g")
      const { Workflows } = yield* Effect.promise(() => import("@millrace/core/engine/Workflows"))
      const workflows = yield* Workflows
      yield* workflows.update(account, workflow.id, { nodes: [], edges: [] })
      yield* gates.open("g")
      const { run: ended } = yield* runs.wait(account, id)
      assert.strictEqual(ended.output, 42)
      assert.strictEqual(ended.workflowRevision, 1)
    }).pipe(at),
  )

  it.effect("gives every handler the same frozen value, so that none can change another's", () =>
    Effect.gen(function* () {
      const record = yield* run(
        [node("src", "pass", { input: { list: [1] } }), node("a", "pass"), node("b", "pass")],
        [edge("src", "a"), edge("src", "b")],
      )
      const value = byNode(record)["a"]?.output?.["output"]
      assert.isTrue(Object.isFrozen(value))
      assert.deepStrictEqual(value, { list: [1] })
    }).pipe(at),
  )

  it.effect("keeps literals and logs as they were, whatever a handler does to them", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { id: workflowId } = yield* save([node("r", "rude", { input: { list: [1] } })])
      for (let round = 0; round < 2; round++) {
        const { id } = yield* runs.start(account, { workflowId })
        const { input, logs } = byNode(yield* runs.wait(account, id))["r"]!
        assert.deepStrictEqual(input, { input: { list: [1] } })
        yield* Effect.promise(() => Promise.resolve())
        assert.deepStrictEqual(
          logs?.map((line) => line.message),
          ["in time"],
        )
      }
    }).pipe(at),
  )

  it.effect("completes an empty workflow at once", () =>
    Effect.gen(function* () {
      const { run: ended } = yield* run([])
      assert.strictEqual(ended.status, "COMPLETED")
      assert.strictEqual(ended.output, null)
    }).pipe(at),
  )

  it.effect("executes a chain and a fan of 10,000 nodes", () =>
    Effect.gen(function* () {
      const size = 10_000
      const nodes = Array.from({ length: size }, (_, index) => node(`n${index}`, "pass"))
      for (const shape of ["chain", "fan"]) {
        const edges = nodes
          .slice(1)
          .map((each, index) => edge(shape === "chain" ? `n${index}` : "n0", each.id))
        const { run: ended } = yield* run(nodes, edges)
        assert.strictEqual(ended.status, "COMPLETED")
        assert.strictEqual(ended.nodeRunCount, size)
      }
    }).pipe(
      Effect.provide(engine()),
      Effect.provideService(CurrentLimits, {
        ...defaultLimits,
        nodesPerWorkflow: 10_000,
        edgesPerWorkflow: 10_000,
      }),
    ),
  )

  it.effect("keeps executing other runs when one breaks off", () =>
    Effect.gen(function* () {
      const fibers = yield* Effect.forEach(["crash", "pass", "crash", "pass"], (type) =>
        Effect.forkChild(run([node("n", type)])),
      )
      const records = yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(
        records.map((each) => each.run.status),
        ["FAILED", "COMPLETED", "FAILED", "COMPLETED"],
      )
    }).pipe(at),
  )
})
