// What follows from the declaration of a node type: ports, checks, decoding, encoding, defaults.
import type { JsonObject } from "@millrace/core/domain/Json"
import type { Node, NodeSettings } from "@millrace/core/domain/Workflow"
import { settingsOf } from "@millrace/core/domain/Workflow"
import type { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { NodeError } from "@millrace/core/engine/CurrentNode"
import { define, sentenceOf, toNodeError } from "@millrace/core/engine/NodeDefinition"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option, Schema } from "effect"

const settingsWith = (data: JsonObject): NodeSettings => {
  const drawn: Node = { id: "n", type: "t", position: { x: 0, y: 0 }, data }
  return settingsOf(drawn)
}

const plain = settingsWith({})

/** Takes a text, a number with a default, and a list; puts out a date. */
const sample = define({
  key: "sample",
  inputs: {
    text: Schema.String,
    count: Schema.Finite.pipe(Schema.withDecodingDefaultKey(Effect.succeed(3))),
    list: Schema.optionalKey(Schema.Array(Schema.Finite)),
  },
  multiple: ["list"],
  outputs: { at: Schema.optionalKey(Schema.Date), sum: Schema.Finite },
  run: ({ count, list = [], text }) =>
    Effect.succeed({ at: new Date(text), sum: list.length + count }),
})

/** The handlers here do not ask about the node that they execute. */
const unused = {} as CurrentNode["Service"]

/** Runs a handler, which needs nothing. */
const call = (type: typeof sample, inputs: JsonObject, settings = plain) =>
  Effect.exit(type.run(inputs, settings, unused) as Effect.Effect<JsonObject, NodeError>)

const failureOf = (exit: Exit.Exit<unknown, NodeError>) =>
  Option.getOrThrow(Exit.findErrorOption(exit))

describe("a declared node type", () => {
  it("says who it is, with defaults for what its author did not say", () => {
    const { type } = define({
      key: "least",
      inputs: {},
      outputs: {},
      run: () => Effect.succeed({}),
    })
    const { estimate, portsOf, ...rest } = type
    assert.deepStrictEqual(rest, {
      key: "least",
      version: 1,
      name: "least",
      description: "",
      category: "other",
      modes: [],
      join: "any",
      role: "step",
      delivery: "at-least-once",
      effects: "writes",
      policy: { retry: undefined, timeoutMillis: undefined },
    })
    assert.strictEqual(estimate(plain), 0)
    assert.deepStrictEqual([...portsOf(plain).inputs, ...portsOf(plain).outputs], [])
  })

  it("says what its author said", () => {
    const said = {
      version: 4,
      name: "Most",
      description: "Everything",
      category: "flow",
      modes: ["a", "b"],
      join: "all",
      role: "response",
      delivery: "at-most-once",
    } as const
    const more = { ...said, key: "most", retry: { attempts: 2 }, timeoutMillis: 9 }
    const { type } = define({ ...more, inputs: {}, outputs: {}, run: () => Effect.succeed({}) })
    assert.deepInclude(type, said)
    assert.deepStrictEqual(type.policy, { retry: { attempts: 2 }, timeoutMillis: 9 })
  })

  it("is priced by a number, or by its literals and its mode", () => {
    const none = { inputs: {}, outputs: {}, run: () => Effect.succeed({}) }
    assert.strictEqual(define({ ...none, key: "a", credits: 1.5 }).type.estimate(plain), 1_500_000)
    const asked: Array<unknown> = []
    const credits = (literals: JsonObject, mode: string) => {
      asked.push([literals, mode])
      return 2
    }
    const { type } = define({ ...none, key: "b", modes: ["slow", "fast"], credits })
    assert.strictEqual(type.estimate(settingsWith({ inputs: { x: 1 } })), 2_000_000)
    type.estimate(settingsWith({ mode: "fast" }))
    define({ ...none, key: "c", credits }).type.estimate(plain)
    assert.deepStrictEqual(asked, [
      [{ x: 1 }, "slow"],
      [{}, "fast"],
      [{}, ""],
    ])
  })

  it("has a port for each schema: required or not, of one value or several", () => {
    const { inputs, outputs } = sample.type.portsOf(plain)
    assert.deepStrictEqual(
      [...inputs.values()].map(({ multiple, name, required }) => [name, required, multiple]),
      [
        ["text", true, false],
        ["count", false, false],
        ["list", false, true],
      ],
    )
    assert.deepStrictEqual(inputs.get("text")?.schema, { type: "string" })
    assert.deepStrictEqual([...outputs.keys()], ["at", "sum"])
    assert.deepStrictEqual(outputs.get("sum")?.schema, { type: "number" })
    assert.isFalse("problemsOfLiteral" in inputs.get("text")!)
  })

  it("describes named schemas with their definitions", () => {
    const Named = Schema.Struct({ id: Schema.String }).annotate({ identifier: "Named" })
    const { type } = define({
      key: "named",
      inputs: { one: Named },
      outputs: {},
      run: () => Effect.succeed({}),
    })
    const schema = type.portsOf(plain).inputs.get("one")?.schema
    assert.deepStrictEqual(Object.keys(schema?.["$defs"] ?? {}), ["Named"])
  })

  it("names everything that is wrong with a value, each with its place", () => {
    const { inputs } = sample.type.portsOf(plain)
    assert.deepStrictEqual(inputs.get("text")?.check("fine"), [])
    assert.match(inputs.get("text")!.check(1).join(), /^Expected string/)
    const list = inputs.get("list")!.check([1, "two", null])
    assert.strictEqual(list.length, 2)
    assert.match(list[0]!, /^\[1\]: Expected number/)
    assert.match(list[1]!, /^\[2\]: Expected number/)
    for (const clause of list) assert.notMatch(clause, /\n|^\s|\s$/)
  })

  it("tells each problem in one line", () => {
    const expected = " on\n  two lines  "
    const never = Schema.String.check(Schema.makeFilter(() => expected))
    const { type } = define({
      key: "strict",
      inputs: { text: never },
      outputs: {},
      run: () => Effect.succeed({}),
    })
    assert.deepStrictEqual(type.portsOf(plain).inputs.get("text")?.check("x"), ["on two lines"])
  })

  it("judges literals of raw inputs as its author says", () => {
    const { type } = define({
      key: "templated",
      inputs: { text: Schema.String, other: Schema.String },
      outputs: {},
      raw: { text: (literal) => [`judged ${String(literal)}`] },
      run: () => Effect.succeed({}),
    })
    const { inputs } = type.portsOf(plain)
    assert.deepStrictEqual(inputs.get("text")?.problemsOfLiteral?.("x"), ["judged x"])
    assert.deepStrictEqual(
      [inputs.get("text")?.isRaw, inputs.get("other")?.isRaw],
      [true, undefined],
    )
    assert.isFalse("problemsOfLiteral" in inputs.get("other")!)
  })

  it("has further ports where its settings say so, for any value", () => {
    const none = { inputs: { input: Schema.String }, outputs: { output: Schema.String } }
    const { type } = define({
      ...none,
      key: "dynamic",
      ports: ({ inputs }) => ({
        inputs: Object.keys(inputs),
        ...(inputs["out"] === undefined ? {} : { outputs: ["output", "more"] }),
      }),
      run: () => Effect.succeed({ output: "x" }),
    })
    const fixed = type.portsOf(plain)
    assert.deepStrictEqual(
      [[...fixed.inputs.keys()], [...fixed.outputs.keys()]],
      [["input"], ["output"]],
    )
    const { inputs, outputs } = type.portsOf(settingsWith({ inputs: { input: "a", out: 1 } }))
    assert.deepStrictEqual([...inputs.keys()], ["input", "out"])
    assert.isTrue(inputs.get("input")?.required)
    const { check, ...out } = inputs.get("out")!
    assert.deepStrictEqual(out, { name: "out", required: false, multiple: false, schema: {} })
    assert.deepStrictEqual(check(null), [])
    assert.deepStrictEqual([...outputs.keys()], ["output", "more"])
    assert.deepStrictEqual(outputs.get("output")?.schema, { type: "string" })
    assert.deepStrictEqual(outputs.get("more"), { name: "more", schema: {} })
    const { type: open } = define({
      ...none,
      key: "open",
      ports: () => ({ outputs: ["more"] }),
      run: () => Effect.succeed({ output: "x" }),
    })
    assert.deepStrictEqual([...open.portsOf(plain).inputs.keys()], ["input"])
    // Of one node; the next one has its own.
    assert.deepStrictEqual([...type.portsOf(plain).inputs.keys()], ["input"])
  })
})

describe("a declared handler", () => {
  it.effect("gets decoded inputs, and its outputs are encoded", () =>
    Effect.gen(function* () {
      const text = "2026-01-31T09:30:00.000Z"
      const exit = yield* call(sample, { text, list: [1, 2] })
      assert.deepStrictEqual(exit, Exit.succeed({ at: text, sum: 5 }))
    }),
  )

  it.effect("is not called with inputs that do not fit, and every problem is named", () =>
    Effect.gen(function* () {
      const { message, retryable } = failureOf(yield* call(sample, { text: 1, list: ["x"] }))
      assert.match(message, /^input \[text\]: Expected string.*; \[list\]\[0\]: Expected number/)
      assert.strictEqual(retryable, false)
    }),
  )

  it.effect("fails by the name of an output that does not fit its schema", () =>
    Effect.gen(function* () {
      const wrong = define({
        key: "wrong",
        inputs: {},
        outputs: { fine: Schema.String, sum: Schema.Finite },
        run: () => Effect.succeed({ fine: "x", sum: "no number" as unknown as number }),
      })
      const { message, retryable } = failureOf(yield* call(wrong, {}))
      assert.match(message, /^output "sum": Expected number/)
      assert.strictEqual(retryable, false)
    }),
  )

  it.effect("may leave an output out, put out null, and say what is not declared", () =>
    Effect.gen(function* () {
      const outputs = { at: undefined, sum: 1, extra: null }
      const odd = define({
        key: "odd",
        inputs: {},
        outputs: { at: Schema.optionalKey(Schema.String), sum: Schema.Finite },
        run: () => Effect.succeed(outputs as unknown as { sum: number }),
      })
      // Whether an output is declared is checked later, for all node types alike.
      assert.deepStrictEqual(yield* call(odd, {}), Exit.succeed({ sum: 1, extra: null }))
    }),
  )

  it.effect("gets inputs of ports that only its settings have", () =>
    Effect.gen(function* () {
      const all = define({
        key: "all",
        inputs: { input: Schema.String },
        outputs: { output: Schema.Any },
        ports: () => ({ inputs: ["more"] }),
        run: (inputs) => Effect.succeed({ output: inputs }),
      })
      const exit = yield* call(all, { input: "a", more: 2 })
      assert.deepStrictEqual(exit, Exit.succeed({ output: { input: "a", more: 2 } }))
    }),
  )

  it.effect("gets the mode in force", () =>
    Effect.gen(function* () {
      const modal = (modes: ReadonlyArray<string>) =>
        define({
          key: "modal",
          modes,
          inputs: {},
          outputs: { mode: Schema.String },
          run: (_, mode) => Effect.succeed({ mode }),
        })
      const fast = settingsWith({ mode: "fast" })
      const modes = ["slow", "fast"]
      assert.deepStrictEqual(yield* call(modal(modes), {}), Exit.succeed({ mode: "slow" }))
      assert.deepStrictEqual(yield* call(modal(modes), {}, fast), Exit.succeed({ mode: "fast" }))
      assert.deepStrictEqual(yield* call(modal([]), {}), Exit.succeed({ mode: "" }))
    }),
  )

  it("is over at once where it needs no fiber, and else goes on", () => {
    const text = "2026-01-31"
    assert.isTrue(Exit.isExit(sample.run({ text }, plain, unused)))
    assert.isTrue(Exit.isExit(sample.run({}, plain, unused)))
    const later = define({
      key: "later",
      inputs: {},
      outputs: {},
      run: () => Effect.as(Effect.yieldNow, {}),
    })
    assert.isFalse(Exit.isExit(later.run({}, plain, unused)))
  })

  it.effect("fails with a sentence, whatever it failed with", () =>
    Effect.gen(function* () {
      const failing = (error: unknown, isLater: boolean) =>
        define({
          key: "failing",
          inputs: {},
          outputs: {},
          run: () =>
            isLater ? Effect.andThen(Effect.yieldNow, Effect.fail(error)) : Effect.fail(error),
        })
      const own = new NodeError({ message: "mine", retryable: false })
      for (const isLater of [false, true]) {
        assert.strictEqual(failureOf(yield* call(failing(own, isLater), {})), own)
        const other = failureOf(yield* call(failing(new TypeError("oops"), isLater), {}))
        assert.deepInclude(other, { _tag: "NodeError", message: "oops" })
      }
    }),
  )
})

describe("the sentence of a failure", () => {
  it("is its message, else its name, else its text, and never empty or endless", () => {
    assert.strictEqual(sentenceOf(new Error("why")), "why")
    assert.strictEqual(sentenceOf(new TypeError("")), "TypeError")
    assert.strictEqual(sentenceOf("thrown"), "thrown")
    assert.strictEqual(sentenceOf(42), "the handler threw 42, which is no error")
    assert.strictEqual(sentenceOf({ message: "of another realm" }), "of another realm")
    assert.strictEqual(sentenceOf({}), "the handler threw an object that is no error")
    assert.strictEqual(sentenceOf(" \n"), "failed without a message")
    assert.strictEqual(sentenceOf("x".repeat(2_001)), "x".repeat(2_000))
  })

  it("is that of an error of the node, which is left as it is", () => {
    const own = new NodeError({ message: "mine", retryAfterMillis: 5 })
    assert.strictEqual(toNodeError(own), own)
    assert.strictEqual(toNodeError("thrown").message, "thrown")
    assert.isUndefined(toNodeError("thrown").retryable)
  })
})
