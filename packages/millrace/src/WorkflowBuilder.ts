/**
 * Draws a workflow in code. The compiler checks node types, ports, literals and modes.
 *
 * Guarantees: a builder is immutable; each call returns a new one. A builder is itself the document
 * that `workflows.create` takes. Leaves out: checking the graph as a whole; `workflows.create` and
 * a start do that.
 */
import { invalid } from "@millrace/api/MillraceError"
import type { JsonObject } from "@millrace/core/domain/Json"
import { quoted } from "@millrace/core/domain/Quote"
import type { Edge, Node, Position } from "@millrace/core/domain/Workflow"
import { place } from "@millrace/core/graph/Placement"
import type { Literals } from "./Declaration.ts"
import type { NodeType } from "./Node.ts"

/** The built-in node types. An engine with `builtin: false` does not have them. */
export type BuiltinType =
  | "request"
  | "response"
  | "constant"
  | "transform"
  | "condition"
  | "switch"
  | "merge"
  | "delay"
  | "list"
  | "code"
  | "parse"
  | "fail"
  | "http_request"
  | "email"
  | "postgres_query"
  | "llm"
  | "note"

type Types = ReadonlyArray<NodeType>

type KeyOf<N extends Types> = N[number]["type"] | BuiltinType

type Named<N extends Types, T> = Extract<N[number], { readonly type: T }>

/** The ports of a built-in type depend on a node's settings, so the compiler accepts any name. */
type PortOf<N extends Types, T, Side extends "inputs" | "outputs"> = [Named<N, T>] extends [never]
  ? string
  : keyof Named<N, T>[Side] & string

type LiteralsOf<N extends Types, T> = [Named<N, T>] extends [never]
  ? { readonly [port: string]: unknown }
  : Literals<Named<N, T>["inputs"]>

type ModeOf<N extends Types, T> = [Named<N, T>] extends [never]
  ? string
  : Named<N, T>["modes"][number]

/** Type keys by node id. */
type Drawn = { readonly [id: string]: string }

/** `node.port` of every output; each node also has `error`, taken when it fails. */
type Source<N extends Types, D extends Drawn> = {
  [Id in keyof D & string]: `${Id}.${PortOf<N, D[Id], "outputs"> | "error"}`
}[keyof D & string]

/** `node.port` of every input. */
type Target<N extends Types, D extends Drawn> = {
  [Id in keyof D & string]: `${Id}.${PortOf<N, D[Id], "inputs">}`
}[keyof D & string]

/** The place and mode of a node. Without a place, it goes one column to the right of the last. */
export interface NodePlacing<M extends string> {
  readonly mode?: M
  /** In pixels; wins over `column` and `row`. */
  readonly position?: Position
  /** From 1; column 0 is the request node's. */
  readonly column?: number
  /** From 0. */
  readonly row?: number
}

/** A workflow being drawn. Its three fields are the document that `workflows.create` takes. */
export interface WorkflowBuilder<N extends Types, D extends Drawn = {}> {
  readonly name: string
  readonly nodes: ReadonlyArray<Node>
  readonly edges: ReadonlyArray<Edge>
  /** Adds a node. */
  node<const Id extends string, const T extends KeyOf<N>>(
    id: Id,
    type: T,
    inputs?: LiteralsOf<N, T>,
    options?: NodePlacing<ModeOf<N, T>>,
  ): WorkflowBuilder<N, D & { readonly [K in Id]: T }>
  /** Joins an output to an input, both written `node.port`. */
  edge(from: Source<N, D>, to: Target<N, D>): WorkflowBuilder<N, D>
}

interface Document {
  readonly name: string
  readonly nodes: ReadonlyArray<Node>
  readonly edges: ReadonlyArray<Edge>
}

const drawNode = (
  nodes: ReadonlyArray<Node>,
  id: string,
  type: string,
  inputs: object,
  { mode, ...wanted }: NodePlacing<string>,
): Node => ({
  id,
  type,
  position: place(nodes, wanted),
  data:
    mode === undefined ? { inputs: inputs as JsonObject } : { inputs: inputs as JsonObject, mode },
})

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

const builderOf = <N extends Types, D extends Drawn>(drawn: Document): WorkflowBuilder<N, D> => ({
  ...drawn,
  node: (id, type, inputs = {}, options = {}) =>
    builderOf({
      ...drawn,
      nodes: [...drawn.nodes, drawNode(drawn.nodes, id, type, inputs, options)],
    }),
  edge: (from, to) =>
    builderOf({ ...drawn, edges: [...drawn.edges, drawEdge(drawn.edges, from, to)] }),
})

/** A workflow without nodes. */
export const empty = <N extends Types>(name: string): WorkflowBuilder<N> =>
  builderOf({ name, nodes: [], edges: [] })
