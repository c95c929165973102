/**
 * The fields that a request node declares, and the values that a run brings for them.
 *
 * Guarantees: values that resolve have every required field, nothing undeclared (where anything is
 * declared) and the declared types. Leaves out: the request node's ports; its type derives those
 * from the same fields.
 */
import { Result } from "effect"
import type { Json, JsonObject } from "../domain/Json.ts"
import { listed, quoted } from "../domain/Quote.ts"
import type { Graph, GraphNode } from "./Graph.ts"
import { type Problem, problemOfNode } from "./internal/Problem.ts"
import type { RequestField } from "./internal/RequestFields.ts"
import { described, fits, readFields } from "./internal/RequestFields.ts"

export type { RequestField, RequestFieldType } from "./internal/RequestFields.ts"
export { fieldsOf, problemsOfFields } from "./internal/RequestFields.ts"

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
