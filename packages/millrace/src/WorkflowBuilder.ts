/**
 * Draws a workflow in code. The compiler checks node types, ports, literals, modes and whether an
 * edge joins what can meet.
 *
 * Guarantees: a builder is immutable; each call returns a new one. A builder is itself the document
 * that `workflows.create` takes. Leaves out: checking the graph as a whole; `workflows.create` and
 * a start do that.
 */
import { invalid } from "@millrace/api/MillraceError"
import type { JsonObject } from "@millrace/core/domain/Json"
import { unknownFields } from "@millrace/core/domain/Nearest"
import { quoted } from "@millrace/core/domain/Quote"
import type { Edge, Node, WorkflowSettings } from "@millrace/core/domain/Workflow"
import { place } from "@millrace/core/graph/Placement"
import type {
  AnyData,
  EdgeEnd,
  EdgeStart,
  InputsAt,
  NodeDataOf,
  NodeLiterals,
  OutputsAt,
  TypeName,
  Types,
} from "./DrawnNode.ts"

/** What a workflow has beside nodes and edges. */
export interface WorkflowFields {
  /** For people. */
  readonly description?: string
  /** The address of a picture, or the picture as a `data:` URL. */
  readonly thumbnailUrl?: string
  /** What a failed node means for the others, and how long a run may take. */
  readonly settings?: WorkflowSettings
}

interface Document extends WorkflowFields {
  /** The name, for people. */
  readonly name: string
  /** The nodes in the order in which they were added, each with a position. */
  readonly nodes: ReadonlyArray<Node>
  /** The edges in the order in which they were added. */
  readonly edges: ReadonlyArray<Edge>
}

declare const drawn: unique symbol

/**
 * A workflow being drawn: the document that `workflows.create` takes. `N` are the node types; `O`
 * and `I` the outputs and inputs so far, written `node.port`, with the types of their values.
 *
 * The methods find these types in what they are called on, so that a builder of known node types
 * fits where one of any node types is asked for.
 */
export interface WorkflowBuilder<
  N extends Types,
  O extends object = {},
  I extends object = {},
> extends Document {
  /** The types of nodes and ports for the compiler; there is no such value. */
  readonly [drawn]?: readonly [types: N, outputs: O, inputs: I]
  /**
   * Adds a node: its id, its type, its literals by input, and what it has beside them. A literal
   * may be a text with expressions in the place of any value: `"{{ fetch.body.name }}"`.
   */
  node<
    S extends Types,
    A extends object,
    B extends object,
    const Id extends string,
    const T extends string,
    const P extends string = never,
  >(
    this: WorkflowBuilder<S, A, B>,
    id: Id,
    type: TypeName<S, T>,
    inputs?: NodeLiterals<S, T, P>,
    options?: NodeDataOf<S, T>,
  ): WorkflowBuilder<S, A & OutputsAt<S, Id, T, P>, B & InputsAt<S, Id, T>>
  /** Joins an output to an input, both written `node.port`. */
  edge<
    S extends Types,
    A extends object,
    B extends object,
    const From extends string,
    const To extends string,
  >(
    this: WorkflowBuilder<S, A, B>,
    from: EdgeStart<S, A, From>,
    to: EdgeEnd<S, A, B, From, To>,
  ): WorkflowBuilder<S, A, B>
  /** Sets other fields of the workflow: `set({ settings: { onFailure: "stop" } })`. */
  set(fields: WorkflowFields): this
}

/** The same without its types. */
interface Drawing extends Document {
  node(id: string, type: string, inputs?: object, options?: AnyData): Drawing
  edge(from: string, to: string): Drawing
  set(fields: WorkflowFields): Drawing
}

/** Every option of a node; false for those of its place, which are no part of its data. */
const nodeOptions: { readonly [K in keyof AnyData]-?: boolean } = {
  position: false,
  column: false,
  row: false,
  parentId: false,
  mode: true,
  version: true,
  label: true,
  disabled: true,
  retry: true,
  timeout: true,
  onError: true,
  default: true,
}

const fieldNames: { readonly [K in keyof WorkflowFields]-?: true } = {
  description: true,
  thumbnailUrl: true,
  settings: true,
}

/** Refuses what a caller without a compiler has misspelt. */
const checkNames = (where: string, given: object, known: object): void => {
  const [clause] = unknownFields(Object.keys(given), Object.keys(known))
  if (clause !== undefined) throw invalid(`${where}: ${clause}`)
}

const drawNode = (
  nodes: ReadonlyArray<Node>,
  id: string,
  type: string,
  inputs: object,
  options: AnyData,
): Node => {
  checkNames(`node ${quoted(id)}`, options, nodeOptions)
  const data = Object.entries(options).filter(
    ([name, value]) => nodeOptions[name as keyof AnyData] && value !== undefined,
  )
  const { parentId } = options
  return {
    id,
    type,
    position: place(nodes, options),
    ...(parentId === undefined ? {} : { parentId }),
    data: { inputs: inputs as JsonObject, ...Object.fromEntries(data) },
  }
}

/** Splits `node.port` at its last dot: an id may have dots, a port may not. */
const endOf = (text: string): readonly [node: string, port: string] => {
  const dot = text.lastIndexOf(".")
  if (dot > 0) return [text.slice(0, dot), text.slice(dot + 1)]
  throw invalid(`edge: expected "node.port", got ${quoted(text)}`)
}

const drawEdge = (edges: ReadonlyArray<Edge>, from: string, to: string): Edge => {
  const [source, sourceHandle] = endOf(from)
  const [target, targetHandle] = endOf(to)
  return { id: `e${edges.length + 1}`, source, target, sourceHandle, targetHandle }
}

const builderOf = (document: Document): Drawing => ({
  ...document,
  node: (id, type, inputs = {}, options = {}) =>
    builderOf({
      ...document,
      nodes: [...document.nodes, drawNode(document.nodes, id, type, inputs, options)],
    }),
  edge: (from, to) =>
    builderOf({ ...document, edges: [...document.edges, drawEdge(document.edges, from, to)] }),
  set: (fields) => {
    checkNames("set", fields, fieldNames)
    return builderOf({ ...document, ...fields })
  },
})

/** A workflow without nodes. */
export const empty = <N extends Types>(name: string): WorkflowBuilder<N> =>
  builderOf({ name, nodes: [], edges: [] })
