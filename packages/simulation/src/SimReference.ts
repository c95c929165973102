/**
 * The rules of a graph once more, for the judgement of a simulation: slow, and as close to their
 * text as possible. It shares nothing with the engine but the declarations of node types.
 *
 * It is never asked what will happen, only what must follow from what is on record.
 */
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import { isJsonObject } from "@millrace/core/domain/Json"
import type { InputPort, NodeType } from "@millrace/core/domain/NodeType"
import type { Definition, NodeRun, PinnedOutputs, RunRecord } from "@millrace/core/domain/Run"
import type { Edge, Node, NodeSettings } from "@millrace/core/domain/Workflow"
import { settingsOf } from "@millrace/core/domain/Workflow"
import { readBy, valueOfText } from "./SimFlow.ts"
import { typeOf } from "./SimNodes.ts"

/** What is on record of the nodes of a run, by node id. */
export type Rows = ReadonlyMap<string, NodeRun>

/** What becomes of a node, as far as the record tells. */
export type Fate =
  | { readonly _tag: "Open" }
  | { readonly _tag: "Skip" }
  | { readonly _tag: "Pass"; readonly output: JsonObject }
  | { readonly _tag: "Conflict" }
  | { readonly _tag: "Run"; readonly inputs: JsonObject }

/** What a node says about failure. */
export interface Policy {
  readonly attempts: number
  readonly initialMillis: number
  readonly factor: number
  readonly maxMillis: number
  readonly jitter: number
  readonly timeoutMillis: number | undefined
  readonly onError: "fail" | "route" | "default"
  readonly fallback: JsonObject | undefined
}

/** A node with all that is said of it. */
export interface Place {
  readonly node: Node
  readonly type: NodeType
  readonly inputs: ReadonlyArray<InputPort>
  readonly outputs: ReadonlyArray<string>
  readonly into: ReadonlyArray<Edge>
  readonly policy: Policy
  readonly settings: NodeSettings
  readonly overrides: JsonObject
  readonly estimate: number
}

const open: Fate = { _tag: "Open" }
const skip: Fate = { _tag: "Skip" }

const settled = new Set(["COMPLETED", "FAILED", "SKIPPED", "CANCELED"])

/** True for a row that will never change again. */
export const isOver = (row: NodeRun | undefined): row is NodeRun =>
  row !== undefined && settled.has(row.status)

const has = (object: object, key: string): boolean => Object.keys(object).includes(key)

const sourcePort = ({ sourceHandle }: Edge): string => (sourceHandle ? sourceHandle : "output")
const targetPort = ({ targetHandle }: Edge): string => (targetHandle ? targetHandle : "input")

const numberOr = (given: Json | undefined, otherwise: number): number =>
  typeof given === "number" ? given : otherwise

const policyOf = (node: Node, type: NodeType, from: ReadonlyArray<Edge>): Policy => {
  const data = isJsonObject(node.data) ? node.data : {}
  const retry = isJsonObject(data["retry"]) ? data["retry"] : {}
  const own = type.policy.retry ?? {}
  const routed = from.some((edge) => sourcePort(edge) === "error") ? "route" : "fail"
  const fallback = data["default"]
  return {
    attempts: numberOr(retry["attempts"], own.attempts ?? 1),
    initialMillis: numberOr(retry["initial"], own.initialMillis ?? 1_000),
    factor: numberOr(retry["factor"], own.factor ?? 2),
    maxMillis: numberOr(retry["max"], own.maxMillis ?? 60_000),
    jitter: numberOr(retry["jitter"], own.jitter ?? 0.1),
    timeoutMillis:
      typeof data["timeout"] === "number" ? data["timeout"] : type.policy.timeoutMillis,
    onError: (data["onError"] as Policy["onError"] | undefined) ?? routed,
    fallback: isJsonObject(fallback) ? fallback : undefined,
  }
}

/** The rules over one definition. */
export class Reference {
  readonly definition: Definition
  /** By ordinal. */
  readonly places: ReadonlyArray<Place>
  readonly ordinals: ReadonlyMap<string, number>

  /** What the start gave in the place of nodes. */
  readonly pinned: PinnedOutputs

  readonly #values: JsonObject

  constructor({ definition, run }: RunRecord, pinned: PinnedOutputs) {
    const { inputOverrides: overrides, values } = run
    this.definition = definition
    this.pinned = pinned
    this.#values = values
    const { edges, nodes } = definition
    this.ordinals = new Map(nodes.map(({ id }, ordinal) => [id, ordinal]))
    this.places = nodes.map((node) => {
      const type = typeOf(node.type)
      const drawn = settingsOf(node)
      const own = overrides[node.id] ?? {}
      const settings = { ...drawn, inputs: { ...drawn.inputs, ...own } }
      const ports = type.portsOf(settings)
      return {
        node,
        type,
        settings,
        overrides: own,
        inputs: [...ports.inputs.values()],
        outputs: [...ports.outputs.keys()],
        into: edges.filter(({ target }) => target === node.id),
        policy: policyOf(
          node,
          type,
          edges.filter(({ source }) => source === node.id),
        ),
        estimate: type.estimate(settings),
      }
    })
  }

  /** What the nodes that are to execute are expected to cost. */
  get estimate(): number {
    return this.places
      .filter((place) => !place.settings.disabled && !this.#isLeftover(place))
      .filter(({ node }) => !has(this.pinned, node.id))
      .reduce((sum, place) => sum + place.estimate, 0)
  }

  /** A node with all that is said of it. */
  placeOf(nodeId: string): Place | undefined {
    const ordinal = this.ordinals.get(nodeId)
    return ordinal === undefined ? undefined : this.places[ordinal]
  }

  /** What must become of a node. */
  fateOf(ordinal: number, rows: Rows): Fate {
    const place = this.places[ordinal]!
    const { inputs, into, overrides, settings } = place
    if (!into.every(({ source }) => isOver(rows.get(source)))) return open
    const read = Object.values(settings.inputs).map(readBy)
    if (!read.every((id) => id === undefined || isOver(rows.get(id)))) return open
    if (this.#isLeftover(place)) return skip
    const live = into.filter((edge) => valueOf(edge, rows) !== undefined)
    if (into.length > 0 && live.length === 0) return skip
    if (place.type.join === "all" && live.length < into.length) return skip
    for (const { name, required } of inputs) {
      const drawn = into.filter((edge) => targetPort(edge) === name)
      const isLost = drawn.length > 0 && !drawn.some((edge) => live.includes(edge))
      if (required && isLost && !has(overrides, name)) return skip
    }
    const bound = bind(place, live, rows, this.#values)
    if (!settings.disabled) {
      return bound === undefined ? { _tag: "Conflict" } : { _tag: "Run", inputs: bound }
    }
    const wire = wireOf(place)
    if (bound === undefined || wire === undefined || !has(bound, wire[0])) return skip
    return { _tag: "Pass", output: { [wire[1]]: bound[wire[0]]! } }
  }

  /** What a run with these rows puts out. */
  outputOf(rows: Rows): Json {
    const all = this.places.filter(({ type }) => type.role === "response")
    const done = all.filter(({ node }) => rows.get(node.id)?.status === "COMPLETED")
    if (done.length === 0) return null
    const inputOf = ({ node }: Place): Json => rows.get(node.id)?.input?.["input"] ?? null
    if (all.length === 1) return inputOf(done[0]!)
    const result: Record<string, Json> = {}
    for (const place of done) {
      const { name } = place.settings.inputs
      const isFree = typeof name === "string" && name !== "" && !has(result, name)
      result[isFree ? name : place.node.id] = inputOf(place)
    }
    return result
  }

  #isLeftover({ inputs, node, settings }: Place): boolean {
    const { edges } = this.definition
    const isTouched = edges.some(({ source, target }) => source === node.id || target === node.id)
    if (isTouched || settings.disabled) return false
    return inputs.some(({ name, required }) => required && !has(settings.inputs, name))
  }
}

const valueOf = (edge: Edge, rows: Rows): Json | undefined => {
  const row = rows.get(edge.source)!
  if (row.status !== "COMPLETED" && row.status !== "SKIPPED") return undefined
  return row.output !== null && has(row.output, sourcePort(edge))
    ? row.output[sourcePort(edge)]
    : undefined
}

/** The inputs of a node; `undefined` where two values meet at an input that takes one. */
const bind = (
  { inputs, overrides, settings }: Place,
  live: ReadonlyArray<Edge>,
  rows: Rows,
  runValues: JsonObject,
): JsonObject | undefined => {
  const bound: Record<string, Json> = {}
  for (const { multiple, name } of inputs) {
    const values = live
      .filter((edge) => targetPort(edge) === name)
      .map((edge) => valueOf(edge, rows)!)
    if (has(overrides, name)) bound[name] = overrides[name]!
    else if (multiple && values.length > 0) bound[name] = values
    else if (values.length > 1) return undefined
    else if (values.length === 1) bound[name] = values[0]!
    else if (has(settings.inputs, name)) {
      const value = valueOfText(settings.inputs[name]!, rows, runValues)
      if (value !== undefined) bound[name] = value
    }
  }
  return bound
}

const wireOf = ({ inputs, outputs, type }: Place): readonly [string, string] | undefined => {
  if (type.role === "request") return undefined
  const isUsual = inputs.some(({ name }) => name === "input") && outputs.includes("output")
  if (isUsual) return ["input", "output"]
  const ends = outputs.filter((name) => name !== "error")
  if (inputs.length === 1 && ends.length === 1) return [inputs[0]!.name, ends[0]!]
  const same = inputs.find(({ name }) => ends.includes(name))
  return same === undefined ? undefined : [same.name, same.name]
}
