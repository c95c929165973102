/**
 * Code in the sandbox: the same hostile texts as for expressions, and what code alone has.
 */
import { assert, describe, it } from "@effect/vitest"
import { AccountId } from "@millrace/core/domain/Id"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import type { Evaluated } from "@millrace/core/ports/Evaluator"
import { CurrentEvaluator } from "@millrace/core/ports/Evaluator"
import * as QuickJs from "@millrace/expressions/QuickJs"
import { Effect, Layer } from "effect"
import { canary, canaryValue, escapes, loops, polluting, refused, soup } from "./Hostile.ts"

const limits = { ...defaultLimits, codeMillis: 100, logLinesPerNode: 20 }

const evaluator = QuickJs.layer.pipe(Layer.provide(Layer.succeed(CurrentLimits, limits)))

/** What hostile texts use of the scope of expressions, as code has it. */
const scope = JSON.stringify({
  inputs: { fetch: { body: { items: [3, 1, 2] } }, values: { a: "b" } },
  input: null,
})

const names = "const { fetch, values } = inputs, nodes = { fetch }, run = { id: 'run_1' }\n"

const execute = (text: string, account = "acc_1") =>
  Effect.gen(function* () {
    const { execute: run } = yield* CurrentEvaluator
    return yield* run({ account: AccountId.make(account), text, scope })
  })

const outcomeOf = (text: string, account?: string) =>
  Effect.map(execute(`${names}return (\n${text}\n)`, account), ({ outcome }) => outcome)

const shown = (outcome: Evaluated) => (outcome._tag === "Value" ? outcome.json : outcome.message)

/** The texts, each followed by the canary, which must see nothing of it. */
const leavesNothing = Effect.fnUntraced(function* (texts: ReadonlyArray<string>) {
  const outcomes: Array<Evaluated> = []
  for (const text of texts) {
    outcomes.push(yield* outcomeOf(text))
    const seen = yield* outcomeOf(canary)
    assert.strictEqual(seen._tag, "Value", `${text}: ${shown(seen)}`)
    assert.deepStrictEqual(JSON.parse(shown(seen)!), canaryValue, text)
  }
  return outcomes
})

describe("hostile code", () => {
  it.live("reaches nothing outside, and leaves nothing for the next one", () =>
    Effect.gen(function* () {
      const texts = [...escapes, ...polluting]
      const outcomes = yield* leavesNothing(texts)
      for (const [place, outcome] of outcomes.entries()) {
        const said = shown(outcome) ?? ""
        assert.notMatch(said, /root:|uid=|\/work|mainModule":|execPath/, texts[place])
      }
    }).pipe(Effect.provide(evaluator)),
  )

  it.live("fails with one sentence where its value is none", () =>
    Effect.gen(function* () {
      const outcomes = yield* leavesNothing(refused.map(([text]) => text))
      for (const [place, [text, sentence]] of refused.entries()) {
        const outcome = outcomes[place]!
        // Code may use more time, memory and JSON than an expression.
        const isLarger = outcome._tag === "Value" && /longer|characters of JSON/.test(`${sentence}`)
        if (isLarger) continue
        assert.strictEqual(outcome._tag, "Failed", text)
        assert.match(shown(outcome)!, new RegExp(`${sentence.source}|longer than 100 ms`), text)
      }
    }).pipe(Effect.provide(evaluator)),
  )

  it.live("is given up where it does not end, and other accounts go on meanwhile", () =>
    Effect.gen(function* () {
      let ended = 0
      const hostile = Effect.forEach(loops, (text) =>
        Effect.tap(outcomeOf(text, "acc_hostile"), () => Effect.sync(() => (ended += 1))),
      )
      const other = Effect.gen(function* () {
        let waited = 0
        for (let round = 0; round < 10; round++) {
          const before = ended
          assert.strictEqual(shown(yield* outcomeOf("1 + 1", "acc_other")), "2")
          waited = Math.max(waited, ended - before)
        }
        return waited
      })
      const [outcomes, waited] = yield* Effect.all([hostile, other], { concurrency: 2 })
      for (const [place, outcome] of outcomes.entries()) {
        assert.match(
          shown(outcome) ?? "",
          /longer than 100 ms|memory|length|too large/,
          loops[place],
        )
      }
      assert.isAtMost(waited, 4)
    }).pipe(Effect.provide(evaluator)),
  )

  it.live("may be any text: 5 seeds", () =>
    Effect.gen(function* () {
      for (let seed = 1; seed <= 5; seed++) {
        for (const text of soup(seed)) {
          const { outcome } = yield* execute(text)
          if (outcome._tag === "Value" && outcome.json !== undefined) JSON.parse(outcome.json)
          else if (outcome._tag === "Failed") assert.isNotEmpty(outcome.message, text)
        }
        assert.deepStrictEqual(JSON.parse(shown(yield* outcomeOf(canary))!), canaryValue)
      }
    }).pipe(Effect.provide(evaluator)),
  )
})

describe("the console of code", () => {
  it.live("is bounded, shows what is shown nowhere else, and cannot be replaced", () =>
    Effect.gen(function* () {
      const messages = (text: string) =>
        Effect.map(execute(text), ({ logs }) => logs.map(({ message }) => message))
      assert.lengthOf(yield* messages("for (let i = 0; i < 1e4; i++) console.log(i)"), 20)
      const [long] = yield* messages("console.log('x'.repeat(1e6), 'y'.repeat(1e6))")
      assert.lengthOf(long!, 10_000)
      const odd = [
        "const loop = {}; loop.loop = loop",
        "console.log(loop, { toJSON() { throw 1 }, toString() { throw 2 } }, null, [])",
        "console.log()",
        "try { console.log = 1 } catch (error) { console.error(error.message) }",
      ]
      assert.deepStrictEqual(yield* messages(odd.join("\n")), [
        "[object Object] what cannot be shown null []",
        "",
        "'log' is read-only",
      ])
    }).pipe(Effect.provide(evaluator)),
  )

  it.live("reaches nothing outside", () =>
    Effect.gen(function* () {
      const { outcome } = yield* execute(
        "return [console.log.constructor('return typeof process')(), typeof hear, " +
          "console.log.constructor === Function, Object.getOwnPropertyNames(console).join()]",
      )
      assert.strictEqual(
        shown(outcome),
        '["undefined","undefined",true,"log,info,warn,error,debug"]',
      )
    }).pipe(Effect.provide(evaluator)),
  )
})

describe("code that is interrupted", () => {
  it.live("is ended, and its thread is free", () =>
    Effect.gen(function* () {
      const native = "return [].indexOf.call({ length: 2 ** 53 - 1 }, 1)"
      for (let round = 0; round < 3; round++) {
        const given = yield* Effect.timeoutOption(execute(native), 50)
        assert.strictEqual(given._tag, "None")
      }
      assert.strictEqual(shown(yield* outcomeOf("1 + 1")), "2")
    }).pipe(Effect.provide(evaluator)),
  )
})
