/**
 * Documents and commands at random.
 *
 * Guarantees: the same seed gives the same ones; commands that are wrong come up, too.
 */
import type { Command } from "../../../src/model/editing/Command.ts"
import type {
  DocumentEdge,
  DocumentNode,
  WorkflowDocument,
} from "../../../src/model/editing/Document.ts"
import { duplicated } from "../../../src/model/editing/Clipboard.ts"
import { freeId } from "../../../src/model/editing/ElementId.ts"

/** A source of choices, made from a seed. */
export class Choice {
  #state: number

  constructor(seed: number) {
    this.#state = Math.imul(seed, 0x9e3779b1) | 0
  }

  /** A fraction from 0 up to, not including, 1 (mulberry32). */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  below(limit: number): number {
    return Math.floor(this.fraction() * limit)
  }

  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  of<A>(items: ReadonlyArray<A>): A {
    return items[this.below(items.length)]!
  }

  some<A>(items: ReadonlyArray<A>, probability = 0.3): ReadonlyArray<A> {
    return items.filter(() => this.chance(probability))
  }
}

export const emptyDocument: WorkflowDocument = {
  name: "Sample",
  description: null,
  settings: {},
  nodes: [],
  edges: [],
}

export const node = (id: string, data: DocumentNode["data"] = {}, x = 0, y = 0): DocumentNode => ({
  id,
  type: "constant",
  position: { x, y },
  data,
})

export const edge = (source: string, target: string, id = `${source}-${target}`): DocumentEdge => ({
  id,
  source,
  target,
  sourceHandle: "output",
  targetHandle: "input",
})

/** A document with so many nodes, in a row. */
export const documentWith = (...ids: ReadonlyArray<string>): WorkflowDocument => ({
  ...emptyDocument,
  nodes: ids.map((id, at) => node(id, { label: id }, at * 300)),
})

/** Marks everything that is typed, so that it can be found again. */
export class Marks {
  #count = 0

  next(): string {
    this.#count += 1
    return `mark${this.#count}_`
  }
}

const types = ["constant", "switch", "http_request"]
const keys = ["label", "mode", "retry", "constructor"]
const ports = ["value", "url", "input", "__proto__"]

type Make = (choice: Choice, document: WorkflowDocument, mark: string) => Command

const idIn = (choice: Choice, all: ReadonlyArray<{ readonly id: string }>): string =>
  all.length === 0 || choice.chance(0.03) ? "nobody" : choice.of(all).id

const addNode: Make = (choice, document, mark) => {
  const type = choice.of(types)
  const id = freeId(document, type)
  const position = { x: choice.below(900), y: choice.below(900) }
  const added: DocumentNode = { id, type, position, data: { label: mark }, width: 10 }
  const edges =
    document.nodes.length > 0 && choice.chance(0.5) ? [edge(choice.of(document.nodes).id, id)] : []
  return { type: "add", nodes: [added], edges }
}

const connect: Make = (choice, document) => {
  const [source, target] = [idIn(choice, document.nodes), idIn(choice, document.nodes)]
  return { type: "connect", edge: edge(source, target) }
}

const makes: ReadonlyArray<Make> = [
  addNode,
  addNode,
  connect,
  connect,
  (choice, { edges, nodes }) => ({
    type: "remove",
    nodeIds: choice.chance(0.6) ? [idIn(choice, nodes)] : [],
    edgeIds: choice.some(edges, 0.2).map(({ id }) => id),
  }),
  (choice, { nodes }) => ({
    type: "move",
    places: Object.fromEntries(
      choice.some(nodes).map(({ id }) => [id, { x: choice.below(900), y: choice.below(900) }]),
    ),
  }),
  (choice, { nodes }) => ({
    type: "disable",
    nodeIds: choice.some(nodes).map(({ id }) => id),
    isDisabled: choice.chance(0.6),
  }),
  (choice, { edges, nodes }) => ({
    type: "reconnect",
    edgeId: idIn(choice, edges),
    edge: edge(idIn(choice, nodes), idIn(choice, nodes)),
  }),
  (choice, { nodes }, mark) => ({
    type: "setData",
    nodeId: idIn(choice, nodes),
    key: choice.of(keys),
    value: choice.chance(0.2) ? undefined : mark,
  }),
  (choice, { nodes }, mark) => ({
    type: "setInput",
    nodeId: idIn(choice, nodes),
    port: choice.of(ports),
    value: choice.chance(0.2) ? undefined : choice.chance(0.5) ? mark : { deep: [mark] },
  }),
  (choice, _, mark) =>
    choice.chance(0.5)
      ? { type: "setDocument", name: mark }
      : { type: "setDocument", description: mark },
  // A mark is in one place only, so that it is known what becomes of it.
  (choice, document, mark) => {
    const nodeIds = new Set(choice.some(document.nodes).map(({ id }) => id))
    const { edges, nodes } = duplicated(document, { nodeIds })
    const marked = nodes.map((each, at) => ({ ...each, data: { label: at === 0 ? mark : "copy" } }))
    return { type: "add", nodes: marked, edges }
  },
]

/** A command for a document; `mark` is what it types. */
export const randomCommand: Make = (choice, document, mark) =>
  choice.of(makes)(choice, document, mark)

/** Another document in another order, with some of the elements. */
export const randomReplacement = (
  choice: Choice,
  { edges, nodes, ...fields }: WorkflowDocument,
): Command => {
  const kept = choice.some(nodes, 0.8).toSorted(() => choice.fraction() - 0.5)
  const ids = new Set(kept.map(({ id }) => id))
  const joined = edges.filter(({ source, target }) => ids.has(source) && ids.has(target))
  return { type: "replace", document: { ...fields, nodes: kept, edges: joined.toReversed() } }
}
