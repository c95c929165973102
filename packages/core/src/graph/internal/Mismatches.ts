/**
 * Edges that bring an input what it cannot take, as the JSON Schemas of their two ports tell.
 *
 * Guarantees: pure. Only edges that no value could satisfy are mismatches: what a schema does not
 * say fits, and so does what no edge decides: inputs that a run overrides, disabled nodes, and
 * inputs that convert what they get. Leaves out: shapes below the items of an array and the
 * required keys of an object.
 */
import type { Json, JsonObject } from "../../domain/Json.ts"
import { isJsonObject } from "../../domain/Json.ts"
import { errorOutput, type InputPort } from "../../domain/NodeType.ts"
import { quoted } from "../../domain/Quote.ts"
import { typesOf } from "./JsonTypes.ts"
import type { NodePlan } from "./NodePlan.ts"
import type { Problem } from "./Problem.ts"

const anything: JsonObject = {}

/** What leaves a node by `error` if its type has no such output. */
const failure: JsonObject = { type: "object" }

const given = ({ ports: { outputs } }: NodePlan, name: string): JsonObject => {
  const port = outputs.get(name)
  if (name === errorOutput) return port === undefined ? failure : anything
  return port?.schema ?? anything
}

const itemsOf = ({ items }: JsonObject): JsonObject => (isJsonObject(items) ? items : anything)

/** What one edge may bring to an input. */
const taken = (port: InputPort | undefined): JsonObject => {
  if (port === undefined || port.convertsTypes === true) return anything
  return port.multiple ? itemsOf(port.schema) : port.schema
}

const named = (types: Iterable<string>): string =>
  Array.from(types, (each) => {
    if (each === "null") return each
    return /^[aeiou]/.test(each) ? `an ${each}` : `a ${each}`
  }).join(" or ")

/** Why no value fits both schemas; `undefined` if one may. */
const apart = (source: JsonObject, target: JsonObject): readonly [string, string] | undefined => {
  const [some, others] = [typesOf(source), typesOf(target)]
  if (some === undefined || others === undefined || [...some].some((each) => others.has(each)))
    return undefined
  return [named(some), named(others)]
}

const isOnly = (type: string, schema: JsonObject): boolean => {
  const types = typesOf(schema)
  return types?.size === 1 && types.has(type)
}

const keysOf = ({ properties }: JsonObject): JsonObject =>
  isJsonObject(properties) ? properties : anything

/** A clause on what may not fit inside of two values of one type; `undefined` for nothing. */
const doubtOf = (source: JsonObject, target: JsonObject): string | undefined => {
  if (isOnly("array", source) && isOnly("array", target)) {
    const items = apart(itemsOf(source), itemsOf(target))
    return items === undefined ? undefined : `each item is ${items[0]}, and ${items[1]} is expected`
  }
  if (!isOnly("object", source) || !isOnly("object", target)) return undefined
  const [own, wanted] = [keysOf(source), keysOf(target)]
  const { required } = target
  for (const key of Array.isArray(required) ? (required as ReadonlyArray<Json>) : []) {
    if (typeof key !== "string" || !Object.hasOwn(own, key) || !Object.hasOwn(wanted, key)) continue
    const [some, others] = [own[key], wanted[key]]
    const values = isJsonObject(some) && isJsonObject(others) ? apart(some, others) : undefined
    if (values !== undefined) return `${quoted(key)} is ${values[0]}, and ${values[1]} is expected`
  }
  return undefined
}

/** The ends of an edge as a sentence names them. */
interface Ends {
  readonly source: string
  readonly target: string
}

/** Nodes and edges as numbers: places in their arrays; an end is -1 where the node is missing. */
interface Joined {
  readonly plans: ReadonlyArray<NodePlan | undefined>
  readonly edges: {
    readonly ids: ReadonlyArray<string>
    readonly sources: Int32Array
    readonly targets: Int32Array
    readonly outputs: ReadonlyArray<string>
    readonly inputs: ReadonlyArray<string>
  }
}

/** A problem of each edge against which `judge` has something to say. */
const problemsOf = (
  { edges, plans }: Joined,
  judge: (from: JsonObject, to: JsonObject) => ((ends: Ends) => string) | undefined,
): ReadonlyArray<Problem> => {
  const problems: Array<Problem> = []
  for (const [edge, edgeId] of edges.ids.entries()) {
    const [source, target] = [plans[edges.sources[edge]!], plans[edges.targets[edge]!]]
    if (source === undefined || target === undefined) continue
    const [output, port] = [edges.outputs[edge]!, edges.inputs[edge]!]
    const isIdle = source.settings.disabled || target.settings.disabled
    if (isIdle || Object.hasOwn(target.overrides, port)) continue
    const say = judge(given(source, output), taken(target.ports.inputs.get(port)))
    if (say === undefined) continue
    const nodeId = target.node.id
    const reason = say({
      source: `output ${quoted(output)} of node ${quoted(source.node.id)}`,
      target: `input ${quoted(port)} of node ${quoted(nodeId)}`,
    })
    problems.push({ message: `Edge ${quoted(edgeId)}: ${reason}`, nodeId, edgeId, port })
  }
  return problems
}

/** A problem for each edge whose ends have no type in common. */
export const mismatchesOf = (reading: Joined): ReadonlyArray<Problem> =>
  problemsOf(reading, (from, to) => {
    const types = apart(from, to)
    return types === undefined
      ? undefined
      : ({ source, target }) => `${source} gives ${types[0]}, and ${target} takes ${types[1]}`
  })

/** A warning for each edge whose ends have types that may not fit inside. */
export const warningsOfEdges = (reading: Joined): ReadonlyArray<Problem> =>
  problemsOf(reading, (from, to) => {
    const doubt = doubtOf(from, to)
    return doubt === undefined
      ? undefined
      : ({ source, target }) => `${source} may not fit ${target}: ${doubt}`
  })
