/**
 * The concurrency key of a run: a text, often with expressions over the values of the run.
 *
 * Guarantees: pure; plain paths of `values` and nothing else, since no node has executed when the
 * key is needed. Leaves out: which runs wait for others; a store decides that.
 */
import { Result } from "effect"
import type { Json, JsonObject } from "../../domain/Json.ts"
import { concurrencyKeyLength } from "../../domain/Limits.ts"
import { missingPart, readPath } from "./PlainPath.ts"
import { type Expression, parseTemplate } from "./TemplateText.ts"

const textOf = (value: Json): string | undefined => {
  if (typeof value === "string") return value
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined
}

/** What an expression gives, or what is wrong with it, as a clause. */
const givenBy = (
  { meaning, text }: Expression,
  values: JsonObject,
): Result.Result<string, string> => {
  const named = `{{ ${text} }}`
  if (meaning._tag === "Constant") return Result.succeed(textOf(meaning.value) ?? "null")
  if (meaning._tag === "Script" || meaning.path.root._tag !== "Values") {
    return Result.fail(
      `${named} is no plain path of the run's values; write, for example, {{ values.customer }}`,
    )
  }
  const { path } = meaning
  const found = readPath(path, values)
  if (Result.isFailure(found)) return Result.fail(`${named}: ${found.failure}`)
  const value = found.success ?? null
  if (value === null) return Result.fail(`${named}: ${missingPart(path, values)}`)
  const given = textOf(value)
  return given === undefined
    ? Result.fail(`${named}: expected a text, a number, true or false`)
    : Result.succeed(given)
}

/** The key that a text stands for in a run with these values; fails with a clause. */
export const concurrencyKeyOf = (
  template: string,
  values: JsonObject,
): Result.Result<string, string> =>
  Result.gen(function* () {
    const { parts, problems } = parseTemplate(template)
    const [problem] = problems
    if (problem !== undefined) return yield* Result.fail(problem.reason)
    let key = ""
    for (const part of parts) {
      key += typeof part === "string" ? part : yield* givenBy(part, values)
    }
    if (key === "") return yield* Result.fail("the key is empty")
    if (key.length > concurrencyKeyLength) {
      return yield* Result.fail(
        `the key has ${key.length} characters; the limit is ${concurrencyKeyLength}`,
      )
    }
    return key
  })
