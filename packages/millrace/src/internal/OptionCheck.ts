/**
 * Checks of options that JavaScript may give in any form, as clauses of one sentence.
 *
 * Guarantees: loads nothing of Effect and nothing of the engine.
 */
import { invalid } from "@millrace/api/MillraceError"
import { unknownFields } from "@millrace/core/domain/Nearest"

/** What is wrong, each as a clause. */
export type Clauses = ReadonlyArray<string>

/** Says what is wrong with the value of an option, as clauses. */
export type Check = (value: unknown) => Clauses

/** True for anything with properties but an array and a function. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Expects one thing. */
export const expected =
  (what: string, isRight: (value: unknown) => boolean): Check =>
  (value) =>
    isRight(value) ? [] : [`expected ${what}`]

const given = (of: object): Clauses =>
  Object.entries(of).flatMap(([name, value]) => (value === undefined ? [] : [name]))

/** An object with these fields and no others. The clauses of a field begin with its name. */
export const fields =
  (checks: Readonly<Record<string, Check>>, what = "an object"): Check =>
  (value) => {
    if (!isObject(value)) return [`expected ${what}`]
    return [
      ...unknownFields(given(value), Object.keys(checks)),
      ...Object.entries(checks).flatMap(([name, check]) =>
        value[name] === undefined ? [] : check(value[name]).map((clause) => `${name}: ${clause}`),
      ),
    ]
  }

/** A list. The clauses of an item begin with its index. */
export const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value)
      ? value.flatMap((item: unknown, index) =>
          check(item).map((clause) => `[${index}]${clause.startsWith("[") ? "" : ": "}${clause}`),
        )
      : ["expected an array"]

/** Expects a text. */
export const text = expected("a text", (value) => typeof value === "string")

/** Expects a function. */
export const isFunction = expected("a function", (value) => typeof value === "function")

/** Expects true or false. */
export const isBoolean = expected("true or false", (value) => typeof value === "boolean")

/** Throws one sentence that begins with the caller's name, if anything is wrong. */
export const refuse = (caller: string, clauses: Clauses): void => {
  if (clauses.length > 0) throw invalid(`${caller}: ${clauses.join("; ")}`)
}
