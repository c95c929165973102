/**
 * What a user does to a document, as plain data: it can be recorded, replayed and made at random.
 *
 * Guarantees: pure. A command that is wrong, such as one about a node that is not there, changes
 * nothing. No command makes two elements of one id, an edge without its nodes, a cycle, or a node
 * in one that is not there or lies in it.
 * Leaves out: undoing; see `Change.ts` and `History.ts`.
 */
import type { Change } from "./Change.ts"
import { difference } from "./Change.ts"
import { closesCycle } from "./internal/Cycle.ts"
import type { DocumentEdge, DocumentNode, Place, WorkflowDocument } from "./Document.ts"
import { dataOf, documentOf, inputsOf, withKey } from "./Document.ts"
import { isDocument } from "./DocumentCheck.ts"
import { parentsOf, placedIn, withContent, withoutLooseParents } from "./internal/Parents.ts"

/** Where a node lies. */
export interface ParentPlace {
  readonly parentId?: string | undefined
  readonly position: Place
}

/** One step of editing. `value: undefined` removes what is set. */
export type Command =
  /** New elements, after those that are there: from the palette, a paste, a duplicate. */
  | {
      readonly type: "add"
      readonly nodes: ReadonlyArray<DocumentNode>
      readonly edges: ReadonlyArray<DocumentEdge>
    }
  /** The edges of removed nodes go along, and so does what lies in them. */
  | {
      readonly type: "remove"
      readonly nodeIds: ReadonlyArray<string>
      readonly edgeIds: ReadonlyArray<string>
    }
  /** New places of nodes by id: a drag, arrow keys, aligning, tidying. */
  | { readonly type: "move"; readonly places: Readonly<Record<string, Place>> }
  /**
   * Other nodes in which nodes lie, and their places, which count from there; without a `parentId`
   * they lie in none. Edges go along that would cross the border of a loop.
   */
  | {
      readonly type: "nest"
      readonly nodes: Readonly<Record<string, ParentPlace>>
      readonly edgeIds: ReadonlyArray<string>
    }
  | { readonly type: "connect"; readonly edge: DocumentEdge }
  /** Gives an edge other ends; it keeps its id. */
  | { readonly type: "reconnect"; readonly edgeId: string; readonly edge: DocumentEdge }
  /** A key of a node's `data`, such as `label`, `mode`, `disabled`, `retry` or `onError`. */
  | {
      readonly type: "setData"
      readonly nodeId: string
      readonly key: string
      readonly value: unknown
    }
  /** Leaves nodes out of runs, or takes them in again. */
  | {
      readonly type: "disable"
      readonly nodeIds: ReadonlyArray<string>
      readonly isDisabled: boolean
    }
  /** A literal of an input, or a text with expressions. */
  | {
      readonly type: "setInput"
      readonly nodeId: string
      readonly port: string
      readonly value: unknown
    }
  /** Fields of the document. */
  | {
      readonly type: "setDocument"
      readonly name?: string
      readonly description?: string | null
      readonly settings?: WorkflowDocument["settings"]
    }
  /** Another document in the place of this one: the JSON tab, an import. */
  | { readonly type: "replace"; readonly document: WorkflowDocument }

type CommandOf<T extends Command["type"]> = Extract<Command, { readonly type: T }>

const add = (document: WorkflowDocument, { edges, nodes }: CommandOf<"add">) => {
  const ids = new Set(document.nodes.map(({ id }) => id))
  const fresh = nodes.filter(({ id }) => !ids.has(id) && ids.add(id))
  const grown = { ...document, nodes: [...document.nodes, ...fresh] }
  const all = withoutLooseParents(grown, document)
  const together = { ...all, edges: [...all.edges, ...edges] }
  // A paste of thousands of edges is judged once, and edge by edge only if something is wrong.
  return isDocument(together) ? together : edges.reduce(connected, all)
}

/** Refuses what would make the document one that cannot be saved. */
const connected = (document: WorkflowDocument, edge: DocumentEdge): WorkflowDocument => {
  const { nodes } = document
  const hasEnds = [edge.source, edge.target].every((end) => nodes.some(({ id }) => id === end))
  const isTaken = document.edges.some(({ id }) => id === edge.id)
  if (!hasEnds || isTaken || closesCycle(document.edges, edge)) return document
  return { ...document, edges: [...document.edges, edge] }
}

const remove = (document: WorkflowDocument, { edgeIds, nodeIds }: CommandOf<"remove">) => {
  const [nodes, edges] = [withContent(document.nodes, nodeIds), new Set(edgeIds)]
  return {
    ...document,
    nodes: document.nodes.filter(({ id }) => !nodes.has(id)),
    edges: document.edges.filter(
      ({ id, source, target }) => !edges.has(id) && !nodes.has(source) && !nodes.has(target),
    ),
  }
}

const reconnect = (document: WorkflowDocument, { edge, edgeId }: CommandOf<"reconnect">) => {
  const at = document.edges.findIndex(({ id }) => id === edgeId)
  if (at < 0) return document
  const others = document.edges.toSpliced(at, 1)
  const next = connected({ ...document, edges: others }, { ...edge, id: edgeId })
  if (next.edges.length === others.length) return document
  return { ...document, edges: document.edges.with(at, next.edges.at(-1)!) }
}

const withNode = (
  document: WorkflowDocument,
  nodeId: string,
  change: (node: DocumentNode) => DocumentNode,
): WorkflowDocument => ({
  ...document,
  nodes: document.nodes.map((node) => (node.id === nodeId ? change(node) : node)),
})

const withData = (node: DocumentNode, key: string, value: unknown): DocumentNode => {
  const data = withKey(dataOf(node), key, value)
  return data === dataOf(node) ? node : withKey(node, "data", data)
}

const setData = (document: WorkflowDocument, { key, nodeId, value }: CommandOf<"setData">) =>
  withNode(document, nodeId, (node) => withData(node, key, value))

const disable = (document: WorkflowDocument, { isDisabled, nodeIds }: CommandOf<"disable">) => {
  const ids = new Set(nodeIds)
  return {
    ...document,
    nodes: document.nodes.map((node) =>
      ids.has(node.id) ? withData(node, "disabled", isDisabled || undefined) : node,
    ),
  }
}

const setInput = (document: WorkflowDocument, { nodeId, port, value }: CommandOf<"setInput">) =>
  withNode(document, nodeId, (node) => {
    const inputs = withKey(inputsOf(node), port, value)
    if (inputs === inputsOf(node)) return node
    return withKey(node, "data", withKey(dataOf(node), "inputs", inputs))
  })

const isFinite = ({ x, y }: Place): boolean => Number.isFinite(x) && Number.isFinite(y)

const move = (document: WorkflowDocument, { places }: CommandOf<"move">) => ({
  ...document,
  nodes: document.nodes.map((node) => {
    const place = Object.hasOwn(places, node.id) ? places[node.id]! : undefined
    if (place === undefined || !isFinite(place)) return node
    return { ...node, position: { x: place.x, y: place.y } }
  }),
})

const nest = (document: WorkflowDocument, { edgeIds, nodes }: CommandOf<"nest">) => {
  const gone = new Set(edgeIds)
  const next: WorkflowDocument = {
    ...document,
    nodes: document.nodes.map((node) => {
      const to = Object.hasOwn(nodes, node.id) ? nodes[node.id]! : undefined
      return to === undefined || !isFinite(to.position)
        ? node
        : placedIn(node, to.parentId, to.position)
    }),
    edges: document.edges.filter(({ id }) => !gone.has(id)),
  }
  const parents = parentsOf(next.nodes)
  const isSound = Object.entries(nodes).every(
    ([id, { parentId }]) => parentId === undefined || parents.get(id) === parentId,
  )
  return isSound ? next : document
}

const after = (document: WorkflowDocument, command: Command): WorkflowDocument => {
  switch (command.type) {
    case "add":
      return add(document, command)
    case "remove":
      return remove(document, command)
    case "move":
      return move(document, command)
    case "nest":
      return nest(document, command)
    case "connect":
      return connected(document, command.edge)
    case "reconnect":
      return reconnect(document, command)
    case "setData":
      return setData(document, command)
    case "disable":
      return disable(document, command)
    case "setInput":
      return setInput(document, command)
    case "setDocument": {
      const { description, name, settings } = command
      return {
        ...document,
        ...(name === undefined ? {} : { name }),
        ...(description === undefined ? {} : { description }),
        ...(settings === undefined ? {} : { settings }),
      }
    }
    case "replace":
      return isDocument(command.document) ? documentOf(command.document) : document
  }
}

/** What a command changes; nothing if it is wrong or already so. */
export const changeOf = (document: WorkflowDocument, command: Command): Change =>
  difference(document, after(document, command))

/**
 * Names the field that a command types into, so that several of them within a short time are one
 * step of the history; `undefined` for a command that is a step by itself.
 */
export const fieldOf = (command: Command): string | undefined => {
  switch (command.type) {
    case "setData":
      return JSON.stringify(["data", command.nodeId, command.key])
    case "setInput":
      return JSON.stringify(["input", command.nodeId, command.port])
    case "setDocument":
      return JSON.stringify(Object.keys(command).toSorted())
    case "move":
      return JSON.stringify(["move", ...Object.keys(command.places).toSorted()])
    default:
      return undefined
  }
}
