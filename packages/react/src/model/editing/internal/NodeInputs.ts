/**
 * The inputs of a node as an editor shows them: what each takes, and where its value comes from.
 *
 * Guarantees: pure; an edge or a literal of a port that the node does not have is shown, too, so
 * that it can be removed. What was typed and is no value yet is kept in the node's data, so saving,
 * undoing and another browser have it. Leaves out: forms; see `Fields.ts`.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import type { PortLists } from "../Connecting.ts"
import type { DocumentEdge, DocumentNode, WorkflowDocument } from "../Document.ts"
import { dataOf, inputsOf, isRecord, own, targetPortOf } from "../Document.ts"
import { typeOf } from "../../internal/NodeVersions.ts"
import type { Field, Typed } from "./Fields.ts"

/** One input. */
export interface NodeInput {
  readonly name: string
  readonly description: string
  readonly schema: unknown
  readonly required: boolean
  readonly multiple: boolean
  readonly takesSecrets: boolean
  /** False for a port that the node does not have. */
  readonly isDeclared: boolean
  /** The edges that end here, in their order. */
  readonly edges: ReadonlyArray<DocumentEdge>
  /** The literal; `undefined` for none. */
  readonly value: unknown
}

/** What was typed in a form and is no value yet. */
export interface UnfinishedInput {
  readonly kind: Field["kind"]
  readonly typed: Typed
}

const kinds: ReadonlyArray<unknown> = ["number", "any", "object", "map", "list", "json"]

/** Other editors may have written there, too. */
const readUnfinished = (kept: unknown): UnfinishedInput | undefined => {
  const [kind, typed] = isRecord(kept) ? [kept["kind"], kept["typed"]] : []
  if (!kinds.includes(kind)) return undefined
  const isList = kind === "map" || kind === "list"
  const fits = isList ? Array.isArray(typed) : kind === "object" ? isRecord(typed) : isText(typed)
  return fits ? { kind: kind as Field["kind"], typed: typed as Typed } : undefined
}

const isText = (value: unknown): value is string => typeof value === "string"

const textOr = (value: unknown, other: string): string =>
  typeof value === "string" ? value : other

const undeclared = (name: string): PortLists["inputPorts"][number] => ({
  name,
  required: false,
  multiple: false,
  schema: {},
})

/** The inputs of a node: those that it has, and after them those that the drawing names. */
export const nodeInputs = (
  { edges }: Pick<WorkflowDocument, "edges">,
  node: DocumentNode,
  inputPorts: PortLists["inputPorts"],
): ReadonlyArray<NodeInput> => {
  const arriving = Map.groupBy(
    edges.filter(({ target }) => target === node.id),
    targetPortOf,
  )
  const literals = inputsOf(node)
  const started = [...unfinishedOf(node).keys()]
    .filter((place) => place.startsWith(inputPlace))
    .map((place) => place.slice(inputPlace.length))
  const known = new Set(inputPorts.map(({ name }) => name))
  const others = new Set(
    [...arriving.keys(), ...Object.keys(literals), ...started].filter((name) => !known.has(name)),
  )
  return [...inputPorts, ...Array.from(others, undeclared)].map((port) => ({
    name: port.name,
    description: textOr(port.schema["description"], ""),
    schema: port.schema,
    required: port.required,
    multiple: port.multiple,
    takesSecrets: port.takesSecrets === true,
    isDeclared: known.has(port.name),
    edges: arriving.get(port.name) ?? [],
    value: own(literals, port.name),
  }))
}

/** The key of a node's data under which unfinished inputs are kept. */
export const unfinishedKey = "unfinished"

const inputPlace = "inputs/"

/** The place of an input among what is unfinished. Keys of `data` are there under their names. */
export const placeOfInput = (port: string): string => `${inputPlace}${port}`

/** What is unfinished in a node, by place. */
export const unfinishedOf = (
  node: Pick<DocumentNode, "data">,
): ReadonlyMap<string, UnfinishedInput> => {
  const kept = dataOf(node)[unfinishedKey]
  const entries = isRecord(kept) ? Object.entries(kept) : []
  return new Map(
    entries.flatMap(([place, each]) => {
      const unfinished = readUnfinished(each)
      return unfinished === undefined ? [] : [[place, unfinished] as const]
    }),
  )
}

/** The value of the key {@link unfinishedKey} with one place changed. */
export const withUnfinished = (
  node: Pick<DocumentNode, "data">,
  place: string,
  unfinished: UnfinishedInput | undefined,
): unknown => {
  const kept = new Map(unfinishedOf(node))
  if (unfinished === undefined) kept.delete(place)
  else kept.set(place, unfinished)
  return kept.size === 0 ? undefined : Object.fromEntries(kept)
}

/** What the user calls a node: its label, or the name of its type, or its type. */
export const labelOf = (
  node: Pick<DocumentNode, "data" | "type">,
  nodeTypes: ReadonlyArray<NodeTypeItem>,
): string => {
  const { label } = dataOf(node)
  if (typeof label === "string" && label.trim() !== "") return label
  return typeOf(nodeTypes, node)?.name ?? node.type
}
