/**
 * Plain paths mean what the same texts mean in JavaScript.
 */
import { assert, describe, it } from "@effect/vitest"
import * as QuickJs from "@millrace/expressions/QuickJs"
import { Effect, Result } from "effect"
import { AccountId } from "../../src/domain/Id.ts"
import type { Json } from "../../src/domain/Json.ts"
import { readPath } from "../../src/graph/internal/PlainPath.ts"
import { expressionsOf, parseTemplate } from "../../src/graph/internal/TemplateText.ts"
import { CurrentEvaluator } from "../../src/ports/Evaluator.ts"

const keys = [
  "a",
  "b",
  "length",
  "0",
  "1",
  "constructor",
  "map",
  "__proto__",
  "toString",
  "name",
  "values",
  "prototype",
  "call",
  "hasOwnProperty",
]

const randomOf = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return Math.floor((state / 4_294_967_296) * below)
  }
}

type Random = ReturnType<typeof randomOf>

const pick = <A>(random: Random, from: ReadonlyArray<A>): A => from[random(from.length)]!

const valueOf = (random: Random, depth: number): Json => {
  const kind = random(depth === 0 ? 5 : 9)
  if (kind < 5) return pick<Json>(random, [null, true, 0, "", "text", -1.5])
  if (kind < 7) return Array.from({ length: random(3) }, () => valueOf(random, depth - 1))
  const entries = Array.from({ length: random(4) }, () => [
    pick(random, keys),
    valueOf(random, depth - 1),
  ])
  return JSON.parse(
    `{${entries.map(([key, value]) => `"${String(key)}":${JSON.stringify(value)}`).join(",")}}`,
  ) as Json
}

const stepOf = (random: Random): string => {
  const key = pick(random, keys)
  const isNumber = /^\d$/.test(key)
  const forms = [
    ...(isNumber ? [`[${key}]`, `?.[${key}]`] : [`.${key}`, `?.${key}`, ` . ${key}`]),
    `["${key}"]`,
    `['${key}']`,
    `?.[ "${key}" ]`,
  ]
  return pick(random, forms)
}

const pathsOf = (random: Random): ReadonlyArray<string> =>
  Array.from({ length: 60 }, () => {
    const root = pick(random, ["values", "input", "a", 'nodes["a"]', "nodes?.a"])
    return root + Array.from({ length: random(5) }, () => stepOf(random)).join("")
  })

const account = AccountId.make("acc_1")

describe("a plain path", () => {
  it.live("gives what the same text gives as JavaScript, or both fail: 20 seeds", () =>
    Effect.gen(function* () {
      const { evaluate } = yield* CurrentEvaluator
      let plain = 0
      for (let seed = 1; seed <= 20; seed++) {
        const random = randomOf(seed)
        const value = valueOf(random, 4)
        const texts = pathsOf(random)
        const scope = JSON.stringify({ nodes: { a: value }, values: value, input: value })
        const scripts = texts.map((text) => ({ text, names: ["a"], scope }))
        const answers = yield* evaluate({ account, definitionId: String(seed), scripts })
        for (const [place, text] of texts.entries()) {
          const [expression] = expressionsOf(parseTemplate(`{{ ${text} }}`))
          if (expression!.meaning._tag !== "Path") continue
          plain += 1
          const read = readPath(expression!.meaning.path, value)
          const answer = answers[place]!
          const what = `${text} of ${JSON.stringify(value)}`
          if (answer._tag === "Failed") {
            assert.isTrue(Result.isFailure(read), `${what}: ${answer.message}`)
          } else {
            const expected = answer.json === undefined ? undefined : JSON.parse(answer.json)
            assert.deepStrictEqual(Result.getOrThrow(read), expected, what)
          }
        }
      }
      assert.isAbove(plain, 900)
    }).pipe(Effect.provide(QuickJs.layer)),
  )
})
