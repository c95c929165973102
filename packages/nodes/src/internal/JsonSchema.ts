/**
 * The JSON Schemas that a value from outside may be asked to have: the answer of a model, what a
 * signal brings; and whether it has them.
 *
 * Guarantees: a schema without problems is checked in full. A check ends after a bounded number of
 * steps, whatever schema and value are; so there are no patterns, and alternatives that refer to
 * themselves cannot multiply. Leaves out: keywords that models are not asked for.
 */
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import { isJsonObject } from "@millrace/core/domain/Json"
import { schemaLevels, stepsPerAnswer } from "@millrace/core/domain/Limits"
import type { Issue } from "./Checked.ts"
import { below, issue, unknownKeys } from "./Checked.ts"

const names = ["object", "array", "string", "number", "integer", "boolean", "null"]

/** Keywords that say something for people. */
const notes = ["$schema", "$comment", "title", "description", "default", "examples", "format"]

const checks = [
  "$defs",
  "$ref",
  "type",
  "enum",
  "const",
  "anyOf",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "minItems",
  "maxItems",
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
]

/** How many characters one step compares. */
const charactersPerStep = 64

const reference = /^#\/\$defs\/([^/~%]+)$/

const isTexts = (value: Json): boolean =>
  Array.isArray(value) && value.every((each) => typeof each === "string")

/** What is wrong with the value of a keyword that holds no schema. */
const problemsOfKeyword = (keyword: string, value: Json): ReadonlyArray<Issue> => {
  if (keyword === "type") {
    const types = Array.isArray(value) ? (value as ReadonlyArray<Json>) : [value]
    const isKnown = types.every((each) => typeof each === "string" && names.includes(each))
    return isKnown ? [] : issue(`expected one of ${names.join(", ")}, or several of them`)
  }
  if (keyword === "enum") return Array.isArray(value) ? [] : issue("expected an array")
  if (keyword === "required") return isTexts(value) ? [] : issue("expected an array of texts")
  if (/^m(?:in|ax)/.test(keyword)) {
    return typeof value === "number" ? [] : issue("expected a number")
  }
  if (keyword !== "$ref") return []
  return typeof value === "string" && reference.test(value)
    ? []
    : issue("expected a reference such as #/$defs/name")
}

const problemsOfMap = (value: Json, root: JsonObject, level: number): ReadonlyArray<Issue> =>
  isJsonObject(value)
    ? Object.entries(value).flatMap(([name, each]) => below(problems(each, root, level), name))
    : issue("expected an object of schemas")

const problemsAt = (
  keyword: string,
  value: Json,
  root: JsonObject,
  level: number,
): ReadonlyArray<Issue> => {
  switch (keyword) {
    case "properties":
    case "$defs":
      return problemsOfMap(value, root, level)
    case "items":
    case "additionalProperties":
      return problems(value, root, level)
    case "anyOf":
      return Array.isArray(value)
        ? value.flatMap((each: Json, index) => below(problems(each, root, level), index))
        : issue("expected an array of schemas")
    default:
      return problemsOfKeyword(keyword, value)
  }
}

const problems = (schema: Json, root: JsonObject, level: number): ReadonlyArray<Issue> => {
  if (typeof schema === "boolean") return []
  if (!isJsonObject(schema)) return issue("expected a JSON Schema")
  if (level > schemaLevels) return issue(`expected at most ${schemaLevels} levels`)
  const { $ref } = schema
  const [, name] = typeof $ref === "string" ? (reference.exec($ref) ?? []) : []
  const isMissing = name !== undefined && targetOf(root, name) === undefined
  return [
    ...unknownKeys(schema, [...checks, ...notes]),
    ...(isMissing ? below(issue(`there is no ${name} among $defs`), "$ref") : []),
    ...Object.entries(schema).flatMap(([keyword, value]) =>
      below(problemsAt(keyword, value, root, level + 1), keyword),
    ),
  ]
}

/** What is wrong with a schema. */
export const problemsOfSchema = (schema: unknown): ReadonlyArray<Issue> =>
  isJsonObject(schema) ? problems(schema, schema, 0) : issue("expected a JSON Schema")

const targetOf = (root: JsonObject, name: string): Json | undefined => {
  const { $defs = {} } = root
  return isJsonObject($defs) && Object.hasOwn($defs, name) ? $defs[name] : undefined
}

const typeOf = (value: Json): string => {
  if (value === null) return "null"
  return Array.isArray(value) ? "array" : typeof value
}

const isOfType = (value: Json, type: Json): boolean =>
  type === typeOf(value) || (type === "integer" && Number.isInteger(value))

/** One check of one value. Mutable; throws an `Error` when it takes too many steps. */
class Check {
  readonly #root: JsonObject
  #left = stepsPerAnswer

  constructor(root: JsonObject) {
    this.#root = root
  }

  /** The first problem of a value. */
  problemOf(value: Json, schema: Json, path: string): string | undefined {
    this.#spend(1)
    if (typeof schema === "boolean") return schema ? undefined : `${path} is not expected`
    const rules = schema as JsonObject
    return (
      this.#problemOfValue(value, rules, path) ??
      this.#problemOfAlternatives(value, rules, path) ??
      (isJsonObject(value) ? this.#problemOfObject(value, rules, path) : undefined) ??
      (Array.isArray(value) ? this.#problemOfArray(value, rules, path) : undefined)
    )
  }

  #problemOfValue(value: Json, rules: JsonObject, path: string): string | undefined {
    const { const: only, enum: some, type } = rules
    const types = Array.isArray(type) ? (type as ReadonlyArray<Json>) : [type]
    if (type !== undefined && !types.some((each) => isOfType(value, each!))) {
      return `${path} is not of type ${types.map(String).join(" or ")}`
    }
    const lists = [some, only === undefined ? undefined : [only]]
    const isListed = lists.every((list) => list === undefined || this.#isAmong(value, list))
    return isListed ? problemOfSize(value, rules, path) : `${path} is another value`
  }

  #isAmong(value: Json, list: Json): boolean {
    const text = JSON.stringify(value)
    return (list as ReadonlyArray<Json>).some((each) => {
      const other = JSON.stringify(each)
      this.#spend((text.length + other.length) / charactersPerStep)
      return other === text
    })
  }

  #spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new Error("it takes too long to check")
  }

  #problemOfAlternatives(value: Json, rules: JsonObject, path: string): string | undefined {
    const { $ref, anyOf } = rules
    const name = typeof $ref === "string" ? reference.exec($ref)?.[1] : undefined
    const target = name === undefined ? undefined : targetOf(this.#root, name)
    const problem = target === undefined ? undefined : this.problemOf(value, target, path)
    if (problem !== undefined || anyOf === undefined) return problem
    const fits = (each: Json) => this.problemOf(value, each, path) === undefined
    return (anyOf as ReadonlyArray<Json>).some(fits) ? undefined : `${path} fits no alternative`
  }

  #problemOfObject(value: JsonObject, rules: JsonObject, path: string): string | undefined {
    const { additionalProperties: others = true, properties = {}, required = [] } = rules
    const missing = (required as ReadonlyArray<string>).find((each) => !Object.hasOwn(value, each))
    if (missing !== undefined) return `${path}.${missing} is missing`
    for (const [name, each] of Object.entries(value)) {
      const isKnown = Object.hasOwn(properties as JsonObject, name)
      const rule = isKnown ? (properties as JsonObject)[name]! : others
      const problem = this.problemOf(each, rule, `${path}.${name}`)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  #problemOfArray(values: ReadonlyArray<Json>, rules: JsonObject, path: string) {
    const { items = true } = rules
    for (const [index, each] of values.entries()) {
      const problem = this.problemOf(each, items, `${path}[${index}]`)
      if (problem !== undefined) return problem
    }
    return undefined
  }
}

const sizeOf = (value: Json): readonly [size: number, unit: string] | undefined => {
  if (typeof value === "number") return [value, "imum"]
  if (typeof value === "string") return [Array.from(value).length, "Length"]
  return Array.isArray(value) ? [value.length, "Items"] : undefined
}

const problemOfSize = (value: Json, rules: JsonObject, path: string): string | undefined => {
  const [size, unit] = sizeOf(value) ?? []
  if (size === undefined) return undefined
  const { [`max${unit}`]: most, [`min${unit}`]: least } = rules
  if (typeof least === "number" && size < least) return `${path} is too small`
  return typeof most === "number" && size > most ? `${path} is too large` : undefined
}

/**
 * Why a value does not fit a schema without problems, as a clause; `undefined` if it does. `what`
 * is what the clause calls the value: `answer.city is missing`.
 */
export const problemOfValue = (
  value: Json,
  schema: JsonObject,
  what: string,
): string | undefined => {
  try {
    return new Check(schema).problemOf(value, schema, what)
  } catch (error) {
    // Also of references that lead in a cycle.
    return error instanceof RangeError ? "it is nested too deeply" : (error as Error).message
  }
}

/** True if every object names all its properties, as the strict mode of models wants it. */
export const isStrict = (schema: Json): boolean => {
  if (Array.isArray(schema)) return schema.every(isStrict)
  if (!isJsonObject(schema)) return true
  const { additionalProperties, properties, required, type } = schema
  const known = isJsonObject(properties) ? Object.keys(properties) : []
  const isClosed =
    additionalProperties === false &&
    Array.isArray(required) &&
    known.every((name) => (required as ReadonlyArray<Json>).includes(name))
  return (type !== "object" || isClosed) && Object.values(schema).every(isStrict)
}
