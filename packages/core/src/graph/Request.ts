/**
 * The fields that a request node declares, and the values that a run brings for them.
 *
 * Guarantees: values that resolve have every required field, nothing undeclared (where anything is
 * declared) and the declared types. Leaves out: the request node's ports; its type derives those
 * from the same fields.
 */
import { Result } from "effect"
import { isJsonObject, type Json, type JsonObject } from "../domain/Json.ts"
import { listed, quoted } from "../domain/Quote.ts"
import type { NodeSettings } from "../domain/Workflow.ts"
import { isReserved } from "./GraphId.ts"
import type { Graph, GraphNode } from "./Graph.ts"
import { type Problem, problemOfNode } from "./internal/Problem.ts"

const fieldTypes = ["string", "number", "boolean", "object", "array", "any"] as const

/** What a field accepts; `any` is every JSON value, `null` too. */
export type RequestFieldType = (typeof fieldTypes)[number]

/** A field that a request node declares in `data.inputs.fields`. */
export interface RequestField {
  /** Also the output port on which the value leaves the request node. */
  readonly name: string
  readonly type: RequestFieldType
  /** True when a run must bring a value, unless there is a default. */
  readonly required: boolean
  readonly default?: Json
  readonly description?: string
}

/** Names of outputs that every request node has for other purposes. */
const takenNames = new Set(["values", "error"])

const namePattern = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/

/**
 * The fields of a request node: its literal `fields`. Entries that {@link problemsOfFields} names
 * are left out.
 */
export const fieldsOf = (settings: NodeSettings): ReadonlyArray<RequestField> =>
  readFields(settings).fields

/**
 * Everything that is wrong with a request node's literal `fields`, as clauses that begin with the
 * entry's path in it: `[0].name: expected ...`.
 */
export const problemsOfFields = (settings: NodeSettings): ReadonlyArray<string> =>
  readFields(settings).problems

/**
 * The values of a run: those given over the defaults of the request node's fields, in the order of
 * the fields. Fails with every malformed field; where there is none, with every value that is
 * missing, of the wrong type or for no field. Without an enabled request node, or where that
 * declares no fields, the values are what was given.
 */
export const resolveValues = (
  graph: Graph,
  values: JsonObject,
): Result.Result<JsonObject, ReadonlyArray<Problem>> => {
  const request = graph.nodes.find(
    ({ settings, type }) => type.role === "request" && !settings.disabled,
  )
  if (request === undefined) return Result.succeed(values)
  const { fields, problems: malformed } = readFields(request.settings)
  if (malformed.length > 0) {
    return Result.fail(
      malformed.map((reason) => problemAt(request, "fields", `input "fields": ${reason}`)),
    )
  }
  if (fields.length === 0) return Result.succeed(values)
  const problems: Array<Problem> = []
  const names = new Set(fields.map(({ name }) => name))
  for (const name of Object.keys(values)) {
    if (names.has(name)) continue
    const reason = `there is no field ${quoted(name)}; the fields are ${listed(names)}`
    problems.push(problemAt(request, name, reason))
  }
  const resolved = fields.flatMap((field) => resolve(request, field, values, problems))
  if (problems.length > 0) return Result.fail(problems)
  return Result.succeed(Object.fromEntries(resolved))
}

const problemAt = ({ id }: GraphNode, port: string, reason: string): Problem =>
  problemOfNode(id, reason, { port })

/** The field's name and value as an entry; none for an optional field without either. */
const resolve = (
  request: GraphNode,
  field: RequestField,
  values: JsonObject,
  problems: Array<Problem>,
): ReadonlyArray<readonly [string, Json]> => {
  const { name, type } = field
  const refuse = (reason: string) => {
    problems.push(problemAt(request, name, `field ${quoted(name)}: ${reason}`))
    return []
  }
  if (Object.hasOwn(values, name)) {
    const value = values[name]!
    return fits(type, value) ? [[name, value]] : refuse(`expected ${described(type)}`)
  }
  if (field.default !== undefined) return [[name, field.default]]
  return field.required ? refuse("a value is required") : []
}

const readFields = ({
  inputs,
}: NodeSettings): {
  readonly fields: ReadonlyArray<RequestField>
  readonly problems: ReadonlyArray<string>
} => {
  const fields: Array<RequestField> = []
  const problems: Array<string> = []
  if (!Object.hasOwn(inputs, "fields")) return { fields, problems }
  const entries = inputs["fields"]
  if (!Array.isArray(entries)) return { fields, problems: ["expected an array"] }
  const names = new Set<Json | undefined>()
  for (const [index, entry] of (entries as ReadonlyArray<Json>).entries()) {
    if (!isJsonObject(entry)) {
      problems.push(`[${index}]: expected an object with a name`)
      continue
    }
    const reasons = reasonsAgainst(entry, names)
    names.add(entry["name"])
    if (reasons.length === 0) fields.push(fieldOf(entry))
    problems.push(...reasons.map((reason) => `[${index}]${reason}`))
  }
  return { fields, problems }
}

/** What is wrong with an entry: each a path below the entry and a clause. */
const reasonsAgainst = (
  entry: JsonObject,
  names: ReadonlySet<Json | undefined>,
): ReadonlyArray<string> => {
  const { default: fallback, description, name, required, type = "any" } = entry
  const reasons: Array<string> = []
  if (typeof name !== "string" || !namePattern.test(name)) {
    const rule = "1 to 64 letters, digits, _ or -, not beginning with a digit or -"
    reasons.push(`.name: expected ${rule}`)
  } else if (isReserved(name) || takenNames.has(name)) {
    reasons.push(`.name: ${quoted(name)} is reserved`)
  } else if (names.has(name)) {
    reasons.push(`.name: ${quoted(name)} is declared more than once`)
  }
  if (!isFieldType(type)) {
    reasons.push(`.type: expected one of ${fieldTypes.join(", ")}`)
  } else if (fallback !== undefined && !fits(type, fallback)) {
    reasons.push(`.default: expected ${described(type)}`)
  }
  if (required !== undefined && typeof required !== "boolean") {
    reasons.push(".required: expected a boolean")
  }
  if (description !== undefined && typeof description !== "string") {
    reasons.push(".description: expected a string")
  }
  return reasons
}

/** Of an entry that nothing speaks against. */
const fieldOf = (entry: JsonObject): RequestField => ({
  name: entry["name"] as string,
  type: (entry["type"] ?? "any") as RequestFieldType,
  required: entry["required"] === true,
  ...(entry["default"] === undefined ? {} : { default: entry["default"] }),
  ...(entry["description"] === undefined ? {} : { description: entry["description"] as string }),
})

const isFieldType = (type: Json): type is RequestFieldType =>
  (fieldTypes as ReadonlyArray<Json>).includes(type)

const fits = (type: RequestFieldType, value: Json): boolean => {
  switch (type) {
    case "any":
      return true
    case "array":
      return Array.isArray(value)
    case "object":
      return isJsonObject(value)
    default:
      return typeof value === type
  }
}

const described = (type: RequestFieldType): string => {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}
