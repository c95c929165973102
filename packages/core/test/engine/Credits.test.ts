// What runs do to the credits of their account: set aside, paid, extended, given back.
import { toNumber } from "@millrace/core/domain/Credits"
import type { RunRecord } from "@millrace/core/domain/Run"
import { Runs } from "@millrace/core/engine/Runs"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { at, book, found, fund, spends } from "./TestCredits.ts"
import { account, byNode, edge, Gates, node, nodeWith, run, save } from "./TestEngine.ts"
import { start } from "./TestEngine.ts"

const creditsOf = (record: RunRecord) =>
  Object.fromEntries(
    Object.values(byNode(record)).map(({ credits, nodeId }) => [nodeId, toNumber(credits)]),
  )

describe("Runs.start", () => {
  it.effect("sets aside what all nodes are expected to cost, and posts what they do", () =>
    Effect.gen(function* () {
      yield* fund(100)
      const record = yield* run(
        [spends("a", 3), spends("b", 2, { charges: [0.5, 1] }), spends("c", 4, { charges: [0] })],
        [edge("a", "b"), edge("b", "c")],
      )
      assert.strictEqual(record.run.status, "COMPLETED")
      assert.strictEqual(toNumber(record.run.estimatedCredits), 9)
      assert.strictEqual(toNumber(record.run.actualCredits), 4.5)
      assert.strictEqual(record.run.heldCredits, 0)
      assert.deepStrictEqual(creditsOf(record), { a: 3, b: 1.5, c: 0 })
      const entries = ["reserve 9", "post a 3", "post b 1.5", "void 4.5"]
      assert.deepStrictEqual(yield* book, { posted: 95.5, reserved: 0, told: entries })
    }).pipe(at),
  )

  it.effect("refuses what is not covered, names both amounts, and leaves no trace", () =>
    Effect.gen(function* () {
      yield* fund(5)
      const error = yield* Effect.flip(start([spends("a", 5.5)]))
      assert.strictEqual(
        (error as Error).message,
        "The run requires 5.5 credits, and 5 are available",
      )
      const store = yield* RunStore
      assert.deepStrictEqual((yield* store.list({ account, limit: 5 })).items, [])
      assert.deepStrictEqual(yield* book, { posted: 5, reserved: 0, told: [] })
    }).pipe(at),
  )

  it.effect("refuses nothing on an account that is not metered, and records both numbers", () =>
    Effect.gen(function* () {
      const record = yield* run([spends("a", 3), spends("b", 2, { charges: [9] })])
      assert.strictEqual(record.run.status, "COMPLETED")
      assert.strictEqual(toNumber(record.run.actualCredits), 12)
      const { posted, reserved } = yield* book
      assert.deepStrictEqual([posted, reserved], [-12, 0])
    }).pipe(at),
  )

  it.effect("moves nothing for runs that cost nothing", () =>
    Effect.gen(function* () {
      yield* fund(0)
      assert.strictEqual((yield* run([node("a", "pass")])).run.status, "COMPLETED")
      assert.deepStrictEqual(yield* book, { posted: 0, reserved: 0, told: [] })
    }).pipe(at),
  )

  it.effect("of a single node sets aside what that one costs", () =>
    Effect.gen(function* () {
      yield* fund(10)
      const nodes = [spends("a", 3), spends("b", 2)]
      const record = yield* run(nodes, [], { singleNodeId: "b" })
      assert.strictEqual(toNumber(record.run.actualCredits), 2)
      assert.deepStrictEqual((yield* book).told, ["reserve 2", "post b 2", "void 0"])
    }).pipe(at),
  )

  it.effect("refuses a run that is expected to cost more than its start allows", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(start([spends("a", 3)], [], { maxCredits: 2_000_000 }))
      assert.strictEqual(
        (error as Error).message,
        "The run requires 3 credits, and its maxCredits is 2",
      )
    }).pipe(at),
  )

  const bad = ["-1", "NaN", "Infinity", "1e300", "0.0000001"]
  for (const price of bad) {
    it.effect(`fails the node, by name, that charges ${price}`, () =>
      Effect.gen(function* () {
        const retry = { attempts: 3, initial: 1 }
        const record = yield* run([nodeWith("n", "bogus", { charge: price }, { retry })])
        const sentence = `charged ${String(Number(price))} credits; a charge is a number from 0`
        assert.include(record.run.error, `Node "n" failed: ${sentence}`)
        assert.strictEqual(byNode(record)["n"]?.attempt, 1)
        assert.strictEqual(record.run.actualCredits, 0)
      }).pipe(at),
    )
  }
})

describe("Runs.estimate", () => {
  it.effect("prices every node that may execute, and creates nothing", () =>
    Effect.gen(function* () {
      yield* fund(1)
      const runs = yield* Runs
      const disabled = nodeWith("off", "relay", { input: 1 }, { disabled: true })
      const { id } = yield* save([spends("a", 3), spends("b", 0), disabled])
      assert.deepStrictEqual(yield* runs.estimate(account, { workflowId: id }), {
        problems: [],
        estimatedCredits: 3_000_000,
        nodes: [
          { nodeId: "a", nodeType: "spend", credits: 3_000_000 },
          { nodeId: "b", nodeType: "spend", credits: 0 },
        ],
      })
      const store = yield* RunStore
      assert.deepStrictEqual((yield* store.list({ account, limit: 5 })).items, [])
      assert.deepStrictEqual((yield* book).told, [])
    }).pipe(at),
  )

  it.effect("names everything that stands against a start", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { id } = yield* save([node("a", "nobody"), node("b", "pricey")])
      const { nodes, problems } = yield* runs.estimate(account, { workflowId: id })
      assert.deepStrictEqual(nodes, [])
      assert.isNotEmpty(problems)
      assert.match(problems.map(({ message }) => message).join(), /nobody/)
    }).pipe(at),
  )
})

describe("Billing", () => {
  it.effect("charges failed nodes what they charged, and skipped ones nothing", () =>
    Effect.gen(function* () {
      yield* fund(100)
      const record = yield* run(
        [
          spends("free", 3, { fails: true }),
          spends("dear", 3, { fails: true, charges: [1] }),
          spends("after", 3),
          nodeWith(
            "routed",
            "spend",
            { price: 3, fails: true, charges: [2] },
            { onError: "route" },
          ),
          nodeWith(
            "default",
            "spend",
            { price: 3, fails: true },
            { onError: "default", default: {} },
          ),
        ],
        [edge("free", "after")],
      )
      const expected = { free: 0, dear: 1, after: 0, routed: 2, default: 0 }
      assert.deepStrictEqual(creditsOf(record), expected)
      assert.strictEqual((yield* book).posted, 97)
    }).pipe(at),
  )

  it.effect("adds up what several attempts of a node charge", () =>
    Effect.gen(function* () {
      yield* fund(100)
      const retry = { attempts: 3, initial: 1_000, jitter: 0 }
      const waiting = yield* start([nodeWith("f", "flaky", { failures: 2 }, { retry })])
      yield* TestClock.adjust("1 minute")
      const { run: ended } = yield* found(waiting.id)
      assert.strictEqual(toNumber(ended.actualCredits), 3)
      const posts = ["post f 1", "post f 1", "post f 1"]
      const extended = posts.flatMap((post) => ["extend 1", post])
      assert.deepStrictEqual((yield* book).told, [...extended, "void 0"])
    }).pipe(at),
  )

  it.effect("sets more aside for a run that is dearer than expected", () =>
    Effect.gen(function* () {
      yield* fund(10)
      const record = yield* run(
        [spends("a", 2, { charges: [5] }), spends("b", 3)],
        [edge("a", "b")],
      )
      assert.strictEqual(record.run.status, "COMPLETED")
      const entries = ["reserve 5", "extend 3", "post a 5", "post b 3", "void 0"]
      assert.deepStrictEqual(yield* book, { posted: 2, reserved: 0, told: entries })
    }).pipe(at),
  )

  it.effect("asks for no more while dear nodes are made up for by skipped ones", () =>
    Effect.gen(function* () {
      yield* fund(9)
      const record = yield* run(
        [
          spends("a", 3, { charges: [5] }),
          node("if", "branch", { take: "yes" }),
          spends("b", 3),
          spends("c", 3),
        ],
        [edge("a", "if.input"), edge("if.yes", "b"), edge("if.no", "c")],
      )
      assert.strictEqual(record.run.status, "COMPLETED")
      const entries = ["reserve 9", "post a 5", "post b 3", "void 1"]
      assert.deepStrictEqual((yield* book).told, entries)
    }).pipe(at),
  )

  it.effect("stops a run whose account cannot bear more, and pays for what was done", () =>
    Effect.gen(function* () {
      yield* fund(6)
      const record = yield* run(
        [spends("a", 2, { charges: [4.5] }), spends("b", 3), spends("c", 1)],
        [edge("a", "b"), edge("b", "c")],
      )
      const { error, heldCredits, nodeRunCount, output, status } = record.run
      assert.strictEqual(status, "FAILED")
      assert.strictEqual(
        error,
        "The credits ran out: the run needed 1.5 more, and fewer were available",
      )
      assert.deepStrictEqual([heldCredits, nodeRunCount, output], [0, 1, null])
      const nodes = byNode(record)
      assert.deepStrictEqual(
        ["a", "b", "c"].map((id) => nodes[id]?.status),
        ["COMPLETED", "CANCELED", "CANCELED"],
      )
      const entries = ["reserve 6", "post a 4.5", "void 1.5"]
      assert.deepStrictEqual(yield* book, { posted: 1.5, reserved: 0, told: entries })
      const store = yield* RunStore
      const events = yield* store.events(account, record.run.id, 0)
      assert.deepStrictEqual(
        events.map(({ type }) => type),
        ["run.started", "node.completed", "run.failed"],
      )
    }).pipe(at),
  )

  it.effect("lets what is in progress end when the credits run out, and pays for it", () =>
    Effect.gen(function* () {
      yield* fund(6)
      const gates = yield* Gates
      const { id } = yield* start(
        [spends("dear", 2, { charges: [5] }), spends("slow", 2, { holds: true }), spends("b", 2)],
        [edge("dear", "b")],
      )
      yield* gates.untilArrived("slow")
      yield* Effect.yieldNow
      const running = yield* found(id)
      assert.strictEqual(running.run.status, "RUNNING")
      assert.strictEqual(toNumber(running.run.actualCredits), 5)
      yield* gates.open("slow")
      const { run: ended } = yield* Effect.flatMap(Runs, (runs) => runs.wait(account, id))
      assert.strictEqual(ended.status, "FAILED")
      const entries = ["reserve 6", "post dear 5", "post slow 2", "void 0"]
      assert.deepStrictEqual(yield* book, { posted: -1, reserved: 0, told: entries })
    }).pipe(at),
  )

  it.effect("fails a run whose last node costs more than there is, and posts it in full", () =>
    Effect.gen(function* () {
      yield* fund(2)
      const { run: ended } = yield* run([spends("a", 2, { charges: [7] })])
      assert.strictEqual(ended.status, "FAILED")
      assert.strictEqual(toNumber(ended.actualCredits), 7)
      assert.deepStrictEqual(yield* book, {
        posted: -5,
        reserved: 0,
        told: ["reserve 2", "post a 7", "void 0"],
      })
    }).pipe(at),
  )

  it.effect("is no obstacle to a later run, once credits were granted", () =>
    Effect.gen(function* () {
      yield* fund(6)
      const dear = [spends("a", 2, { charges: [4.5] }), spends("b", 3), spends("c", 1)]
      const record = yield* run(dear, [edge("a", "b"), edge("b", "c")])
      assert.strictEqual(record.run.status, "FAILED")
      yield* Effect.flatMap(LedgerStore, (ledger) =>
        ledger.adjust({ id: "x", accountId: account, actor: "a", reason: "r", amount: 10_000_000 }),
      )
      const again = yield* run(dear, [edge("a", "b"), edge("b", "c")])
      assert.strictEqual(again.run.status, "COMPLETED")
    }).pipe(at),
  )

  it.effect("stops a run before it costs more than its start allowed", () =>
    Effect.gen(function* () {
      const record = yield* run(
        [spends("a", 2, { charges: [4] }), spends("b", 2)],
        [edge("a", "b")],
        { maxCredits: 5_000_000 },
      )
      assert.strictEqual(record.run.status, "FAILED")
      assert.strictEqual(record.run.error, "The run needed 6 credits, and its start allowed 5")
      assert.deepStrictEqual((yield* book).told, ["reserve 4", "post a 4", "void 0"])
    }).pipe(at),
  )
})

describe("Runs.cancel", () => {
  it.effect("gives back what a run has set aside, and posts what was charged so far", () =>
    Effect.gen(function* () {
      yield* fund(10)
      const gates = yield* Gates
      const { id } = yield* start(
        [spends("a", 2), spends("b", 3, { charges: [1.25], holds: true }), spends("c", 1)],
        [edge("a", "b"), edge("b", "c")],
      )
      yield* gates.untilArrived("b")
      const runs = yield* Runs
      const canceled = yield* runs.cancel(account, id)
      assert.strictEqual(toNumber(canceled.actualCredits), 3.25)
      const record = yield* found(id)
      assert.deepStrictEqual(creditsOf(record), { a: 2, b: 1.25, c: 0 })
      assert.deepInclude(byNode(record)["b"], { status: "CANCELED", attempt: 1 })
      yield* runs.cancel(account, id)
      const entries = ["reserve 6", "post a 2", "post b 1.25", "void 2.75"]
      assert.deepStrictEqual(yield* book, { posted: 6.75, reserved: 0, told: entries })
    }).pipe(at),
  )

  it.effect("pays for what a run's timeout breaks off", () =>
    Effect.gen(function* () {
      yield* fund(10)
      const gates = yield* Gates
      const { id } = yield* start([spends("a", 3, { charges: [1], holds: true })], [], {
        settings: { timeoutMillis: 1_000 },
      })
      yield* gates.untilArrived("a")
      yield* TestClock.adjust("2 seconds")
      const { run: ended } = yield* found(id)
      assert.strictEqual(ended.status, "FAILED")
      assert.deepStrictEqual((yield* book).told, ["reserve 3", "post a 1", "void 2"])
    }).pipe(at),
  )
})
