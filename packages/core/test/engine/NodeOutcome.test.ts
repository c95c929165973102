// What becomes of nodes in progress when their run is stopped, broken off or canceled.
import type { RunRecord } from "@millrace/core/domain/Run"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { account, byNode, edge, engine, Gates, node, nodeWith, start, types } from "./TestEngine.ts"

/** Waits until the test opens it, and then fails in a way that another attempt could mend. */
const stumble = define({
  key: "stumble",
  inputs: {},
  outputs: {},
  run: Effect.fnUntraced(function* () {
    const { nodeId } = yield* CurrentNode
    yield* Effect.flatMap(Gates, (gates) => gates.pass(nodeId))
    return yield* new NodeError({ message: "stumbled" })
  }),
})

/** Charges two credits and fails; at its second attempt it charges three and waits. */
const meter = define({
  key: "meter",
  inputs: {},
  outputs: {},
  run: Effect.fnUntraced(function* () {
    const { attempt, charge, log, nodeId } = yield* CurrentNode
    log("info", `attempt ${attempt}`)
    yield* charge(attempt + 1)
    if (attempt === 1) return yield* new NodeError({ message: "again" })
    yield* Effect.flatMap(Gates, (gates) => gates.pass(nodeId))
    return {}
  }),
})

const known = [...types, stumble, meter]
const at = <A, E, R>(effect: Effect.Effect<A, E, R>) => effect.pipe(Effect.provide(engine(known)))
const retry = { attempts: 9, initial: "1 second", jitter: 0 }

const ended = (id: RunRecord["run"]["id"]) => Effect.flatMap(Runs, (runs) => runs.wait(account, id))

describe("a run that a failure has stopped", () => {
  it.effect("does not try again what fails afterwards: it fails, with its own error", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const { id } = yield* start(
        [node("bad", "crash"), nodeWith("late", "stumble", {}, { retry })],
        [],
        { settings: { onFailure: "stop" } },
      )
      yield* gates.untilArrived("late")
      yield* TestClock.adjust(1)
      yield* gates.open("late")
      yield* TestClock.adjust("1 minute")
      const record = yield* ended(id)
      const { attempt, error, status } = byNode(record)["late"]!
      assert.deepStrictEqual(
        { attempt, error, status },
        { attempt: 1, error: "stumbled", status: "FAILED" },
      )
      assert.strictEqual(record.run.error, 'Node "bad" failed: handler bug (and 1 more node)')
      assert.deepStrictEqual(gates.arrived, ["late"])
    }).pipe(at),
  )
})

describe("a node that is canceled in a later attempt", () => {
  const expected = {
    status: "CANCELED" as const,
    attempt: 2,
    credits: 5_000_000,
    logs: ["attempt 1"],
  }
  const shown = (record: RunRecord) => {
    const { attempt, credits, logs, status } = byNode(record)["n"]!
    return { status, attempt, credits, logs: logs?.map(({ message }) => message) }
  }

  it.effect("has cost what all its attempts have charged, when its run is canceled", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const runs = yield* Runs
      const { id } = yield* start([nodeWith("n", "meter", {}, { retry })])
      yield* TestClock.adjust("1 second")
      yield* gates.untilArrived("n")
      const canceled = yield* runs.cancel(account, id)
      assert.strictEqual(canceled.actualCredits, 5_000_000)
      assert.deepStrictEqual(shown(yield* ended(id)), expected)
    }).pipe(at),
  )

  it.effect("has cost as much when a failure breaks its run off", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const { id } = yield* start(
        [nodeWith("n", "meter", {}, { retry }), node("open", "gate"), node("bad", "crash")],
        [edge("open", "bad")],
        { settings: { onFailure: "abort" } },
      )
      yield* TestClock.adjust("1 second")
      yield* gates.untilArrived("n")
      yield* gates.open("open")
      const record = yield* ended(id)
      assert.strictEqual(record.run.status, "FAILED")
      assert.strictEqual(record.run.actualCredits, 5_000_000)
      assert.deepStrictEqual(shown(record), expected)
      const store = yield* RunStore
      const types = (yield* store.events(account, id, 0)).map(({ type }) => type)
      assert.deepStrictEqual(types.slice(-1), ["run.failed"])
    }).pipe(at),
  )
})
