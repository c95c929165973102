/**
 * JavaScript that cannot get out: what hostile expressions reach, leave and cost.
 */
import { assert, describe, it } from "@effect/vitest"
import { AccountId } from "@millrace/core/domain/Id"
import type { Evaluated } from "@millrace/core/ports/Evaluator"
import { CurrentEvaluator } from "@millrace/core/ports/Evaluator"
import * as QuickJs from "@millrace/expressions/QuickJs"
import { Effect } from "effect"
import { canary, canaryValue, escapes, loops, polluting, refused, soup } from "./Hostile.ts"

const scope = JSON.stringify({
  nodes: { fetch: { body: { items: [3, 1, 2] } } },
  values: { a: "b" },
  run: { id: "run_1", startedAt: "2026-01-02T03:04:05.678Z" },
})

const evaluate = (texts: ReadonlyArray<string>, account = "acc_1", definitionId = "wf@1+e") =>
  Effect.gen(function* () {
    const scripts = texts.map((text) => ({ text, names: ["fetch"], scope }))
    const evaluator = yield* CurrentEvaluator
    return yield* evaluator.evaluate({ account: AccountId.make(account), definitionId, scripts })
  })

const one = (text: string, account?: string) =>
  Effect.map(evaluate([text], account), ([answer]) => answer!)

const shown = (answer: Evaluated) => (answer._tag === "Value" ? answer.json : answer.message)

/** The texts, each followed by the canary, which must see nothing of it. */
const leavesNothing = Effect.fnUntraced(function* (texts: ReadonlyArray<string>) {
  const answers: Array<Evaluated> = []
  for (const text of texts) {
    answers.push(yield* one(text))
    const seen = yield* one(canary)
    assert.strictEqual(seen._tag, "Value", `${text}: ${shown(seen)}`)
    assert.deepStrictEqual(JSON.parse(shown(seen)!), canaryValue, text)
  }
  return answers
})

describe("an expression", () => {
  it.live("gives JSON, nothing, or the message of what it threw", () =>
    Effect.gen(function* () {
      const answers = yield* evaluate([
        "fetch.body.items.map((each) => each * 2)",
        "nodes['fetch'].body.items.sort()",
        "nodes.nothing",
        "fetch.body.nothing.x",
        "new Date(2026, 5, 1).toString()",
        "'\\ud800' + '\\u0000'",
        "input",
        "({ a: undefined, b: [undefined], c: new Date(0) })",
        "a + b",
        "((x) => `${x}:${values.a}`)(run.startedAt)",
      ])
      assert.deepStrictEqual(answers.map(shown), [
        "[6,2,4]",
        "[1,2,3]",
        undefined,
        "TypeError: cannot read property 'x' of undefined",
        '"Mon Jun 01 2026 00:00:00 GMT+0000"',
        '"\\ud800\\u0000"',
        undefined,
        '{"b":[null],"c":"1970-01-01T00:00:00.000Z"}',
        "ReferenceError: 'a' is not defined",
        '"2026-01-02T03:04:05.678Z:b"',
      ])
    }).pipe(Effect.provide(QuickJs.layer)),
  )

  it.live("is one expression, or told to be none, with the place", () =>
    Effect.gen(function* () {
      const { check } = yield* CurrentEvaluator
      const texts = ["1); (2", "1]); ([2", "let x = 1", "1 +", "a\n+ )", "1", "{ a: 1 }"]
      const scripts = texts.map((text) => ({ text, names: [] }))
      const faults = yield* check(AccountId.make("acc_1"), scripts)
      assert.deepStrictEqual(
        faults.map((fault) => fault?.at),
        [1, 1, 0, 3, 4, undefined, undefined],
      )
    }).pipe(Effect.provide(QuickJs.layer)),
  )
})

describe("a hostile expression", () => {
  it.live("reaches nothing outside", () =>
    Effect.gen(function* () {
      const answers = yield* leavesNothing(escapes)
      for (const [place, answer] of answers.entries()) {
        const said = shown(answer) ?? ""
        assert.notMatch(said, /root:|uid=|\/work|mainModule":|execPath/, escapes[place])
      }
    }).pipe(Effect.provide(QuickJs.layer)),
  )

  it.live("leaves nothing for the next one", () =>
    Effect.asVoid(leavesNothing(polluting)).pipe(Effect.provide(QuickJs.layer)),
  )

  it.live("fails with one sentence where its value is none", () =>
    Effect.gen(function* () {
      const answers = yield* leavesNothing(refused.map(([text]) => text))
      for (const [place, [text, sentence]] of refused.entries()) {
        const answer = answers[place]!
        assert.strictEqual(answer._tag, "Failed", text)
        assert.match(shown(answer)!, sentence, text)
      }
    }).pipe(Effect.provide(QuickJs.layer)),
  )

  it.live("is given up where it does not end, and nobody else waits for it", () =>
    Effect.gen(function* () {
      let ended = 0
      const hostile = Effect.forEach(loops, (text) =>
        Effect.tap(one(text, "acc_hostile"), () => Effect.sync(() => (ended += 1))),
      )
      const other = Effect.gen(function* () {
        let waited = 0
        for (let round = 0; round < 10; round++) {
          const before = ended
          assert.strictEqual(shown(yield* one("1 + 1", "acc_other")), "2")
          waited = Math.max(waited, ended - before)
        }
        return waited
      })
      const [answers, waited] = yield* Effect.all([hostile, other], { concurrency: 2 })
      for (const [place, answer] of answers.entries()) {
        assert.match(shown(answer) ?? "", /longer than 50 ms|memory|length/, loops[place])
      }
      // Only while a thread starts, an account's first expression waits.
      assert.isAtMost(waited, 4)
    }).pipe(Effect.provide(QuickJs.layer)),
  )

  it.live("is bounded together with the others of its node", () =>
    Effect.gen(function* () {
      const busy = "(() => { let x = 0; for (let i = 0; i < 2e5; i++) x += i; return x })()"
      const answers = yield* evaluate(Array.from({ length: 500 }, () => busy))
      const last = answers.at(-1)!
      assert.strictEqual(last._tag, "Failed")
      assert.match(shown(last)!, /the expressions of one node take longer than 500 ms together/)
    }).pipe(Effect.provide(QuickJs.layer)),
  )

  it.live("may be any text: 20 seeds", () =>
    Effect.gen(function* () {
      for (let seed = 1; seed <= 20; seed++) {
        const texts = soup(seed)
        const answers = yield* evaluate(texts, "acc_1", `seed ${seed}`)
        assert.lengthOf(answers, texts.length)
        for (const [place, answer] of answers.entries()) {
          if (answer._tag === "Value" && answer.json !== undefined) JSON.parse(answer.json)
          else if (answer._tag === "Failed") assert.isNotEmpty(answer.message, texts[place])
        }
        const [seen] = yield* evaluate([canary], "acc_1", `seed ${seed}`)
        assert.deepStrictEqual(JSON.parse(shown(seen!)!), canaryValue, `seed ${seed}`)
      }
    }).pipe(Effect.provide(QuickJs.layer)),
  )
})
