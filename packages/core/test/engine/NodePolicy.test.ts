// What becomes of a node whose attempt fails: another attempt, a way around, or the end of the run.
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import type { RunRecord } from "@millrace/core/domain/Run"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Runs } from "@millrace/core/engine/Runs"
import { define } from "@millrace/core/engine/NodeDefinition"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { account, byNode, edge, engine, Gates, node, nodeWith, run, start } from "./TestEngine.ts"

const at = <A, E, R>(effect: Effect.Effect<A, E, R>) => effect.pipe(Effect.provide(engine()))

/** Runs a workflow to its end, letting so much time pass. */
const runFor = (time: "1 minute" | "2 minutes", ...parameters: Parameters<typeof run>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(run(...parameters))
    yield* TestClock.adjust(time)
    return yield* Fiber.join(fiber)
  })

const textsOf = (record: RunRecord, nodeId: string) =>
  byNode(record)[nodeId]?.logs?.map(
    ({ attempt, level, message }) => `${attempt} ${level} ${message}`,
  )

describe("NodePolicy.retry", () => {
  it.effect("attempts a node again, each time later, until it succeeds", () =>
    Effect.gen(function* () {
      const retry = { attempts: 4, initial: "1 second", factor: 3, jitter: 0 }
      const record = yield* runFor("1 minute", [
        nodeWith("n", "flaky", { failures: 3, input: "x" }, { retry }),
      ])
      const row = byNode(record)["n"]!
      assert.strictEqual(record.run.status, "COMPLETED")
      assert.strictEqual(row.attempt, 4)
      assert.deepStrictEqual(row.output, { output: "x" })
      assert.strictEqual(row.error, null)
      assert.strictEqual(row.finishedAt! - row.startedAt!, 1_000 + 3_000 + 9_000)
      assert.strictEqual(row.credits, 4_000_000)
      assert.strictEqual(record.run.actualCredits, 4_000_000)
      assert.strictEqual(record.run.attempts, 4)
      assert.strictEqual(record.run.nodeRunCount, 1)
      const key = `${record.run.id}:n`
      assert.deepStrictEqual(textsOf(record, "n"), [
        `1 info attempt 1 of ${key}`,
        `2 info attempt 2 of ${key}`,
        `3 info attempt 3 of ${key}`,
        `4 info attempt 4 of ${key}`,
      ])
    }).pipe(at),
  )

  it.effect("fails with the last error once no attempt is left", () =>
    Effect.gen(function* () {
      const retry = { attempts: 3, initial: 10, jitter: 0 }
      const record = yield* runFor("1 minute", [nodeWith("n", "flaky", { failures: 9 }, { retry })])
      assert.strictEqual(record.run.error, 'Node "n" failed: failure 3')
      assert.strictEqual(byNode(record)["n"]?.credits, 3_000_000)
    }).pipe(at),
  )

  it.effect("does not try again what the handler calls not retryable", () =>
    Effect.gen(function* () {
      const retry = { attempts: 3 }
      const literals = { failures: 9, retryable: false }
      const record = yield* run([nodeWith("n", "flaky", literals, { retry })])
      assert.strictEqual(byNode(record)["n"]?.attempt, 1)
      assert.strictEqual(byNode(record)["n"]?.error, "failure 1")
    }).pipe(at),
  )

  it.effect("waits as long as the handler asks for", () =>
    Effect.gen(function* () {
      const retry = { attempts: 2, initial: 1, jitter: 0 }
      const literals = { failures: 1, retryAfterMillis: 90_000 }
      const record = yield* runFor("2 minutes", [nodeWith("n", "flaky", literals, { retry })])
      const row = byNode(record)["n"]!
      assert.strictEqual(row.finishedAt! - row.startedAt!, 90_000)
    }).pipe(at),
  )

  it.effect("holds no slot while a node waits", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const retry = { attempts: 2, initial: "500 millis", jitter: 0 }
      const { id } = yield* start([
        nodeWith("a", "flaky", { failures: 1 }, { retry }),
        node("b", "gate"),
      ])
      yield* gates.untilArrived("b")
      const store = yield* RunStore
      const record = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      const shown = byNode(record)
      assert.strictEqual(shown["a"]?.status, "WAITING")
      assert.strictEqual(shown["a"]?.error, "failure 1")
      assert.strictEqual(shown["b"]?.status, "RUNNING")
      yield* TestClock.adjust("1 second")
      yield* gates.open("b")
      const { run: ended } = yield* Effect.flatMap(Runs, (runs) => runs.wait(account, id))
      assert.strictEqual(ended.status, "COMPLETED")
    }).pipe(
      Effect.provide(engine()),
      Effect.provideService(CurrentLimits, { ...defaultLimits, nodesAtOnce: 1 }),
    ),
  )

  it.effect("is capped for the run as a whole", () =>
    Effect.gen(function* () {
      const retry = { attempts: 50, initial: 1, jitter: 0 }
      const record = yield* runFor("1 minute", [
        nodeWith("n", "flaky", { failures: 99 }, { retry }),
      ])
      assert.match(record.run.error ?? "", /failure 7 \(not tried again: .* 7 attempts; .* is 7\)$/)
    }).pipe(
      Effect.provide(engine()),
      Effect.provideService(CurrentLimits, { ...defaultLimits, attemptsPerRun: 7 }),
    ),
  )
})

describe("NodePolicy.onError", () => {
  const risky = (data: { [key: string]: string | object }) =>
    nodeWith("risky", "flaky", { failures: 9 }, data as never)

  it.effect("routes an error to the port error where an edge waits for it", () =>
    Effect.gen(function* () {
      const record = yield* run(
        [risky({}), node("rescue", "pass"), node("usual", "pass")],
        [edge("risky.error", "rescue"), edge("risky.output", "usual")],
      )
      const nodes = byNode(record)
      assert.strictEqual(record.run.status, "COMPLETED")
      assert.strictEqual(nodes["risky"]?.status, "COMPLETED")
      assert.strictEqual(nodes["usual"]?.status, "SKIPPED")
      const error = { message: "failure 1", nodeId: "risky", attempt: 1 }
      assert.deepStrictEqual(nodes["rescue"]?.output, { output: error })
      assert.strictEqual(textsOf(record, "risky")?.at(-1), "1 error failure 1")
    }).pipe(at),
  )

  it.effect("goes on with the default output", () =>
    Effect.gen(function* () {
      const record = yield* run(
        [risky({ onError: "default", default: { output: "plan B" } }), node("next", "pass")],
        [edge("risky", "next")],
      )
      assert.strictEqual(record.run.status, "COMPLETED")
      assert.deepStrictEqual(byNode(record)["next"]?.output, { output: "plan B" })
      assert.strictEqual(textsOf(record, "risky")?.at(-1), "1 error failure 1")
    }).pipe(at),
  )

  it.effect("fails in spite of an edge at the port error when the node says so", () =>
    Effect.gen(function* () {
      const record = yield* run(
        [risky({ onError: "fail" }), node("rescue", "pass")],
        [edge("risky.error", "rescue")],
      )
      assert.strictEqual(record.run.status, "FAILED")
      assert.strictEqual(byNode(record)["rescue"]?.status, "SKIPPED")
    }).pipe(at),
  )

  it.effect("comes into play after the last attempt only", () =>
    Effect.gen(function* () {
      const retry = { attempts: 3, initial: 1, jitter: 0 }
      const record = yield* runFor(
        "1 minute",
        [risky({ retry }), node("rescue", "pass")],
        [edge("risky.error", "rescue")],
      )
      const error = { message: "failure 3", nodeId: "risky", attempt: 3 }
      assert.deepStrictEqual(byNode(record)["rescue"]?.output, { output: error })
    }).pipe(at),
  )
})

describe("WorkflowSettings.onFailure", () => {
  const nodes = [
    node("bad", "fail", { message: "no" }),
    node("slow", "gate"),
    node("after", "pass"),
    node("dependent", "pass"),
  ]
  const edges = [edge("slow", "after"), edge("bad", "dependent")]

  const play = (onFailure: "continue" | "stop" | "abort") =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const runs = yield* Runs
      const { id } = yield* start(nodes, edges, { settings: { onFailure } })
      yield* gates.untilArrived("slow")
      yield* Effect.yieldNow
      yield* gates.open("slow")
      const record = yield* runs.wait(account, id)
      const statuses = Object.values(byNode(record)).map(({ nodeId, status }) => [nodeId, status])
      return { status: record.run.status, ...Object.fromEntries(statuses) } as object
    })

  it.effect("continue: independent branches go on, dependents are skipped", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* play("continue"), {
        status: "FAILED",
        bad: "FAILED",
        slow: "COMPLETED",
        after: "COMPLETED",
        dependent: "SKIPPED",
      })
    }).pipe(at),
  )

  it.effect("stop: what runs may finish, nothing new is started", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* play("stop"), {
        status: "FAILED",
        bad: "FAILED",
        slow: "COMPLETED",
        after: "CANCELED",
        dependent: "SKIPPED",
      })
    }).pipe(at),
  )

  it.effect("abort: what runs is broken off as well", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* play("abort"), {
        status: "FAILED",
        bad: "FAILED",
        slow: "CANCELED",
        after: "CANCELED",
        dependent: "SKIPPED",
      })
      assert.deepStrictEqual((yield* Gates).interrupted, ["slow"])
    }).pipe(at),
  )

  it.effect("stop and abort do not wait for nodes that would be tried again", () =>
    Effect.gen(function* () {
      const retry = { attempts: 9, initial: "1 hour" }
      const record = yield* runFor(
        "1 minute",
        [nodeWith("w", "flaky", { failures: 8 }, { retry }), node("bad", "crash")],
        [],
        { settings: { onFailure: "stop" } },
      )
      assert.strictEqual(record.run.status, "FAILED")
      assert.strictEqual(byNode(record)["w"]?.status, "CANCELED")
      assert.strictEqual(byNode(record)["w"]?.credits, 1_000_000)
    }).pipe(at),
  )
})

describe("NodePolicy.problems", () => {
  it.effect("refuses nonsense at the start, each with its path", () =>
    Effect.gen(function* () {
      const nonsense = {
        retry: { attempts: 0, initial: -1, factor: 0.5, max: "soon", jitter: 2, delay: 1 },
        timeout: 0,
        onError: "explode",
        default: [1],
      }
      const error = yield* Effect.flip(start([nodeWith("n", "pass", {}, nonsense)]))
      assert.strictEqual(
        (error as Error).message,
        [
          "retry.attempts: expected a whole number from 1 to 100",
          "retry.initial: expected at least 0 ms",
          "retry.factor: expected a number from 1 to 100",
          'retry.max: expected a number of milliseconds or text such as "30 seconds"',
          "retry.jitter: expected a number from 0 to 1",
          "retry.delay: unknown; known are attempts, initial, factor, max, jitter",
          "timeout: expected at least 1 ms",
          "onError: expected one of fail, route, default",
          "default: expected an object with a value per output",
        ]
          .map((problem) => `Node "n": ${problem}`)
          .join("; "),
      )
    }).pipe(at),
  )

  it.effect("refuses a default without an output, and one on a port that does not exist", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        start([
          nodeWith("a", "pass", {}, { onError: "default" }),
          nodeWith("b", "pass", {}, { onError: "default", default: { result: 1 } }),
        ]),
      )
      assert.strictEqual(
        (error as Error).message,
        'Node "a": default: missing, although onError is "default"; ' +
          'Node "b": default: has no output "result"; it has output',
      )
    }).pipe(at),
  )

  it("refuses nonsense in the declaration of a type", () => {
    const declare = () =>
      define({
        key: "odd",
        inputs: {},
        outputs: {},
        retry: { attempts: 0, factor: 0 },
        timeoutMillis: -1,
        run: () => Effect.succeed({}),
      })
    assert.throws(declare, /^Node type "odd": retry.attempts: .*; retry.factor: .*; timeout: .*/)
  })
})
