/**
 * Ids of nodes and edges: new ones, and others for those that are taken.
 *
 * Guarantees: pure. A new id of a node can stand for the node in an expression. Where a node gets
 * another id, its edges and the expressions that name it follow. Leaves out: code of nodes.
 */
import type { Change, ElementChange } from "./Change.ts"
import type { DocumentEdge, DocumentNode, DocumentValue, WorkflowDocument } from "./Document.ts"
import { dataOf, framedBy, isRecord } from "./Document.ts"

/** The first of `name`, `name_2`, `name_3` and so on that is free. */
export const freeName = (wanted: string, taken: ReadonlySet<string>): string => {
  if (!taken.has(wanted)) return wanted
  const stem = wanted.replace(/_\d+$/, "").slice(0, 120)
  let count = 2
  while (taken.has(`${stem}_${count}`)) count++
  return `${stem}_${count}`
}

/** Names that mean something else in an expression. */
const taken: ReadonlySet<string> = new Set(
  (
    "arguments await break case catch class const continue debugger default delete do else enum " +
    "eval export extends false finally for function if implements import in instanceof interface " +
    "let new null package private protected public return static super switch this throw true " +
    "try typeof var void while with yield input nodes run secrets values escape undefined"
  ).split(" "),
)

/** An id for a new node of a type, which the document does not have: `http_request_2`. */
export const freeId = (document: Pick<WorkflowDocument, "nodes">, type: string): string => {
  const word = type.replaceAll(/[^A-Za-z0-9_]+/g, "_").slice(0, 100)
  const stem = /^[A-Za-z_]/.test(word) ? word : `node_${word}`
  const ids = new Set(document.nodes.map(({ id }) => id))
  return freeName(taken.has(stem) ? `${stem}_1` : stem, ids)
}

/** New ids by old ones. */
export type NewIds = ReadonlyMap<string, string>

/** New ids of nodes and edges. */
export interface RenamedElements {
  readonly nodes: NewIds
  readonly edges: NewIds
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")

/** The code of an expression with another name of a node. */
const renamedCode = (code: string, from: string, to: string): string => {
  const name = escaped(from)
  const parts = new RegExp(
    [
      `(?<byKey>(?<![\\w$.])nodes\\s*(?:\\?\\.)?\\[\\s*(?<quote>["'])${name}\\k<quote>\\s*\\])`,
      `(?<byDot>(?<![\\w$.])nodes\\s*\\??\\.\\s*${name}(?![\\w$]))`,
      `(?:"(?:\\\\.|[^"\\\\])*"|'(?:\\\\.|[^'\\\\])*')`,
      `(?<key>(?<=[{,]\\s*)${name}(?=\\s*:))`,
      `(?<bare>(?<![\\w$.])${name}(?![\\w$]))`,
    ].join("|"),
    "gu",
  )
  return code.replaceAll(parts, (found, ...given) => {
    const groups = given.at(-1) as Readonly<Record<string, string | undefined>>
    if (groups["byKey"] !== undefined) return found.replace(new RegExp(`${name}(?=["'])`), () => to)
    if (groups["byDot"] !== undefined) return found.slice(0, -from.length) + to
    return groups["bare"] === undefined ? found : to
  })
}

const renamedText = (text: string, ids: NewIds): string => {
  if (!text.includes("{{")) return text
  // By way of names that nobody has, so that two nodes can change their names with each other.
  const steps = [...ids].map(([from, to], at) => ({ from, to, between: `\u{E000}${at}_` }))
  const inside = (code: string): string => {
    const away = steps.reduce((now, { between, from }) => renamedCode(now, from, between), code)
    return steps.reduce((now, { between, to }) => now.replaceAll(between, () => to), away)
  }
  return text.replaceAll(/\{\{([\s\S]*?)\}\}/g, (_, code: string) => `{{${inside(code)}}}`)
}

const renamedValue = (value: DocumentValue, ids: NewIds): DocumentValue => {
  if (typeof value === "string") return renamedText(value, ids)
  if (Array.isArray(value)) return value.map((each: DocumentValue) => renamedValue(each, ids))
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, renamedValue(each, ids)]),
  )
}

/** A frame around the nodes with their new ids. */
const renamedFrame = (node: DocumentNode, ids: NewIds): DocumentNode => {
  const framed = framedBy(node)
  if (framed === undefined || !framed.some((id) => ids.has(id))) return node
  return { ...node, data: { ...dataOf(node), frame: framed.map((id) => ids.get(id) ?? id) } }
}

/** The node in the one with the new id. */
const renamedParent = (node: DocumentNode, ids: NewIds): DocumentNode => {
  const { parentId } = node as { readonly parentId?: unknown }
  const fresh = typeof parentId === "string" ? ids.get(parentId) : undefined
  return fresh === undefined ? node : { ...node, parentId: fresh }
}

/** The node with its new id, and with new names in its expressions. */
export const renamedNode = (given: DocumentNode, ids: NewIds): DocumentNode => {
  const node = renamedParent(renamedFrame(given, ids), ids)
  const id = ids.get(node.id) ?? node.id
  const { data } = node
  if (data === undefined) return id === node.id ? node : { ...node, id }
  const text = JSON.stringify(data)
  const isNamed = text.includes("{{") && [...ids.keys()].some((each) => text.includes(each))
  if (!isNamed) return id === node.id ? node : { ...node, id }
  return { ...node, id, data: renamedValue(data, ids) }
}

/** The edge with new ends. */
export const renamedEdge = (edge: DocumentEdge, ids: NewIds): DocumentEdge => {
  const [source, target] = [ids.get(edge.source), ids.get(edge.target)]
  if (source === undefined && target === undefined) return edge
  return { ...edge, source: source ?? edge.source, target: target ?? edge.target }
}

/** The document with new ids of nodes. */
export const renamedDocument = (document: WorkflowDocument, ids: NewIds): WorkflowDocument =>
  ids.size === 0
    ? document
    : {
        ...document,
        nodes: document.nodes.map((node) => renamedNode(node, ids)),
        edges: document.edges.map((edge) => renamedEdge(edge, ids)),
      }

const renamedElements = <A>(
  changes: ReadonlyArray<ElementChange<A>>,
  rename: (value: A) => A,
  idOf: (id: string) => string,
): ReadonlyArray<ElementChange<A>> =>
  changes.map(({ after, before, id }) => ({
    id: idOf(id),
    before: before === undefined ? undefined : { ...before, value: rename(before.value) },
    after: after === undefined ? undefined : { ...after, value: rename(after.value) },
  }))

/** The change with new ids. */
export const renamedChange = (change: Change, { edges, nodes }: RenamedElements): Change => {
  const edgeId = (id: string) => edges.get(id) ?? id
  return {
    ...change,
    nodes: renamedElements(
      change.nodes,
      (node) => renamedNode(node, nodes),
      (id) => nodes.get(id) ?? id,
    ),
    edges: renamedElements(
      change.edges,
      (edge) => ({ ...renamedEdge(edge, nodes), id: edgeId(edge.id) }),
      edgeId,
    ),
  }
}
