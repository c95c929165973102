/**
 * The fields that a request node declares: how they are read, and what fits them.
 *
 * Guarantees: pure; entries that something is wrong with are left out. Leaves out: the values of a
 * run.
 */
import { isJsonObject, type Json, type JsonObject } from "../../domain/Json.ts"
import { type NodeTypesByKey, typeOfNode } from "../../domain/NodeType.ts"
import { quoted } from "../../domain/Quote.ts"
import type { Node, NodeSettings } from "../../domain/Workflow.ts"
import { settingsOf } from "../../domain/Workflow.ts"
import { isReserved } from "../GraphId.ts"

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

/** The settings of the request node of a drawing; `undefined`: it has none that is enabled. */
export const requestIn = (
  nodes: ReadonlyArray<Node>,
  types: NodeTypesByKey,
): NodeSettings | undefined =>
  nodes
    .filter((node) => typeOfNode(types, node)?.role === "request")
    .map(settingsOf)
    .find(({ disabled }) => !disabled)

/** The fields that these nodes of a workflow declare in their request node. */
export const requestFieldsOf = (
  nodes: ReadonlyArray<Node>,
  types: NodeTypesByKey,
): ReadonlyArray<RequestField> => {
  const request = requestIn(nodes, types)
  return request === undefined ? [] : fieldsOf(request)
}

/** What a value of a field is, as JSON Schema. */
export const schemaOfField = ({ default: fallback, description, type }: RequestField) => ({
  ...(type === "any" ? {} : { type }),
  ...(description === undefined ? {} : { description }),
  ...(fallback === undefined ? {} : { default: fallback }),
})

/** Why a value does not fit a field, as clauses. */
export const clausesOfField = ({ type }: RequestField, value: Json): ReadonlyArray<string> =>
  fits(type, value) ? [] : [`expected ${described(type)}`]

/** The fields, and what is wrong with entries. */
export const readFields = ({
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

/** True if a value is of a type. */
export const fits = (type: RequestFieldType, value: Json): boolean => {
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

/** A type in a sentence. */
export const described = (type: RequestFieldType): string => {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}
