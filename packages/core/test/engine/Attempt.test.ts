// One attempt: what a handler is told, what it may put out, charge and leave behind.
import { Json } from "@millrace/core/domain/Json"
import { defaultLimits, stateLength } from "@millrace/core/domain/Limits"
import type { Wait } from "@millrace/core/domain/Message"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { RunStore } from "@millrace/core/ports/RunStore"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import { checkOutput } from "../../src/engine/internal/Output.ts"
import { account, byNode, engine, node, nodeWith, run, start, types } from "./TestEngine.ts"

const ports = {
  inputs: new Map(),
  outputs: new Map(["output", "more"].map((name) => [name, { name, schema: {} }] as const)),
}

const check = (output: unknown, outputBytes = defaultLimits.outputBytes) =>
  Result.match(checkOutput(ports, output, { ...defaultLimits, outputBytes }), {
    onFailure: (problem) => problem,
    onSuccess: (value): unknown => value,
  })

describe("an output", () => {
  it("is a frozen copy of what the handler returned, without what is undefined", () => {
    const deep = { list: [1] }
    const output = check({ output: deep, more: undefined }) as { output: typeof deep }
    assert.deepStrictEqual(output, { output: { list: [1] } })
    assert.notStrictEqual(output.output, deep)
    assert.isTrue(Object.isFrozen(output))
    assert.isTrue(Object.isFrozen(output.output.list))
  })

  it("is refused where it is no record, or has a port that is not declared", () => {
    const none = "the handler returned something that is not a record of ports"
    for (const odd of [null, undefined, 1, [1]]) assert.strictEqual(check(odd), none)
    assert.strictEqual(
      check({ output: 1, extra: 2 }),
      'the handler returned output "extra", which is not declared; declared: output, more',
    )
  })

  it("is refused by the name of the port whose value is no JSON", () => {
    assert.strictEqual(
      check({ output: 1, more: 1n }),
      'output "more" is not JSON: a value of type bigint is not JSON',
    )
  })

  it("may be as long as the limit in bytes of JSON text, with its ports, and no longer", () => {
    // {"output":"…"} has 13 bytes beside the text.
    assert.deepStrictEqual(check({ output: "x".repeat(87) }, 100), { output: "x".repeat(87) })
    assert.strictEqual(
      check({ output: "x".repeat(88) }, 100),
      "the output has 101 bytes; the limit is 100",
    )
    // Three bytes each.
    assert.strictEqual(
      check({ output: "€".repeat(30) }, 100),
      "the output has 103 bytes; the limit is 100",
    )
    // Six bytes each, as an escape: the longest there is.
    assert.strictEqual(
      check({ output: "\u0001".repeat(20) }, 132),
      "the output has 133 bytes; the limit is 132",
    )
    assert.match(String(check({ output: 1, more: "x".repeat(90) }, 100)), /^the output has 11\d/)
  })
})

/** Says what it was told. */
const told = define({
  key: "told",
  modes: ["slow", "fast"],
  inputs: {},
  outputs: { output: Json },
  run: Effect.fnUntraced(function* () {
    const { accountId, attempt, message, mode, nodeId, nodeType, resumed, values } =
      yield* CurrentNode
    const none = [message === undefined, resumed === undefined]
    return { output: { accountId, attempt, mode, nodeId, nodeType, none, values } }
  }),
})

/** Suspends itself with whatever the test says. */
const suspending = (wait: Wait, state: unknown) =>
  define({
    key: "suspending",
    inputs: {},
    outputs: { output: Json },
    run: Effect.fnUntraced(function* () {
      const { resumed, suspend } = yield* CurrentNode
      if (resumed !== undefined) return { output: [yield* Clock.currentTimeMillis, resumed] }
      return yield* suspend(wait, state as Json)
    }),
  })

/** Charges what it is told to, one after the other. */
const charging = define({
  key: "charging",
  inputs: { charges: Schema.Array(Schema.Number) },
  outputs: {},
  run: Effect.fnUntraced(function* ({ charges }) {
    const { charge } = yield* CurrentNode
    for (const each of charges) yield* charge(each)
    return {}
  }),
})

describe("a handler", () => {
  it.effect("is told whose node it executes, in which mode and attempt", () =>
    Effect.gen(function* () {
      const nodes = [node("a", "told"), nodeWith("b", "told", {}, { mode: "fast" })]
      const record = yield* run(nodes, [], { values: { order: 7 } })
      const usual = { accountId: account, attempt: 1, nodeType: "told", values: { order: 7 } }
      const none = [true, true]
      const { a, b } = byNode(record)
      assert.deepStrictEqual(a?.output?.["output"], { ...usual, nodeId: "a", mode: "slow", none })
      assert.deepStrictEqual(b?.output?.["output"], { ...usual, nodeId: "b", mode: "fast", none })
    }).pipe(Effect.provide(engine([...types, told]))),
  )

  it.effect("has charged the sum of all its charges, up to the largest amount there is", () =>
    Effect.gen(function* () {
      const sum = yield* run([node("n", "charging", { charges: [0.1, 0.2, 0] })])
      assert.strictEqual(sum.run.actualCredits, 300_000)
      const most = yield* run([node("n", "charging", { charges: [1e9, 0.000001] })])
      assert.match(byNode(most)["n"]?.error ?? "", /^charged 0.000001 credits; a charge is/)
      // What it had charged before stays charged.
      assert.strictEqual(most.run.actualCredits, 1e15)
      const back = yield* run([node("n", "charging", { charges: [2, -1] })])
      assert.match(byNode(back)["n"]?.error ?? "", /^charged -1 credits; a charge is/)
    }).pipe(Effect.provide(engine([...types, charging]))),
  )

  it.effect("may take what it needs off its node", () =>
    Effect.gen(function* () {
      const taking = define({
        key: "taking",
        inputs: {},
        outputs: { output: Json },
        run: () =>
          Effect.gen(function* () {
            const { charge, log, runId } = yield* CurrentNode
            log("info", "taken")
            yield* charge(2)
            return { output: runId }
          }),
      })
      const record = yield* run([node("n", "taking")]).pipe(Effect.provide(engine([taking])))
      const { logs, output } = byNode(record)["n"]!
      assert.deepStrictEqual(output, { output: record.run.id })
      assert.deepStrictEqual(
        logs?.map(({ message }) => message),
        ["taken"],
      )
      assert.strictEqual(record.run.actualCredits, 2_000_000)
    }),
  )
})

/** Ends in an odd way. */
const odd = (run: () => Effect.Effect<{ readonly output: Json }>) =>
  define({ key: "odd", inputs: {}, outputs: { output: Json }, run })

describe("an attempt", () => {
  const attempts = 3
  const last = (type: ReturnType<typeof odd>) =>
    Effect.gen(function* () {
      const retry = { attempts, initial: 1, jitter: 0 }
      const { id } = yield* start([nodeWith("n", "odd", {}, { retry })])
      yield* TestClock.adjust("1 second")
      const record = yield* Effect.flatMap(
        RunStore.use((store) => store.find(account, id)),
        Effect.fromOption,
      )
      const { attempt, error, status } = byNode(record)["n"]!
      return { attempt, error, status }
    }).pipe(Effect.provide(engine([type])))

  it.effect("of a handler that throws is made again, and fails with what it threw", () =>
    Effect.gen(function* () {
      const thrown = odd(() => {
        throw new TypeError("oops")
      })
      const expected = { attempt: attempts, error: "oops", status: "FAILED" } as const
      assert.deepStrictEqual(yield* last(thrown), expected)
    }),
  )

  it.effect("of a handler that interrupts itself is made again, and says so", () =>
    Effect.gen(function* () {
      const error = "the handler interrupted itself"
      const expected = { attempt: attempts, error, status: "FAILED" } as const
      assert.deepStrictEqual(yield* last(odd(() => Effect.interrupt)), expected)
    }),
  )

  it.effect("whose output is refused is not made again: it would be the same", () =>
    Effect.gen(function* () {
      const wrong = odd(() => Effect.succeed({ output: Number.NaN }))
      const error = 'output "output" is not JSON: NaN is not a JSON number'
      assert.deepStrictEqual(yield* last(wrong), { attempt: 1, error, status: "FAILED" } as const)
    }),
  )
})

describe("a handler that suspends itself", () => {
  const refusals: ReadonlyArray<readonly [string, Wait, unknown, RegExp]> = [
    ["nothing", {}, null, /it waits for nothing: it needs until, for, or both/],
    ["no time", { until: Number.NaN }, null, /NaN is no time/],
    [
      "an endless time",
      { until: Number.POSITIVE_INFINITY, for: "go" },
      null,
      /Infinity is no time/,
    ],
    ["no name", { for: "", until: 5 }, null, /the name of a message has 0 characters/],
    ["odd state", { until: 5 }, { big: 1n }, /a value of type bigint is not JSON/],
    ["much state", { until: 5 }, "x".repeat(stateLength - 1), /has 4097 characters; the limit is/],
  ]
  for (const [what, wait, state, message] of refusals) {
    it.effect(`fails with a sentence where it waits with ${what}`, () =>
      Effect.gen(function* () {
        const record = yield* run([node("n", "suspending")])
        const { error, status } = byNode(record)["n"]!
        assert.strictEqual(status, "FAILED")
        assert.match(error ?? "", message)
        assert.match(error ?? "", /^cannot be suspended: /)
      }).pipe(Effect.provide(engine([suspending(wait, state)]))),
    )
  }

  it.effect("leaves its state as it was then, up to as much as a run carries, for later", () => {
    const state = { texts: ["x".repeat(stateLength - 14)] }
    return Effect.gen(function* () {
      const { id } = yield* start([node("n", "suspending")])
      yield* TestClock.adjust(1)
      state.texts.push("changed")
      yield* TestClock.adjust(500)
      const found = yield* Effect.flatMap(
        RunStore.use((store) => store.find(account, id)),
        Effect.fromOption,
      )
      // The wait ends at a whole millisecond, and never too early.
      const expected = [101, { texts: ["x".repeat(stateLength - 14)] }]
      assert.deepStrictEqual(byNode(found)["n"]?.output, { output: expected })
    }).pipe(Effect.provide(engine([suspending({ until: 100.5 }, state)])))
  })
})
